"""The cases: data of the shapes that the papers and their readers use, and the contestants on it."""

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from olbench.bench import peers
from olbench.bench.floors import find_floors
from olbench.bench.parts import diagonal_parts, fetch_rows
from olbench.bench.peers import Pass
from olbench.bench.plain_c import IDS, SECOND_ORDER, plain_c
from olbench.data.load import load_dataset
from olbench.data.readers.compressed import is_compressed
from olbench.data.readers.libsvm import read_libsvm
from olbench.errors import UserError
from olbench.learn.algorithm import make_algorithm
from olbench.learn.examples import Floats
from olbench.learn.passes import online_pass

Contestants = dict[str, Pass | None]
#: The name of the peer of olbench.bench.plain_c.
PLAIN_C = "plain C"


@dataclass(frozen=True)
class Case:
    """Examples of one shape, and the contestants that run on them."""

    name: str
    n: int
    d: int
    text: str
    contestants: Callable[[int, int], Contestants]


@dataclass(frozen=True)
class Timing:
    """The best time of a contestant in a case, in microseconds per example."""

    case: str
    contestant: str
    microseconds: float | None
    ratio: float | None


def dense(n: int, d: int, density: float = 1.0) -> tuple[Any, Floats]:
    """Return Gaussian examples of a noisy linear concept; about one in ten is on the wrong side."""
    rng = np.random.default_rng(54)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
    return X, _label(X, rng)


def text_like(n: int, d: int, words: int = 100) -> tuple[Any, Floats]:
    """Return sparse rows whose features follow Zipf's law, with a noisy linear concept."""
    rng = np.random.default_rng(100)
    cumulative = np.cumsum(1.0 / np.arange(1, d + 1))
    features = np.searchsorted(cumulative, rng.random((n, words)) * cumulative[-1])
    rows = np.repeat(np.arange(n), words)
    X = sp.csr_matrix((np.ones(n * words), (rows, features.ravel())), shape=(n, d))
    X.sum_duplicates()
    X.data[:] = np.log1p(X.data)
    return X, _label(X, rng)


def _label(X: Any, rng: np.random.Generator) -> Floats:
    """Return the labels of a noisy linear concept."""
    scores = X @ rng.normal(size=X.shape[1])
    return np.where(scores + 0.3 * scores.std() * rng.normal(size=X.shape[0]) >= 0, 1.0, -1.0)


def floors(id: str, X: Any, y: Floats, classes: int = 0, **settings: Any) -> Contestants:
    """Return the floors of our pass as contestants."""
    algorithm = make_algorithm(id, **settings)
    result = online_pass(algorithm, X, y, curve=1, labels="all" if classes else "two")
    found = find_floors(algorithm, X, y, result.effective_updates, classes)
    return {f"{id}: {name}": run for name, run in found.items()}


def full_covariance(density: float = 1.0, numpy: bool = False) -> Callable[[int, int], Contestants]:
    """Return the contestants of a full-covariance case; those in NumPy take long, so not in every case."""

    def contestants(n: int, d: int) -> Contestants:
        X, y = dense(n, d, density)
        ours = sp.csr_matrix(X) if density < 0.5 else X
        passes: Contestants = {}
        for id in IDS:
            passes[id] = peers.kernel(id, ours, y)
            if numpy and id in SECOND_ORDER:
                passes[f"{id}: plain NumPy loop"] = peers.numpy_loop(id, X, y)
                passes[f"{id}: tuned NumPy loop"] = peers.tuned_numpy_loop(id, X, y)
                changes = online_pass(make_algorithm(id), ours, y, curve=1).effective_updates
                passes[f"{id}: BLAS floor"] = peers.blas_floor(d, changes)
            passes[f"{id}: {PLAIN_C}"] = plain_c(id, ours, y)
            passes |= floors(id, ours, y)
        return passes

    return contestants


def real_data(name: str) -> Case:
    """Return the case of a data set of the catalogue or a file, in a random order as in a run."""
    data = load_dataset(name)
    X = data.X if isinstance(data.X, np.ndarray) else data.X.tocsr()
    y = np.asarray(data.y, dtype=np.float64)

    def contestants(n: int, d: int) -> Contestants:
        order = np.random.default_rng(1).permutation(n)
        passes: Contestants = {}
        for id in IDS:
            passes[id] = peers.kernel(id, X, y, order)
            passes[f"{id}: natural order"] = peers.kernel(id, X, y, np.arange(n))
            passes[f"{id}: {PLAIN_C}"] = plain_c(id, X, y, order)
        passes["pa1: memory floor"] = fetch_rows(X, y, order)
        passes["pa1: memory floor, natural order"] = fetch_rows(X, y, np.arange(n))
        return passes

    n, d = X.shape
    return Case(data.name, n, d, f"full covariance, {data.storage}, random order", contestants)


def diagonal(n: int, d: int) -> Contestants:
    """Return the contestants of the text-like case."""
    X, y = text_like(n, d)
    return {
        **diagonal_and_plain_c(X, y),
        "arow: scikit-learn PA-I, whole batch": peers.sklearn_pa1(X, y),
        "arow: Vowpal Wabbit, examples parsed before": peers.vowpal_wabbit(X, y),
        "arow: River PA-I": peers.river_pa(X, y),
    }


