"""Why a pass breaks down numerically: its first breakdown, with the round, the row and the reason.

Kernels only count breakdowns. Here a pass that has some is watched while it runs once more: the state before
each slice is kept, and where the count grows, halving the slice finds the round.
"""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from olbench.kernels.counters import ROW
from olbench.learn.examples import Floats, Ints, as_matrix
from olbench.learn.learners import (
    ExactLearner,
    FirstOrderLearner,
    LabelledDiagonal,
    LabelledRoot,
    Learner,
    SecondOrderLearner,
)


@dataclass(frozen=True)
class Breakdown:
    """The first round of a pass that broke down."""

    #: The round, counted from 1, and the number of its row in the data, from 0.
    round: int
    row: int
    reason: str

    def __str__(self) -> str:
        return f"the first breakdown is in round {self.round:,}, on row {self.row:,}: {self.reason}"


class BreakdownWatch:
    def __init__(self) -> None:
        self.found: Breakdown | None = None

    def run(self, learner: Learner, rows: tuple[Any, ...], y: Floats, order: Ints) -> None:
        """Look for a breakdown in a slice that the learner is about to run; its state stays as it is."""
        if self.found:
            return
        before, count = copy_learner(learner), learner.breakdowns
        after = copy_learner(before)
        after.run(rows, y, order)
        if after.breakdowns == count:
            return
        while order.size > 1:
            first, second = order[: order.size // 2], order[order.size // 2 :]
            middle = copy_learner(before)
            middle.run(rows, y, first)
            if middle.breakdowns > count:
                order = first
            else:
                before, order = middle, second
        row = int(order[0]) & ROW
        self.found = Breakdown(before.rounds + 1, row, explain(before, rows, float(y[row]), row))


#: The watch of `watch_passes`. No context variable: a user's rule runs in a thread of its own.
current: BreakdownWatch | None = None


@contextmanager
def watch_passes() -> Iterator[BreakdownWatch]:
    """Watch all passes of this process; the first breakdown is then in `found`. They take twice as long.

    >>> import numpy as np
    >>> from olbench import online_pass
    >>> with watch_passes() as watch:
    ...     result = online_pass("arow", np.array([[1.0], [1e300]]), np.array([1, -1]))
    >>> watch.found.round, watch.found.reason
    (2, 'the square of its largest value, 1e+300, is not finite; scale the data')
    """
    global current
    current = BreakdownWatch()
    try:
        yield current
    finally:
        current = None


def copy_learner(learner: Learner) -> Learner:
    """Return a learner with arrays of its own; the algorithm is shared."""
    twin = copy.copy(learner)
    for name, value in vars(learner).items():
        if isinstance(value, np.ndarray):
            setattr(twin, name, value.copy())
        elif isinstance(value, list) and value and isinstance(value[0], Learner):
            setattr(twin, name, [copy_learner(each) for each in value])
    return twin


def explain(learner: Learner, rows: tuple[Any, ...], label: float, row: int) -> str:
    x = as_matrix(rows)[row : row + 1]
    values = np.asarray(x.data if hasattr(x, "tocsr") else x, np.float64).ravel()
    with np.errstate(all="ignore"):
        return (
            _explain_row(values) or _explain_state(learner, rows, row, x) or _explain_step(learner, x, label)
        )


def _explain_row(values: Floats) -> str:
    square = float(values @ values)
    if not np.isfinite(square):
        return f"the square of its largest value, {np.abs(values).max():.3g}, is not finite; scale the data"
    if square == 0.0 and values.any():
        return f"the square of its largest value, {np.abs(values).max():.3g}, is zero; scale the data"
    return ""


def _explain_state(learner: Learner, rows: tuple[Any, ...], row: int, x: Any) -> str:
    if not np.isfinite(learner.weights).all():
        return "the weights are not finite"
    if not np.isfinite(learner.scores(rows, np.array([row]))).all():
        return "the margin is not finite: the weights are too large for the values of this row"
    if not isinstance(learner, SecondOrderLearner) or not learner.has_variances:
        return ""
    v = _variance(learner, x)
    if not np.isfinite(v):
        return f"the variance v = x' Sigma x is {v}"
    if v <= 0.0:
        return (
            f"the variance v = x' Sigma x is {v:.3g}, which is not positive: Sigma is lost in rounding errors"
        )
    return ""


def _variance(learner: SecondOrderLearner, x: Any) -> float:
    return float(np.ldexp(learner.margin_variance(x)[0], -2 * learner.scale_exponent))


def _explain_step(learner: Learner, x: Any, label: float) -> str:
    """Return what the rule of a learner returns in this round, if that is the reason."""
    rule: Any = learner.algorithm.definition.rule
    if rule is None or not isinstance(learner, SecondOrderLearner | FirstOrderLearner):
        return "the variance or the step of a class is not finite or not positive"
    f = float((x @ learner.weights)[0])
    if not isinstance(learner, SecondOrderLearner):
        return f"the step is not finite at the margin {label * f:.3g}"
    m, v = float(np.ldexp(label * f, -learner.scale_exponent)), _variance(learner, x)
    if isinstance(learner, ExactLearner):
        return f"the exact step is not finite at m = {m:.3g}, v = {v:.3g}"
    is_mistake = (1.0 if f >= 0.0 else -1.0) != label
    t = learner.learnt + 1
    if isinstance(learner, LabelledRoot | LabelledDiagonal):
        s = learner.rule_state.copy()
        _, alpha, c, decay = rule(np.float64(m), np.float64(v), label, is_mistake, t, learner.p, s)
        if not 0.0 < decay <= 1.0:
            return f"the rule returns decay = {decay:.3g} at m = {m:.3g}, v = {v:.3g}; it must lie in (0, 1]"
    else:
        _, alpha, c = rule(np.float64(m), np.float64(v), is_mistake, t, learner.p)
    if not (np.isfinite(alpha) and np.isfinite(c)):
        return f"the rule returns alpha = {alpha:.3g} and c = {c:.3g} at m = {m:.3g}, v = {v:.3g}"
    if c < 0.0:
        return f"the rule returns c = {c:.3g} at m = {m:.3g}, v = {v:.3g}; c must not be negative"
    return f"the variance v = x' Sigma x is {v:.3g}, which is not positive beside its rounding error"
