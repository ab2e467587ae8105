"""Examples that come without files: drawn from a seed, or bundled with scikit-learn.

A stream drifts: abruptly, gradually, incrementally, or back to an earlier concept. A drift has a position
and a width: around the position, the probability of the new concept follows a sigmoid of that width, and a
width of 0 is an abrupt drift. The last feature of every stream but the spliced one is always 1, so that
linear learners have a threshold. Only sums, products, quotients and square roots are used, which have the
same bits on every machine.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olbench.errors import UserError
from olbench.learners.examples import Floats, Ints


@dataclass(frozen=True)
class RotatedGaussian:
    """The data of cw2008, section 5, as scw2012 uses it; parameters replace what the papers leave open.

    Two coordinates come from a Gaussian with standard deviations `long_axis` along one diagonal of the plane
    and `short_axis` along the other; the remaining coordinates come from N(0, 2). The label is the side of
    the long axis on which the two coordinates lie. The set is linearly separable, unless exactly a share
    `flips` of the labels is flipped.
    """

    rows: int = 5000
    features: int = 20
    long_axis: float = 1.0
    short_axis: float = 0.3
    #: Standard deviation of the other coordinates; the 2 in cw2008's N(0, 2) may be a variance or a
    #: deviation.
    other_deviation: float = 2.0
    flips: float = 0.0
    seed: int = 2012

    def draw(self, run: int = 0) -> tuple[Floats, Floats]:
        """Return X and y of a run, which depend only on the seed and the number of the run."""
        random = np.random.default_rng([self.seed, run])
        along = self.long_axis * random.standard_normal(self.rows)
        across = self.short_axis * random.standard_normal(self.rows)
        X = np.empty((self.rows, self.features))
        # A rotation by 45 degrees; a matrix product may round differently on other machines.
        X[:, 0] = (along - across) * np.sqrt(0.5)
        X[:, 1] = (along + across) * np.sqrt(0.5)
        X[:, 2:] = self.other_deviation * random.standard_normal((self.rows, self.features - 2))
        y = np.where(across > 0, 1.0, -1.0)
        flipped_rows = random.permutation(self.rows)[: round(self.flips * self.rows)]
        y[flipped_rows] *= -1.0
        return X, y


#: Tables in scikit-learn: the file, and the number of lines before the first row.
BUNDLED = {"breast-cancer": ("breast_cancer.csv", 1), "digits": ("digits.csv.gz", 0)}


def read_bundled(name: str) -> tuple[Any, Any]:
    """Read scikit-learn's file without importing scikit-learn, which takes a second."""
    file, lines = BUNDLED[name]
    found = find_spec("sklearn")
    path = Path(found.origin or "").parent / "datasets/data" / file if found else Path(file)
    if path.is_file():
        table = np.loadtxt(path, delimiter=",", skiprows=lines)
        return np.ascontiguousarray(table[:, :-1]), table[:, -1]
    from sklearn import datasets

    loaders = {"breast-cancer": datasets.load_breast_cancer, "digits": datasets.load_digits}
    X, labels = loaders[name](return_X_y=True)
    return X, labels.astype(np.float64)


Stream = tuple[Floats, Floats]
Draw = Callable[..., Stream]


def draw_stream(kind: str, rows: int, drifts: Sequence[int], seed: int = 0, **settings: Any) -> Stream:
    """Return X and y of a stream of the catalogue.

    >>> X, y = draw_stream("sea", 1000, [250, 500, 750])
    >>> X.shape, sorted(set(y.tolist()))
    ((1000, 4), [-1.0, 1.0])
    """
    if kind not in KINDS:
        raise UserError(f"there is no stream of the kind {kind!r}; there are {', '.join(KINDS)}")
    return KINDS[kind](np.random.default_rng([seed, *kind.encode()]), rows, drifts, **settings)


def choose_concepts(random: np.random.Generator, rows: int, drifts: Sequence[int], width: float) -> Ints:
    """Return the number of the concept of each row, from 0; it grows by one at every drift."""
    concept = np.zeros(rows, np.int64)
    at = np.arange(rows)
    for position in drifts:
        if width:
            u = 4.0 * (at - position) / width
            concept += random.random(rows) < 0.5 + 0.5 * u / np.sqrt(1.0 + u * u)
        else:
            concept += at >= position
    return concept


def flip(random: np.random.Generator, y: NDArray[np.bool_], share: float) -> Floats:
    return np.where(y != (random.random(y.size) < share), 1.0, -1.0)


def with_constant(X: Floats) -> Floats:
    return np.column_stack([X, np.ones(X.shape[0])])


def sum_columns(terms: Floats) -> Floats:
    """Return the sum of each row, added from left to right."""
    total = np.zeros(terms.shape[0])
    for column in terms.T:
        total += column
    return total


