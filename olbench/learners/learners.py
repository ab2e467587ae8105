"""Learners of two classes, one class per family of kernels."""

import time
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from olbench.algorithms.algorithm import Algorithm
from olbench.algorithms.definition import OPTIONS
from olbench.errors import UserError
from olbench.kernels.counters import (
    BLOCKED_FROM,
    BLOCKED_FROM_FIXED_MARGIN,
    EXTRA,
    ROW,
    TILE,
    choose_depth,
    count_blocks,
    spread_rows,
)
from olbench.learners.examples import Floats, Ints, as_examples
from olbench.learners.state import FAMILIES, Array, Arrays, KernelLearner, family
from olbench.memory import USABLE, available_memory

# Rows per block of a product with the covariance, which for all rows would be as large as a dense X.
BLOCK = 1024
# Rows of a kernel learner for which memory is reserved at a time; unused pages cost nothing.
CHUNK = 512


@family("baseline")
class BaselineLearner(KernelLearner):
    """The labels learnt so far: how many of either kind, and the last one."""

    @classmethod
    def declare(cls, algorithm: Algorithm, d: int, classes: int) -> Arrays:
        return super().declare(algorithm, d, classes) | {
            "seen": Array((2,), dtype=np.int64),
            "last": Array((1,), 1.0),
        }

    def _kernel(self) -> tuple[Any, tuple[Any, ...]]:
        from olbench.kernels.first_order import run_baseline

        return run_baseline, (self.seen, self.last, self.counters)

    @property
    def weights(self) -> Floats:
        return np.zeros(self.d)

    def scores(self, rows: tuple[Any, ...], order: Ints) -> Floats:
        rule = self.algorithm.definition.rule
        assert rule is not None
        return np.full(order.size, float(rule(*self.seen.tolist(), self.last[0], self.p)))


@family("first")
class FirstOrderLearner(KernelLearner):
    """A weight vector, stored as a common factor times an array; and its mean over all rounds, if asked."""

    question = "squared_norm"
    answers = ("loss", "shrink", "tau")

    @classmethod
    def declare(cls, algorithm: Algorithm, d: int, classes: int) -> Arrays:
        definition = algorithm.definition
        return super().declare(algorithm, d, classes) | {
            "w": Array((d,), by_feature=True),
            "scalars": Array((4,), [1.0, 0.0, 0.0, 0.0]) if definition.averaged else Array((2,), [1.0, 0.0]),
            # Sums of squares of w by block, which give ||w||^2; empty for a rule that does not read it. Each
            # is summed again when one of its weights changes, so their error does not grow with the rounds.
            "squares": Array((count_blocks(d) if definition.reads_norm else 0,)),
            # What is missing from the sum of w over the rounds, see `first_order.run`. After k changes its
            # error is at most about k 2^-53 max |w_j|, as if all w were added up, and 1 /
            # `first_order.SMALLEST_AVERAGED` of that where the rule shrinks w.
            "deficit": Array((d if definition.averaged else 0,), by_feature=definition.averaged),
        }

    def _kernel(self) -> tuple[Any, tuple[Any, ...]]:
        from olbench.kernels.first_order import run

        passive_above = self.algorithm.definition.find_passive_margin(self.algorithm.params)
        state = (self.w, self.scalars, self.squares, self.deficit, self.counters)
        return run, (*state, passive_above)

    @property
    def weights(self) -> Floats:
        """The weight vector or, of an averaged learner, its mean after each round so far."""
        return self.moments_at(slice(None))[0]

    @property
    def last_weights(self) -> Floats:
        return np.asarray(self.scalars[0] * self.w)

    def moments_at(self, columns: Any) -> tuple[Floats, Floats | None]:
        if not self.algorithm.definition.averaged:
            return self.scalars[0] * self.w[columns], None
        scale, _, total, examples = self.scalars
        total += scale * (self.learnt - examples)
        return (total * self.w[columns] - self.deficit[columns]) / max(1, self.learnt), None

    def prepare_question(self, rows: tuple[Any, ...], row: int, answer: Floats) -> Any:
        from olbench.kernels.calls import ask_first_order

        rule, p, t, k = self.compiled_rule, self.p, self.learnt + 1, self.updates
        scale, squares = self.scalars[:2].tolist()
        q = scale * scale * squares
        return lambda m, s, mistake: ask_first_order(rule, m, s, mistake, q, t, k, p, answer)


