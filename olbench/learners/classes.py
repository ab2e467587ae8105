"""Several classes natively: one learner with a mean per class, which compares the true class and its rival.

A round predicts the class with the highest score F_k = mu_k . x, of equals the first. The rival s is the
wrong class with the highest score, m = F_y - F_s the margin. A step moves the means of y and s; the binary
rules apply to it, with Phi = (e_y - e_s) (x) x in place of y x. Mistakes and updates are rounds.
"""

from typing import Any

import numpy as np

from olbench.algorithms.algorithm import Algorithm
from olbench.errors import UserError
from olbench.kernels.counters import EXTRA
from olbench.kernels.sizes import TILE, choose_depth, count_blocks, count_columns, spread_rows
from olbench.learners.examples import Floats, Ints
from olbench.learners.learners import (
    ClassLearner,
    KernelLearner,
    Learner,
    aligned_zeros,
    quadratic_forms,
    refuse_large,
    refuse_wide,
)
from olbench.learners.one_vs_rest import OneVsRest, choose_class


def start_classes(algorithm: Algorithm, d: int, classes: int) -> Learner:
    if algorithm.multiclass == "one-vs-rest":
        return OneVsRest(algorithm, d, classes)
    if algorithm.definition.order == "first":
        return FirstOrderClasses(algorithm, d, classes)
    if algorithm.covariance == "diag":
        kind = ExactClasses if algorithm.projection == "exact" else DiagonalClasses
        return kind(algorithm, d, classes)
    if algorithm.form == "root":
        return RootClasses(algorithm, d, classes)
    return CovarianceClasses(algorithm, d, classes)


class NativeLearner(ClassLearner, KernelLearner):
    """A learner of all classes at once, with a mean for each in one array that a row of x streams through."""

    def __init__(self, algorithm: Algorithm, d: int, classes: int):
        if classes < 2:
            raise UserError(f"{algorithm.id} needs at least two classes, and there is {classes}")
        super().__init__(algorithm, d)
        self.classes = classes
        self.confusion = np.zeros((classes, classes), np.int64)
        # Each mean is a sum over the updates of its class, with the error of one.
        self.means: Floats = aligned_zeros(d, count_columns(classes))

    def class_variances(self, X: Any) -> Floats:
        """Return x' Sigma_k x, one column per class, for each row of X."""
        raise UserError(f"{self.algorithm.id} has no variances")

    def predict(self, rows: tuple[Any, ...], order: Ints) -> Floats:
        scores = self.class_scores(rows, order).T
        return choose_class(scores, np.zeros(scores.shape)).astype(np.float64)

    @property
    def pair_rule(self) -> tuple[Any, bool]:
        """The address of the rule for two covariances, and whether there is one."""
        from olbench.kernels.trace import Address

        definition = self.algorithm.definition
        if definition.pair is None:
            from olbench.kernels.pairs import NO_PAIR

            return Address(NO_PAIR, NO_PAIR.address), False
        return Address(definition.compiled_pair, definition.compiled_pair.address), True

    @property
    def factor(self) -> float:
        """What the array of the means is multiplied by."""
        return 1.0

    @property
    def weights(self) -> Floats:
        """The means, one row per class."""
        return np.ascontiguousarray(self.factor * self.means[:, : self.classes].T)

    def class_scores(self, rows: tuple[Any, ...], order: Ints) -> Floats:
        """Return the score of each class, one column per class, for each row of `order`."""
        from olbench.kernels.classes import score_rows

        scores = np.empty((order.size, self.classes))
        score_rows(rows, order, self.means, scores)
        return self.factor * scores


class FirstOrderClasses(NativeLearner):
    """Means, stored as a common factor times an array."""

    def __init__(self, algorithm: Algorithm, d: int, classes: int):
        refuse_wide(algorithm, d, classes)
        super().__init__(algorithm, d, classes)
        self.scalars: Floats = np.array([1.0, 0.0])
        # As in a binary learner: sums of squares by block of features, if the rule reads the norm.
        self.squares: Floats = np.zeros(count_blocks(d) if algorithm.definition.reads_norm else 0)

    def _kernel(self) -> tuple[Any, tuple[Any, ...]]:
        from olbench.kernels.classes_first_order import MAX, PROP, UNIFORM, run

        definition = self.algorithm.definition
        passive_above = definition.find_passive_margin(self.algorithm.params)
        allocation = {"max": MAX, "uniform": UNIFORM, "prop": PROP}[self.algorithm.allocation]
        state = (self.means, self.scalars, self.squares, self.confusion, self.counters)
        return run, (*state, passive_above, allocation, definition.only_native)

    @property
    def factor(self) -> float:
        return float(self.scalars[0])


