"""What a trial costs beside its pass, in milliseconds of processor time: `python -m benchmarks.harness`.

The trials do next to nothing, so the time is that of planning, running and recording them, and of reading
and verifying the records.
"""

import tempfile
import time
from pathlib import Path
from statistics import median

from olbench import api
from olbench.records import ledger

TRIALS, TURNS = 2000, 5


def measure(trials: int) -> tuple[float, float]:
    """Return the milliseconds to run and record a trial, and to read it back."""
    with tempfile.TemporaryDirectory() as folder:
        data, out = Path(folder, "tiny.libsvm"), Path(folder, "out")
        data.write_text("+1 1:1\n-1 2:1\n+1 1:2\n-1 2:3\n")
        config = {"datasets": [{"path": str(data)}], "algorithms": ["perceptron"], "permutations": trials}
        started = time.process_time()
        api.run(config, out=out, jobs=1, quiet=True)
        ran = time.process_time()
        assert sum(1 for _ in ledger.each(out)) == trials
        return 1000 * (ran - started) / trials, 1000 * (time.process_time() - ran) / trials


if __name__ == "__main__":
    measure(20)
    run, read = (median(each) for each in zip(*(measure(TRIALS) for _ in range(TURNS)), strict=True))
    print(f"{run:.2f} ms to run and record a trial, {read:.3f} ms to read it back")
