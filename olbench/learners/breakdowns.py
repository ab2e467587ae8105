"""Why a pass breaks down numerically: its first breakdown, with the round, the row and the reason.

Kernels count breakdowns and note where the first is; the reason is in the state just before it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from olbench.algorithms.algorithm import Algorithm
from olbench.kernels.counters import BROKEN_ENTRY, BROKEN_ROUND, ROW
from olbench.learners.examples import Floats, as_examples, as_matrix, as_order
from olbench.learners.passes import online_pass
from olbench.learners.schedules import is_predicted
from olbench.learners.state import Learner


@dataclass(frozen=True)
class Breakdown:
    """The first round of a pass that broke down."""

    #: The round, counted from 1, and the number of its row in the data, from 0.
    round: int
    row: int
    reason: str

    def __str__(self) -> str:
        return f"the first breakdown is in round {self.round:,}, on row {self.row:,}: {self.reason}"


def find_breakdown(
    algorithm: Algorithm | str, X: Any, y: Any, order: ArrayLike | None = None, labels: str = "two"
) -> Breakdown | None:
    """Run a pass as `online_pass` does, then what comes before its first breakdown once more.

    >>> found = find_breakdown("arow", np.array([[1.0], [1e300]]), np.array([1, -1]))
    >>> found.round, found.reason
    (2, 'the square of its largest value, 1e+300, is not finite; scale the data')
    """
    examples = as_examples(X)
    order = as_order(order, examples.n)
    broken = online_pass(algorithm, examples, y, order, 1, labels=labels).learner
    if not broken.breakdowns:
        return None
    number, entry = broken.counters[[BROKEN_ROUND, BROKEN_ENTRY]].tolist()
    # It is the entry of that prediction or, of a label that comes late, one after it.
    first = np.flatnonzero(is_predicted(order))[number - 1]
    place = first + np.flatnonzero(order[first:] == entry)[0]
    before = online_pass(algorithm, examples, y, order[:place], 1, labels=labels).learner
    row = entry & ROW
    label = 0.0 if before.classes > 1 else float(y[row])
    return Breakdown(number, row, explain(before, examples.rows(), label, row))


def explain(learner: Learner, rows: tuple[Any, ...], label: float, row: int) -> str:
    x = as_matrix(rows)[row : row + 1]
    values = np.asarray(x.data if hasattr(x, "tocsr") else x, np.float64).ravel()
    with np.errstate(all="ignore"):
        if reason := _explain_row(values):
            return reason
        if not np.isfinite(learner.weights).all():
            if learner.algorithm.definition.order == "compiled":
                return "`score` is not finite for a row with a single 1"
            return "the weights are not finite"
        if learner.classes > 1:
            return "the variance or the step of a class is not finite or not positive"
        f = float(learner.scores(rows, np.array([row]))[0])
        if not np.isfinite(f):
            return "the margin is not finite: the weights are too large for the values of this row"
        if learner.algorithm.definition.order == "second":
            return _explain_step(learner, x, rows, row, f, label)
        m = label * f
        if learner.algorithm.definition.order == "first":
            loss, *_ = _ask(learner, rows, row, m, float(rows[4][row]), f, label)
            if np.isnan(loss):
                return f"the rule returns the loss {loss} at the margin {m:.3g}"
        return f"the step is not finite at the margin {m:.3g}"


def _ask(
    learner: Learner, rows: tuple[Any, ...], row: int, m: float, size: float, f: float, label: float
) -> Floats:
    """Return what the rule answers in a round, as compiled code: in Python, log(-1) is an error."""
    answer = np.zeros(3)
    learner.prepare_question(rows, row, answer)(m, size, (f >= 0.0) != (label > 0.0))
    return answer


def _explain_step(learner: Any, x: Any, rows: tuple[Any, ...], row: int, f: float, label: float) -> str:
    """Return why the step of a Gaussian from the score f is a breakdown."""
    algorithm, exponent = learner.algorithm, -learner.scale_exponent
    m = float(np.ldexp(label * f, exponent))
    v = float(np.ldexp(learner.margin_variance(x)[0], 2 * exponent))
    if learner.has_variances and not np.isfinite(v):
        return f"the variance v = x' Sigma x is {v}"
    if learner.has_variances and v <= 0.0:
        lost = "which is not positive: Sigma is lost in rounding errors"
        return f"the variance v = x' Sigma x is {v:.3g}, {lost}"
    at = f"at m = {m:.3g}, v = {v:.3g}"
    if algorithm.projection == "exact":
        return f"the exact step is not finite {at}"
    loss, alpha, c = _ask(learner, rows, row, m, v, f, label)
    if np.isnan(loss):
        return f"the rule returns the loss {loss} {at}"
    if not (np.isfinite(alpha) and np.isfinite(c)):
        return f"the rule returns alpha = {alpha:.3g} and c = {c:.3g} {at}"
    if c < 0.0:
        return f"the rule returns c = {c:.3g} {at}; c must not be negative"
    return f"the variance v = x' Sigma x is {v:.3g}, which is not above its rounding error"


def _explain_row(values: Floats) -> str:
    square = float(values @ values)
    if not np.isfinite(square):
        return f"the square of its largest value, {np.abs(values).max():.3g}, is not finite; scale the data"
    if square == 0.0 and values.any():
        return f"the square of its largest value, {np.abs(values).max():.3g}, is zero; scale the data"
    return ""
