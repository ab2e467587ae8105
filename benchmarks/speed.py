"""The speed of the kernels on this machine: `python -m benchmarks.speed [--case NAME] [--data NAME] ...`.

Every contestant runs on the same examples, on one thread. They take turns, and the least processor time of
each counts. Peers are plain C, scikit-learn, olpy, River and Vowpal Wabbit, where they are installed. Floors
are what no pass can be faster than on this machine.
"""

import argparse
import importlib.util
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from benchmarks.compiled import PEERS, river_model
from benchmarks.floors import fetch_rows, find_floors
from benchmarks.plain_c import IDS, SECOND_ORDER, plain_c
from olbench import load_dataset, make_algorithm, online_pass
from olbench.data.libsvm import read_libsvm
from olbench.learners.examples import as_examples
from olbench.learners.start import start, start_classes
from olbench.records.provenance import machine

#: ONS has a matrix of d x d; beyond this d it is left out.
MOST_FEATURES = 1000
#: Contestants by name, ours without a colon. None is one that is not installed.
Passes = dict[str, Callable[[], object] | None]


def dense(n: int, d: int, density: float = 1.0) -> tuple[Any, Any]:
    """Return Gaussian examples of a noisy linear concept; about one in ten is on the wrong side."""
    rng = np.random.default_rng(54)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
    return (sp.csr_matrix(X) if density < 0.5 else X), _label(X, rng)


def text_like(n: int, d: int, words: int = 100) -> tuple[Any, Any]:
    """Return sparse rows whose features follow Zipf's law, with a noisy linear concept."""
    rng = np.random.default_rng(100)
    cumulative = np.cumsum(1.0 / np.arange(1, d + 1))
    features = np.searchsorted(cumulative, rng.random((n, words)) * cumulative[-1])
    rows = np.repeat(np.arange(n), words)
    X = sp.csr_matrix((np.ones(n * words), (rows, features.ravel())), shape=(n, d))
    X.sum_duplicates()
    X.data[:] = np.log1p(X.data)
    return X, _label(X, rng)


def _label(X: Any, rng: np.random.Generator) -> Any:
    scores = X @ rng.normal(size=X.shape[1])
    return np.where(scores + 0.3 * scores.std() * rng.normal(size=X.shape[0]) >= 0, 1.0, -1.0)


def kernel(
    id: str, X: Any, y: Any, order: Any = None, classes: int = 0, **settings: Any
) -> Callable[[], object]:
    """Return a pass of ours over examples that were checked before; by default in natural order."""
    algorithm, rows, d = make_algorithm(id, **settings), as_examples(X).rows(), X.shape[1]
    begin = partial(start_classes, algorithm, d, classes) if classes else partial(start, algorithm, d)
    begin().warm_up()
    sequence = np.arange(X.shape[0]) if order is None else order

    def run() -> object:
        learner = begin()
        learner.run(rows, y, sequence)
        return learner.mistakes

    return run


def floors(id: str, X: Any, y: Any, classes: int = 0, **settings: Any) -> Passes:
    algorithm = make_algorithm(id, **settings)
    result = online_pass(algorithm, X, y, curve=1, labels="all" if classes else "two")
    found = find_floors(algorithm, X, y, result.effective_updates, classes)
    return {f"{id}: {name} floor": run for name, run in found.items()}


def full(X: Any, y: Any) -> Passes:
    passes: Passes = {}
    for id in IDS:
        passes |= {id: kernel(id, X, y), f"{id}: plain C": plain_c(id, X, y), **floors(id, X, y)}
        passes[f"{id}: olpy"] = None if sp.issparse(X) else olpy(id, X, y)
    return passes


def diagonal(X: Any, y: Any) -> Passes:
    passes: Passes = {}
    for id in SECOND_ORDER:
        passes |= {id: kernel(id, X, y, covariance="diag"), **floors(id, X, y, covariance="diag")}
        passes[f"{id}: plain C"] = plain_c(id, X, y, diagonal=True)
    return passes | {"pa1": kernel("pa1", X, y), "pa1: plain C": plain_c("pa1", X, y), **floors("pa1", X, y)}


def libraries(X: Any, y: Any) -> Passes:
    """Return the passes of other libraries beside the diagonal ones; their learner is PA-I or like it."""
    from sklearn.linear_model import SGDClassifier

    pa1 = {"loss": "hinge", "penalty": None, "learning_rate": "pa1", "eta0": 1.0, "shuffle": False}
    return {
        **diagonal(X, y),
        "pa1: scikit-learn": lambda: SGDClassifier(**pa1, fit_intercept=False).partial_fit(X, y, [-1.0, 1.0]),
        "pa1: River": river(X, y),
        "pa1: Vowpal Wabbit": vowpal_wabbit(X, y, "--loss_function hinge"),
    }


