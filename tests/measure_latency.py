"""What people wait for: `python tests/measure_latency.py [--cold] [CHECKOUT ...]`.

Prints one table with a row per wait and a column per checkout, such as those of two commits. They take turns,
so that a busy machine slows all of them alike. Times are the least processor time of several turns, in
seconds. With --cold, the first experiment on a new machine is measured instead, three times: nothing is
compiled, and the cache is empty.
"""

import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from olbench.trials.provenance import machine

ROOT = Path(__file__).resolve().parents[1]
TURNS = 3
ROWS, COLUMNS = 100_000, 40
LOAD = "import sys, olbench; olbench.load_dataset(sys.argv[1])"
COMMAND, QUICK = ["-m", "olbench"], ["run", "quick", "-q", "--out"]
#: Milliseconds of one example through a learner and through an estimator.
SINGLE = """
import json, time
import numpy as np
from olbench import make_algorithm
from olbench.estimators import AROW

random = np.random.default_rng(0)
X = random.standard_normal((500, 20))
y = np.where(X[:, 0] > 0, 1, -1)
learner = make_algorithm("arow").start(20)
model = AROW().partial_fit(X, y, classes=[-1, 1])

def measure(call):
    call(0)
    found = []
    for _ in range(5):
        started = time.process_time()
        for i in range(500):
            call(i)
        found.append((time.process_time() - started) / 500)
    return 1000 * min(found)

calls = {
    "estimator.partial_fit": lambda i: model.partial_fit(X[i : i + 1], y[i : i + 1]),
    "estimator.predict": lambda i: model.predict(X[i : i + 1]),
}
if hasattr(learner, "step"):
    calls["learner.step"] = lambda i: learner.step(X[i], y[i])
    calls["learner.score"] = lambda i: learner.score(X[i])
print(json.dumps({name: measure(call) for name, call in calls.items()}))
"""


def run(root: Path, words: list[str], folder: Path, **changes: str) -> tuple[float, float, str]:
    """Run the code of a checkout; return its processor time, the seconds that passed, and its output."""
    own = {"OLBENCH_CACHE": f"{folder}/cache", "NUMBA_CACHE_DIR": f"{folder}/numba", "PYTHONPATH": str(root)}
    environment = {**os.environ, **own, **changes}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True
    )
    passed, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{' '.join(words)} failed with the code of {root}: {done.stderr}")
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, passed, done.stdout


def write_table(path: Path) -> None:
    """Write a CSV file of random numbers with a label."""
    random = np.random.default_rng(0)
    X = random.standard_normal((ROWS, COLUMNS))
    y = np.where(X[:, 0] + random.standard_normal(ROWS) > 0, 1, -1)
    names = ",".join([*(f"f{k}" for k in range(COLUMNS)), "label"])
    np.savetxt(
        path, np.column_stack([X, y]), "%.5f," * COLUMNS + "%d", header=names, comments="", encoding="utf-8"
    )


def measure_once(root: Path, folder: Path, table: Path) -> Iterator[tuple[str, float]]:
    """Yield every wait and how long it takes; `folder` keeps the caches between turns."""
    yield "import olbench", run(root, ["-c", "import olbench"], folder)[0]
    for verb in ("--help", "data list", "report scw", "summary"):
        yield f"olbench {verb}", run(root, [*COMMAND, *verb.split()], folder)[0]
    with tempfile.TemporaryDirectory() as empty:
        words = ["-c", LOAD, str(table)]
        yield "own CSV, 100,000 x 40, first load", run(root, words, folder, OLBENCH_CACHE=empty)[0]
        words = [*COMMAND, "init", "--force", str(table)]
        yield "olbench init on it", run(root, words, folder, OLBENCH_CACHE=f"{empty}/init")[0]
        yield "olbench run quick", run(root, [*COMMAND, *QUICK, f"{empty}/out"], folder)[0]
    for name, milliseconds in json.loads(run(root, ["-c", SINGLE], folder)[2]).items():
        yield f"{name}, one row, ms", milliseconds
    words = ["-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", "--rootdir", str(root)]
    yield "pytest --collect-only", run(root, [*words, str(root / "tests")], folder)[0]


def measure_cold(root: Path) -> Iterator[tuple[str, float]]:
    """Yield how long the first experiment takes where nothing is compiled or cached."""
    with tempfile.TemporaryDirectory() as empty:
        used, passed, _ = run(root, [*COMMAND, *QUICK, "out"], Path(empty))
    yield "first olbench run quick, CPU seconds", used
    yield "first olbench run quick, seconds", passed


def show(found: dict[str, dict[Path, list[float]]], roots: list[Path], all_turns: bool) -> None:
    """Print one row per wait."""
    facts = machine()
    print(f"{facts['processor']}, {facts['cores']} cores, Python {platform.python_version()}")
    print(f"{'':40}", *(f"{root.name:>20}" for root in roots))
    for name, taken in found.items():
        digits = 3 if name.endswith("ms") else 2
        texts = (
            " ".join(f"{each:.{digits}f}" for each in (sorted(own) if all_turns else [min(own)]))
            if own
            else "-"
            for own in (taken.get(root, []) for root in roots)
        )
        print(f"{name:40}", *(f"{text:>20}" for text in texts))


def main() -> None:
    """Measure the checkouts in turns and print the table."""
    words = sys.argv[1:]
    cold = "--cold" in words
    roots = [Path(word).resolve() for word in words if word != "--cold"] or [ROOT]
    found: dict[str, dict[Path, list[float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "table.csv"
        write_table(table)
        # One turn more compiles and fills the caches.
        for turn in range(TURNS if cold else TURNS + 1):
            for number, root in enumerate(roots):
                own = Path(folder) / str(number)
                own.mkdir(exist_ok=True)
                for name, seconds in measure_cold(root) if cold else measure_once(root, own, table):
                    if cold or turn:
                        found.setdefault(name, {}).setdefault(root, []).append(seconds)
    show(found, roots, cold)


if __name__ == "__main__":
    main()