def draw_sea(
    random: np.random.Generator, rows: int, drifts: Sequence[int], noise: float = 0.1, width: float = 0.0
) -> Stream:
    """Draw the SEA concepts (Street and Kim, KDD 2001): x1 + x2 <= threshold, of three features in [0, 1].

    The thresholds are the paper's, whose features are in [0, 10]; they come again after the fourth.
    """
    X = random.random((rows, 3))
    thresholds = np.array([0.8, 0.9, 0.7, 0.95])
    concept = choose_concepts(random, rows, drifts, width)
    return with_constant(X), flip(random, X[:, 0] + X[:, 1] <= thresholds[concept % 4], noise)


def draw_stagger(
    random: np.random.Generator, rows: int, drifts: Sequence[int], noise: float = 0.0, width: float = 0.0
) -> Stream:
    """Draw the STAGGER concepts (Schlimmer and Granger, AAAI 1986), one indicator per value of an attribute.

    Size is small, medium or large, colour red, blue or green, shape square, circular or triangular. The
    concepts are: small and red; green or circular; medium or large. They come again after the third.
    """
    size, colour, shape = random.integers(0, 3, (3, rows))
    concepts = np.stack([(size == 0) & (colour == 0), (colour == 2) | (shape == 1), size > 0])
    concept = choose_concepts(random, rows, drifts, width) % 3
    X = np.concatenate([np.eye(3)[each] for each in (size, colour, shape)], axis=1)
    return with_constant(X), flip(random, concepts[concept, np.arange(rows)], noise)


def draw_hyperplane(
    random: np.random.Generator,
    rows: int,
    drifts: Sequence[int],
    features: int = 10,
    turns: int = 4,
    noise: float = 0.05,
) -> Stream:
    """Draw points in a cube that a hyperplane through its centre divides (Hulten and others, KDD 2001).

    It turns all the time: incremental drift. Its weights move along straight lines from one random vector to
    the next, `turns` times.
    """
    X = random.uniform(-1.0, 1.0, (rows, features))
    stops = random.standard_normal((turns + 1, features))
    place = np.arange(rows) * turns / rows
    last = place.astype(np.int64)
    share = (place - last)[:, None]
    weights = (1.0 - share) * stops[last] + share * stops[last + 1]
    return with_constant(X), flip(random, sum_columns(X * weights) > 0.0, noise)


def draw_rbf(
    random: np.random.Generator,
    rows: int,
    drifts: Sequence[int],
    features: int = 10,
    centres: int = 8,
    spread: float = 0.25,
    distance: float = 1.0,
    noise: float = 0.0,
) -> Stream:
    """Draw points around centres, each of one class, that move through a cube: incremental drift.

    As MOA's generator of moving radial basis functions (Bifet and others, JMLR 2010). Over all rows a centre
    moves by `distance`, and is reflected by the walls of the cube.
    """
    start = random.random((centres, features))
    direction = random.standard_normal((centres, features))
    direction /= np.sqrt(sum_columns(direction * direction))[:, None]
    chosen = random.integers(0, centres, rows)
    moved = start[chosen] + (np.arange(rows) / rows * distance)[:, None] * direction[chosen]
    inside = 1.0 - np.abs(1.0 - np.mod(moved, 2.0))
    X = inside + spread * random.standard_normal((rows, features))
    return with_constant(X), flip(random, chosen % 2 == 0, noise)


def draw_shares(
    random: np.random.Generator,
    rows: int,
    drifts: Sequence[int],
    features: int = 5,
    rare: float = 0.05,
    width: float = 2000.0,
) -> Stream:
    """Draw two Gaussian classes whose shares change: half and half, then few positives, then half again.

    The classes themselves do not change.
    """
    concept = choose_concepts(random, rows, drifts, width)
    positive = random.random(rows) < np.where(concept % 2 == 0, 0.5, rare)
    X = random.standard_normal((rows, features))
    X[:, 0] += np.where(positive, 1.0, -1.0)
    return with_constant(X), np.where(positive, 1.0, -1.0)


def draw_splice(
    random: np.random.Generator,
    rows: int,
    drifts: Sequence[int],
    parts: Sequence[tuple[Any, Floats]] = (),
    width: float = 0.0,
) -> Stream:
    """Draw rows, with replacement, of one data set and then of another; they come again after the last."""
    if len({X.shape[1] for X, _ in parts}) != 1:
        raise UserError("the parts of a splice differ in the number of features")
    concept = choose_concepts(random, rows, drifts, width) % len(parts)
    place = random.random(rows)
    X, y = np.empty((rows, parts[0][0].shape[1])), np.empty(rows)
    for number, (matrix, labels) in enumerate(parts):
        own = np.flatnonzero(concept == number)
        taken = (place[own] * labels.size).astype(np.int64)
        chosen = matrix[taken]
        X[own] = chosen.toarray() if hasattr(chosen, "toarray") else chosen
        y[own] = labels[taken]
    return X, y


KINDS: Mapping[str, Draw] = {
    "sea": draw_sea,
    "stagger": draw_stagger,
    "hyperplane": draw_hyperplane,
    "rbf": draw_rbf,
    "shares": draw_shares,
    "splice": draw_splice,
}
