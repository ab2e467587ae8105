"""Several classes: one learner per class (one-vs-rest), or one learner of all of them (native).

One-vs-rest: each learner sees every example. A round predicts the class whose learner has the highest margin;
of equals, the first in sorted order, so that a learner that knows nothing predicts the first class. A margin
of NaN is the lowest. Then the learner of the true class learns the example as positive, and every other one
as negative. A mistake is a round whose predicted class is wrong. Updates, effective updates and breakdowns
are sums over the learners. No learner depends on another one, so each runs a slice of rounds in compiled code
and keeps its margins; the predictions of the slice follow from all of them.

Native: one learner with a mean per class, which compares the true class and its rival. A round predicts the
class with the highest score F_k = mu_k . x, of equals the first. The rival s is the wrong class with the
highest score, m = F_y - F_s the margin. A step moves the means of y and s; the binary rules apply to it, with
Phi = (e_y - e_s) (x) x in place of y x. Mistakes and updates are rounds.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olbench.algorithms.algorithm import Algorithm
from olbench.errors import UserError
from olbench.kernels import counters as at
from olbench.kernels.counters import AHEAD_FROM, TILE, choose_depth, count_blocks, count_columns, spread_rows
from olbench.learners.examples import Floats, Ints
from olbench.learners.learners import choose_screening, quadratic_forms, write_diagonal
from olbench.learners.schedules import count_predictions, predicted_entries
from olbench.learners.state import Array, Arrays, ClassLearner, KernelLearner, Learner, find_family

#: Rounds that each learner runs before the predictions of all of them are compared, a power of two.
RING = 1024
#: More than any exponent of a margin, so that exponents above it order margins by size.
OFFSET = 2**40


class OneVsRest(ClassLearner):
    def __init__(self, algorithm: Algorithm, d: int, classes: int):
        super().__init__(algorithm, d, classes)
        kind = find_family(algorithm)
        self.learners, ring = [kind(algorithm, d) for _ in range(classes)], np.zeros((RING, 2))
        for learner in self.learners:
            learner.keep_margins(ring)

    @classmethod
    def plan_bytes(cls, algorithm: Algorithm, d: int, classes: int) -> int | None:
        single = find_family(algorithm).plan_bytes(algorithm, d, 1)
        return None if single is None else classes * single

    def reset(self, columns: Any = None) -> None:
        super().reset(columns)
        for learner in self.learners:
            learner.reset(columns)

    def warm_up(self) -> None:
        self.learners[0].warm_up()

    def _learn(self, rows: tuple[Any, ...], y: Floats, order: Ints) -> None:
        signs = np.empty(y.size)
        for begin in range(0, order.size, RING):
            self._run_slice(rows, y, order[begin : begin + RING], signs)

    def _run_slice(self, rows: tuple[Any, ...], y: Floats, order: Ints, signs: Floats) -> None:
        own = order & at.ROW
        truth, predictions = y[own], count_predictions(order)
        places = (self.rounds + np.arange(predictions)) & (RING - 1)
        margins = np.empty((len(self.learners), predictions, 2))
        for k, learner in enumerate(self.learners):
            # Only the rows of the slice are relabelled, for one learner after the other.
            signs[own] = np.where(truth == k, 1.0, -1.0)
            try:
                learner.run(rows, signs, order)
            except UserError as error:
                raise UserError(f"class {k} against the rest: {error}") from error
            margins[k] = learner.margins[places]
        predicted = choose_class(margins[:, :, 0], margins[:, :, 1])
        self._count(predicted, y, order)

    def _count(self, predicted: Ints, y: Floats, order: Ints) -> None:
        """Count predictions, and take over what the learners have counted."""
        entries = predicted_entries(order)
        truth = y[entries & at.ROW].astype(np.int64)
        if ring := self.margins.shape[0]:
            self.margins[(self.rounds + np.arange(predicted.size)) & (ring - 1), 0] = predicted
        self.counters[at.ROUNDS] += predicted.size
        wrong = predicted != truth
        self.counters[at.MISTAKES] += np.count_nonzero(wrong)
        groups = at.COUNTERS + 2 * self.classes * (entries[wrong] >> at.GROUP & at.GROUPS - 1)
        np.add.at(self.counters, groups + truth[wrong], 1)
        np.add.at(self.counters, groups + self.classes + predicted[wrong], 1)
        np.add.at(self.confusion, (truth, predicted), 1)
        self.counters[at.UNLEARNED] = self.learners[0].counters[at.UNLEARNED]
        for k in (at.UPDATES, at.EFFECTIVE, at.BREAKDOWNS):
            self.counters[k] = sum(learner.counters[k] for learner in self.learners)
        if broken := [learner.counters for learner in self.learners if learner.breakdowns]:
            first = min(broken, key=lambda counters: counters[at.BROKEN_ROUND])
            self.counters[[at.BROKEN_ROUND, at.BROKEN_ENTRY]] = first[[at.BROKEN_ROUND, at.BROKEN_ENTRY]]

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
    exponents = np.array([learner.scale_exponent for learner in learners])
    return choose_class(scores, np.broadcast_to(exponents[:, None], scores.shape))


def choose_class(margins: Floats, exponents: Floats) -> NDArray[np.int64]:
    """Return the number of the class with the highest margin f / 2 ** e of each round; of equals, the first.

    Both arrays have one row per class. Exponents can take f / 2 ** e out of the range of doubles, so
    margins of different scales are compared by sign, then by exponent, then by fraction.

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


