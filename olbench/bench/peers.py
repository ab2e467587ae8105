"""The peers: other ways to run the same kind of pass over the same examples.

A peer is a function that prepares whatever can be prepared (parsing, dictionaries, arrays) and returns the
pass itself; only that is timed. It returns None if its library, or a compiler, is not installed.
"""

import importlib.util
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

# SciPy has a BLAS of its own. Loaded later, it would escape the limit of one thread, and its idle threads
# would be charged to whoever runs next.
from scipy.linalg.blas import dsymv, dsyr

from olbench.data.readers.libsvm import read_libsvm
from olbench.learn.algorithm import make_algorithm
from olbench.learn.examples import Floats, Ints, as_examples

Pass = Callable[[], object]
Step = Callable[[float, float], tuple[float, float]]


def kernel(id: str, X: Any, y: Floats, order: Ints | None = None, **settings: Any) -> Pass:
    """Return a pass of our kernel over examples that were checked before; by default in natural order."""
    algorithm = make_algorithm(id, **settings)
    algorithm.start(X.shape[1]).warm_up()
    rows = as_examples(X).rows()
    sequence = np.arange(X.shape[0]) if order is None else order

    def run() -> object:
        learner = algorithm.start(X.shape[1])
        learner.run(rows, y, sequence)
        return learner.mistakes

    return run


def numpy_loop(id: str, X: Floats, y: Floats) -> Pass:
    """Return a plain NumPy loop as the papers write it: margin and variance, then the update."""
    step: Step = arow_step if id == "arow" else scw1_step

    def run() -> object:
        mu, sigma, mistakes = np.zeros(X.shape[1]), np.eye(X.shape[1]), 0
        for x, label in zip(X, y, strict=True):
            f, v = mu @ x, x @ sigma @ x
            mistakes += (f >= 0) != (label > 0)
            alpha, beta = step(label * f, v)
            if alpha > 0:
                z = sigma @ x
                mu += alpha * label * z
                sigma -= beta * np.outer(z, z)
        return mistakes

    return run


def tuned_numpy_loop(id: str, X: Floats, y: Floats) -> Pass:
    """Return a NumPy loop that computes Sigma x once, and for AROW only if there is a loss."""
    step: Step = arow_step if id == "arow" else scw1_step

    def run() -> object:
        mu, sigma, mistakes = np.zeros(X.shape[1]), np.eye(X.shape[1]), 0
        for x, label in zip(X, y, strict=True):
            f = mu @ x
            mistakes += (f >= 0) != (label > 0)
            if id == "arow" and label * f >= 1.0:
                continue
            z = sigma @ x
            alpha, beta = step(label * f, x @ z)
            if alpha > 0:
                mu += alpha * label * z
                sigma -= beta * np.outer(z, z)
        return mistakes

    return run


def numpy_classes(id: str, X: Floats, y: Floats, classes: int) -> Pass:
    """Return a NumPy loop for several classes: the scores of all, then a step for two of them."""

    def run() -> object:
        d, mistakes = X.shape[1], 0
        weights, sigma = np.zeros((classes, d)), np.stack([np.eye(d)] * classes)
        for x, label in zip(X, y.astype(np.int64).tolist(), strict=True):
            scores = weights @ x
            mistakes += int(scores.argmax()) != label
            right, scores[label] = float(scores[label]), -np.inf
            rival = int(scores.argmax())
            loss = 1.0 - (right - float(scores[rival]))
            if loss <= 0.0:
                continue
            if id == "pa1":
                step = min(1.0, loss / (2.0 * float(x @ x)))
                weights[label] += step * x
                weights[rival] -= step * x
                continue
            first, second = sigma[label] @ x, sigma[rival] @ x
            own, other = float(x @ first), float(x @ second)
            step = loss / (own + other + 1.0)
            weights[label] += step * first
            weights[rival] -= step * second
            sigma[label] -= np.outer(first, first / (own + 1.0))
            sigma[rival] -= np.outer(second, second / (other + 1.0))
        return mistakes

    return run


