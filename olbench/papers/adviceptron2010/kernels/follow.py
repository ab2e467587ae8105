"""A pass that scores a test set before its first example and after every one, all in compiled code."""

from collections.abc import Callable
from functools import cache
from typing import Any

from numba import void

from olbench.kernels.calls import bind_kernel
from olbench.kernels.compile import READ_1D, ROWS, WRITE_1D, WRITE_2D, kernel
from olbench.kernels.helpers import helper
from olbench.kernels.rows import dot, locate, open_rows


@helper
def score(w, factor, rows, y, counts, hits, t):
    """Set hits[t] to the negative and positive examples that factor * w gets right, weighted by counts."""
    columns, values, storage = open_rows(rows)
    hits[t, 0] = hits[t, 1] = 0.0
    for i in range(y.size):
        n, at, o = locate(storage, i)
        positive = factor * dot(w, columns, at, values, o, n) >= 0.0
        if positive == (y[i] > 0.0):
            hits[t, int(positive)] += counts[i]


@kernel(void(READ_1D, ROWS, READ_1D, READ_1D, WRITE_2D))
def score_once(w, rows, y, counts, hits):
    score(w, 1.0, rows, y, counts, hits, 0)


@kernel(None)
def _follow(kernel, rule, p, rows, y, order, state, w, scalars, test_rows, test_y, counts, hits):
    """Run the examples of `order`, scoring scalars[0] * w after t of them in row t."""
    score(w, scalars[0], test_rows, test_y, counts, hits, 0)
    for t in range(order.size):
        kernel(rule, p, rows, y, order[t : t + 1], *state)
        score(w, scalars[0], test_rows, test_y, counts, hits, t + 1)


@cache
def follower(kernel: Any) -> Callable[..., None]:
    """Return the compiled `_follow` of a kernel, a function of all that it takes after the kernel."""
    return bind_kernel(_follow, kernel, WRITE_1D, WRITE_1D, ROWS, READ_1D, READ_1D, WRITE_2D)
