"""Second-order passes with a full covariance, kept as the symmetric matrix itself.

A round that cannot trigger costs nnz, a round whose variance is needed costs nnz^2 / 2 gathered or nnz d / 2
streamed, whichever is less, and only a round that changes the state pays for d^2.
"""

import math
from typing import Any

import numpy as np
from numba import boolean, types, void

from olbench.kernels.compile import (
    READ_1D,
    READ_INT64,
    ROWS,
    SECOND_ORDER_RULE,
    WRITE_1D,
    WRITE_2D,
    WRITE_INT64,
    helper,
    kernel,
)
from olbench.kernels.matrix import add_eight, largest_row_sum, project
from olbench.kernels.rows import buffers, dot, fetch, inner

# A gathered read of a large matrix costs about four streamed ones.
GATHER_COST = 4
# From this d on, Sigma leaves the first cache and rank-one changes are collected and applied DEPTH at a time.
COLLECT_FROM = 128
DEPTH = 8


@helper
def gathered_variance(sigma: Any, indices: Any, values: Any, n: Any) -> Any:
    """Return x' Sigma x from the entries on and below the diagonal that x touches."""
    v = 0.0
    for k in range(n):
        row = sigma[indices[k]]
        v += values[k] * (row[indices[k]] * values[k] + 2.0 * dot(row, indices, values, k))
    return v


@helper
def subtract_pending(target: Any, pending: Any, w: Any) -> None:
    """Subtract the eight pending vectors from the target, weighted by w."""
    add_eight(
        target, pending, 0, 1, 2, 3, 4, 5, 6, 7, -w[0], -w[1], -w[2], -w[3], -w[4], -w[5], -w[6], -w[7]
    )  # fmt: skip


@helper
def apply_pending(sigma: Any, pending: Any) -> None:
    """Subtract the pending outer products from Sigma; sums and products commute, so symmetry is exact."""
    for i in range(sigma.shape[0]):
        subtract_pending(sigma[i], pending, pending[:, i])
    pending[:] = 0.0


@helper
def subtract_outer(sigma: Any, z: Any) -> None:
    """Subtract z z' from Sigma; each product serves both triangles."""
    for i in range(z.size):
        row, weight = sigma[i], z[i]
        for j in range(z.size):
            row[j] -= weight * z[j]


@kernel(
    void(
        types.FunctionType(SECOND_ORDER_RULE), READ_1D, ROWS, READ_1D, READ_INT64,
        WRITE_1D, WRITE_2D, WRITE_2D, WRITE_1D, WRITE_INT64, boolean,
    )
)  # fmt: skip
def run(
    rule: Any, p: Any, rows: Any, y: Any, order: Any,
    mu: Any, sigma: Any, pending: Any, bound: Any, counters: Any, screened: bool,
) -> None:  # fmt: skip
    """Run the examples of `order`; counters: rounds, mistakes, updates, effective, breakdowns, pending.

    Sigma is `sigma` less the outer products of the rows of `pending`. bound[0] is at least the largest
    eigenvalue of Sigma, which never grows. With `screened` the rule promises a loss that does not fall as v
    grows, so a round without loss at v = bound[0] ||x||^2 needs no v.
    """
    d = mu.size
    indices, values = buffers(d)
    z = np.empty(d)
    w = np.zeros(DEPTH)
    for i in order:
        n = fetch(rows, i, indices, values)
        f = dot(mu, indices, values, n)
        mistake = (f >= 0.0) != (y[i] > 0.0)
        m = y[i] * f
        counters[0] += 1
        t = counters[0]
        counters[1] += mistake
        if not np.isfinite(f):
            counters[4] += 1
            continue
        s = inner(values, values, n)
        if screened:
            loss, alpha, c = rule(m, bound[0] * s, mistake, t, p)
            if loss <= 0.0 and alpha == 0.0 and c == 0.0:
                continue
        streamed = GATHER_COST * n > d
        if streamed:
            project(sigma, indices, values, n, z)
            v = dot(z, indices, values, n)
        else:
            v = gathered_variance(sigma, indices, values, n)
        for k in range(counters[5]):
            w[k] = dot(pending[k], indices, values, n)
            v -= w[k] * w[k]
        if s > 0.0 and not 0.0 < v < np.inf:
            counters[4] += 1
            v = 0.0
        loss, alpha, c = rule(m, v, mistake, t, p)
        counters[2] += loss > 0.0
        if v == 0.0 or (alpha == 0.0 and c == 0.0):
            continue
        if not (np.isfinite(alpha) and 0.0 <= c < np.inf):
            counters[4] += 1
            continue
        counters[3] += 1
        if screened and counters[3] % d == 0:
            bound[0] = min(bound[0], (1.0 + 1e-9) * largest_row_sum(sigma))
        if not streamed:
            project(sigma, indices, values, n, z)
        if counters[5] > 0:
            subtract_pending(z, pending, w)
        for j in range(d):
            mu[j] += alpha * y[i] * z[j]
        if c == 0.0:
            continue
        root = math.sqrt(c / (1.0 + c * v))
        for j in range(d):
            z[j] *= root
        if d < COLLECT_FROM:
            subtract_outer(sigma, z)
            continue
        pending[counters[5]] = z
        counters[5] += 1
        if counters[5] == DEPTH:
            apply_pending(sigma, pending)
            counters[5] = 0
            w[:] = 0.0