class SecondOrderLearner(KernelLearner):
    """A Gaussian over weight vectors: mean and covariance."""

    has_variances = True
    question = "variance"
    answers = ("loss", "alpha", "c")

    def probabilities(self, margins: Floats, variances: Floats | None) -> Floats | None:
        """Return Phi(m / sqrt(v)), the share of the Gaussian on the positive side; 1/2 where v = 0."""
        definition = self.algorithm.definition
        if variances is None or not definition.gaussian:
            return None
        from scipy.special import ndtr

        deviations = np.sqrt(np.where(variances > 0.0, variances, np.inf))
        return np.asarray(ndtr(margins / deviations))

    @property
    def covariance(self) -> NDArray[np.float64]:
        """Sigma, or its diagonal, times 4 ** scale_exponent."""
        raise NotImplementedError

    def read_moments(self) -> tuple[Floats, NDArray[np.float64] | None]:
        exponent = -self.scale_exponent
        return np.ldexp(self.weights, exponent), np.ldexp(self.covariance, 2 * exponent)

    def prepare_question(self, rows: tuple[Any, ...], row: int, answer: Floats) -> Any:
        from olbench.kernels.calls import ask_second_order

        rule, p, t = self.compiled_rule, self.p, self.learnt + 1
        return lambda m, v, mistake: ask_second_order(rule, m, v, mistake, t, p, answer)

    def margin_variance(self, X: Any) -> Floats:
        """Return x' Sigma x for each row of X, times 4 ** scale_exponent."""
        raise NotImplementedError


def write_diagonal(number: float, d: int, matrices: NDArray[np.float64]) -> None:
    matrices[..., np.arange(d), np.arange(d)] = number