class NativeLearner(ClassLearner, KernelLearner):
    """A learner of all classes at once, with a mean for each in one array that a row of x streams through."""

    @classmethod
    def declare(cls, algorithm: Algorithm, d: int, classes: int) -> Arrays:
        # Each mean is a sum over the updates of its class, with the error of one.
        return super().declare(algorithm, d, classes) | {"means": Array((d, count_columns(classes)))}

    def predict(self, rows: tuple[Any, ...], order: Ints) -> Floats:
        scores = self.class_scores(rows, order).T
        return choose_class(scores, np.zeros(scores.shape)).astype(np.float64)

    @property
    def pair_rule(self) -> tuple[Any, bool]:
        """The address of the rule for two covariances, and whether there is one."""
        from olbench.kernels.calls import Address
        from olbench.kernels.classes import NO_PAIR

        definition = self.algorithm.definition
        rule = definition.compiled_pair if definition.pair else NO_PAIR
        return Address(rule, rule.address), definition.pair is not None

    @property
    def factor(self) -> float:
        """What the array of the means is multiplied by."""
        return 1.0

    @property
    def weights(self) -> Floats:
        """The means, one row per class."""
        return np.ascontiguousarray(self.factor * self.means[:, : self.classes].T)

    def class_scores(self, rows: tuple[Any, ...], order: Ints) -> Floats:
        from olbench.kernels.classes import score_rows

        scores = np.empty((order.size, self.classes))
        score_rows(rows, order, self.means, scores)
        return self.factor * scores


class FirstOrderClasses(NativeLearner):
    """Means, stored as a common factor times an array."""

    @classmethod
    def declare(cls, algorithm: Algorithm, d: int, classes: int) -> Arrays:
        # As in a binary learner: sums of squares by block of features, if the rule reads the norm.
        squares = Array((count_blocks(d) if algorithm.definition.reads_norm else 0,))
        return super().declare(algorithm, d, classes) | {
            "scalars": Array((2,), [1.0, 0.0]),
            "squares": squares,
        }

    def _kernel(self) -> tuple[Any, tuple[Any, ...]]:
        from olbench.kernels.classes import MAX, PROP, UNIFORM, run_first_order

        definition = self.algorithm.definition
        passive_above = definition.find_passive_margin(self.algorithm.params)
        allocation = {"max": MAX, "uniform": UNIFORM, "prop": PROP}[self.algorithm.allocation]
        state = (self.means, self.scalars, self.squares, self.confusion, self.counters)
        return run_first_order, (*state, passive_above, allocation, definition.only_native)

    @property
    def factor(self) -> float:
        return float(self.scalars[0])


