"""The cost of a trial beside its pass: `python tests/measure_harness.py [CHECKOUT ...]`.

Runs trials that do next to nothing and prints, in milliseconds of processor time per trial, what it takes to
plan, run and record one, and what it takes to read it back and verify it. Several checkouts, such as those of
two commits, take turns, so that a busy machine slows all of them alike.
"""

import json
import statistics
import subprocess
import sys
from pathlib import Path

TRIALS, TURNS = 2000, 5
ROOT = Path(__file__).resolve().parents[1]
PROGRAM = """
import json, os, sys, tempfile, time
from pathlib import Path
from olbench.api import plan
from olbench.cli.run import carry_out
from olbench.config.reading import data_config
from olbench.trials import ledger

folder = Path(tempfile.mkdtemp())
data = folder / "tiny.libsvm"
data.write_text("+1 1:1\\n-1 2:1\\n+1 1:2\\n-1 2:3\\n")

def run(trials, out):
    config = data_config(str(data), "perceptron", (), (f"permutations={trials}",))
    planned = plan(config, 1)
    started = time.process_time()
    assert carry_out(planned, folder / out, "shared", True) == 0
    return time.process_time() - started

run(20, "warm")
took = run(int(sys.argv[1]), "out")
started = time.process_time()
records = list(ledger.each(folder / "out"))
print(json.dumps([1000 * took / len(records), 1000 * (time.process_time() - started) / len(records)]))
"""


def measure(root: Path) -> tuple[float, float]:
    """Return the milliseconds per trial of a run and of reading it, with the code of one checkout."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(TRIALS)], cwd=root, capture_output=True, text=True, check=True
    )
    run, read = json.loads(done.stdout.splitlines()[-1])
    return run, read


def main() -> None:
    """Measure the checkouts in turns and print the medians."""
    roots = [Path(word) for word in sys.argv[1:]] or [ROOT]
    turns: dict[Path, list[tuple[float, float]]] = {root: [] for root in roots}
    for _ in range(TURNS):
        for root in roots:
            turns[root].append(measure(root))
    for root, taken in turns.items():
        run, read = (statistics.median(each) for each in zip(*taken, strict=True))
        print(f"{root}: {run:.2f} ms to run and record a trial, {read:.3f} ms to read it back")


if __name__ == "__main__":
    main()