def arow_step(m: float, v: float, r: float = 1.0) -> tuple[float, float]:
    """Return alpha and beta of AROW."""
    beta = 1.0 / (v + r)
    return max(0.0, 1.0 - m) * beta, beta


def scw1_step(m: float, v: float, C: float = 1.0, phi: float = 0.6744897501960817) -> tuple[float, float]:
    """Return alpha and beta of SCW-I; phi belongs to eta = 0.75."""
    if m >= phi * math.sqrt(v):
        return 0.0, 0.0
    psi, zeta = 1 + phi**2 / 2, 1 + phi**2
    alpha = min(C, (-m * psi + math.sqrt(m * m * phi**4 / 4 + v * phi**2 * zeta)) / (v * zeta))
    root_u = (-alpha * v * phi + math.sqrt(alpha**2 * v**2 * phi**2 + 4 * v)) / 2
    return alpha, alpha * phi / (root_u + v * alpha * phi)


def blas_floor(d: int, changes: int) -> Pass:
    """Return one symmetric product and one rank-one update in BLAS for every change of state."""
    sigma, x = np.asfortranarray(np.eye(d)), np.full(d, 1e-9)

    def run() -> object:
        for _ in range(changes):
            dsyr(-1e-9, dsymv(1.0, sigma, x), a=sigma, overwrite_a=1)
        return changes

    return run


def sklearn_pa1(X: Any, y: Floats) -> Pass:
    """Return scikit-learn's PA-I over the whole batch, in its own compiled loop."""
    from sklearn.linear_model import SGDClassifier

    def run() -> object:
        model = SGDClassifier(
            loss="hinge", penalty=None, learning_rate="pa1", eta0=1.0, shuffle=False, fit_intercept=False
        )
        return model.partial_fit(X, y, classes=[-1.0, 1.0])

    return run


def river_pa(X: Any, y: Floats) -> Pass | None:
    """Return River's PA-I, which predicts and learns one dict at a time."""
    if importlib.util.find_spec("river") is None:
        return None
    from river.linear_model import PAClassifier

    examples = list(zip(_dicts(X), (y > 0).tolist(), strict=True))

    def run() -> object:
        model, mistakes = PAClassifier(C=1.0, mode=1, learn_intercept=False), 0
        for x, label in examples:
            mistakes += model.predict_one(x) != label
            model.learn_one(x, label)
        return mistakes

    return run


def vowpal_wabbit(X: Any, y: Floats) -> Pass | None:
    """Return Vowpal Wabbit's default learner on examples that are already parsed."""
    if importlib.util.find_spec("vowpalwabbit") is None:
        return None
    from vowpalwabbit import pyvw

    workspace = pyvw.Workspace("--quiet --loss_function hinge --noconstant -b 18")
    lines = (
        f"{int(label)} | " + " ".join(f"{index}:{value:.6g}" for index, value in row.items())
        for row, label in zip(_dicts(X), y, strict=True)
    )
    examples = [workspace.parse(line) for line in lines]

    def run() -> object:
        for example in examples:
            workspace.learn(example)
        return len(examples)

    return run


def reader(path: Path, folder: object) -> Pass:
    """Return our reader of LIBSVM text; the reference to `folder` keeps the file alive."""
    read_libsvm([path])
    return lambda: (read_libsvm([path]), folder)


def sklearn_reader(path: Path, folder: object) -> Pass:
    """Return scikit-learn's reader of the same text."""
    from sklearn.datasets import load_svmlight_file

    return lambda: (load_svmlight_file(str(path)), folder)


def _dicts(X: Any) -> Iterator[dict[int, float]]:
    for i in range(X.shape[0]):
        begin, end = X.indptr[i], X.indptr[i + 1]
        yield dict(zip(X.indices[begin:end].tolist(), X.data[begin:end].tolist(), strict=True))
