"""Start a run again and again in forks of this process, and kill each at a random moment.

Usage: killer.py CONFIG DIR KILLS SEED. Everything is imported and compiled before the first fork, so that the
kills hit the run itself. Prints how many runs were killed and how many ended before.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

from olbench.cli.run import carry_out
from olbench.config import read_config
from olbench.engine.executor import Task, warm_up
from olbench.engine.stopping import StopFlag
from olbench.experiments.online import cells
from olbench.experiments.sources import load_present


def main(path: str, folder: str, kills: int, seed: int) -> None:
    config = read_config(Path(path))
    sources, _ = load_present(config.datasets, False)
    planned = cells(config, sources)
    warm_up([Task(trial, cell.source) for cell in planned for trial in cell.trials({})], StopFlag())
    moments, ended = random.Random(seed), 0
    for _ in range(kills):
        child = os.fork()
        if not child:
            os._exit(carry_out(config, planned, Path(folder), 2, "shared", True, []))
        time.sleep(moments.uniform(0.01, 0.3))
        os.kill(child, signal.SIGKILL)
        ended += os.waitpid(child, 0)[1] == 0
    print(kills - ended, ended)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
