"""Compare two versions of olbench: `make bench AGAINST=<another environment's python>`.

Each version serves passes in a process of its own. They take turns case by case, and the least processor time
of each counts, so that what else the machine does falls on both.
"""

import json
import subprocess
import sys
import time
from typing import Any

import numpy as np
import scipy.sparse as sp

TURNS = 15
#: By name: rows, features, share of entries that are not zero, classes, algorithm and its settings.
CASES: dict[str, tuple[int, int, float, int, str, dict[str, Any]]] = {
    "pa1, d = 8": (100_000, 8, 1.0, 2, "pa1", {}),
    "pa1, d = 54": (50_000, 54, 1.0, 2, "pa1", {}),
    "pa1, sparse": (20_000, 20_000, 0.002, 2, "pa1", {}),
    "averaged pa1, d = 54": (50_000, 54, 1.0, 2, "averaged-pa1", {}),
    "romma, d = 54": (50_000, 54, 1.0, 2, "romma", {}),
    "arow, d = 8": (50_000, 8, 1.0, 2, "arow", {}),
    "scw1, d = 8": (50_000, 8, 1.0, 2, "scw1", {}),
    "arow, d = 54": (20_000, 54, 1.0, 2, "arow", {}),
    "scw1, d = 54": (20_000, 54, 1.0, 2, "scw1", {}),
    "scw1, d = 123, sparse": (10_000, 123, 0.11, 2, "scw1", {}),
    "arow, d = 300": (2_000, 300, 1.0, 2, "arow", {}),
    "scw1, d = 300": (2_000, 300, 1.0, 2, "scw1", {}),
    "arow, d = 784, sparse": (500, 784, 0.5, 2, "arow", {}),
    "cw, root, d = 54": (5_000, 54, 1.0, 2, "cw", {}),
    "cw, root, d = 128": (2_000, 128, 1.0, 2, "cw", {}),
    "cw, root, d = 256": (500, 256, 1.0, 2, "cw", {}),
    "arow, diag": (20_000, 20_000, 0.002, 2, "arow", {"covariance": "diag"}),
    "sop, diag": (20_000, 20_000, 0.002, 2, "sop", {"covariance": "diag"}),
    "cw, exact": (20_000, 54, 1.0, 2, "cw", {"covariance": "diag", "projection": "exact"}),
    "scw1, rbf": (500, 20, 1.0, 2, "scw1", {"kernel": "rbf", "gamma": 0.05}),
    "pa1, 10 classes": (20_000, 54, 1.0, 10, "pa1", {"multiclass": "native"}),
    "arow, 10 classes": (5_000, 54, 1.0, 10, "arow", {"multiclass": "native"}),
    "arow, d = 200, 3 classes": (1_000, 200, 1.0, 3, "arow", {"multiclass": "native"}),
    "cw, 10 classes": (500, 54, 1.0, 10, "cw", {"multiclass": "native"}),
    "arow, diag, 10 classes": (20_000, 54, 1.0, 10, "arow", {"multiclass": "native", "covariance": "diag"}),
    "pa1, one-vs-rest": (10_000, 54, 1.0, 10, "pa1", {}),
}


def serve() -> None:
    """Answer names of cases with nanoseconds per row and mistakes, line by line."""
    from olbench import make_algorithm, online_pass

    made: dict[str, Any] = {}
    for line in sys.stdin:
        name = line.rstrip("\n")
        n, d, density, classes, id, settings = CASES[name]
        if name not in made:
            rng = np.random.default_rng(54)
            is_dense = density == 1.0
            X: Any = (
                rng.normal(size=(n, d))
                if is_dense
                else sp.random_array((n, d), density=density, format="csr", rng=rng)
            )
            scores = np.asarray(X @ rng.normal(size=(d, classes)))
            scores += 0.3 * scores.std() * rng.normal(size=scores.shape)
            y = np.where(scores[:, 0] >= 0.0, 1.0, -1.0) if classes == 2 else scores.argmax(axis=1)
            made[name] = X, y, rng.permutation(n), make_algorithm(id, **settings)
        X, y, order, algorithm = made[name]
        labels = "two" if classes == 2 else "all"
        started = time.process_time()
        result = online_pass(algorithm, X, y, order, curve=1, labels=labels)
        seconds = result.cpu_seconds or time.process_time() - started
        print(json.dumps([1e9 * seconds / n, result.mistakes]), flush=True)


def compare(other: str, wanted: str = "") -> None:
    pythons = (other, sys.executable)
    pipe = subprocess.PIPE
    workers = [
        subprocess.Popen([python, __file__, "--serve"], stdin=pipe, stdout=pipe, text=True)
        for python in pythons
    ]
    print(f"{'nanoseconds per row':28}{'other':>10}{'here':>10}{'ratio':>8}")
    for name in (each for each in CASES if wanted in each):
        found: list[list[float]] = [[], []]
        mistakes = set()
        for turn in range(2 * (TURNS + 1)):
            worker = workers[turn % 2]
            assert worker.stdin is not None
            assert worker.stdout is not None
            print(name, file=worker.stdin, flush=True)
            spent, count = json.loads(worker.stdout.readline())
            found[turn % 2].append(spent)
            mistakes.add(count)
        # The first turn compiles or loads the kernels.
        before, after = (min(each[1:]) for each in found)
        differ = "" if len(mistakes) == 1 else "   the mistakes differ"
        print(f"{name:28}{before:10.1f}{after:10.1f}{after / before:8.2f}{differ}", flush=True)
    for worker in workers:
        worker.terminate()


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        serve()
    else:
        compare(*sys.argv[1:3])
