"""The step of one round by itself: the compiled rule, asked again with what a pass has kept of the round.

A kernel keeps the margin and the variance of a round, and not what its rule answered. Compiled code gives the
same answer to the same question.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import int64, types, void

from olbench.kernels.compile import (
    EXACT_RULE,
    FIRST_ORDER_RULE,
    READ_2D,
    ROWS,
    SECOND_ORDER_RULE,
    WRITE_1D,
    kernel,
)
from olbench.kernels.exact import find_step, measure_shares
from olbench.kernels.helpers import Function
from olbench.kernels.rows import locate, open_rows


def question(rule: Any, *more: Any) -> Callable[[Function], Function]:
    """Compile a function of a rule, its arguments and more; it writes the answer to its last argument."""
    return kernel(void(types.FunctionType(rule), *rule.args, *more, WRITE_1D))


@question(FIRST_ORDER_RULE)
def ask_first_order(rule, m, s, mistake, q, t, k, p, answer):
    """Set the answer to loss, shrink and tau."""
    answer[0], answer[1], answer[2] = rule(m, s, mistake, q, t, k, p)


@question(SECOND_ORDER_RULE)
def ask_second_order(rule, m, v, mistake, t, p, answer):
    """Set the answer to loss, alpha and c."""
    answer[0], answer[1], answer[2] = rule(m, v, mistake, t, p)


@question(EXACT_RULE, ROWS, int64, READ_2D)
def ask_exact(rule, m, v, p, rows, i, moments, answer):
    """Set the answer to loss, alpha and c of the exact diagonal step for row i."""
    columns, values, storage = open_rows(rows)
    n, at, o = locate(storage, i)
    loss, unit, A, b0, b1, K = rule(m, v, p)
    answer[0] = loss
    answer[1] = answer[2] = 0.0
    if v == 0.0 or loss <= 0.0:
        return
    shares = np.empty(moments.shape[0])
    squares = measure_shares(moments, columns, at, values, o, n, v, shares)
    answer[1], answer[2] = find_step(shares, n, squares, m, v, unit, A, b0, b1, K)
