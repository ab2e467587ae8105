"""Learners: the arrays that a pass carries from slice to slice, declared once, and what follows from them.

A learner declares each array once: name, shape, start and growth. Bytes, copies, resets and reserved memory
follow from that, before it is started or after.
"""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from olbench.algorithms.algorithm import Algorithm
from olbench.errors import UserError
from olbench.kernels import counters as at
from olbench.kernels.counters import CURVE_COUNTS
from olbench.learners.examples import (
    DOUBLE,
    INT64,
    Floats,
    Ints,
    SingleRow,
    as_order,
    check_size,
    check_width,
)
from olbench.learners.own_rules import raise_errors
from olbench.memory import USABLE, available_memory

#: Below this many bytes the available memory is not read: reading it takes as long as a short pass.
ALWAYS_AVAILABLE = 2**20


@dataclass(frozen=True)
class Array:
    """An array of a learner."""

    shape: tuple[int, ...]
    #: A number or an array that fits the shape, or a function that writes into zeros.
    start: Any = 0.0
    dtype: type = np.float64
    #: Whether it is learnt: counts, margins and scratch memory are not part of the state.
    is_state: bool = True
    #: Whether only the entries of features that examples had can have changed.
    by_feature: bool = False
    #: The length for a support of so many examples with so many entries; None if it does not grow.
    length: Callable[[int, int], int] | None = None

    def make(self) -> NDArray[Any]:
        """Return the array as it starts, at a cache line: a vector across two lines loads half as fast."""
        item = np.dtype(self.dtype).itemsize
        size, per_line = math.prod(self.shape), 8 * at.LINE // item
        memory: NDArray[Any] = np.zeros(size + per_line, self.dtype)
        skipped = -(memory.ctypes.data // item) % per_line
        value = memory[skipped : skipped + size].reshape(self.shape)
        self.write_start(value)
        return value

    def write_start(self, value: NDArray[Any]) -> None:
        """Write the start into zeros; untouched pages of zeros cost no memory."""
        if callable(self.start):
            self.start(value)
        elif isinstance(self.start, np.ndarray) or self.start:
            value[...] = self.start

    def reset(self, value: NDArray[Any], columns: Any) -> None:
        if self.by_feature and columns is not None:
            value[columns] = self.start
        else:
            value[...] = 0
            self.write_start(value)

    def count_bytes(self, size: int = 0, entries: int = 0) -> int:
        length = math.prod(self.shape) if self.length is None else self.length(size, entries)
        return length * np.dtype(self.dtype).itemsize


Arrays = dict[str, Array]


def _counter(place: int, doc: str) -> Any:
    return property(lambda learner: int(learner.counters[place]), doc=doc)


class Learner(ABC):
    """The state that a pass carries from slice to slice, and its counters."""

    #: Whether a pass can keep the variance of each margin.
    has_variances: ClassVar[bool] = False
    #: What a trace shows of a round in addition to its margin, and the rule's answers; empty without a trace.
    question: ClassVar[str] = ""
    answers: tuple[str, ...] = ()

    counters: Ints
    #: A ring of the margins of the last rounds, with the exponents of their scales; see `keep_margins`.
    margins: Floats

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> NDArray[Any]:
            """Return an array that is declared."""

    def __init__(self, algorithm: Algorithm, d: int, classes: int = 1):
        self.algorithm, self.d, self.classes = algorithm, d, classes
        refuse_beyond_memory(self.plan_bytes(algorithm, d, classes) or 0, algorithm, d, classes)
        self.arrays = self.declare(algorithm, d, classes)
        for name, array in self.arrays.items():
            setattr(self, name, array.make())

    @classmethod
    def declare(cls, algorithm: Algorithm, d: int, classes: int) -> Arrays:
        """Return the arrays of a learner by name; a family adds its own."""
        return {
            "counters": Array((at.COUNTERS + 2 * at.GROUPS * classes,), dtype=np.int64, is_state=False),
            "margins": Array((0, 2), is_state=False),
        }

    @classmethod
    def plan_bytes(cls, algorithm: Algorithm, d: int, classes: int) -> int | None:
        """Return the `state_bytes` of a learner before it starts; None if they depend on the examples."""
        arrays = [each for each in cls.declare(algorithm, d, classes).values() if each.is_state]
        if any(each.length is not None for each in arrays):
            return None
        return sum(each.count_bytes() for each in arrays)

    @property
    def state_bytes(self) -> int | None:
        """The bytes of the arrays that it has learnt; None where they are not known."""
        sizes = self.support_sizes
        return sum(each.count_bytes(*sizes) for each in self.arrays.values() if each.is_state)

    @property
    def support_sizes(self) -> tuple[int, int]:
        """The examples that its arrays hold, and the entries of these."""
        return 0, 0

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("arrays", "_single_row")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.arrays = self.declare(self.algorithm, self.d, self.classes)
        if self.counters.size == at.COUNTERS:  # pickled before mistakes were counted by group
            self.counters = np.concatenate([self.counters, np.zeros(2 * at.GROUPS * self.classes, np.int64)])
            alarms, mistakes = self.counters[[at.FALSE_ALARMS, at.MISTAKES]]
            self.missed[0, :2] = alarms, mistakes - alarms

    def reset(self, columns: Any = None) -> None:
        """Start from scratch; `columns`, if given, are all the features of the examples seen so far."""
        for name, array in self.arrays.items():
            array.reset(getattr(self, name), columns)

    def _own_arrays(self) -> None:
        """Copy arrays that joblib has mapped into this process: read-only, or shared with other copies."""
        for name in self.arrays:
            value = getattr(self, name)
            if isinstance(value, np.memmap) or not value.flags.writeable:
                setattr(self, name, np.array(value, order="C"))

    def keep_margins(self, ring: Floats) -> None:
        """Keep the margin f of each round t from now on in a ring, and e if f is scaled by 2 ** e.

        The row of round t, counted from 1, is (t - 1) modulo the size of the ring, a power of two.
        """
        self.margins = ring

    @property
    def missed(self) -> Ints:
        """The mistakes by group of their rows, as the head of `kernels.counters` describes the columns."""
        return self.counters[at.COUNTERS :].reshape(at.GROUPS, 2 * self.classes)

    def find_signs(self, places: Ints) -> NDArray[np.bool_]:
        """Return which predictions at these places of the ring were positive."""
        return np.asarray(self.margins[places, 0] >= 0.0)

    def run(self, rows: tuple[Any, ...], y: Floats, order: Ints) -> None:
        """Predict and then learn each example of `order`, one after another."""
        self.run_curve(rows, y, order, np.array([order.size]))

    def step(self, x: Any, y: float) -> float:
        """Predict one example, learn its label y, -1 or +1, and return the margin of the prediction.

        x is an array of d numbers or a sparse matrix of one row. The result is that of a pass over the same
        examples. An array of doubles takes microseconds; it is copied, so it may change afterwards.

        >>> from olbench import make_algorithm, start
        >>> learner = start(make_algorithm("arow"), 2)
        >>> learner.step([1.0, 0.0], +1), learner.step([1.0, 1.0], -1), learner.mistakes
        (0.0, 0.5, 1)
        """
        single = self._single_row
        single.put_label(y)
        rows = single.fill(x)
        if not self.margins.shape[0]:
            self.keep_margins(np.zeros((1, 2)))
        self.run(rows, single.y, single.order)
        margin, exponent = self.margins[(self.rounds - 1) & (self.margins.shape[0] - 1), :2].tolist()
        return float(np.ldexp(margin, -int(exponent)))

    def score(self, x: Any) -> float:
        """Return the score of one example, whose sign is the prediction; x is as in `step`."""
        single = self._single_row
        return float(np.ldexp(self.scores(single.fill(x), single.order)[0], -self.scale_exponent))

    @cached_property
    def _single_row(self) -> SingleRow:
        return SingleRow(self.d)

    def run_curve(self, rows: tuple[Any, ...], y: Floats, order: Ints, ends: Ints) -> tuple[Ints, Floats]:
        """Run, and return CURVE_COUNTS and the elapsed seconds after each of `ends` examples."""
        # Compiled code is called without numba's checks of types (`calls.compile_pass`).
        y, n = np.ascontiguousarray(y, DOUBLE), rows[4].size
        if order.dtype is not INT64 or not order.flags.c_contiguous:
            order = as_order(order, n)
        check_size(y, n)
        check_width(rows, self.d)
        self._own_arrays()
        definition = self.algorithm.definition
        with raise_errors(definition) if definition.is_own else nullcontext():
            return self._run_curve(rows, y, order, ends)

    def _run_curve(self, rows: tuple[Any, ...], y: Floats, order: Ints, ends: Ints) -> tuple[Ints, Floats]:
        counts, seconds = np.empty((ends.size, len(CURVE_COUNTS)), np.int64), np.empty(ends.size)
        started, begin = time.perf_counter(), 0
        for k, end in enumerate(ends.tolist()):
            self._learn(rows, y, order[begin:end])
            begin = end
            seconds[k] = time.perf_counter() - started
            counts[k] = self.counters[list(CURVE_COUNTS.values())]
        return counts, seconds

    def _learn(self, rows: tuple[Any, ...], y: Floats, order: Ints) -> None:
        raise NotImplementedError

    @property
    @abstractmethod
    def weights(self) -> Floats:
        """The weight vector used for prediction."""

    @property
    def last_weights(self) -> Floats:
        """The weight vector that predicts the next example of a pass."""
        return self.weights

    @property
    def scale_exponent(self) -> int:
        """The exponent of the power of two that multiplies mu and the root of Sigma to prevent underflow."""
        return 0

    def moments_at(self, columns: Any) -> tuple[Floats, Floats | None]:
        """Return the weights of some features and their variances, None without any."""
        return self.weights[columns], None

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

    def prepare_question(self, rows: tuple[Any, ...], row: int, answer: Floats) -> Any:
        """Return a function of m, s or v, and the mistake that writes what the rule answers in this round."""
        raise NotImplementedError

    def read_moments(self) -> tuple[Floats, NDArray[np.float64] | None]:
        """Return the weights and the covariance, if any, in the units of the problem."""
        return self.last_weights, None

    rounds = _counter(at.ROUNDS, "Examples predicted.")
    mistakes = _counter(at.MISTAKES, "Examples whose prediction, made before learning them, was wrong.")
    updates = _counter(at.UPDATES, "Rounds with a loss above zero.")
    effective_updates = _counter(at.EFFECTIVE, "Rounds that changed the state.")
    breakdowns = _counter(
        at.BREAKDOWNS,
        "Rounds with a margin or step that is not finite, a NaN loss, or a variance <= 0 on a non-zero row.",
    )

    @property
    def learnt(self) -> int:
        return int(self.counters[at.ROUNDS] - self.counters[at.UNLEARNED])


class KernelLearner(Learner):
    """A learner that runs in a compiled kernel."""

    def __init__(self, algorithm: Algorithm, d: int, classes: int = 1):
        super().__init__(algorithm, d, classes)
        self.p: Floats = algorithm.definition.rule_constants(algorithm.params)

    @abstractmethod
    def _kernel(self) -> tuple[Any, tuple[Any, ...]]:
        """Return the kernel and its arguments after the order: the state, then options; not the margins."""

    def _run_curve(self, rows: tuple[Any, ...], y: Floats, order: Ints, ends: Ints) -> tuple[Ints, Floats]:
        from olbench.kernels.calls import compile_pass

        counts, seconds = np.empty((ends.size, len(CURVE_COUNTS)), np.int64), np.empty(ends.size)
        kernel, state = self.kernel_state()
        arguments = (self.p, rows, y, order, state, ends, self.counters, counts, seconds)
        compile_pass(kernel)(self._point_to_rule(), *arguments)
        return counts, seconds

    def _point_to_rule(self) -> Any:
        """Return the first argument of its kernel."""
        from olbench.kernels.calls import Address

        return Address(self.compiled_rule, self.compiled_rule.address)

    def kernel_state(self) -> tuple[Any, tuple[Any, ...]]:
        kernel, state = self._kernel()
        return kernel, (*state, self.margins)

    def warm_up(self) -> None:
        from olbench.kernels.calls import compile_pass

        compile_pass(self._kernel()[0])
        _ = self.compiled_rule

    @property
    def compiled_rule(self) -> Any:
        return self.algorithm.definition.compiled_rule


class ClassLearner(Learner):
    """A learner of several classes. Labels are the numbers of the classes in sorted order, 0 to K - 1."""

    #: Predictions, one row per true class and one column per predicted one.
    confusion: Ints

    @classmethod
    def declare(cls, algorithm: Algorithm, d: int, classes: int) -> Arrays:
        confusion = Array((classes, classes), dtype=np.int64, is_state=False)
        return super().declare(algorithm, d, classes) | {"confusion": confusion}

    def step(self, x: Any, y: float) -> float:
        """Refuse: several classes have no single margin."""
        raise UserError("a learner of several classes has no single margin; use an estimator")

    def score(self, x: Any) -> float:
        return self.step(x, 1.0)


def refuse_beyond_memory(state: int, algorithm: Algorithm, d: int, classes: int) -> None:
    """Raise a UserError if a learner with a state of so many bytes, and its weights, do not fit in memory."""
    needed = add_weights(state, d, classes)
    if needed < ALWAYS_AVAILABLE or needed <= USABLE * (available := available_memory()):
        return
    definition = algorithm.definition
    what, purpose = algorithm.id, f" for {d:,} features{f' and {classes} classes' if classes > 1 else ''}"
    remedy = "give features smaller numbers"
    if definition.order == "second" and algorithm.covariance != "diag":
        what, remedy = f"a full covariance of {d:,} features", "use covariance='diag'"
        purpose = f" for {classes} classes" if classes > 1 and algorithm.covariance != "shared" else ""
        if not definition.diagonal:
            remedy = f"{definition.id} has no diagonal form: use fewer features, or another algorithm"
    raise UserError(
        f"{what} needs {needed / 2**30:,.1f} GiB{purpose}, and {available / 2**30:,.1f} GiB are available; "
        f"{remedy}"
    )


def add_weights(state: int, d: int, classes: int) -> int:
    """Return the bytes of a learner and of the weights that it returns."""
    return state + 8 * d * classes


Kind = TypeVar("Kind", bound=type[Learner])
#: The class of learners, or what chooses one for an algorithm, by the order of algorithms.
FAMILIES: dict[str, Callable[[Algorithm], type[Learner]]] = {}


def family(order: str) -> Callable[[Kind], Kind]:
    """Register a class of learners for the algorithms of an order."""

    def register(kind: Kind) -> Kind:
        FAMILIES[order] = lambda algorithm: kind
        return kind

    return register


def find_family(algorithm: Algorithm) -> type[Learner]:
    return FAMILIES[algorithm.definition.order](algorithm)
