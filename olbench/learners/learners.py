"""Learners: the state of an algorithm between slices of a pass, one class per family of kernels."""

import time
from abc import ABC, abstractmethod
from contextlib import nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from olbench.algorithms.definition import Definition
from olbench.errors import UserError
from olbench.kernels.counters import (
    BREAKDOWNS,
    COUNTERS,
    EFFECTIVE,
    EXTRA,
    FALSE_ALARMS,
    MISTAKES,
    POSITIVES,
    ROUNDS,
    ROW,
    UNLEARNED,
    UPDATES,
)
from olbench.kernels.sizes import BLOCKED_FROM, LINE, TILE, choose_depth, count_blocks, spread_rows
from olbench.learners.examples import Floats, Ints, SingleRow, as_examples
from olbench.learners.own_rules import raise_errors
from olbench.learners.state import count_memory_bytes
from olbench.memory import USABLE, available_memory

if TYPE_CHECKING:
    from olbench.algorithms.algorithm import Algorithm
    from olbench.algorithms.options import Kernel

#: The counters that a curve has by its names for them, in the order of `kernels.trace`.
CURVE_COUNTS = {
    "mistakes": MISTAKES,
    "updates": UPDATES,
    "positives": POSITIVES,
    "false_alarms": FALSE_ALARMS,
    "unlearned": UNLEARNED,
}
# Rows per block of a product with the covariance, which for all rows would be as large as a dense X.
BLOCK = 1024
# Below this many bytes the available memory is not read: reading it takes as long as a short pass.
ALWAYS_AVAILABLE = 2**20
# The same for weights and variances, which are no square of the number of features.
LARGE_VECTORS = 2**28
# The arrays that measure a learner, or are constants of its rule; they are no part of its state.
NO_STATE = ("counters", "margins", "confusion", "p")
# Rows of a kernel learner for which room is made at a time; unused room costs no memory.
CHUNK = 512


def refuse_large(definition: Definition, d: int, count: int = 1) -> None:
    needed = 8 * d * d * count
    if needed < ALWAYS_AVAILABLE:
        return
    remedy = "use covariance='diag'"
    if not definition.diagonal:
        remedy = f"{definition.id} has no diagonal form: use fewer features, or another algorithm"
    classes = f" for {count} classes" if count > 1 else ""
    _refuse_beyond_memory(needed, f"a full covariance of {d:,} features", classes, remedy)


def refuse_wide(algorithm: "Algorithm", d: int, classes: int = 1) -> None:
    """Raise a UserError if a learner with a few numbers for each feature does not fit in memory."""
    needed = count_memory_bytes(algorithm, d, classes)
    if needed > LARGE_VECTORS:
        several = f" and {classes} classes" if classes > 1 else ""
        purpose = f" for {d:,} features{several}"
        _refuse_beyond_memory(needed, algorithm.id, purpose, "give features smaller numbers")


def refuse_large_factor(size: int) -> None:
    what = f"a kernel with {size:,} support examples"
    _refuse_beyond_memory(4 * size * (size + 1), what, "", "use fewer examples or no kernel")


def _refuse_beyond_memory(needed: int, what: str, purpose: str, remedy: str) -> None:
    available = available_memory()
    if needed > USABLE * available:
        raise UserError(
            f"{what} needs {needed / 2**30:,.1f} GiB{purpose}, and {available / 2**30:,.1f} GiB are "
            f"available; {remedy}"
        )


