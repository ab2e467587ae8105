"""Passes over the examples: predict, count, learn; once, or epoch after epoch."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import starmap
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from olbench.algorithms.algorithm import Algorithm, find_algorithm
from olbench.errors import UserError
from olbench.kernels.counters import BREAKDOWNS, CURVE_COUNTS, EFFECTIVE, MISTAKES, UPDATES
from olbench.learners.examples import (
    Examples,
    Floats,
    Groups,
    Ints,
    as_class_numbers,
    as_classes,
    as_examples,
    as_labels,
    as_order,
    check_width,
)
from olbench.learners.promises import compare_promises
from olbench.learners.schedules import count_predictions, is_predicted, predicted_groups, predicted_rows
from olbench.learners.start import start, start_classes
from olbench.learners.state import Learner

#: The longest slice of a pass, in seconds and in rows: between slices it asks whether to stop.
SLICE_SECONDS, SLICE_ROWS = 0.1, 20_000
#: Labels of a pass: -1 and +1, or any number of classes.
LABELS = ("two", "all")
#: What a pass can keep of each prediction.
KEEP = ("", "margins", "variances")
#: Rounds whose margins a learner keeps before they are copied, a power of two.
RING = 2**15
#: Rows of the first slice, which measures how long a row takes.
FIRST_ROWS = 16


class StoppedError(Exception):
    """A pass was stopped before its end."""


@dataclass(frozen=True)
class Curve:
    """Cumulative counts and seconds after t examples, at selected t."""

    t: Ints
    mistakes: Ints
    updates: Ints
    #: Examples of the positive class, and mistakes on the others; zeros for more than two classes.
    positives: Ints
    false_alarms: Ints
    #: Examples that were predicted and not learnt: their labels come later, or never.
    unlearned: Ints
    seconds: Floats


@dataclass(frozen=True)
class PassResult:
    """The measurements of one pass. The seconds exclude compilation and the checks of the input."""

    n: int
    mistakes: int
    updates: int
    effective_updates: int
    breakdowns: int
    seconds: float
    cpu_seconds: float
    curve: Curve
    learner: Learner
    #: The margin of each prediction (for more than two classes, the number of the predicted class), and its
    #: variance; None unless they were asked for.
    margins: Floats | None = None
    variances: Floats | None = None
    #: Whether each prediction was positive, and the labels of these predictions.
    positive: NDArray[np.bool_] | None = None
    labels: Floats | None = None
    #: The group of each of these predictions, and the mistakes by group as `Learner.missed` has them.
    groups: Groups | None = None
    missed: Ints | None = None

    @property
    def weights(self) -> Floats:
        """The weights of its learner, copied when they are asked for."""
        return self.learner.weights

    @property
    def mistake_rate(self) -> float:
        """Mistakes per example."""
        return self.mistakes / self.n if self.n else 0.0

    def __repr__(self) -> str:
        classes = f"classes {len(self.weights):,}, " if self.learner.classes > 1 else ""
        mistakes = f"mistakes {self.mistakes:,} ({self.mistake_rate:.2%}), updates {self.updates:,}"
        facts = f"examples {self.n:,}, {classes}{mistakes}, seconds {self.seconds:.4f}"
        return f"<PassResult of {self.learner.algorithm.id}: {facts}>"


def online_pass(
    algorithm: Algorithm | str,
    X: Any,
    y: ArrayLike,
    order: ArrayLike | None = None,
    curve: int = 50,
    stopped: Callable[[], bool] | None = None,
    labels: str = "two",
    keep: str = "",
    **settings: Any,
) -> PassResult:
    """Run an algorithm once over the examples and count the mistakes it makes before learning each of them.

    The algorithm is what `make_algorithm` returns, or an id with the settings of `make_algorithm` as
    keywords. X is an array or a SciPy sparse matrix and y holds -1 and +1. `order` lists row numbers; by
    default the rows are taken as they come. It can also be a schedule (`learners.schedules`), in which
    labels are learnt late or not at all. `curve` is the number of points at which the counters and the clock
    are read. If given, `stopped` is called several times a second, and the pass ends with a StoppedError once
    it returns true. With keep="margins" the result has the margin of every prediction, with "variances" also
    its variance.

    With labels="all", y holds labels of any kind. One learner per class runs one-vs-rest or, for an algorithm
    with multiclass="native", one learner of all classes: `olbench.learners.classes`
    says what a mistake and an update are then.

    >>> import numpy as np
    >>> X, y = np.array([[1.0, 0.0], [0.0, 1.0]] * 50), np.array([1, -1] * 50)
    >>> online_pass("arow", X, y, r=0.5).mistakes
    1
    """
    return next(train(algorithm, X, y, [order], curve, stopped, labels, keep, **settings))


def train(
    algorithm: Algorithm | str,
    X: Any,
    y: ArrayLike,
    orders: Iterable[ArrayLike | None],
    curve: int = 1,
    stopped: Callable[[], bool] | None = None,
    labels: str = "two",
    keep: str = "",
    **settings: Any,
) -> Iterator[PassResult]:
    """Run one learner over the examples epoch after epoch, and yield the measurements of each epoch.

    `orders` has the order of each epoch. The other arguments and the results are those of `online_pass`;
    counts and seconds are of one epoch. The learner of a result learns on when the next is requested: predict
    with it, or read its weights, before that.

    >>> import numpy as np
    >>> from olbench import make_algorithm
    >>> X, y = np.array([[1.0, 0.0], [0.0, 1.0]] * 50), np.array([1, -1] * 50)
    >>> orders = [np.random.default_rng(epoch).permutation(100) for epoch in range(3)]
    >>> for epoch in train(make_algorithm("averaged-perceptron"), X, y, orders):
    ...     print(epoch.mistakes, np.count_nonzero(predict_signs(epoch.learner, X) != y))
    1 0
    0 0
    0 0
    """
    examples = as_examples(X)
    made = find_algorithm(algorithm, settings)
    learner: Learner
    if labels not in LABELS:
        raise UserError(f"labels must be one of {', '.join(LABELS)}, not {labels!r}")
    if labels == "all":
        targets, classes = as_classes(y, examples.n)
        learner = start_classes(made, examples.d, classes.size)
    else:
        targets, learner = as_labels(y, examples.n), start(made, examples.d)
    return _run_epochs(learner, examples, targets, orders, curve, stopped, keep)


def run_learner(
    learner: Learner,
    examples: Examples,
    targets: Floats,
    order: Ints,
    curve: int | Ints = 50,
    stopped: Callable[[], bool] | None = None,
    keep: str = "",
) -> PassResult:
    """Run a learner once over examples, as `online_pass` runs one that it starts.

    The curve has as many points, or these numbers of predictions.
    """
    return next(_run_epochs(learner, examples, targets, [order], curve, stopped, keep))


def _run_epochs(
    learner: Learner,
    examples: Examples,
    targets: Floats,
    orders: Iterable[ArrayLike | None],
    curve: int | Ints,
    stopped: Callable[[], bool] | None,
    keep: str,
) -> Iterator[PassResult]:
    if keep not in KEEP:
        raise UserError(f"keep must be 'margins' or 'variances', not {keep!r}")
    if keep == "variances" and not learner.has_variances:
        raise UserError(f"{learner.algorithm.id} has no variances to keep; use keep='margins'")
    learner.warm_up()
    rows, checked = examples.rows(), (as_order(order, examples.n) for order in orders)
    return (
        _run_windows(learner, [(rows, targets, order)], count_predictions(order), curve, stopped, keep)
        for order in checked
    )


def windowed_pass(
    algorithm: Algorithm,
    windows: Iterable[tuple[Any, ArrayLike, ArrayLike]],
    d: int,
    n: int,
    curve: int = 50,
    stopped: Callable[[], bool] | None = None,
    classes: int = 0,
    keep: str = "",
) -> PassResult:
    """Run an algorithm once over examples that come in windows, each with X, y and an order of its rows.

    With `classes`, y holds the numbers of that many classes, from 0 on.

    The result is that of `online_pass` over all n rows in the same order, but only one window is in memory.

    >>> import numpy as np
    >>> from olbench import make_algorithm
    >>> X, y = np.array([[1.0, 0.0], [0.0, 1.0]] * 5), np.array([1, -1] * 5)
    >>> halves = [(X, y, np.arange(10)), (X, y, np.arange(10))]
    >>> windowed_pass(make_algorithm("arow", r=1.0), halves, 2, 20).mistakes
    1
    """
    learner = start_classes(algorithm, d, classes) if classes else start(algorithm, d)
    learner.warm_up()

    def check(X: Any, y: ArrayLike, order: ArrayLike) -> _Window:
        examples = as_examples(X)
        targets = as_class_numbers(y, examples.n, classes) if classes else as_labels(y, examples.n)
        return examples.rows(), targets, as_order(order, examples.n)

    return _run_windows(learner, starmap(check, windows), n, curve, stopped, keep)


def predict_signs(learner: "Predictor", X: Any, order: ArrayLike | None = None) -> Floats:
    """Return the label, -1 or +1, that a learner predicts for each row of X, or for those of `order`.

    A score of zero counts as +1, as in a pass.
    """
    examples = as_examples(X)
    if isinstance(learner, Learner):
        check_width(examples.rows(), learner.d)
    return learner.predict(examples.rows(), as_order(order, examples.n))


class Predictor(Protocol):
    """A trained learner."""

    def predict(self, rows: tuple[Any, ...], order: Ints) -> Floats:
        """Return the label of each row of `order`."""

    @property
    def state_bytes(self) -> int | None:
        """The bytes of its state; None if unknown."""


#: The rows of some examples, their labels and an order.
_Window = tuple[tuple[Any, ...], Floats, Ints]


def _run_windows(
    learner: Learner,
    windows: Iterable[_Window],
    n: int,
    curve: int | Ints,
    stopped: Callable[[], bool] | None,
    keep: str,
) -> PassResult:
    """Run a learner once over the windows, with n predictions in all, and return what it adds to its counts.

    It runs in slices of about SLICE_SECONDS if it may be stopped, and of at most RING rows if margins are
    kept.
    """
    before, missed = learner.counters.copy(), learner.missed.copy()
    kept = _Kept(learner, n, keep) if keep else None
    points = curve_points(n, curve) if isinstance(curve, int) else curve
    counts, times = np.zeros((points.size, len(CURVE_COUNTS)), np.int64), np.zeros(points.size)
    labels: list[Floats] = []
    groups: list[Groups] = []
    seen, seconds, cpu_seconds = 0, 0.0, 0.0
    for rows, y, order in windows:
        compare_promises(learner, rows, y, order)
        cpu_started, begin, window_seconds = time.thread_time(), 0, 0.0
        predictions = count_predictions(order)
        first, last = np.searchsorted(points, (seen, seen + predictions), side="right")
        places = _find_places(order, points[first:last] - seen)
        size = order.size if stopped is None else FIRST_ROWS
        while begin < order.size:
            if stopped is not None and stopped():
                raise StoppedError
            end = min(begin + (min(size, RING) if kept else size), order.size)
            inside = slice(*np.searchsorted(places, (begin, end), side="right"))
            ends = np.append(places[inside], end) - begin
            now, taken = learner.run_curve(rows, y, order[begin:end], ends)
            counts[first:last][inside] = now[:-1]
            times[first:last][inside] = seconds + window_seconds + taken[:-1]
            window_seconds += float(taken[-1])
            begin = end
            if kept:
                kept.copy()
            if stopped is not None:
                size = int(min(max(1, SLICE_SECONDS * begin / max(1e-9, window_seconds)), SLICE_ROWS))
        cpu_seconds += time.thread_time() - cpu_started
        if kept:
            labels.append(y[predicted_rows(order)])
            groups.append(predicted_groups(order))
        seen, seconds = seen + predictions, seconds + window_seconds
    added = learner.counters - before
    counts -= before[list(CURVE_COUNTS.values())]
    return PassResult(
        n=seen,
        mistakes=int(added[MISTAKES]),
        updates=int(added[UPDATES]),
        effective_updates=int(added[EFFECTIVE]),
        breakdowns=int(added[BREAKDOWNS]),
        seconds=seconds,
        cpu_seconds=cpu_seconds,
        curve=Curve(t=points, seconds=times, **dict(zip(CURVE_COUNTS, counts.T, strict=True))),
        learner=learner,
        margins=kept.margins if kept else None,
        variances=kept.variances if kept else None,
        positive=kept.positive if kept else None,
        labels=np.concatenate([np.empty(0), *labels]) if kept else None,
        groups=np.concatenate([np.empty(0, np.uint8), *groups]) if kept else None,
        missed=learner.missed - missed,
    )


def _find_places(order: Ints, points: Ints) -> Ints:
    """Return after which entry of an order the given numbers of rows have come.

    The labels that arrive with the last of these rows, before the next prediction, are learnt by then.
    """
    if count_predictions(order) == order.size:
        return points
    return np.append(np.flatnonzero(is_predicted(order))[1:], order.size)[points - 1]


def kept_bytes(n: int, keep: str) -> int:
    """Return the bytes of what a pass keeps of n predictions: margins, labels, variances, and their ring."""
    columns = {"": 0, "margins": 2, "variances": 3}[keep]
    return 8 * columns * (n + RING)


class _Kept:
    """Copies margins and variances from the ring of a learner, slice after slice."""

    def __init__(self, learner: Learner, n: int, keep: str):
        self.learner, self.first, self.seen = learner, learner.rounds, 0
        self.margins, self.positive = np.empty(n), np.empty(n, bool)
        self.variances = np.empty(n) if keep == "variances" else None
        learner.keep_margins(np.zeros((RING, 2 if self.variances is None else 3)))

    def copy(self) -> None:
        """Copy the rounds since the last call, at most RING."""
        last = self.learner.rounds - self.first
        places = np.arange(self.first + self.seen, self.first + last) & (RING - 1)
        ring, self.positive[self.seen : last] = self.learner.margins[places], self.learner.find_signs(places)
        # A learner that is rescaled keeps its margins in its own units.
        powers = -ring[:, 1].astype(np.int64)
        self.margins[self.seen : last] = np.ldexp(ring[:, 0], powers)
        if self.variances is not None:
            self.variances[self.seen : last] = np.ldexp(ring[:, 2], 2 * powers)
            # A round that breaks down writes none.
            self.learner.margins[:, 2] = 0.0
        self.seen = last


def curve_points(n: int, count: int) -> Ints:
    """Return up to `count` evenly spaced numbers of examples, ending with n; there are no more than n."""
    count = max(1, min(count, n))
    points = np.unique(np.rint(n * np.arange(1, count + 1) / count).astype(np.int64))
    return points[points > 0]
