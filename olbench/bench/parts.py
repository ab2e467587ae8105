"""Where the time of a pass goes: passes that do only part of the work, on the state after a whole one.

A part includes most of those before it, so the difference between two is about what the later one adds.
"""

from typing import Any

import numpy as np
from numba import boolean, float64, types

from olbench.bench.peers import Pass
from olbench.kernels.compile import READ_1D, READ_2D, READ_INT64, ROWS, SECOND_ORDER_RULE, kernel
from olbench.kernels.diagonal import margin_and_variance
from olbench.kernels.rows import LINE, announce, locate, open_rows
from olbench.learn.algorithm import make_algorithm
from olbench.learn.examples import Floats, Ints, as_examples
from olbench.learn.learners import DiagonalLearner


@kernel(float64(ROWS, READ_1D, READ_INT64))
def touch_rows(rows: Any, y: Any, order: Any) -> Any:
    """Load one entry of every cache line of the rows of `order`, and their labels and norms."""
    dense, data, columns, indptr, norms = rows[0], rows[1], rows[2], rows[3], rows[4]
    total = 0.0
    for now in range(order.size):
        i = order[now]
        announce(rows, y, order, now)
        total += y[i] + norms[i]
        if dense.shape[0] > 0:
            for j in range(0, dense.shape[1], LINE):
                total += dense[i, j]
            total += dense[i, dense.shape[1] - 1]
            continue
        begin, end = indptr[i], indptr[i + 1]
        for k in range(begin, end, LINE):
            total += data[k]
        for k in range(begin, end, 2 * LINE):
            total += columns[k]
        if begin < end:
            total += data[end - 1] + columns[end - 1]
    return total


@kernel(float64(ROWS, READ_1D, READ_INT64, READ_2D))
def touch_state(rows: Any, y: Any, order: Any, moments: Any) -> Any:
    """Load the mean of every feature of the rows of `order`, and so the line that has its variance too.

    The values are not read and nothing is multiplied; two sums shorten the chain of additions.
    """
    columns, _, storage = open_rows(rows)
    even = odd = 0.0
    for now in range(order.size):
        announce(rows, y, order, now)
        n, at, _ = locate(storage, order[now])
        for k in range(0, n - 1, 2):
            even += moments[columns[at + k], 0]
            odd += moments[columns[at + k + 1], 0]
        if n % 2:
            even += moments[columns[at + n - 1], 0]
    return even + odd


@kernel(float64(types.FunctionType(SECOND_ORDER_RULE), READ_1D, ROWS, READ_1D, READ_INT64, READ_2D, boolean))
def judge_rows(rule: Any, p: Any, rows: Any, y: Any, order: Any, moments: Any, with_rule: bool) -> Any:
    """Compute the margin and the variance of every row, and with `with_rule` also call the rule."""
    columns, values, storage = open_rows(rows)
    total = 0.0
    for now in range(order.size):
        i = order[now]
        announce(rows, y, order, now)
        n, at, o = locate(storage, i)
        f, v = margin_and_variance(moments, columns, at, values, o, n)
        total += f + v
        if with_rule:
            loss, alpha, c = rule(y[i] * f, v, (f >= 0.0) != (y[i] > 0.0), now + 1, p)
            total += loss + alpha + c
    return total


def fetch_rows(X: Any, y: Floats, order: Ints) -> Pass:
    """Return a pass that fetches the rows in this order and does nothing else: the floor of memory."""
    rows = as_examples(X).rows()
    return lambda: touch_rows(rows, y, order)


def diagonal_parts(id: str, X: Any, y: Floats) -> dict[str, Pass]:
    """Return the parts of a pass with a diagonal covariance, in natural order."""
    algorithm = make_algorithm(id, covariance="diag")
    learner = algorithm.start(X.shape[1])
    assert isinstance(learner, DiagonalLearner)
    rows, order = as_examples(X).rows(), np.arange(X.shape[0])
    learner.run(rows, y, order)
    arguments = algorithm.definition.compiled_rule, learner.p, rows, y, order, learner.moments
    return {
        "rows": fetch_rows(X, y, order),
        "state": lambda: touch_state(rows, y, order, learner.moments),
        "margin and variance": lambda: judge_rows(*arguments, False),
        "rule": lambda: judge_rows(*arguments, True),
    }