class CovarianceClasses(NativeLearner):
    """Full covariances as symmetric matrices, one per class or one for all, minus what is pending."""

    def __init__(self, algorithm: Algorithm, d: int, classes: int):
        count = 1 if algorithm.covariance == "shared" else classes
        refuse_large(algorithm.definition, d, count)
        super().__init__(algorithm, d, classes)
        # The padding, the errors and the bounds of each covariance are those of a binary learner.
        side = -(-d // TILE) * TILE
        length = spread_rows(side)
        self._base: Floats = aligned_zeros(count * side, length).reshape(count, side, length)
        self._base[:, np.arange(d), np.arange(d)] = algorithm.a
        depth = choose_depth(d)
        self.pending: Floats = aligned_zeros(count * depth, length).reshape(count, depth, length)
        self.changes: Ints = np.zeros((count, 2), np.int64)
        self.axis: Floats = np.zeros((count, d))
        self.bound: Floats = np.tile([algorithm.a * (1.0 + 1e-9), np.inf], (count, 1))

    def _kernel(self) -> tuple[Any, tuple[Any, ...]]:
        from olbench.kernels.classes_covariance import run

        definition = self.algorithm.definition
        screened = definition.monotone and definition.form == "covariance"
        adaptive = screened and (definition.traits is None or definition.traits.adaptive_margin)
        state = (self.means, self._base, self.pending, self.axis, self.bound, self.changes)
        counts = (self.confusion, self.counters)
        return run, (*state, *counts, *self.pair_rule, screened, adaptive)

    @property
    def covariance(self) -> Floats:
        """Sigma of each class, or of all classes."""
        sigma = self._base[:, : self.d, : self.d].copy()
        for k, (held, _) in enumerate(self.changes):
            for z in self.pending[k, :held, : self.d]:
                sigma[k] -= np.multiply.outer(z, z)
        return sigma

    def class_variances(self, X: Any) -> Floats:
        return _measure_variances(X, self.covariance, self.classes)


class RootClasses(NativeLearner):
    """Full covariances as square roots, one per class or one for all: Sigma_k = R_k R_k'."""

    def __init__(self, algorithm: Algorithm, d: int, classes: int):
        count = 1 if algorithm.covariance == "shared" else classes
        refuse_large(algorithm.definition, d, count)
        super().__init__(algorithm, d, classes)
        # The errors and the bounds of each root are those of a binary learner.
        self.roots: Floats = np.zeros((count, d, d))
        self.roots[:, np.arange(d), np.arange(d)] = np.sqrt(algorithm.a)
        self.bound: Floats = np.full(count, np.sqrt(algorithm.a) * (1.0 + 1e-9))
        self.reach: Floats = np.full((count, d), np.sqrt(algorithm.a))
        self.changes: Ints = np.zeros(count, np.int64)

    def _kernel(self) -> tuple[Any, tuple[Any, ...]]:
        from olbench.kernels.classes_root import run

        definition = self.algorithm.definition
        state = (self.means, self.roots, self.bound, self.reach, self.changes, self.confusion, self.counters)
        return run, (*state, *self.pair_rule, definition.monotone, definition.scale_free)

    @property
    def scale_exponent(self) -> int:
        """The exponent of the power of two that multiplies all means and roots to prevent underflow."""
        return int(self.counters[EXTRA])

    @property
    def covariance(self) -> Floats:
        """Sigma of each class, or of all classes, times 4 ** scale_exponent."""
        return np.stack([root @ root.T for root in self.roots])

    def class_variances(self, X: Any) -> Floats:
        """Return x' Sigma_k x, one column per class, for each row of X, times 4 ** scale_exponent."""
        return _measure_variances(X, self.roots, self.classes, square=True)


class DiagonalClasses(NativeLearner):
    """One variance per class and feature."""

    def __init__(self, algorithm: Algorithm, d: int, classes: int):
        refuse_wide(algorithm, d, classes)
        super().__init__(algorithm, d, classes)
        self.variances: Floats = aligned_zeros(*self.means.shape)
        self.variances[:] = algorithm.a

    def _kernel(self) -> tuple[Any, tuple[Any, ...]]:
        from olbench.kernels.classes_diagonal import run

        state = (self.means, self.variances, self.confusion, self.counters)
        return run, (*state, *self.pair_rule, self.algorithm.projection == "kl")

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
        from olbench.kernels.classes_diagonal import run_exact

        return run_exact, (self.means, self.variances, self.confusion, self.counters)

    @property
    def compiled_rule(self) -> Any:
        return self.algorithm.definition.compiled_exact


def _measure_variances(X: Any, factors: Floats, classes: int, square: bool = False) -> Floats:
    """Return the quadratic forms of X, one column per class; one factor can be that of all classes."""
    columns = [quadratic_forms(X, factor, square) for factor in factors]
    return np.column_stack(columns * (classes // len(columns)))
