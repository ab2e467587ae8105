"""Start runs in forks of this process until so many of them were killed, each at a random moment of its life.

Usage: killer.py CONFIG KILLS SEED. A run goes on in the folder of the last one; where one came to its end
before its moment, that kill is drawn again in a new folder: killed0, killed1, ... Everything is imported and
compiled before the first fork, so that the kills hit the run itself. Prints for each kill the folder and how
many trials its ledger had.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

from olbench.api import Plan, plan
from olbench.cli.run import carry_out
from olbench.config.reading import read_config
from olbench.engine.executors.local import warm_up
from olbench.engine.stopping import StopFlag
from olbench.trials import provenance


def main(path: str, kills: int, seed: int) -> None:
    config = read_config(Path(path))
    planned = plan(config, 2)
    warm_up([trial for cell in planned.cells for trial in cell.trials({})], StopFlag())
    provenance.commit()
    # On a busy machine a run takes longer, and so must the moments be later.
    begin = time.perf_counter()
    assert os.waitpid(fork_run(planned, Path("timed")), 0)[1] == 0
    length = time.perf_counter() - begin
    moments, ended = random.Random(seed), 0
    while kills:
        folder = Path(f"killed{ended}")
        if dies_of_a_kill(fork_run(planned, folder), moments.uniform(0.01, 0.7) * length):
            kills -= 1
            ledger = folder / "trials.jsonl"
            print(folder, ledger.read_bytes().count(b"\n") if ledger.exists() else 0)
        else:
            ended += 1


def fork_run(planned: Plan, folder: Path) -> int:
    """Carry out a run in a fork of this process; return the number of that process."""
    child = os.fork()
    if not child:
        os._exit(carry_out(planned, folder, "shared", True))
    return child


def dies_of_a_kill(child: int, after: float) -> bool:
    """Kill a process after some seconds; False if it had come to a good end before."""
    time.sleep(after)
    os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, -signal.SIGKILL), f"a run ended with {status}"
    return status != 0


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
