"""More than two classes: one learner per class, each of which sees every example (one-vs-rest).

A round predicts the class whose learner has the highest margin; of equals, the first in sorted order, so that
a learner that knows nothing predicts the first class. A margin that is no number is the lowest. Then the
learner of the true class learns the example as positive, and every other one as negative. A mistake is a
round whose predicted class is wrong. Updates, effective updates and breakdowns are sums over the learners.

No learner depends on another one, so each runs a slice of rounds in compiled code and keeps its margins; the
predictions of the slice follow from all of them. Memory for margins is bounded by the slice.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from olbench.algorithms.algorithm import Algorithm
from olbench.errors import UserError, count
from olbench.kernels.counters import (
    BREAKDOWNS,
    BROKEN_ENTRY,
    BROKEN_ROUND,
    COUNTERS,
    EFFECTIVE,
    MISTAKES,
    ROUNDS,
    ROW,
    UNLEARNED,
    UPDATES,
)
from olbench.learners.examples import Floats, Ints
from olbench.learners.learners import ClassLearner, Learner, refuse_large
from olbench.learners.schedules import is_predicted
from olbench.learners.start import start

#: The most rounds of a slice, a power of two: room for the margins of every learner.
RING = 1024
#: More than any exponent of a margin, so that exponents above it order margins by size.
OFFSET = 2**40


class OneVsRest(ClassLearner):
    def __init__(self, algorithm: Algorithm, d: int, classes: int):
        # The constants of the rule are those of each learner; here there is no rule to pass them to.
        self.algorithm, self.d = algorithm, d
        self.counters: Ints = np.zeros(COUNTERS, dtype=np.int64)
        if algorithm.definition.order == "second" and algorithm.covariance == "full":
            refuse_large(algorithm.definition, d, classes)
        self.confusion = np.zeros((classes, classes), np.int64)
        self.margins = np.empty((0, 2))
        self.learners = [start(algorithm, d) for _ in range(classes)]
        ring = np.zeros((RING, 2))
        for learner in self.learners:
            learner.keep_margins(ring)
        self._signs: Floats = np.empty(0)

    def warm_up(self) -> None:
        self.learners[0].warm_up()

    def _learn(self, rows: tuple[Any, ...], y: Floats, order: Ints) -> None:
        for begin in range(0, order.size, RING):
            self._run_slice(rows, y, order[begin : begin + RING])

    def _run_slice(self, rows: tuple[Any, ...], y: Floats, order: Ints) -> None:
        if self._signs.size != y.size:
            self._signs = np.empty(y.size)
        signs, own = self._signs, order & ROW
        truth, predicts = y[own], is_predicted(order)
        places = (self.rounds + np.arange(np.count_nonzero(predicts))) & (RING - 1)
        margins = np.empty((len(self.learners), places.size, 2))
        for k, learner in enumerate(self.learners):
            # Only the rows of the slice are relabelled, for one learner after the other.
            signs[own] = np.where(truth == k, 1.0, -1.0)
            learner.run(rows, signs, order)
            margins[k] = learner.margins[places]
        self._count(choose_class(margins[:, :, 0], margins[:, :, 1]), truth[predicts].astype(np.int64))

    def _count(self, predicted: Ints, truth: Ints) -> None:
        """Count predictions, and take over what the learners have counted."""
        if self.margins.shape[0]:
            self.margins[(self.rounds + np.arange(truth.size)) & (self.margins.shape[0] - 1), 0] = predicted
        np.add.at(self.confusion, (truth, predicted), 1)
        self.counters[ROUNDS] += truth.size
        self.counters[MISTAKES] += np.count_nonzero(predicted != truth)
        self.counters[UNLEARNED] = self.learners[0].counters[UNLEARNED]
        for k in (UPDATES, EFFECTIVE, BREAKDOWNS):
            self.counters[k] = sum(learner.counters[k] for learner in self.learners)
        if broken := [learner.counters for learner in self.learners if learner.breakdowns]:
            first = min(broken, key=lambda counters: counters[BROKEN_ROUND])
            self.counters[[BROKEN_ROUND, BROKEN_ENTRY]] = first[[BROKEN_ROUND, BROKEN_ENTRY]]

    def predict(self, rows: tuple[Any, ...], order: Ints) -> Floats:
        return predict_classes(self.learners, rows, order).astype(np.float64)

    @property
    def state_bytes(self) -> int | None:
        sizes = [each.state_bytes for each in self.learners]
        return None if None in sizes else sum(size or 0 for size in sizes)

    @property
    def weights(self) -> Floats:
        return np.stack([learner.weights for learner in self.learners])


def predict_classes(learners: Sequence[Learner], rows: tuple[Any, ...], order: Ints) -> Ints:
    """Return the number of the class that the learners of all classes predict for each row of `order`."""
    scores = np.stack([learner.scores(rows, order) for learner in learners])
    exponents = np.array([getattr(learner, "scale_exponent", 0) for learner in learners])
    return choose_class(scores, np.broadcast_to(exponents[:, None], scores.shape))


def choose_class(margins: Floats, exponents: Floats) -> NDArray[np.int64]:
    """Return the number of the class with the highest margin f / 2 ** e of each round; of equals, the first.

    Both arrays have one row per class. Exponents can be so large that f / 2 ** e is no double, so margins of
    different scales are compared by sign, then by exponent, then by fraction.

    >>> choose_class(np.array([[0.0, 1.0], [0.0, 3.0]]), np.array([[0, 0], [0, 4096]])).tolist()
    [0, 0]
    """
    finite = np.where(np.isfinite(margins), margins, -np.inf)
    if not exponents.any():
        return np.asarray(finite.argmax(axis=0), np.int64)
    fractions, powers = np.frexp(margins)
    sizes = np.where(fractions == 0.0, 0, np.sign(fractions) * (powers - exponents + OFFSET))
    sizes = np.where(np.isfinite(margins), sizes, -np.inf)
    highest = sizes == sizes.max(axis=0)
    return np.asarray(np.where(highest, fractions, -np.inf).argmax(axis=0), np.int64)


def as_classes(y: ArrayLike, n: int) -> tuple[Floats, NDArray[Any]]:
    """Check labels of any kind, and return the number of the class of each, and the classes in order.

    >>> as_classes(["b", "a", "c", "a"], 4)[0].tolist()
    [1.0, 0.0, 2.0, 0.0]
    """
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise UserError(f"y must have one dimension, not {labels.ndim}")
    if labels.size != n:
        raise UserError(f"X has {count(n, 'row')} but y has {count(labels.size, 'label')}")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise UserError("y holds NaN or infinity, which are no labels")
    try:
        classes, numbers = np.unique(labels, return_inverse=True)
    except TypeError:
        raise UserError("y holds labels of several kinds, which have no order") from None
    if classes.size < 2:
        raise UserError("every example has the same label; two distinct labels are needed")
    return numbers.astype(np.float64), classes