class Learner(ABC):
    """The state that a pass carries from slice to slice, and its counters."""

    def __init__(self, algorithm: "Algorithm", d: int):
        self.algorithm = algorithm
        self.d = d
        self.counters: Ints = np.zeros(COUNTERS, dtype=np.int64)
        definition = algorithm.definition
        self.p: Floats = definition.rule_constants(algorithm.params) if definition.rule else np.empty(0)
        #: A ring of the margins of the last rounds, with the exponents of their scales; see `keep_margins`.
        self.margins: Floats = np.empty((0, 2))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_single_row"}

    def keep_margins(self, ring: Floats) -> None:
        """Keep the margin f of each round t from now on in a ring, and e if f is scaled by 2 ** e.

        The row of round t, counted from 1, is (t - 1) modulo the size of the ring, a power of two.
        """
        self.margins = ring

    def find_signs(self, places: Ints) -> NDArray[np.bool_]:
        """Return which predictions at these places of the ring were positive."""
        return np.asarray(self.margins[places, 0] >= 0.0)

    def run(self, rows: tuple[Any, ...], y: Floats, order: Ints) -> None:
        """Predict and then learn each example of `order`, one after another."""
        self.trace(rows, y, order, np.array([order.size]))

    def step(self, x: Any, y: float) -> float:
        """Predict one example, learn its label y, -1 or +1, and return the margin of the prediction.

        x is an array of d numbers or a sparse matrix of one row. The result is that of a pass over the same
        examples. An array of doubles takes microseconds; it is copied, so it may change afterwards.

        >>> from olbench import make_algorithm, start
        >>> learner = start(make_algorithm("arow"), 2)
        >>> learner.step([1.0, 0.0], +1), learner.step([1.0, 1.0], -1), learner.mistakes
        (0.0, 0.5, 1)
        """
        room = self._single_row
        room.put_label(y)
        rows = room.fill(x)
        if not self.margins.shape[0]:
            self.keep_margins(np.zeros((1, 2)))
        self.run(rows, room.y, room.order)
        margin, exponent = self.margins[(self.rounds - 1) & (self.margins.shape[0] - 1), :2].tolist()
        return float(np.ldexp(margin, -int(exponent)))

    def score(self, x: Any) -> float:
        """Return the score of one example, whose sign is the prediction; x is as in `step`."""
        room = self._single_row
        score = self.scores(room.fill(x), room.order)[0]
        return float(np.ldexp(score, -getattr(self, "scale_exponent", 0)))

    @cached_property
    def _single_row(self) -> SingleRow:
        return SingleRow(self.d)

    def trace(self, rows: tuple[Any, ...], y: Floats, order: Ints, ends: Ints) -> tuple[Ints, Floats]:
        """Run, and return CURVE_COUNTS and the elapsed seconds after each of `ends` examples."""
        for name, value in vars(self).items():
            # joblib maps large arrays into its processes: read-only, or shared with other copies.
            if isinstance(value, np.memmap) or (isinstance(value, np.ndarray) and not value.flags.writeable):
                setattr(self, name, np.array(value, order="C"))
        counts, seconds = np.empty((ends.size, len(CURVE_COUNTS)), np.int64), np.empty(ends.size)
        definition = self.algorithm.definition
        with raise_errors(definition) if definition.is_own else nullcontext():
            self._trace(rows, y, order, ends, counts, seconds)
        return counts, seconds

    def _trace(
        self, rows: tuple[Any, ...], y: Floats, order: Ints, ends: Ints, counts: Ints, seconds: Floats
    ) -> None:
        started = time.perf_counter()
        begin = 0
        for k, end in enumerate(ends.tolist()):
            self._learn(rows, y, order[begin:end])
            begin = end
            seconds[k] = time.perf_counter() - started
            counts[k] = self.counters[list(CURVE_COUNTS.values())]

    def _learn(self, rows: tuple[Any, ...], y: Floats, order: Ints) -> None:
        raise NotImplementedError

    @property
    def state_bytes(self) -> int | None:
        """The bytes of the arrays that it carries from round to round; None where they are not known.

        `state.count_state_bytes` tells the same before a learner has started.
        """
        arrays = (value for name, value in vars(self).items() if name not in NO_STATE)
        return sum(each.nbytes for each in arrays if isinstance(each, np.ndarray))

    @property
    @abstractmethod
    def weights(self) -> Floats:
        """The weight vector used for prediction."""

    #: Whether a pass can keep the variance of each margin.
    has_variances = False

    def probabilities(self, margins: Floats, variances: Floats | None) -> Floats | None:
        """Return the probability of the positive class from what a pass has kept; None if it has none."""
        return None

    def scores(self, rows: tuple[Any, ...], order: Ints) -> Floats:
        """Return the score of each row of `order`, whose sign is the prediction."""
        from olbench.kernels.rows import score_rows

        scores = np.empty(order.size)
        score_rows(rows, order, self.weights, scores)
        return scores

    def predict(self, rows: tuple[Any, ...], order: Ints) -> Floats:
        """Return the predicted label of each row of `order`; sign(0) = +1."""
        return np.where(self.scores(rows, order) >= 0.0, 1.0, -1.0)

    @abstractmethod
    def warm_up(self) -> None:
        """Compile what `run` needs, or load it from the cache."""

    @property
    def rounds(self) -> int:
        """Examples predicted."""
        return int(self.counters[ROUNDS])

    @property
    def learnt(self) -> int:
        return int(self.counters[ROUNDS] - self.counters[UNLEARNED])

    @property
    def mistakes(self) -> int:
        """Examples whose prediction, made before learning them, was wrong."""
        return int(self.counters[MISTAKES])

    @property
    def updates(self) -> int:
        """Rounds with a loss above zero."""
        return int(self.counters[UPDATES])

    @property
    def effective_updates(self) -> int:
        """Rounds that changed the state."""
        return int(self.counters[EFFECTIVE])

    @property
    def breakdowns(self) -> int:
        """Rounds with a margin or step that is not finite, or a variance <= 0 on a non-zero row."""
        return int(self.counters[BREAKDOWNS])


