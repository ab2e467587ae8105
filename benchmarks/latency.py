"""What people wait for, in seconds of processor time: `python -m benchmarks.latency [--cold]`.

The least of three turns counts. With --cold, the first experiment on a new machine is measured instead:
nothing is compiled, and the cache is empty.
"""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from olbench import make_algorithm
from olbench.estimators import AROW
from olbench.learners.start import start

TURNS, ROWS, COLUMNS = 3, 100_000, 40
COMMAND = [sys.executable, "-m", "olbench"]
LOAD = [sys.executable, "-c", "import olbench; olbench.load_dataset('table.csv')"]
WAITS = {
    "import olbench": [sys.executable, "-c", "import olbench"],
    **{f"olbench {verb}": [*COMMAND, *verb.split()] for verb in ("--help", "list", "report scw", "summary")},
    "olbench init on a CSV file, 100,000 x 40": [*COMMAND, "init", "--force", "table.csv"],
    "load_dataset on it, cached": LOAD,
    "olbench run quick, compiled": [*COMMAND, "run", "quick", "-q", "--out", "out"],
}


def wait(words: list[str], folder: str) -> tuple[float, float]:
    """Run a command with the caches of a folder; return its processor time and the seconds that passed."""
    own = {"OLBENCH_CACHE": f"{folder}/cache", "NUMBA_CACHE_DIR": f"{folder}/numba"}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(words, cwd=folder, env={**os.environ, **own}, stdout=subprocess.DEVNULL, check=True)
    passed, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, passed


def measure_waits() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, COLUMNS + 1))
    X[:, -1] = np.sign(X[:, 0] + X[:, -1])
    with tempfile.TemporaryDirectory() as folder:
        names = ",".join([*(f"f{k}" for k in range(COLUMNS)), "label"])
        np.savetxt(Path(folder, "table.csv"), X, "%.5f," * COLUMNS + "%d", header=names, comments="")
        for name, words in WAITS.items():
            wait(words, folder)  # compiles and fills the caches
            seconds = []
            for _ in range(TURNS):
                shutil.rmtree(f"{folder}/out", ignore_errors=True)
                seconds.append(wait(words, folder)[0])
            print(f"{name:48}{min(seconds):8.2f}", flush=True)


def measure_single_rows() -> None:
    """Print the microseconds of one example through a learner and through an estimator."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 20))
    y = np.where(X[:, 0] > 0, 1, -1)
    learner, model = start(make_algorithm("arow"), 20), AROW().partial_fit(X, y, classes=[-1, 1])
    calls = {
        "learner.step": lambda i: learner.step(X[i], y[i]),
        "learner.score": lambda i: learner.score(X[i]),
        "estimator.partial_fit": lambda i: model.partial_fit(X[i : i + 1], y[i : i + 1]),
        "estimator.predict": lambda i: model.predict(X[i : i + 1]),
    }
    for name, call in calls.items():
        seconds = []
        for _ in range(TURNS + 1):
            started = time.process_time()
            for i in range(len(y)):
                call(i)
            seconds.append(time.process_time() - started)
        print(f"{name + ', one row, microseconds':48}{1e6 * min(seconds) / len(y):8.1f}")


def measure_cold() -> None:
    for _ in range(TURNS):
        with tempfile.TemporaryDirectory() as empty:
            used, passed = wait([*COMMAND, "run", "quick", "-q", "--out", "out"], empty)
        print(f"first olbench run quick: {used:.1f} s of processor time, {passed:.1f} s passed", flush=True)


if __name__ == "__main__":
    if "--cold" in sys.argv:
        measure_cold()
    else:
        measure_waits()
        measure_single_rows()