class CovarianceLearner(SecondOrderLearner):
    """Full covariance as a symmetric matrix, minus the outer products that are still pending."""

    @classmethod
    def declare(cls, algorithm: Algorithm, d: int, classes: int) -> Arrays:
        blocked = is_blocked(algorithm, d)
        side = -(-d // TILE) * TILE if blocked else d
        length = spread_rows(side) if blocked else d
        return super().declare(algorithm, d, classes) | {
            "mu": Array((d,)),
            "base": Array((side, length), partial(write_diagonal, algorithm.a, d)),
            # After k changes an entry of Sigma is off by at most about k 2^-53 a, whatever is still pending.
            # That is small compared with a, but not with a Sigma that shrinks towards zero: rules that let it
            # do so have the root form, and a variance that is not positive counts as a breakdown.
            "pending": Array((choose_depth(d) if blocked else 2, length)),
            # Upper bounds on Sigma, and on Sigma minus the outer product of the axis. Sigma only shrinks, up
            # to the error above, which stays below the 1e-9 that each bound allows for until k is about 10^7.
            "axis": Array((d,)),
            "bound": Array((2,), [algorithm.a * (1.0 + 1e-9), np.inf]),
            "screening": Array((3,), dtype=np.int64, is_state=False),
        }

    def _kernel(self) -> tuple[Any, tuple[Any, ...]]:
        if is_blocked(self.algorithm, self.d):
            from olbench.kernels.blocked import run
        else:
            from olbench.kernels.covariance import run

        bounds = (self.axis, self.bound)
        state = (self.mu, self.base, self.pending, bounds, self.screening, self.counters)
        passive_above = self.algorithm.definition.find_passive_margin(self.algorithm.params)
        return run, (*state, *choose_screening(self.algorithm), passive_above)

    @property
    def weights(self) -> Floats:
        return self.mu.copy()

    @property
    def covariance(self) -> NDArray[np.float64]:
        """Sigma, symmetric to the bit."""
        sigma = self.base[: self.d, : self.d].copy()
        for z in self.pending[: self.counters[EXTRA], : self.d]:
            sigma -= np.multiply.outer(z, z)
        return sigma

    def margin_variance(self, X: Any) -> Floats:
        return quadratic_forms(X, self.covariance, square=False)


def choose_screening(algorithm: Algorithm) -> tuple[bool, bool]:
    """Return whether rounds are screened by a bound on v, and whether it pays to make that bound tight.

    Screening assumes that Sigma only shrinks; rounding breaks this for rules made for the root form.
    """
    definition = algorithm.definition
    screened = definition.monotone and definition.form == "covariance"
    return screened, screened and (definition.traits is None or definition.traits.adaptive_margin)


def is_blocked(algorithm: Algorithm, d: int) -> bool:
    """Return whether the kernel for larger matrices runs a full covariance."""
    return d >= (BLOCKED_FROM if choose_screening(algorithm)[1] else BLOCKED_FROM_FIXED_MARGIN)


def start_clock(algorithm: Algorithm) -> list[float]:
    """Return the clock of a learner that may forget: its growth so far, its growth per example, its start."""
    return [1.0, 1.0 / algorithm.forgetting, algorithm.a]


class RootLearner(SecondOrderLearner):
    """Full covariance as a square root: Sigma = R R'."""

    @classmethod
    def declare(cls, algorithm: Algorithm, d: int, classes: int) -> Arrays:
        deviation = float(np.sqrt(algorithm.a))
        return super().declare(algorithm, d, classes) | {
            "mu": Array((d,)),
            "root": Array((d, d), partial(write_diagonal, deviation, d)),
            # R is multiplied by a matrix close to the identity in each change, so k changes leave a relative
            # error of about k 2^-52 in every row, however far R shrinks; the power of two of `scale_exponent`
            # changes no digit. Upper bounds of the largest singular value of R and of the length of each row.
            # Changes only shrink them, so the bounds hold until they are renewed, once in d changes.
            "bound": Array((1,), deviation * (1.0 + 1e-9)),
            "reach": Array((d,), deviation),
            # Sigma = D R R' D, and where the entries of D stop. Each is a product of at most as many growths
            # as there were rounds, each rounded once.
            "scales": Array((d,), 1.0),
            "caps": Array((d,), 1.0),
            "clock": Array((3,), start_clock(algorithm)),
        }

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
        return quadratic_forms(X, self._scaled_root, square=True)


class DiagonalLearner(SecondOrderLearner):
    @classmethod
    def declare(cls, algorithm: Algorithm, d: int, classes: int) -> Arrays:
        forgets = algorithm.forgetting < 1.0
        return super().declare(algorithm, d, classes) | {
            # Each variance is divided or multiplied once in a change: a relative error of k 2^-51 after k of
            # them.
            "moments": Array((d, 2), [0.0, algorithm.a], by_feature=True),
            # The clock at which each variance was last up to date, if the learner forgets.
            "marks": Array((d if forgets else 0,), 1.0),
            "clock": Array((3,), start_clock(algorithm)),
        }

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
        """Return the present values of variances that were last up to date at these marks."""
        with np.errstate(divide="ignore"):  # a mark that has underflowed: the variance is back at its start
            return np.asarray(np.fmin(variances * (self.clock[0] / marks), self.algorithm.a))

    def moments_at(self, columns: Any) -> tuple[Floats, Floats | None]:
        # One index into the flat array takes half the time of rows of two.
        places = 2 * columns.astype(np.int64)
        flat = self.moments.reshape(-1)
        means, variances = flat.take(places), flat.take(places + 1)
        return means, self._grow(variances, self.marks[columns]) if self.marks.size else variances

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

    def prepare_question(self, rows: tuple[Any, ...], row: int, answer: Floats) -> Any:
        from olbench.kernels.calls import ask_exact

        rule, p, moments = self.compiled_rule, self.p, self.moments.copy()
        return lambda m, v, mistake: ask_exact(rule, m, v, p, rows, row, moments, answer)


class ProductLearner(DiagonalLearner):
    """A perceptron vector w and a diagonal covariance, which predict together."""

    has_variances = False

    def _kernel(self) -> tuple[Any, tuple[Any, ...]]:
        from olbench.kernels.diagonal import run_product

        return run_product, (self.moments, self.counters)

    def scores(self, rows: tuple[Any, ...], order: Ints) -> Floats:
        """Return w . S x of each row of `order`, where S counts the row itself.

        A row whose squares overflow against variances of zero has a score of zero.
        """
        from olbench.kernels.diagonal import score_products

        scores = np.empty(order.size)
        score_products(rows, order, self.moments, scores)
        scores[np.isnan(scores)] = 0.0
        return scores

    @property
    def weights(self) -> Floats:
        """The mean Sigma w. Predictions also count the row itself: see `scores`."""
        return np.asarray(self.moments[:, 1] * self.moments[:, 0])


class GramLearner(SecondOrderLearner):
    """A Gaussian in the feature space of a kernel, by its support: the examples that changed the state.

    Support examples are copied, so the learner does not depend on the matrix that it was trained on.
    """

    @property
    def shape(self) -> tuple[float, float, float, float]:
        """The kernel as its compiled code takes it."""
        algorithm = self.algorithm
        kind = OPTIONS["kernel"].choices.index(str(algorithm.kernel))
        return float(kind), algorithm.gamma, float(algorithm.degree), algorithm.coef0

    @property
    def linear(self) -> bool:
        return self.algorithm.kernel == "linear"

    @classmethod
    def declare(cls, algorithm: Algorithm, d: int, classes: int) -> Arrays:
        # The factor L grows by rows, and none is changed later, so L L' = M up to (size + 1) 2^-52 a K(x, x).
        # The coefficients are sums over the changes; the norms of the support are those of its rows.
        return super().declare(algorithm, d, classes) | {
            "nu": Array((0,), length=lambda size, entries: size),
            "factor": Array((0,), length=lambda size, entries: size * (size + 1) // 2),
            "support_data": Array((0,), length=lambda size, entries: entries),
            "support_columns": Array((0,), dtype=np.uint32, length=lambda size, entries: entries),
            "support_indptr": Array((1,), dtype=np.int64, length=lambda size, entries: size + 1),
            "support_norms": Array((0,), length=lambda size, entries: size),
        }

    @property
    def size(self) -> int:
        return int(self.counters[EXTRA])

    @property
    def support_sizes(self) -> tuple[int, int]:
        return self.size, int(self.support_indptr[self.size])

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
        from olbench.kernels.gram import measure_variances

        variances = np.empty(X.shape[0])
        rows = as_examples(X).rows()
        measure_variances(rows, self.shape, self._support, self.algorithm.a, self.factor, variances)
        return variances

    def scores(self, rows: tuple[Any, ...], order: Ints) -> Floats:
        """Return mu . x of each row of `order`, in the feature space of the kernel."""
        from olbench.kernels.gram import score_rows

        scores = np.empty(order.size)
        score_rows(rows, order, self.shape, self._support, self.coefficients, scores)
        return scores

    @property
    def _support(self) -> tuple[Any, ...]:
        """The arrays of the support examples without their unused ends."""
        indptr = self.support_indptr[: self.size + 1]
        entries = indptr[-1]
        data, columns = self.support_data[:entries], self.support_columns[:entries]
        return data, columns, indptr, self.support_norms[: self.size]

    def _kernel(self) -> tuple[Any, tuple[Any, ...]]:
        from olbench.kernels.gram import run

        support = (self.support_data, self.support_columns, self.support_indptr, self.support_norms)
        state = (self.nu, self.factor, *support, self.counters)
        return run, (self.shape, float(self.algorithm.a), *state, self.algorithm.definition.monotone)

    def _run_curve(self, rows: tuple[Any, ...], y: Floats, order: Ints, ends: Ints) -> tuple[Ints, Floats]:
        """Run in chunks, reserving memory before each: compiled code cannot."""
        elapsed, counts, seconds = 0.0, [], []
        for begin in range(0, max(1, order.size), CHUNK):
            started = time.perf_counter()
            chunk = order[begin : begin + CHUNK]
            self._reserve_rows(rows, chunk)
            elapsed += time.perf_counter() - started
            first, last = np.searchsorted(ends, (begin, begin + chunk.size), side="right")
            inside = np.append(ends[first if begin else 0 : last] - begin, chunk.size)
            chunk_counts, chunk_seconds = super()._run_curve(rows, y, chunk, inside)
            counts.append(chunk_counts[:-1])
            seconds.append(elapsed + chunk_seconds[:-1])
            elapsed += float(chunk_seconds[-1])
        return np.concatenate(counts), np.concatenate(seconds)

    def _reserve_rows(self, rows: tuple[Any, ...], order: Ints) -> None:
        """Reserve memory for all rows of `order` as support examples, growing by at least half."""
        dense, indptr, order = rows[0], rows[3], order & ROW
        added = order.size * self.d if dense.shape[0] else int((indptr[order + 1] - indptr[order]).sum())
        size, entries = self.size + order.size, self.support_sizes[1] + added
        if size > self.nu.size:
            most, available = max(size, 3 * self.nu.size // 2), available_memory()
            needed = 4 * most * (most + 1)
            if needed > USABLE * available:
                raise UserError(
                    f"a kernel with {most:,} support examples needs {needed / 2**30:,.1f} GiB, and "
                    f"{available / 2**30:,.1f} GiB are available; use fewer examples or no kernel"
                )
        for name, array in self.arrays.items():
            value = getattr(self, name)
            if array.length is not None and (needed := array.length(size, entries)) > value.size:
                longer = np.empty(max(needed, 3 * value.size // 2), value.dtype)
                longer[: value.size] = value
                setattr(self, name, longer)


def choose_second_order(algorithm: Algorithm) -> type[SecondOrderLearner]:
    definition = algorithm.definition
    if algorithm.kernel is not None:
        return GramLearner
    if algorithm.covariance != "diag":
        return RootLearner if algorithm.form == "root" else CovarianceLearner
    if definition.product:
        return ProductLearner
    return ExactLearner if algorithm.projection == "exact" else DiagonalLearner


FAMILIES["second"] = choose_second_order


def quadratic_forms(X: Any, factor: Floats, square: bool) -> Floats:
    """Return x' F x for each row of X, or ||F' x||^2 with `square`, block by block to save memory."""
    values = np.empty(X.shape[0])
    for begin in range(0, X.shape[0], BLOCK):
        rows = X[begin : begin + BLOCK]
        product = rows @ factor
        left = product if square else rows.toarray() if hasattr(rows, "toarray") else rows
        values[begin : begin + BLOCK] = np.einsum("ij,ij->i", left, product)
    return values