class KernelLearner(Learner):
    """A learner that runs in a compiled kernel."""

    @abstractmethod
    def _kernel(self) -> tuple[Any, tuple[Any, ...]]:
        """Return the kernel and its arguments after the order: the state, then options; not the margins."""

    def _trace(
        self, rows: tuple[Any, ...], y: Floats, order: Ints, ends: Ints, counts: Ints, seconds: Floats
    ) -> None:
        from olbench.kernels.trace import Address, tracer

        kernel, state = self.kernel_state()
        rule = Address(self.compiled_rule, self.compiled_rule.address)
        tracer(kernel)(rule, self.p, rows, y, order, state, ends, self.counters, counts, seconds)

    def reserve(self, rows: tuple[Any, ...], order: Ints) -> None:
        """Make room for what the examples of `order` may add to the state; most states do not grow."""

    def kernel_state(self) -> tuple[Any, tuple[Any, ...]]:
        kernel, state = self._kernel()
        return kernel, (*state, self.margins)

    def warm_up(self) -> None:
        from olbench.kernels.trace import tracer

        tracer(self._kernel()[0])
        _ = self.compiled_rule

    @property
    def compiled_rule(self) -> Any:
        return self.algorithm.definition.compiled_rule


class ClassLearner(Learner):
    """A learner of several classes. Labels are the numbers of the classes in sorted order, 0 to K - 1."""

    #: Predictions, one row per true class and one column per predicted one.
    confusion: Ints

    def step(self, x: Any, y: float) -> float:
        """Refuse: several classes have no single margin."""
        raise UserError("a learner of several classes has no single margin; use an estimator")

    def score(self, x: Any) -> float:
        return self.step(x, 1.0)


class BaselineLearner(KernelLearner):
    """The labels learnt so far: how many of either kind, and the last one."""

    def __init__(self, algorithm: "Algorithm", d: int):
        super().__init__(algorithm, d)
        self.seen: Ints = np.zeros(2, np.int64)
        self.last: Floats = np.ones(1)

    def _kernel(self) -> tuple[Any, tuple[Any, ...]]:
        from olbench.kernels.baselines import run

        return run, (self.seen, self.last, self.counters)

    @property
    def weights(self) -> Floats:
        return np.zeros(self.d)

    def scores(self, rows: tuple[Any, ...], order: Ints) -> Floats:
        rule = self.algorithm.definition.rule
        assert rule is not None
        return np.full(order.size, float(rule(*self.seen.tolist(), self.last[0], self.p)))  # type: ignore[arg-type]