def learners(n: int, d: int, density: float) -> Passes:
    """Return the learners that are not from the papers beside those of River and Vowpal Wabbit."""
    X, y = dense(n, d, density) if density else text_like(n, d)
    rows = X if density == 0.0 else sp.csr_matrix(X)
    passes: Passes = {}
    for id, peers in PEERS.items():
        if id == "ons" and d > MOST_FEATURES:
            continue
        passes[id] = kernel(id, X, y)
        if peers.optimizer:
            passes[f"{id}: River"] = river(rows, y, id)
        if peers.options:
            passes[f"{id}: Vowpal Wabbit"] = vowpal_wabbit(rows, y, peers.options)
    return passes


def compiled(n: int, d: int, density: float = 1.0, is_sparse: bool = False) -> Passes:
    """Return PA-I and AROW as built-in rules and as compiled learners, in a random order."""
    X, y = dense(n, d, density)
    X = sp.csr_matrix(X) if is_sparse else X
    order = np.random.default_rng(1).permutation(n)
    passes: Passes = {}
    for id in ("pa1", "arow"):
        passes[id] = kernel(id, X, y, order)
        passes[f"{id}: compiled learner"] = kernel(f"compiled-{id}", X, y, order)
    return passes


def olpy(id: str, X: Any, y: Any) -> Callable[[], object] | None:
    """Return olpy's learner of the same paper, which takes dense rows, in an order that it draws."""
    if importlib.util.find_spec("olpy") is None:
        return None
    from olpy import classifiers

    name = {"arow": "AROW", "scw1": "SCW", "perceptron": "Perceptron", "pa1": "PA_I"}[id]
    return lambda: getattr(classifiers, name)().fit(X, y)


def river(X: Any, y: Any, id: str = "") -> Callable[[], object] | None:
    """Return River's counterpart of a learner, or its PA-I."""
    if importlib.util.find_spec("river") is None:
        return None
    from river.linear_model import PAClassifier

    make = river_model(PEERS[id]) if id else partial(PAClassifier, C=1.0, mode=1, learn_intercept=False)
    examples = list(zip(_dicts(X), (y > 0).tolist(), strict=True))

    def run() -> object:
        model, mistakes = make(), 0
        for x, label in examples:
            mistakes += model.predict_one(x) != label
            model.learn_one(x, label)
        return mistakes

    return run


def vowpal_wabbit(X: Any, y: Any, options: str) -> Callable[[], object] | None:
    """Return a learner of Vowpal Wabbit on examples that are parsed before."""
    if importlib.util.find_spec("vowpalwabbit") is None:
        return None
    from vowpalwabbit import pyvw

    workspace = pyvw.Workspace(f"--quiet --noconstant -b 18 {options}")
    rows = (" ".join(f"{index}:{value:.6g}" for index, value in row.items()) for row in _dicts(X))
    examples = [workspace.parse(f"{int(label)} | {row}") for row, label in zip(rows, y, strict=True)]
    return lambda: [workspace.learn(example) for example in examples]


def _dicts(X: Any) -> Iterator[dict[int, float]]:
    for begin, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        yield dict(zip(X.indices[begin:end].tolist(), X.data[begin:end].tolist(), strict=True))


def several_classes(n: int, d: int, classes: int) -> Passes:
    """Return native learners beside one-vs-rest."""
    rng = np.random.default_rng(10)
    centres, y = rng.normal(size=(classes, d)), rng.integers(0, classes, n).astype(np.float64)
    X = 0.5 * centres[y.astype(np.int64)] + rng.normal(size=(n, d))
    passes: Passes = {}
    for id in IDS:
        for name, way in ((id, "native"), (f"{id}: one-vs-rest", "one-vs-rest")):
            passes[name] = kernel(id, X, y, classes=classes, multiclass=way)
        passes |= floors(id, X, y, classes, multiclass="native")
    return passes


