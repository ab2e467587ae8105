"""Learners: the state of an algorithm between slices of a pass, one class for each family of kernels."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from olbench.algorithms.definition import Definition, Value
from olbench.errors import UserError
from olbench.examples import Floats, Ints

if TYPE_CHECKING:
    from olbench.advice.sets import Advice

Covariance = Literal["full", "diag"]
Projection = Literal["kl", "l2"]
Form = Literal["covariance", "root"]

# Rows at a time where a product with the covariance would be as large as a dense X.
BLOCK = 1024
# So many bytes are not asked for: the question costs as much as a short pass.
SURELY_THERE = 2**20
_CHOICES = {"covariance": ("full", "diag"), "projection": ("kl", "l2"), "form": ("covariance", "root")}


@dataclass(frozen=True)
class Algorithm:
    """A definition with its parameters set: what `make_algorithm` returns and `online_pass` runs."""

    definition: Definition
    params: Mapping[str, Value]
    covariance: Covariance = "full"
    projection: Projection = "kl"
    form: Form = "covariance"
    a: float = 1.0
    advice: "Advice | None" = None

    @property
    def id(self) -> str:
        """The id of the definition."""
        return self.definition.id

    def start(self, d: int) -> "Learner":
        """Return a learner for d features that has seen nothing."""
        if self.definition.order == "object":
            from olbench.contestants import ObjectLearner

            return ObjectLearner(self, d)
        if self.definition.order == "advice":
            from olbench.advice.learner import AdviceLearner

            return AdviceLearner(self, d)
        if self.definition.order == "first":
            return FirstOrderLearner(self, d)
        if self.covariance == "diag":
            return DiagonalLearner(self, d)
        refuse_large(d)
        return RootLearner(self, d) if self.form == "root" else CovarianceLearner(self, d)


def make_algorithm(id: str, **settings: Any) -> Algorithm:
    """Return the algorithm `id` with these parameters.

    Second-order algorithms also take covariance ("full" or "diag"), projection ("kl" or "l2", for diag), form
    ("covariance" or "root", for full) and the initial variance a. Those that take advice take `advice`.

    >>> make_algorithm("scw1", C=0.5).params
    {'C': 0.5, 'eta': 0.75}
    """
    from olbench.algorithms import get_definition

    definition = get_definition(id)
    options: dict[str, Any] = {"form": definition.form}
    if definition.order == "advice":
        options["advice"] = settings.pop("advice", None)
    given_form = definition.order == "second" and settings.get("form") is not None
    if definition.order == "second":
        options |= {name: settings.pop(name) for name in (*_CHOICES, "a") if settings.get(name) is not None}
        settings = {name: value for name, value in settings.items() if name not in (*_CHOICES, "a")}
    for name, allowed in _CHOICES.items():
        if options.get(name, allowed[0]) not in allowed:
            raise UserError(f"{id}: {name} must be {' or '.join(allowed)}, not {options[name]!r}")
    a = options.get("a", 1.0)
    if isinstance(a, bool) or not isinstance(a, int | float | np.number) or not 0.0 < a < np.inf:
        raise UserError(f"{id}: the initial variance a must be above zero, not {a!r}")
    if options.get("covariance") == "diag" and given_form:
        raise UserError(
            f"{id}: form says how a full covariance is stored, and this one is diagonal; leave it out"
        )
    if options.get("covariance") == "diag" and not definition.diagonal:
        raise UserError(f"{id} has no diagonal form: {definition.no_diagonal}; use covariance='full'")
    return Algorithm(definition, definition.resolve(settings), **options)


def available_memory() -> int:
    """Return the bytes of memory that can be had without swapping."""
    import os

    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            fields = dict(line.split(":", 1) for line in lines)
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def refuse_large(d: int) -> None:
    """Refuse a full covariance that memory cannot hold."""
    needed = 8 * d * d
    if needed < SURELY_THERE:
        return
    available = available_memory()
    if needed > 0.9 * available:
        raise UserError(
            f"a full covariance of {d:,} features needs {needed / 2**30:,.1f} GiB, and "
            f"{available / 2**30:,.1f} GiB are available; use covariance='diag'"
        )


class Learner(ABC):
    """State that kernels carry from slice to slice."""

    def __init__(self, algorithm: Algorithm, d: int):
        self.algorithm = algorithm
        self.d = d
        self.counters: Ints = np.zeros(6, dtype=np.int64)
        self.p: Floats = algorithm.definition.rule_constants(algorithm.params)

    def run(self, rows: tuple[Any, ...], y: Floats, order: Ints) -> None:
        """Predict and learn the examples of `order`, one after the other."""
        self.trace(rows, y, order, np.array([order.size]))

    def trace(self, rows: tuple[Any, ...], y: Floats, order: Ints, ends: Ints) -> tuple[Ints, Floats]:
        """Run, and return (mistakes, updates) so far and the seconds taken after each of `ends` examples."""
        for name, value in vars(self).items():
            # joblib hands large arrays to its processes as read-only memory maps
            if isinstance(value, np.ndarray) and not value.flags.writeable:
                setattr(self, name, value.copy())
        counts, seconds = np.empty((ends.size, 2), dtype=np.int64), np.empty(ends.size)
        self._trace(rows, y, order, ends, counts, seconds)
        return counts, seconds

    @abstractmethod
    def _trace(
        self, rows: tuple[Any, ...], y: Floats, order: Ints, ends: Ints, counts: Ints, seconds: Floats
    ) -> None:
        """Run up to each of `ends` and note there what `trace` returns."""

    @property
    @abstractmethod
    def weights(self) -> Floats:
        """The weight vector that predicts."""

    @abstractmethod
    def warm_up(self) -> None:
        """Compile, or load from the cache, what `run` needs."""

    @property
    def rounds(self) -> int:
        """Examples seen."""
        return int(self.counters[0])

    @property
    def mistakes(self) -> int:
        """Examples predicted wrongly before they were learnt."""
        return int(self.counters[1])

    @property
    def updates(self) -> int:
        """Rounds whose own loss was above zero."""
        return int(self.counters[2])

    @property
    def effective_updates(self) -> int:
        """Rounds that changed the state."""
        return int(self.counters[3])

    @property
    def breakdowns(self) -> int:
        """Rounds with a variance that was not positive on a non-zero row, or a state that was not finite."""
        return int(self.counters[4])


class KernelLearner(Learner):
    """A learner whose passes are compiled."""

    @abstractmethod
    def _kernel(self) -> tuple[Any, tuple[Any, ...]]:
        """Return the kernel, and what it takes after the order: the state and how it changes."""

    def _trace(
        self, rows: tuple[Any, ...], y: Floats, order: Ints, ends: Ints, counts: Ints, seconds: Floats
    ) -> None:
        from olbench.kernels.trace import Address, tracer

        kernel, state = self._kernel()
        compiled = self.algorithm.definition.compiled_rule
        rule = Address(compiled, compiled.address)
        tracer(kernel)(rule, self.p, rows, y, order, state, ends, self.counters, counts, seconds)

    def warm_up(self) -> None:
        """Compile, or load from the cache, the kernel and the rule."""
        from olbench.kernels.trace import tracer

        tracer(self._kernel()[0])
        _ = self.algorithm.definition.compiled_rule


class FirstOrderLearner(KernelLearner):
    """A weight vector, as a common factor times an array."""

    def __init__(self, algorithm: Algorithm, d: int):
        super().__init__(algorithm, d)
        self.w: Floats = np.zeros(d)
        self.scalars: Floats = np.array([1.0, 0.0])

    def _kernel(self) -> tuple[Any, tuple[Any, ...]]:
        from olbench.kernels.first_order import run

        return run, (self.w, self.scalars, self.counters)

    @property
    def weights(self) -> Floats:
        """The weight vector w."""
        weights: Floats = self.scalars[0] * self.w
        return weights


class SecondOrderLearner(KernelLearner):
    """A Gaussian over weight vectors: mean and covariance."""

    @property
    def scale_exponent(self) -> int:
        """The power of two by which a scale-free learner was multiplied to keep it from underflow."""
        return 0

    @abstractmethod
    def margin_variance(self, X: Any) -> Floats:
        """Return x' Sigma x for each row of X."""

    @property
    @abstractmethod
    def covariance(self) -> NDArray[np.float64]:
        """Sigma, or its diagonal."""


