"""A pass round by round: what a learner saw, what its rule answered, and the state before and after.

The kernel runs slices of one round, so every state is the kernel's own. The margin and the variance are those
that it kept, and the step is what the compiled rule answers to them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from olbench.algorithms.algorithm import Algorithm, find_algorithm
from olbench.errors import UserError, count
from olbench.kernels.counters import BREAKDOWNS, EFFECTIVE, MISTAKES, ONLY_PREDICT, UPDATES
from olbench.learners.examples import Examples, Floats, Ints, as_examples, as_labels, as_order
from olbench.learners.start import start
from olbench.learners.state import Learner
from olbench.memory import USABLE, available_memory

if TYPE_CHECKING:
    from pandas import DataFrame

#: The most bytes that the states of a trace may take.
MOST_BYTES = 2**29
#: Events of a round, and the counters that show them.
EVENTS = {"mistake": MISTAKES, "updated": UPDATES, "changed": EFFECTIVE, "breakdown": BREAKDOWNS}


@dataclass(frozen=True)
class State:
    """The weights of a learner, or the mean mu of its Gaussian, with Sigma or its diagonal."""

    weights: Floats
    #: None for a first-order learner.
    covariance: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class TracedRound:
    """One round: the example, the prediction, the answer of the rule and the state before and after.

    A second-order learner has the variance v = x' Sigma x, alpha and c; a first-order one has ||x||^2, shrink
    and tau. The others are None. The rule is not asked in a round whose margin or norm is not a finite
    number: its loss is NaN then. A compiled learner has no rule to ask, and so no loss.
    """

    #: The number of the round, from 1, and the row of the example.
    t: int
    row: int
    x: Floats
    label: int
    prediction: int
    mistake: bool
    #: The signed margin m = y mu.x before the step.
    margin: float
    #: Whether the loss was above zero, whether the state changed, and whether the arithmetic broke down.
    updated: bool
    changed: bool
    breakdown: bool
    loss: float | None = None
    variance: float | None = None
    alpha: float | None = None
    c: float | None = None
    squared_norm: float | None = None
    shrink: float | None = None
    tau: float | None = None
    #: None in a trace without states.
    before: State | None = None
    after: State | None = None

    @property
    def beta(self) -> float | None:
        """How far a full covariance shrinks: Sigma -= beta z z' for z = Sigma x; c / (1 + c v)."""
        if self.c is None or self.variance is None:
            return None
        return self.c / (1.0 + self.c * self.variance)


def _count_rounds(event: str, doc: str) -> Any:
    return property(lambda trace: int(trace._columns[event].sum()), doc=doc)


class Trace(Sequence[TracedRound]):
    """The rounds of a pass in their order: trace[0] is the first of them."""

    def __init__(
        self, learner: Learner, examples: Examples, columns: dict[str, NDArray[Any]], states: list[State]
    ):
        #: The learner after the last round.
        self.learner = learner
        self._examples = examples
        #: One array per field of a round that is a number.
        self._columns = columns
        #: The states between the rounds, one more than these; none if they were not asked for.
        self._states = states

    @property
    def algorithm(self) -> Algorithm:
        return self.learner.algorithm

    mistakes = _count_rounds("mistake", "Rounds whose prediction was wrong.")
    updates = _count_rounds("updated", "Rounds with a loss above zero.")
    effective_updates = _count_rounds("changed", "Rounds that changed the state.")
    breakdowns = _count_rounds("breakdown", "Breakdowns of the arithmetic.")

    @property
    def has_states(self) -> bool:
        return bool(self._states)

    def __len__(self) -> int:
        return len(self._columns["t"])

    @overload
    def __getitem__(self, index: int) -> TracedRound: ...

    @overload
    def __getitem__(self, index: slice) -> list[TracedRound]: ...

    def __getitem__(self, index: int | slice) -> TracedRound | list[TracedRound]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        number = range(len(self))[index]
        values = {name: column[number].item() for name, column in self._columns.items()}
        row = self._examples.matrix()[values["row"]]
        states = (self._states[number], self._states[number + 1]) if self._states else (None, None)
        return TracedRound(
            x=row.toarray().ravel() if hasattr(row, "toarray") else row.copy(),
            before=states[0],
            after=states[1],
            **values,
        )

    def to_frame(self) -> "DataFrame":
        """Return one row per round, with its numbers but not its example and states."""
        import pandas as pd

        columns = dict(self._columns)
        if "c" in columns:
            columns["beta"] = columns["c"] / (1.0 + columns["c"] * columns["variance"])
        first = ["t", "row", "label", "prediction", "mistake", "margin"]
        last = ["updated", "changed", "breakdown"]
        middle = [name for name in columns if name not in (*first, *last)]
        return pd.DataFrame({name: columns[name] for name in (*first, *middle, *last)})

    def __repr__(self) -> str:
        counts = f"{count(self.mistakes, 'mistake')}, {count(self.updates, 'update')}"
        return f"<Trace of {self.algorithm.id}: {count(len(self), 'round')}, {counts}>"

    def _repr_html_(self) -> str:
        frame = self.to_frame()
        if (frame["changed"] == frame["updated"]).all():
            frame = frame.drop(columns="changed")
        if not frame["breakdown"].any():
            frame = frame.drop(columns="breakdown")
        html: str = frame.to_html(index=False, max_rows=10, float_format="{:.4g}".format, border=0)
        return html