def short_diagonal(n: int, d: int) -> Contestants:
    """Return the contestants on short rows whose state fits a near cache."""
    X, y = dense(n, d, density=0.04)
    return diagonal_and_plain_c(sp.csr_matrix(X), y)


def diagonal_and_plain_c(X: Any, y: Floats) -> Contestants:
    """Return the kernels of a diagonal covariance and of PA-I beside their loops in C."""
    passes: Contestants = {}
    for id in SECOND_ORDER:
        passes[id] = peers.kernel(id, X, y, covariance="diag")
        for part, run in diagonal_parts(id, X, y).items():
            passes[f"{id}: part up to {part}"] = run
        passes[f"{id}: {PLAIN_C}"] = plain_c(id, X, y, diagonal=True)
        passes |= floors(id, X, y, covariance="diag")
    passes["pa1"] = peers.kernel("pa1", X, y)
    passes[f"pa1: {PLAIN_C}"] = plain_c("pa1", X, y)
    passes |= floors("pa1", X, y)
    return passes


def several_classes(classes: int) -> Callable[[int, int], Contestants]:
    """Return the contestants of a case with several classes: native, one-vs-rest, and a loop in NumPy."""

    def contestants(n: int, d: int) -> Contestants:
        rng = np.random.default_rng(10)
        centres = rng.normal(size=(classes, d))
        y = rng.integers(0, classes, n).astype(np.float64)
        X = 0.5 * centres[y.astype(np.int64)] + rng.normal(size=(n, d))
        passes: Contestants = {}
        for id in IDS:
            for name, way in ((id, "native"), (f"{id}: one-vs-rest", "one-vs-rest")):
                algorithm = make_algorithm(id, multiclass=way)
                passes[name] = partial(online_pass, algorithm, X, y, labels="all", curve=1)
            if id in ("pa1", "arow"):
                passes[f"{id}: NumPy loop"] = peers.numpy_classes(id, X, y, classes)
            passes |= floors(id, X, y, classes, multiclass="native")
        return passes

    return contestants


def reading(n: int, d: int) -> Contestants:
    """Return the contestants that read the same LIBSVM text from a temporary file."""
    from sklearn.datasets import dump_svmlight_file

    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "examples.libsvm"
    random = np.random.default_rng(0)
    X, y = random.standard_normal((n, d)), random.choice([-1, 1], n)
    dump_svmlight_file(X, y, str(path), zero_based=False)
    return readers(path, folder)


def readers(path: Path, folder: object = None) -> Contestants:
    """Return the contestants that read a file of LIBSVM text; each keeps `folder` alive."""
    return {
        "read": peers.reader(path, folder),
        "read: scikit-learn": peers.sklearn_reader(path, folder),
        "read: memory floor": lambda: path.read_bytes().count(b"\n"),
    }


def reading_file(path: str) -> Case:
    """Return the case of reading a file of LIBSVM text."""
    rows, d = read_libsvm([path])
    if is_compressed(path):
        raise UserError(f"{path} is compressed; unpack it, so that only the reader is measured")
    return Case("reader", rows.n, d, Path(path).name, lambda n, d: readers(Path(path)))


CASES = (
    Case("dense-8", 100_000, 8, "full covariance, dense", full_covariance()),
    Case("dense-22", 50_000, 22, "full covariance, dense", full_covariance()),
    Case("dense-54", 20_000, 54, "full covariance, dense", full_covariance(numpy=True)),
    Case("dense-128", 20_000, 128, "full covariance, dense", full_covariance()),
    Case("dense-256", 10_000, 256, "full covariance, dense", full_covariance()),
    Case("dense-784", 4_000, 784, "full covariance, dense", full_covariance(numpy=True)),
    Case("sparse-300", 20_000, 300, "full covariance, 4% non-zeros", full_covariance(0.04, numpy=True)),
    Case("diagonal-300", 50_000, 300, "diagonal covariance, 4% non-zeros", short_diagonal),
    Case("text", 20_000, 100_000, "diagonal covariance, 100 words per row", diagonal),
    Case("classes-3", 10_000, 64, "3 classes, a covariance for each", several_classes(3)),
    Case("classes-10", 10_000, 64, "10 classes, a covariance for each", several_classes(10)),
    Case("classes-30", 10_000, 64, "30 classes, a covariance for each", several_classes(30)),
    Case("classes-10-wide", 5_000, 256, "10 classes, a covariance for each", several_classes(10)),
    Case("reader", 50_000, 54, "LIBSVM text", reading),
)


def measure(case: Case, n: int, repeats: int, peer: str = "") -> list[Timing]:
    """Time every contestant of a case in turns, and keep the best time of each.

    With `peer`, only our kernels and the peers whose name contains it take part.
    """
    contestants = {
        name: run
        for name, run in case.contestants(n, case.d).items()
        if ":" not in name or peer.lower() in name.lower()
    }
    best: dict[str, float] = {}
    for _ in range(repeats):
        for name, run in contestants.items():
            if run is not None:
                # The time of this process: other programs would make a difference of many times.
                started = time.process_time()
                run()
                best[name] = min(best.get(name, np.inf), time.process_time() - started)
    return [
        Timing(case.name, name, 1e6 * best[name] / n, best[name] / best[name.split(":")[0]])
        if name in best
        else Timing(case.name, name, None, None)
        for name in contestants
    ]