def reading(n: int, d: int) -> Passes:
    """Return two readers of the same LIBSVM text."""
    from sklearn.datasets import dump_svmlight_file, load_svmlight_file

    file = tempfile.NamedTemporaryFile(suffix=".libsvm")  # noqa: SIM115 (the passes keep it open)
    X, y = dense(n, d)
    dump_svmlight_file(X, y, file.name, zero_based=False)
    read_libsvm([Path(file.name)])
    return {
        "read": lambda: read_libsvm([Path(file.name)]),
        "read: scikit-learn": lambda: load_svmlight_file(file.name),
    }


def real_data(X: Any, y: Any) -> Passes:
    """Return each learner in a random order, as in a run, and in natural order."""
    order, natural = np.random.default_rng(1).permutation(y.size), np.arange(y.size)
    passes: Passes = {}
    for id in IDS:
        passes |= {id: kernel(id, X, y, order), f"{id}: natural order": kernel(id, X, y, natural)}
        passes[f"{id}: plain C"] = plain_c(id, X, y, order)
    passes["pa1: memory floor"] = fetch_rows(X, y, order)
    return passes | {"pa1: memory floor, natural order": fetch_rows(X, y, natural)}


#: By name: rows, features, and the contestants for so many.
CASES: dict[str, tuple[int, int, Callable[[int, int], Passes]]] = {
    **{
        f"dense-{d}": (n, d, lambda n, d: full(*dense(n, d)))
        for d, n in ((8, 100_000), (22, 50_000), (54, 20_000), (128, 20_000), (256, 10_000), (784, 4_000))
    },
    "sparse-300": (20_000, 300, lambda n, d: full(*dense(n, d, 0.04))),
    "diagonal-300": (50_000, 300, lambda n, d: diagonal(*dense(n, d, 0.04))),
    "text": (20_000, 100_000, lambda n, d: libraries(*text_like(n, d))),
    **{f"classes-{k}": (10_000, 64, partial(several_classes, classes=k)) for k in (3, 10, 30)},
    "classes-10-wide": (5_000, 256, partial(several_classes, classes=10)),
    "compiled-22": (140_000, 22, compiled),
    "compiled-22-csr": (140_000, 22, partial(compiled, is_sparse=True)),
    "compiled-22-zeros": (140_000, 22, partial(compiled, density=0.6)),
    "compiled-22-zeros-csr": (140_000, 22, partial(compiled, density=0.6, is_sparse=True)),
    "learners-22": (5_000, 22, partial(learners, density=1.0)),
    "learners-text": (500, 100_000, partial(learners, density=0.0)),
    "reader": (50_000, 54, reading),
}


def measure(passes: Passes, repeats: int, peer: str = "") -> dict[str, float]:
    """Return the least processor time of ours and of the peers whose names contain `peer`."""
    best: dict[str, float] = {}
    for _ in range(repeats):
        for name, run in passes.items():
            if run is not None and (":" not in name or peer.lower() in name.lower()):
                started = time.process_time()
                run()
                best[name] = min(best.get(name, np.inf), time.process_time() - started)
    return best


def show(title: str, n: int, best: dict[str, float]) -> None:
    """Print nanoseconds per example, and the time of each peer divided by ours."""
    print(f"{title}\n{'':40}{'ns per example':>16}{'its time / ours':>18}")
    for name, seconds in best.items():
        ours = best[name.partition(":")[0]]
        ratio = f"{seconds / ours:.2f}" if ":" in name else ""
        print(f"{name:40}{1e9 * seconds / n:16,.0f}{ratio:>18}".rstrip())
    for name in best:
        if name in PEERS and PEERS[name].note:
            print(f"  {name}: {PEERS[name].note}")
    print(flush=True)


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--case", action="append", choices=CASES, help="run this case only (repeatable)")
    parser.add_argument("--data", help="run on this data set or file instead, in a random order")
    parser.add_argument("--peer", default="", help="run only the peers whose names contain this text")
    parser.add_argument("--repeats", type=int, default=5, help="turns of each contestant [5]")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the number of examples [1]")
    asked = parser.parse_args(words)
    print(machine()["processor"])
    with threadpool_limits(1):
        if asked.data:
            data = load_dataset(asked.data)
            best = measure(real_data(data.X, np.asarray(data.y)), asked.repeats, asked.peer)
            show(f"{data.name}: n = {len(data.y):,}, random order", len(data.y), best)
            return
        for name in asked.case or CASES:
            n, d, make = CASES[name]
            n = max(10, int(asked.scale * n))
            show(f"{name}: n = {n:,}, d = {d:,}", n, measure(make(n, d), asked.repeats, asked.peer))


if __name__ == "__main__":
    main(sys.argv[1:])