class FirstOrderLearner(KernelLearner):
    """A weight vector, stored as a common factor times an array."""

    def __init__(self, algorithm: "Algorithm", d: int):
        super().__init__(algorithm, d)
        refuse_wide(algorithm, d)
        self.w: Floats = np.zeros(d)
        self.scalars: Floats = np.array([1.0, 0.0])
        # Sums of squares of w by block, which give ||w||^2; empty for a rule that does not read it. Each is
        # summed again when one of its weights changes, so their error does not grow with the rounds.
        self.squares: Floats = np.zeros(count_blocks(d) if algorithm.definition.reads_norm else 0)

    def _kernel(self) -> tuple[Any, tuple[Any, ...]]:
        from olbench.kernels.first_order import run

        passive_above = self.algorithm.definition.find_passive_margin(self.algorithm.params)
        return run, (self.w, self.scalars, self.squares, self.counters, passive_above)

    @property
    def weights(self) -> Floats:
        return np.asarray(self.scalars[0] * self.w)

    def moments_at(self, columns: Any) -> tuple[Floats, Floats | None]:
        """Return the weights of some features, and no variances: a weight vector has none."""
        return self.scalars[0] * self.w[columns], None

    def forget(self, columns: Any) -> None:
        """Start from scratch, where `columns` are all the features of the examples seen so far."""
        self.w[columns] = 0.0
        self.scalars[:] = 0.0
        self.scalars[0] = 1.0
        self.squares[:] = 0.0
        self.counters[:] = 0


class AveragedLearner(FirstOrderLearner):
    """A weight vector and its mean over all rounds."""

    def __init__(self, algorithm: "Algorithm", d: int):
        super().__init__(algorithm, d)
        self.scalars = np.array([1.0, 0.0, 0.0])
        # The sum of w over the rounds is scalars[2] w - deficit. After t rounds with k changes its error is
        # at most about (t + k) 2^-53 max |w_j|, as if all w were added up, and 1 / `averaged.SMALLEST_SCALE`
        # of that where the rule shrinks w.
        self.deficit: Floats = np.zeros(d)

    def _kernel(self) -> tuple[Any, tuple[Any, ...]]:
        from olbench.kernels.averaged import run

        return run, (self.w, self.scalars, self.squares, self.deficit, self.counters)

    @property
    def weights(self) -> Floats:
        """The mean of w after each round so far; it predicts unseen examples."""
        return np.asarray((self.scalars[2] * self.w - self.deficit) / max(1, self.learnt))

    def moments_at(self, columns: Any) -> tuple[Floats, Floats | None]:
        return (self.scalars[2] * self.w[columns] - self.deficit[columns]) / max(1, self.learnt), None

    def forget(self, columns: Any) -> None:
        super().forget(columns)
        self.deficit[columns] = 0.0

    @property
    def last_weights(self) -> Floats:
        """The weight vector w after the last round; it predicts the next example of a pass."""
        return super().weights


def start_first_order(algorithm: "Algorithm", d: int) -> FirstOrderLearner:
    return (AveragedLearner if algorithm.definition.averaged else FirstOrderLearner)(algorithm, d)


class SecondOrderLearner(KernelLearner):
    """A Gaussian over weight vectors: mean and covariance."""

    has_variances = True

    def probabilities(self, margins: Floats, variances: Floats | None) -> Floats | None:
        """Return Phi(m / sqrt(v)), the share of the Gaussian on the positive side; 1/2 where v = 0."""
        definition = self.algorithm.definition
        if variances is None or not definition.estimator.gaussian:
            return None
        from scipy.special import ndtr

        deviations = np.sqrt(np.where(variances > 0.0, variances, np.inf))
        return np.asarray(ndtr(margins / deviations))

    @property
    def scale_exponent(self) -> int:
        """The exponent of the power of two that multiplies mu and the root of Sigma to prevent underflow."""
        return 0

    @abstractmethod
    def margin_variance(self, X: Any) -> Floats:
        """Return x' Sigma x for each row of X."""

    @property
    @abstractmethod
    def covariance(self) -> NDArray[np.float64]:
        """Sigma, or its diagonal."""


