"""How much the test errors of the JMLR 2012 tasks move with the split that tunes, and with the rule for ties.

    python docs/examples/tuning_noise.py FOLDER

runs what is missing below FOLDER, some minutes with the data of configs/cw.yaml, and prints two tables.
"""

import subprocess
import sys
from pathlib import Path

import pandas as pd

from olbench import load_results

CONFIG = Path(__file__).parents[2] / "configs" / "cw.yaml"
GRID = "{phi: [0.001, 0.01, 0.03, 0.1, 0.3, 1, 3, 10]}"
LEARNERS = (
    f"algorithms=[{{id: cw-var, name: var-KL, projection: kl, grid: {GRID}}}, "
    f"{{id: cw, name: stdev-KL, projection: kl, grid: {GRID}}}]"
)
#: The paper's way to tune, on five random splits; and three rules for ties, on a seed of their own.
SPLITS = {f"split {seed}": [f"tuning={{search: paper, ties: middle, seed: {seed}}}"] for seed in range(1, 6)}
TIES = {
    f"ties {rule}": ["seed=7", f"tuning={{search: nested, ties: {rule}}}"]
    for rule in ("first", "middle", "last")
}


def run(folder: Path, settings: list[str]) -> pd.Series:
    """Run a variation, and return the mean test error in percent by learner and task."""
    overrides = [word for each in ("repeats=1", LEARNERS, *settings) for word in ("--set", each)]
    command = [sys.executable, "-m", "olbench", "run", str(CONFIG), "--out", str(folder), *overrides]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    frame = load_results(folder).to_frame()
    return 100 * frame.groupby(["label", "dataset"])["test_error"].mean()


def main(folder: Path) -> None:
    """Print the means over tasks, and how far apart the variations are on a task."""
    for variations in (SPLITS, TIES):
        errors = pd.DataFrame(
            {name: run(folder / name.replace(" ", "-"), said) for name, said in variations.items()}
        )
        table = errors.groupby("label").mean()
        spread = (errors.max(axis=1) - errors.min(axis=1)).groupby("label")
        table["mean range"], table["largest range"] = spread.mean(), spread.max()
        print(table.round(2).to_string(), end="\n\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