class CovarianceLearner(SecondOrderLearner):
    """Full covariance as a symmetric matrix, less the outer products that are still pending."""

    def __init__(self, algorithm: Algorithm, d: int):
        super().__init__(algorithm, d)
        self.mu: Floats = np.zeros(d)
        self.sigma: Floats = algorithm.a * np.eye(d)
        self.pending: Floats = np.zeros((8, d))
        self.axis: Floats = np.zeros(d)
        self.bound: Floats = np.array([algorithm.a * (1.0 + 1e-9), np.inf])

    def _kernel(self) -> tuple[Any, tuple[Any, ...]]:
        from olbench.kernels.covariance import run

        definition = self.algorithm.definition
        # Screening trusts that Sigma only shrinks; rounding breaks that for rules meant for the root form.
        screened = definition.monotone and definition.form == "covariance"
        adaptive = screened and (definition.traits is None or definition.traits.adaptive_margin)
        state = (self.mu, self.sigma, self.pending, self.axis, self.bound, self.counters)
        return run, (*state, screened, adaptive)

    @property
    def weights(self) -> Floats:
        """The mean mu."""
        return self.mu.copy()

    @property
    def covariance(self) -> NDArray[np.float64]:
        """Sigma, symmetric to the bit."""
        sigma = self.sigma.copy()
        for z in self.pending[: self.counters[5]]:
            sigma -= np.multiply.outer(z, z)
        return sigma

    def margin_variance(self, X: Any) -> Floats:
        """Return x' Sigma x for each row of X."""
        return _quadratic(X, self.covariance, square=False)