class CovarianceClasses(NativeLearner):
    """Full covariances as symmetric matrices, one per class or one for all, minus pending changes."""

    @classmethod
    def declare(cls, algorithm: Algorithm, d: int, classes: int) -> Arrays:
        # The padding, the errors and the bounds of each covariance are those of a binary learner.
        number = count_covariances(algorithm, classes)
        side = -(-d // TILE) * TILE
        length = spread_rows(side)
        return super().declare(algorithm, d, classes) | {
            "base": Array((number, side, length), partial(write_diagonal, algorithm.a, d)),
            "pending": Array((number, 2 if d < AHEAD_FROM else choose_depth(d), length)),
            "changes": Array((number, 2), dtype=np.int64),
            "axis": Array((number, d)),
            "bound": Array((number, 2), [algorithm.a * (1.0 + 1e-9), np.inf]),
        }

    def _kernel(self) -> tuple[Any, tuple[Any, ...]]:
        from olbench.kernels.classes_full import run_covariance

        covariances, bounds = (self.base, self.pending, self.changes), (self.axis, self.bound)
        pair, is_paired = self.pair_rule
        state = (self.means, covariances, bounds, self.confusion, self.counters)
        return run_covariance, (*state, pair, (is_paired, *choose_screening(self.algorithm)))

    @property
    def covariance(self) -> Floats:
        """Sigma of each class, or of all classes."""
        sigma = self.base[:, : self.d, : self.d].copy()
        for k, (held, _) in enumerate(self.changes):
            for z in self.pending[k, :held, : self.d]:
                sigma[k] -= np.multiply.outer(z, z)
        return sigma

    def class_variances(self, X: Any) -> Floats:
        return _measure_variances(X, self.covariance, self.classes)


class RootClasses(NativeLearner):
    """Full covariances as square roots, one per class or one for all: Sigma_k = R_k R_k'."""

    @classmethod
    def declare(cls, algorithm: Algorithm, d: int, classes: int) -> Arrays:
        # The errors and the bounds of each root are those of a binary learner.
        number, deviation = count_covariances(algorithm, classes), float(np.sqrt(algorithm.a))
        return super().declare(algorithm, d, classes) | {
            "roots": Array((number, d, d), partial(write_diagonal, deviation, d)),
            "bound": Array((number,), deviation * (1.0 + 1e-9)),
            "reach": Array((number, d), deviation),
            "changes": Array((number,), dtype=np.int64),
        }

    def _kernel(self) -> tuple[Any, tuple[Any, ...]]:
        from olbench.kernels.classes_full import run_root

        definition = self.algorithm.definition
        bounds, counts = (self.bound, self.reach), (self.confusion, self.counters)
        pair, is_paired = self.pair_rule
        state = (self.means, self.roots, bounds, self.changes, *counts)
        return run_root, (*state, pair, (is_paired, definition.monotone, definition.scale_free))

    @property
    def scale_exponent(self) -> int:
        """The exponent of the power of two that multiplies all means and roots to prevent underflow."""
        return int(self.counters[at.EXTRA])

    @property
    def covariance(self) -> Floats:
        """Sigma of each class, or of all classes, times 4 ** scale_exponent."""
        return np.stack([root @ root.T for root in self.roots])

    def class_variances(self, X: Any) -> Floats:
        return _measure_variances(X, self.roots, self.classes, square=True)


class DiagonalClasses(NativeLearner):
    """One variance per class and feature."""

    @classmethod
    def declare(cls, algorithm: Algorithm, d: int, classes: int) -> Arrays:
        return super().declare(algorithm, d, classes) | {
            "variances": Array((d, count_columns(classes)), algorithm.a)
        }

    def _kernel(self) -> tuple[Any, tuple[Any, ...]]:
        from olbench.kernels.classes import run_diagonal

        state = (self.means, self.variances, self.confusion, self.counters)
        return run_diagonal, (*state, *self.pair_rule, self.algorithm.projection == "kl")

    @property
    def covariance(self) -> Floats:
        """The diagonal of Sigma, one row per class."""
        return np.ascontiguousarray(self.variances[:, : self.classes].T)

    def class_variances(self, X: Any) -> Floats:
        squares = X.multiply(X) if hasattr(X, "multiply") else np.square(X)
        return np.asarray(squares @ self.covariance.T)


class ExactClasses(DiagonalClasses):
    """One variance per class and feature, with the exact diagonal step."""

    def _kernel(self) -> tuple[Any, tuple[Any, ...]]:
        from olbench.kernels.classes import run_exact

        return run_exact, (self.means, self.variances, self.confusion, self.counters)

    @property
    def compiled_rule(self) -> Any:
        return self.algorithm.definition.compiled_exact


def _measure_variances(X: Any, factors: Floats, classes: int, square: bool = False) -> Floats:
    """Return the quadratic forms of X, one column per class; one factor can be that of all classes."""
    columns = [quadratic_forms(X, factor, square) for factor in factors]
    return np.column_stack(columns * (classes // len(columns)))


def count_covariances(algorithm: Algorithm, classes: int) -> int:
    return 1 if algorithm.covariance == "shared" else classes


def find_class_family(algorithm: Algorithm) -> type[ClassLearner]:
    if algorithm.multiclass == "one-vs-rest":
        return OneVsRest
    if algorithm.definition.order == "first":
        return FirstOrderClasses
    if algorithm.covariance == "diag":
        return ExactClasses if algorithm.projection == "exact" else DiagonalClasses
    return RootClasses if algorithm.form == "root" else CovarianceClasses
