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
from olbench.kernels.matrix import add_eight, project, row_sums
from olbench.kernels.rows import buffers, dot, dot_row, locate, sources

# A gathered read of a large matrix costs about four streamed ones.
GATHER_COST = 4
# From this d on, Sigma leaves the first cache and rank-one changes are collected and applied DEPTH at a time.
COLLECT_FROM = 128
DEPTH = 8


@helper
def gathered_variance(sigma: Any, columns: Any, c: Any, values: Any, o: Any, n: Any) -> Any:
    """Return x' Sigma x from the entries on and below the diagonal that x touches."""
    v = 0.0
    for k in range(n):
        i, x = columns[c + k], values[o + k]
        v += x * (sigma[i, i] * x + 2.0 * dot_row(sigma, i, columns, c, values, o, k))
    return v


@helper
def apply_pending(sigma: Any, pending: Any) -> None:
    """Subtract the pending outer products from Sigma; sums and products commute, so symmetry is exact."""
    p = pending
    for i in range(sigma.shape[0]):
        w0, w1, w2, w3 = p[0, i], p[1, i], p[2, i], p[3, i]
        w4, w5, w6, w7 = p[4, i], p[5, i], p[6, i], p[7, i]
        for j in range(sigma.shape[0]):
            low = (w0 * p[0, j] + w1 * p[1, j]) + (w2 * p[2, j] + w3 * p[3, j])
            high = (w4 * p[4, j] + w5 * p[5, j]) + (w6 * p[6, j] + w7 * p[7, j])
            sigma[i, j] -= low + high
    pending[:] = 0.0


@helper
def subtract_outer(sigma: Any, z: Any) -> None:
    """Subtract z z' from Sigma; each product serves both triangles."""
    d = z.size
    for i in range(d):
        weight = z[i]
        for j in range(d):
            sigma[i, j] -= weight * z[j]


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
    packed_columns, packed_values = buffers(d)
    columns, values = sources(rows, packed_columns, packed_values)
    dense, indptr, norms, has_zeros = rows[0], rows[3], rows[4], rows[5]
    z = np.empty(d)
    sums = np.empty(d)
    w = np.zeros(DEPTH)
    for i in order:
        n, at, o = locate(dense, indptr, has_zeros, i, packed_columns, packed_values)
        f = dot(mu, columns, at, values, o, n)
        mistake = (f >= 0.0) != (y[i] > 0.0)
        m = y[i] * f
        counters[0] += 1
        t = counters[0]
        counters[1] += mistake
        s = norms[i]
        if not np.isfinite(f) or (n > 0 and not 0.0 < s < np.inf):
            counters[4] += 1
            continue
        if screened:
            loss, alpha, c = rule(m, bound[0] * s, mistake, t, p)
            if loss <= 0.0 and alpha == 0.0 and c == 0.0:
                continue
        streamed = GATHER_COST * n > d
        if streamed:
            project(sigma, columns, at, values, o, n, z)
            v = dot(z, columns, at, values, o, n)
        else:
            v = gathered_variance(sigma, columns, at, values, o, n)
        for k in range(counters[5]):
            w[k] = dot_row(pending, k, columns, at, values, o, n)
            v -= w[k] * w[k]
        if n > 0 and not 0.0 < v < np.inf:
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
            row_sums(sigma, sums)
            bound[0] = min(bound[0], (1.0 + 1e-9) * sums.max())
        if not streamed:
            project(sigma, columns, at, values, o, n, z)
        if counters[5] > 0:
            add_eight(
                z, pending, 0, 1, 2, 3, 4, 5, 6, 7, -w[0], -w[1], -w[2], -w[3], -w[4], -w[5], -w[6], -w[7]
            )  # fmt: skip
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
        for j in range(d):
            pending[counters[5], j] = z[j]
        counters[5] += 1
        if counters[5] == DEPTH:
            apply_pending(sigma, pending)
            counters[5] = 0
            w[:] = 0.0