def trace(
    algorithm: Algorithm | str,
    X: Any,
    y: ArrayLike,
    order: ArrayLike | None = None,
    rounds: int | None = None,
    skip: int = 0,
    states: bool = True,
    **settings: Any,
) -> Trace:
    """Run an algorithm as `online_pass` does, and return what happened in each round.

    The algorithm is what `make_algorithm` returns, or an id with its settings as keywords. The first `skip`
    rounds are run and not traced; of those that follow, `rounds` are, by default all. Each has the margin m,
    the variance v, the loss, the step, the prediction and, unless `states` is False, the weights and the
    covariance before and after. All numbers come from the compiled code of the pass. States of a full
    covariance take d * d numbers per round; more than half a gigabyte of them is refused.

    >>> import numpy as np
    >>> X, y = np.array([[1.0, 0.0], [0.0, 1.0]] * 5), np.array([1, -1] * 5)
    >>> rounds = trace("arow", X, y, r=0.5)
    >>> rounds
    <Trace of arow: 10 rounds, 1 mistake, 10 updates>
    >>> first = rounds[0]
    >>> first.margin, first.variance, round(first.alpha, 3), first.after.weights.round(3).tolist()
    (0.0, 1.0, 0.667, [0.667, 0.0])
    """
    examples = as_examples(X)
    labels = as_labels(y, examples.n)
    learner = start(find_algorithm(algorithm, settings), examples.d)
    if reason := _explain_untraceable(learner):
        raise UserError(f"{learner.algorithm.id} {reason}")
    if rounds is not None and rounds < 1:
        raise UserError(f"rounds must be at least 1, not {rounds}")
    if skip < 0:
        raise UserError(f"skip must be at least 0, not {skip}")
    entries = as_order(order, examples.n)
    if entries.size and entries.max() >= ONLY_PREDICT:
        raise UserError("a trace takes an order of rows, not a schedule of labels that come late or never")
    last = entries.size if rounds is None else min(entries.size, skip + rounds)
    traced = entries[skip:last]
    if states:
        _refuse_large_states(learner, traced.size)
    learner.warm_up()
    learner.run(examples.rows(), labels, entries[:skip])
    return _trace_rounds(learner, examples, labels, traced, states)


def _explain_untraceable(learner: Learner) -> str:
    algorithm = learner.algorithm
    if not learner.question:
        return "does not update a weight vector round by round, so there is nothing to trace"
    if algorithm.kernel is not None:
        return "with a kernel keeps support examples and no weights to trace; leave out the kernel"
    if algorithm.covariance == "diag" and algorithm.definition.product:
        words = "with a diagonal covariance predicts with no fixed weights that could be traced"
        return f"{words}; use covariance='full'"
    if algorithm.projection == "exact" and algorithm.forgetting < 1.0:
        return "with projection='exact' and forgetting cannot be traced; leave out one of them"
    return ""


def _refuse_large_states(learner: Learner, rounds: int) -> None:
    d = learner.d
    variances = d if learner.algorithm.covariance == "diag" else d * d
    needed = 8 * (d + (variances if learner.has_variances else 0)) * (rounds + 1)
    if needed > MOST_BYTES or needed > USABLE * available_memory():
        raise UserError(
            f"the states of {count(rounds, 'round')} with {count(d, 'feature')} take {needed / 2**30:,.1f} "
            "GiB; trace fewer rounds, or pass states=False"
        )


def _trace_rounds(learner: Learner, examples: Examples, labels: Floats, order: Ints, states: bool) -> Trace:
    algorithm, rows = learner.algorithm, examples.rows()
    numbers = ("margin", learner.question, *learner.answers)
    columns: dict[str, NDArray[Any]] = {
        "t": learner.rounds + np.arange(1, order.size + 1),
        "row": order,
        "label": labels[order].astype(np.int64),
        "prediction": np.empty(order.size, np.int64),
        **{name: np.empty(order.size) for name in numbers},
        **{name: np.empty(order.size, bool) for name in EVENTS},
    }
    # A penalty moves the weights of a compiled learner also where there is no loss.
    is_moving = algorithm.forgetting < 1.0 or algorithm.definition.order == "compiled"
    # A ring of one round: the kernel writes the margin, its exponent and the variance into it.
    learner.keep_margins(np.zeros((1, 3 if learner.has_variances else 2)))
    kept = [State(*learner.read_moments())] if states else []
    for number, row in enumerate(order.tolist()):
        values = _run_round(learner, rows, labels, row)
        for name, value in zip(("prediction", *numbers, *EVENTS), values, strict=True):
            columns[name][number] = value
        if states:
            # A round without a change shares the state of the one before.
            is_new = is_moving or columns["changed"][number]
            kept.append(State(*learner.read_moments()) if is_new else kept[-1])
    return Trace(learner, examples, columns, kept)


def _run_round(learner: Learner, rows: tuple[Any, ...], labels: Floats, row: int) -> list[float]:
    """Run one round, ask the rule again about it, and return the prediction, the numbers and the events."""
    before, answer = learner.counters.copy(), np.zeros(len(learner.answers))
    ask = learner.prepare_question(rows, row, answer)
    # A kernel that does not scale its margins does not write their exponents.
    learner.margins[0], learner.margins[0, 1] = np.nan, 0.0
    learner.run(rows, labels, np.array([row]))
    happened = (learner.counters - before)[list(EVENTS.values())] > 0
    # A learner that is rescaled keeps its margins in its own units.
    margin, exponent = float(learner.margins[0, 0]), -int(learner.margins[0, 1])
    m = float(labels[row]) * math.ldexp(margin, exponent)
    size = float(rows[4][row])
    if learner.has_variances:
        size = math.ldexp(float(learner.margins[0, 2]), 2 * exponent)
    lost = not (math.isfinite(m) and math.isfinite(size))
    if lost or (not learner.has_variances and happened[3] and size == 0.0):
        answer[:] = np.nan
    else:
        ask(m, size, bool(happened[0]))
    return [1 if margin >= 0.0 else -1, m, size, *answer, *happened]
