"""How often the interval of a difference holds that on new rows: `python -m benchmarks.coverage`.

A large data set is cut into disjoint subsets; the synthetic sets are drawn anew. Every subset is a small
experiment of its own, with 20 permutations. For each pair of algorithms, the interval from one subset should
hold the mean difference over all other subsets. Beside it stands what the same interval over orders alone
holds. `--write` replaces docs/tables/coverage.md; `--subsets` is the most of one data set and size.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.sparse import issparse

from olbench import load_dataset, make_algorithm, online_pass
from olbench.analysis.contests import BY_ROW
from olbench.analysis.difference import TrialContest, influence
from olbench.data.synthetic import RotatedGaussian
from olbench.learners.passes import PassResult
from olbench.protocols import measures
from olbench.protocols.measuring import FIFTHS, MEASURES, scores_of
from olbench.records import seeds

Floats = NDArray[np.float64]
PAGE = Path(__file__).parents[1] / "docs" / "tables" / "coverage.md"
PERMUTATIONS, MOST_SUBSETS = 20, 100
#: A pair that has the same results in more than this share of the subsets is left out.
ALIKE = 0.5
TWO = ("mistake_rate", "balanced_accuracy", "auc", "f1", "log_loss")
SEVERAL = ("mistake_rate", "balanced_accuracy")
FIXED: Mapping[str, Mapping[str, float]] = {
    "perceptron": {},
    "pa1": {"C": 1.0},
    "adagrad": {},
    "arow": {"r": 1.0},
    "cw-var": {"eta": 0.9},
    "scw1": {"C": 1.0, "eta": 0.75},
}
GRIDS: Mapping[str, list[dict[str, float]]] = {
    "pa1": [{"C": 4.0**k} for k in range(-4, 3)],
    "arow": [{"r": 4.0**k} for k in range(-3, 4)],
    "scw1": [{"C": 4.0**k, "eta": eta} for k in range(-2, 3) for eta in (0.6, 0.9)],
}
NATIVE: Mapping[str, Mapping[str, float]] = {"perceptron": {}, "pa1": {"C": 1.0}, "arow": {"r": 1.0}}


@dataclass(frozen=True)
class Study:
    """Subsets of one source with `rows` rows each, on which these algorithms run."""

    title: str
    source: str
    rows: int
    #: The measure that the parameters are tuned on, for each permutation by an order of its own.
    tuned: str = ""
    labels: str = "two"
    #: Whether every subset is scaled as `init` proposes: by its own means and standard deviations.
    scaled: bool = False

    @property
    def algorithms(self) -> Mapping[str, Any]:
        return GRIDS if self.tuned else NATIVE if self.labels == "all" else FIXED

    @property
    def names(self) -> tuple[str, ...]:
        return (self.tuned,) if self.tuned else SEVERAL if self.labels == "all" else TWO


class Subset(NamedTuple):
    """What each algorithm has on a subset: the value of each measure in every permutation, and influences."""

    values: Floats
    sums: Floats
    fifths: Floats
    rarer: int


def draw(study: Study) -> Iterator[tuple[Any, Floats]]:
    if study.source.startswith("synthetic"):
        kind = RotatedGaussian(study.rows, flips=0.1 if "noise" in study.source else 0.0)
        yield from map(kind.draw, range(10_000))
        return
    if study.source == "mixture":
        yield from (draw_mixture(np.random.default_rng(number), study.rows) for number in range(10_000))
        return
    data = load_dataset(study.source, labels=study.labels)
    order = np.random.default_rng(0).permutation(len(data.y))
    for begin in range(0, order.size - study.rows + 1, study.rows):
        rows = order[begin : begin + study.rows]
        X = data.X[rows]
        yield (scale(X) if study.scaled else X), data.y[rows]


def draw_mixture(random: np.random.Generator, rows: int) -> tuple[Floats, Floats]:
    """Draw four classes of unequal sizes, each a Gaussian around a corner of a cube in ten dimensions."""
    truth = random.choice(4, size=rows, p=[0.4, 0.3, 0.2, 0.1])
    corners = np.array([[1, 1, 1], [-1, -1, 1], [-1, 1, -1], [1, -1, -1]])
    X = random.standard_normal((rows, 10))
    X[:, :3] += corners[truth]
    return X, truth.astype(np.float64)


def scale(X: Any) -> Floats:
    dense = np.asarray(X.todense() if issparse(X) else X, np.float64)
    spread = dense.std(axis=0)
    return np.asarray((dense - dense.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def run_subset(study: Study, number: int, X: Any, y: Floats) -> Subset:
    name, n = f"{study.source}-{number}", len(y)
    groups, size = seeds.groups(0, name, n), seeds.count_groups(n)
    sizes = np.bincount(groups, minlength=size).astype(np.float64)
    native = {"multiclass": "native", "covariance": "diag"} if study.labels == "all" else {}

    def learn(id: str, params: Mapping[str, float], role: str, place: int) -> PassResult:
        own = groups if role == "report" else None
        order = seeds.order(0, name, role, place, seeds.ALL, n, own)
        options = {key: value for key, value in native.items() if key != "covariance" or id == "arow"}
        keep = ""
        if own is not None and study.labels == "two":
            keep = "variances" if id in ("arow", "cw-var", "scw1") else "margins"
        made = make_algorithm(id, **params, **options)
        return online_pass(made, X, y, order, FIFTHS, labels=study.labels, keep=keep)

    def choose(id: str, place: int) -> Mapping[str, float]:
        if not study.tuned:
            return dict(study.algorithms[id])
        passes = [learn(id, each, "tune", place) for each in GRIDS[id]]
        losses = [measure_one(study.tuned, each, sizes, groups, y)[0] for each in passes]
        sign = 1 if MEASURES[study.tuned].better == "lower" else -1
        return GRIDS[id][int(np.argmin(sign * np.array(losses)))]

    values = np.full((len(study.algorithms), len(study.names), PERMUTATIONS), np.nan)
    sums = np.zeros((len(study.algorithms), len(study.names), size))
    fifths = np.full((*values.shape, FIFTHS), np.nan)
    for a, id in enumerate(study.algorithms):
        for place in range(PERMUTATIONS):
            result = learn(id, choose(id, place), "report", place)
            for m, measure in enumerate(study.names):
                value, moved, parts = measure_one(measure, result, sizes, groups, y)
                values[a, m, place], fifths[a, m, place] = value, parts
                sums[a, m] += moved / PERMUTATIONS
    _, counts = np.unique(y, return_counts=True)
    return Subset(values, sums, fifths, int(counts.min()))


def measure_one(
    name: str, result: PassResult, sizes: Floats, groups: NDArray[np.uint8], y: Floats
) -> tuple[float, Floats, Floats | float]:
    """Return a measure of a pass, and its influences by group of rows and by fifth of the pass."""
    assert result.missed is not None
    missed, classes, curve = result.missed[: sizes.size], result.learner.classes, result.curve
    parts = {
        key: np.diff(getattr(curve, key), prepend=0) for key in ("t", "mistakes", "positives", "false_alarms")
    }
    if classes > 2:
        by_class = np.zeros((sizes.size, classes), np.int64)
        np.add.at(by_class, (groups, np.unique(y, return_inverse=True)[1]), 1)
        if name == "balanced_accuracy":
            matrix = result.learner.confusion  # type: ignore[attr-defined]
            return measures.of_matrix(matrix)[name], measures.class_influence(name, by_class, missed), np.nan
        mistakes = missed[:, :classes].sum(axis=1)
        rate = mistakes.sum() / sizes.sum()
        return rate, mistakes - rate * sizes, parts["mistakes"] - rate * parts["t"]
    if name in measures.FROM_MARGINS:
        scores, labels = scores_of(name, result), result.labels
        if scores is None or labels is None or result.groups is None:
            return np.nan, np.zeros(sizes.size), np.nan
        moved = measures.influence(name, labels, scores)
        fifths = np.add.reduceat(moved, [0, *curve.t[:-1]])
        return (
            measures.of_margins(name, labels, scores),
            np.bincount(result.groups, moved, sizes.size),
            fifths,
        )
    positives = np.bincount(groups, y > 0, sizes.size)
    counts = dict(zip(("false_alarms", "mistakes"), (missed[:, 0], missed[:, :2].sum(axis=1)), strict=True))
    counts = {"n": sizes, "positives": positives, **counts}
    arrays = {key: each[None].astype(np.float64) for key, each in counts.items()}
    in_parts = {key: parts["t" if key == "n" else key][None].astype(np.float64) for key in counts}
    quantity = MEASURES[name]

    def compute(of: Mapping[str, Floats]) -> Any:
        fields = [of[field] for field in quantity.fields]
        return quantity.formula(*fields) if quantity.formula else fields[0] / fields[1]

    [value] = compute({key: each.sum(axis=1) for key, each in arrays.items()})
    return float(value), influence(arrays, compute)[0], influence(in_parts, compute)[0]


class Row(NamedTuple):
    """A line of the table: shares of intervals that hold the truth, and of false calls of "worse"."""

    study: str
    rows: int
    subsets: int
    measure: str
    pairs: int
    orders: float
    both: float
    lowest: float
    called: int
    false: float


def judge(study: Study, subsets: list[Subset]) -> Iterator[Row]:
    labels = tuple(study.algorithms)
    for m, name in enumerate(study.names):
        own = [replace_missing(each.values[:, m]) for each in subsets]
        means = np.array([values.mean(axis=1) for values in own])
        better = MEASURES[name].better
        shares: dict[str, list[float]] = {"orders": [], "both": []}
        for i, j in combinations(range(len(labels)), 2):
            apart = means[:, j] - means[:, i]
            if np.isnan(apart).any() or np.mean(apart == 0.0) > ALIKE:
                continue
            truth = (apart.sum() - apart) / (len(apart) - 1)
            for kind, held in shares.items():
                found = [
                    contest(labels, better, name, subset, values, m, kind, study.rows).compare(i)
                    for subset, values in zip(subsets, own, strict=True)
                ]
                ends = [next(each for each in row if each.label == labels[j]) for row in found]
                inside = [each.low <= t <= each.high for each, t in zip(ends, truth, strict=True)]
                held.append(float(np.mean(inside)))
        if not shares["both"]:
            continue
        called = false = 0
        sign = 1 if better == "lower" else -1
        for s, (subset, values) in enumerate(zip(subsets, own, strict=True)):
            defined = [k for k in range(len(labels)) if not np.isnan(means[:, k]).any()]
            if len(defined) < 2:
                continue
            chosen = Subset(*(each[defined] for each in subset[:3]), subset.rarer)
            names = tuple(labels[k] for k in defined)
            arena = contest(names, better, name, chosen, values[defined], m, "both", study.rows)
            for each in arena.differences():
                if each.significant:
                    one, other = labels.index(each.label), labels.index(each.against)
                    rest = np.delete(means[:, one] - means[:, other], s)
                    called += 1
                    false += bool(sign * rest.mean() <= 0)
        facts = np.mean(shares["orders"]), np.mean(shares["both"]), np.min(shares["both"])
        orders, both, lowest = map(float, facts)
        known = study.title, study.rows, len(subsets), name, len(shares["both"])
        yield Row(*known, orders, both, lowest, called, false / max(1, called))


def replace_missing(values: Floats) -> Floats:
    """Return values with NaN for an algorithm whose measure is undefined in a permutation."""
    return np.where(np.isnan(values).any(axis=1, keepdims=True), np.nan, values)


def contest(
    labels: tuple[str, ...],
    better: str,
    name: str,
    subset: Subset,
    values: Floats,
    m: int,
    kind: str,
    rows: int,
) -> TrialContest:
    known = labels, values.mean(axis=1), better, None, values
    if kind == "orders":
        return TrialContest(*known)
    fifths = subset.fifths[:, m]
    rarer = None if name in BY_ROW else subset.rarer
    known_fifths = None if np.isnan(fifths).all() else fifths
    return TrialContest(*known, subset.sums[:, m], rows, rarer, fifths=known_fifths)


SIZES = (300, 1000, 3000)
STUDIES = [
    *(Study(name, name, n) for name in ("cod-rna", "ijcnn1", "a9a", "covtype") for n in SIZES),
    *(Study(f"{name}, scaled", name, n, scaled=True) for name in ("cod-rna", "covtype") for n in SIZES),
    *(Study(name, name, n) for name in ("synthetic", "synthetic-noise") for n in SIZES),
    *(
        Study(f"{name}, tuned", name, n, measure)
        for name in ("ijcnn1", "a9a")
        for n in (300, 1000)
        for measure in ("mistake_rate", "balanced_accuracy")
    ),
    *(Study("four Gaussians", "mixture", n, labels="all") for n in SIZES),
    Study("usps, 10 classes", "usps", 300, labels="all"),
]


def write_table(rows: list[Row]) -> str:
    head = (
        "| source | rows | subsets | measure | pairs | orders only | rows and orders | worst pair "
        "| called worse | of these false |\n|:--|--:|--:|:--|--:|--:|--:|--:|--:|--:|\n"
    )
    return head + "".join(
        f"| {r.study} | {r.rows:,} | {r.subsets} | {r.measure} | {r.pairs} | {r.orders:.0%} | {r.both:.0%} "
        f"| {r.lowest:.0%} | {r.called:,} | {r.false:.1%} |\n"
        for r in rows
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--subsets", type=int, default=MOST_SUBSETS)
    parser.add_argument("--only", default="", help="studies whose title contains this")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    rows: list[Row] = []
    run: Callable[..., Any] = delayed(run_subset)
    for study in (each for each in STUDIES if given.only in f"{each.title} {each.rows}"):
        pieces = islice(draw(study), given.subsets)
        work = (run(study, number, X, y) for number, (X, y) in enumerate(pieces))
        found = list(judge(study, Parallel(n_jobs=2)(work)))
        rows += found
        print(write_table(found).split("\n", 2)[2], end="", flush=True)
    if given.write:
        PAGE.write_text(write_table(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