class CovarianceLearner(SecondOrderLearner):
    """Full covariance as a symmetric matrix, minus the outer products that are still pending."""

    def __init__(self, algorithm: "Algorithm", d: int):
        super().__init__(algorithm, d)
        refuse_large(algorithm.definition, d)
        self.mu: Floats = np.zeros(d)
        side = d if d < BLOCKED_FROM else -(-d // TILE) * TILE
        length = side if d < BLOCKED_FROM else spread_rows(side)
        self._base: Floats = aligned_zeros(side, length)
        np.fill_diagonal(self._base[:d, :d], algorithm.a)
        # After k changes an entry of Sigma is off by at most about k 2^-53 a, whatever is still pending. That
        # is little beside a, but not beside a Sigma that shrinks towards zero: rules that shrink it without
        # bound have the root form, and a variance that is not positive counts as a breakdown.
        self.pending: Floats = aligned_zeros(choose_depth(d), length)
        # Upper bounds on Sigma, and on Sigma minus the outer product of the axis. Sigma only shrinks, up to
        # the error above, which stays below the 1e-9 that each bound allows for until k is about 10^7.
        self.axis: Floats = np.zeros(d)
        self.bound: Floats = np.array([algorithm.a * (1.0 + 1e-9), np.inf])

    def _kernel(self) -> tuple[Any, tuple[Any, ...]]:
        if self.d >= BLOCKED_FROM:
            from olbench.kernels.blocked import run
        else:
            from olbench.kernels.covariance import run

        definition = self.algorithm.definition
        # Screening assumes that Sigma only shrinks; rounding breaks this for rules made for the root form.
        screened = definition.monotone and definition.form == "covariance"
        adaptive = screened and (definition.traits is None or definition.traits.adaptive_margin)
        state = (self.mu, self._base, self.pending, self.axis, self.bound, self.counters)
        return run, (*state, screened, adaptive, definition.find_passive_margin(self.algorithm.params))

    @property
    def weights(self) -> Floats:
        return self.mu.copy()

    @property
    def covariance(self) -> NDArray[np.float64]:
        """Sigma, symmetric to the bit."""
        sigma = self._base[: self.d, : self.d].copy()
        for z in self.pending[: self.counters[EXTRA], : self.d]:
            sigma -= np.multiply.outer(z, z)
        return sigma

    def margin_variance(self, X: Any) -> Floats:
        return quadratic_forms(X, self.covariance, square=False)


def make_clock(algorithm: "Algorithm") -> Floats:
    """Return the clock of a learner that may forget: its growth so far, its growth per example, its start."""
    return np.array([1.0, 1.0 / algorithm.forgetting, algorithm.a])


class RootLearner(SecondOrderLearner):
    """Full covariance as a square root: Sigma = R R'."""

    def __init__(self, algorithm: "Algorithm", d: int):
        super().__init__(algorithm, d)
        refuse_large(algorithm.definition, d)
        self.mu: Floats = np.zeros(d)
        self.root: Floats = np.zeros((d, d))
        np.fill_diagonal(self.root, np.sqrt(algorithm.a))
        # R is multiplied by a matrix close to the identity in each change, so k changes leave a relative
        # error of about k 2^-52 in every row, however far R shrinks; the power of two of `scale_exponent`
        # changes no digit. Upper bounds of the largest singular value of R and of the length of each row.
        # Changes only shrink them, so the bounds hold until they are renewed, once in d changes.
        self.bound: Floats = np.array([np.sqrt(algorithm.a) * (1.0 + 1e-9)])
        self.reach: Floats = np.full(d, np.sqrt(algorithm.a))
        # Sigma = D R R' D, and where the entries of D stop. Each is a product of at most as many growths as
        # there were rounds, each rounded once.
        self.scales: Floats = np.ones(d)
        self.caps: Floats = np.ones(d)
        self.clock = make_clock(algorithm)

    def _kernel(self) -> tuple[Any, tuple[Any, ...]]:
        from olbench.kernels.root import run

        definition = self.algorithm.definition
        state = (self.mu, self.root, self.bound, self.reach, self.scales, self.caps, self.clock)
        return run, (*state, self.counters, definition.monotone, definition.scale_free)

    @property
    def _scaled_root(self) -> Floats:
        """D R."""
        return np.asarray(self.scales[:, None] * self.root)

    @property
    def scale_exponent(self) -> int:
        return int(self.counters[EXTRA])

    @property
    def weights(self) -> Floats:
        """The mean mu, times 2 ** scale_exponent."""
        return self.mu.copy()

    @property
    def covariance(self) -> NDArray[np.float64]:
        """Sigma, times 4 ** scale_exponent."""
        root = self._scaled_root
        return np.asarray(root @ root.T)

    def margin_variance(self, X: Any) -> Floats:
        """Return x' Sigma x for each row of X, times 4 ** scale_exponent."""
        return quadratic_forms(X, self._scaled_root, square=True)


class DiagonalLearner(SecondOrderLearner):
    def __init__(self, algorithm: "Algorithm", d: int):
        super().__init__(algorithm, d)
        refuse_wide(algorithm, d)
        # Each variance is divided or multiplied once in a change: a relative error of k 2^-51 after k of
        # them.
        self.moments: Floats = np.zeros((d, 2))
        self.moments[:, 1] = algorithm.a
        # The clock at which each variance was last up to date, if the learner forgets.
        self.marks: Floats = np.ones(d if algorithm.forgetting < 1.0 else 0)
        self.clock = make_clock(algorithm)

    def _kernel(self) -> tuple[Any, tuple[Any, ...]]:
        from olbench.kernels.diagonal import run

        projection = self.algorithm.projection == "kl"
        return run, (self.moments, self.marks, self.clock, self.counters, projection)

    @property
    def weights(self) -> Floats:
        return self.moments[:, 0].copy()

    @property
    def covariance(self) -> NDArray[np.float64]:
        """The diagonal of Sigma."""
        variances = self.moments[:, 1].copy()
        return self._grow(variances, self.marks) if self.marks.size else variances

    def _grow(self, variances: Any, marks: Floats) -> Floats:
        """Return variances that were last up to date at these marks as they are now."""
        with np.errstate(divide="ignore"):  # a mark that has underflowed: the variance is back at its start
            return np.asarray(np.fmin(variances * (self.clock[0] / marks), self.algorithm.a))

    def moments_at(self, columns: Any) -> tuple[Floats, Floats | None]:
        # One index into the flat array takes half the time of rows of two.
        places = 2 * columns.astype(np.int64)
        flat = self.moments.reshape(-1)
        means, variances = flat.take(places), flat.take(places + 1)
        return means, self._grow(variances, self.marks[columns]) if self.marks.size else variances

    def forget(self, columns: Any) -> None:
        self.moments[columns] = (0.0, self.algorithm.a)
        # The clock starts again, and with it the marks of all features.
        self.clock = make_clock(self.algorithm)
        self.marks[:] = 1.0
        self.counters[:] = 0

    def margin_variance(self, X: Any) -> Floats:
        squares = X.multiply(X) if hasattr(X, "multiply") else np.square(X)
        return np.asarray(squares @ self.covariance).ravel()


class ExactLearner(DiagonalLearner):
    """Diagonal covariance with the exact diagonal step."""

    def _kernel(self) -> tuple[Any, tuple[Any, ...]]:
        from olbench.kernels.exact import run

        return run, (self.moments, self.marks, self.clock, self.counters)

    @property
    def compiled_rule(self) -> Any:
        return self.algorithm.definition.compiled_exact


class ProductLearner(DiagonalLearner):
    """A perceptron vector w beside a diagonal covariance, which predict together."""

    has_variances = False

    def _kernel(self) -> tuple[Any, tuple[Any, ...]]:
        from olbench.kernels.product import run

        return run, (self.moments, self.counters)

    def scores(self, rows: tuple[Any, ...], order: Ints) -> Floats:
        """Return w . S x of each row of `order`, where S counts the row itself.

        A row whose squares overflow against variances of zero has a score of zero.
        """
        from olbench.kernels.product import score_rows

        scores = np.empty(order.size)
        score_rows(rows, order, self.moments, scores)
        scores[np.isnan(scores)] = 0.0
        return scores

    @property
    def weights(self) -> Floats:
        """The mean Sigma w. Predictions also count the row itself: see `scores`."""
        return np.asarray(self.moments[:, 1] * self.moments[:, 0])


class DualLearner(SecondOrderLearner):
    """A Gaussian in the feature space of a kernel, by its support: the examples that changed the state.

    Support examples are copied, so the learner does not depend on the matrix that it was trained on.
    """

    def __init__(self, algorithm: "Algorithm", d: int, kernel: "Kernel"):
        super().__init__(algorithm, d)
        kinds = ("linear", "rbf", "poly")
        self.shape = (float(kinds.index(kernel.name)), kernel.gamma, float(kernel.degree), kernel.coef0)
        self.linear = kernel.name == "linear"
        # The factor L grows by rows, and none is changed later, so L L' = M up to (size + 1) 2^-52 a K(x, x).
        # The coefficients are sums over the changes; the norms of the support are those of its rows.
        self.nu: Floats = np.empty(0)
        self.factor: Floats = np.empty(0)
        self.support_data: Floats = np.empty(0)
        self.support_columns: NDArray[np.uint32] = np.empty(0, np.uint32)
        self.support_indptr: Ints = np.zeros(1, np.int64)
        self.support_norms: Floats = np.empty(0)

    @property
    def size(self) -> int:
        return int(self.counters[EXTRA])

    @property
    def state_bytes(self) -> int | None:
        """The bytes of the support, its coefficients and its factor, without the room that is unused."""
        size = self.size
        return sum(int(each.nbytes) for each in self._support) + 8 * size + 4 * size * (size + 1)

    @property
    def support(self) -> Any:
        """The support examples as a CSR matrix, in the order in which they were learnt."""
        data, columns, indptr, _ = self._support
        return sp.csr_matrix((data, columns.view(np.int32), indptr), (self.size, self.d))

    @property
    def coefficients(self) -> Floats:
        """The coefficients nu of the mean, mu = sum_j nu_j x_j over the support."""
        return self.nu[: self.size].copy()

    @property
    def weights(self) -> Floats:
        """The mean mu of a linear kernel; of any other, which has no weight vector, the coefficients."""
        return np.asarray(self.support.T @ self.coefficients) if self.linear else self.coefficients

    @property
    def covariance(self) -> NDArray[np.float64]:
        if not self.linear:
            raise UserError(
                f"{self.algorithm.id}: only a linear kernel has a covariance matrix over the features"
            )
        from scipy.linalg import solve_triangular

        a, size = self.algorithm.a, self.size
        lower = np.zeros((size, size))
        lower[np.tril_indices(size)] = self.factor[: size * (size + 1) // 2]
        # c = 0 leaves an infinite diagonal, and no trace in Sigma
        kept = np.flatnonzero(np.isfinite(np.diag(lower)))
        scaled = solve_triangular(lower[np.ix_(kept, kept)], a * self.support[kept].toarray(), lower=True)
        return np.asarray(a * np.eye(self.d) - scaled.T @ scaled)

    def margin_variance(self, X: Any) -> Floats:
        from olbench.kernels.dual import measure_variances

        variances = np.empty(X.shape[0])
        rows = as_examples(X).rows()
        measure_variances(rows, self.shape, self._support, self.algorithm.a, self.factor, variances)
        return variances

    def scores(self, rows: tuple[Any, ...], order: Ints) -> Floats:
        """Return mu . x of each row of `order`, in the feature space of the kernel."""
        from olbench.kernels.dual import score_rows

        scores = np.empty(order.size)
        score_rows(rows, order, self.shape, self._support, self.coefficients, scores)
        return scores

    @property
    def _support(self) -> tuple[Any, ...]:
        """The arrays of the support examples without the room behind them."""
        indptr = self.support_indptr[: self.size + 1]
        entries = indptr[-1]
        data, columns = self.support_data[:entries], self.support_columns[:entries]
        return data, columns, indptr, self.support_norms[: self.size]

    def _kernel(self) -> tuple[Any, tuple[Any, ...]]:
        from olbench.kernels.dual import run

        support = (self.support_data, self.support_columns, self.support_indptr, self.support_norms)
        state = (self.nu, self.factor, *support, self.counters)
        return run, (self.shape, float(self.algorithm.a), *state, self.algorithm.definition.monotone)

    def _trace(
        self, rows: tuple[Any, ...], y: Floats, order: Ints, ends: Ints, counts: Ints, seconds: Floats
    ) -> None:
        """Run in chunks, with room for each of them before it starts: compiled code cannot make any."""
        elapsed = 0.0
        for begin in range(0, max(1, order.size), CHUNK):
            started = time.perf_counter()
            chunk = order[begin : begin + CHUNK]
            self.reserve(rows, chunk)
            elapsed += time.perf_counter() - started
            first, last = np.searchsorted(ends, (begin, begin + chunk.size), side="right")
            first = first if begin else 0
            inside = np.append(ends[first:last] - begin, chunk.size)
            chunk_counts = np.empty((inside.size, counts.shape[1]), np.int64)
            chunk_seconds = np.empty(inside.size)
            super()._trace(rows, y, chunk, inside, chunk_counts, chunk_seconds)
            counts[first:last] = chunk_counts[:-1]
            seconds[first:last] = elapsed + chunk_seconds[:-1]
            elapsed += float(chunk_seconds[-1])

    def reserve(self, rows: tuple[Any, ...], order: Ints) -> None:
        """Make room for all rows of `order` as support examples, by half more than before at least."""
        dense, indptr, order = rows[0], rows[3], order & ROW
        entries = order.size * self.d if dense.shape[0] else int((indptr[order + 1] - indptr[order]).sum())
        needed = self.size + order.size
        if needed > self.nu.size:
            room = max(needed, 3 * self.nu.size // 2)
            refuse_large_factor(room)
            self.nu, self.support_norms = _extend(self.nu, room), _extend(self.support_norms, room)
            self.support_indptr = _extend(self.support_indptr, room + 1)
            self.factor = _extend(self.factor, room * (room + 1) // 2)
        entries += int(self.support_indptr[self.size])
        if entries > self.support_data.size:
            room = max(entries, 3 * self.support_data.size // 2)
            self.support_data = _extend(self.support_data, room)
            self.support_columns = _extend(self.support_columns, room)


def start_second_order(algorithm: "Algorithm", d: int) -> SecondOrderLearner:
    if algorithm.kernel is not None:
        return DualLearner(algorithm, d, algorithm.kernel)
    return _choose_class(algorithm)(algorithm, d)


def _choose_class(algorithm: "Algorithm") -> type[SecondOrderLearner]:
    definition = algorithm.definition
    if algorithm.covariance != "diag":
        return RootLearner if algorithm.form == "root" else CovarianceLearner
    if definition.product:
        return ProductLearner
    return ExactLearner if algorithm.projection == "exact" else DiagonalLearner


def aligned_zeros(rows: int, columns: int) -> Floats:
    """Return a matrix of zeros that starts at a cache line: a vector across two lines loads half as fast."""
    memory = np.zeros(rows * columns + LINE)
    skipped = -(memory.ctypes.data // memory.itemsize) % LINE
    return memory[skipped : skipped + rows * columns].reshape(rows, columns)


def _extend(array: NDArray[Any], size: int) -> NDArray[Any]:
    longer = np.empty(size, array.dtype)
    longer[: array.size] = array
    return longer


def quadratic_forms(X: Any, factor: Floats, square: bool) -> Floats:
    """Return x' F x for each row of X, or ||F' x||^2 with `square`, block by block to save memory."""
    values = np.empty(X.shape[0])
    for begin in range(0, X.shape[0], BLOCK):
        rows = X[begin : begin + BLOCK]
        product = rows @ factor
        left = product if square else rows.toarray() if hasattr(rows, "toarray") else rows
        values[begin : begin + BLOCK] = np.einsum("ij,ij->i", left, product)
    return values