class RootLearner(SecondOrderLearner):
    """Full covariance as a square root: Sigma = R R'."""

    def __init__(self, algorithm: Algorithm, d: int):
        super().__init__(algorithm, d)
        self.mu: Floats = np.zeros(d)
        self.root: Floats = np.sqrt(algorithm.a) * np.eye(d)
        self.bound: Floats = np.array([np.sqrt(algorithm.a) * (1.0 + 1e-9)])
        self.reach: Floats = np.full(d, np.sqrt(algorithm.a))

    def _kernel(self) -> tuple[Any, tuple[Any, ...]]:
        from olbench.kernels.root import run

        definition = self.algorithm.definition
        promises = definition.monotone, definition.scale_free
        return run, (self.mu, self.root, self.bound, self.reach, self.counters, *promises)

    @property
    def scale_exponent(self) -> int:
        """The power of two by which mu and R were multiplied."""
        return int(self.counters[5])

    @property
    def weights(self) -> Floats:
        """The mean mu, times 2 ** scale_exponent."""
        return self.mu.copy()

    @property
    def covariance(self) -> NDArray[np.float64]:
        """Sigma, times 4 ** scale_exponent."""
        sigma: NDArray[np.float64] = self.root @ self.root.T
        return sigma

    def margin_variance(self, X: Any) -> Floats:
        """Return x' Sigma x for each row of X, times 4 ** scale_exponent."""
        return _quadratic(X, self.root, square=True)


class DiagonalLearner(SecondOrderLearner):
    """Diagonal covariance."""

    def __init__(self, algorithm: Algorithm, d: int):
        super().__init__(algorithm, d)
        self.moments: Floats = np.zeros((d, 2))
        self.moments[:, 1] = algorithm.a

    def _kernel(self) -> tuple[Any, tuple[Any, ...]]:
        from olbench.kernels.diagonal import run

        return run, (self.moments, self.counters, self.algorithm.projection == "kl")

    @property
    def weights(self) -> Floats:
        """The mean mu."""
        return self.moments[:, 0].copy()

    @property
    def covariance(self) -> NDArray[np.float64]:
        """The diagonal of Sigma."""
        return self.moments[:, 1].copy()

    def margin_variance(self, X: Any) -> Floats:
        """Return x' Sigma x for each row of X."""
        squares = X.multiply(X) if hasattr(X, "multiply") else np.square(X)
        return np.asarray(squares @ self.moments[:, 1]).ravel()


def _quadratic(X: Any, factor: Floats, square: bool) -> Floats:
    """Return x' F x for each row of X, or ||F' x||^2 with `square`, in blocks that keep memory small."""
    values = np.empty(X.shape[0])
    for begin in range(0, X.shape[0], BLOCK):
        rows = X[begin : begin + BLOCK]
        product = rows @ factor
        left = product if square else rows.toarray() if hasattr(rows, "toarray") else rows
        values[begin : begin + BLOCK] = np.einsum("ij,ij->i", left, product)
    return values
