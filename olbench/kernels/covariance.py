"""Second-order passes with a full covariance, kept as the symmetric matrix itself.

A round that cannot trigger costs nnz, a round whose variance is needed costs nnz^2 / 2 gathered or nnz d
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
from olbench.kernels.matrix import add_eight, inner, inner_row, project, residual_sums, row_sums
from olbench.kernels.rows import buffers, dot, dot_row, locate, sources
from olbench.kernels.vectors import add, load, multiply, spread, store, subtract, zeros

# A gathered read of a large matrix costs about four streamed ones.
GATHER_COST = 4
# Rank-one changes are collected for one sweep over Sigma: two while Sigma fits a near cache and a sweep costs
# its stores; DEPTH from this d on, where it costs the reading of Sigma.
COLLECT_FROM = 128
DEPTH = 8
# What rounding may add to a bound, as a part of Sigma's largest row sum.
SLACK = 1e-9
# An axis is used where Sigma without it has at most this part of Sigma's largest row sum.
WORTHWHILE = 0.5


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
def apply_two(sigma: Any, pending: Any) -> None:
    """Subtract two pending outer products from Sigma in panels of columns; sums and products commute."""
    d = sigma.shape[0]
    j = 0
    while d - j >= 16:
        subtract_panel(sigma, pending, j, zeros(16))
        j += 16
    if d - j >= 8:
        subtract_panel(sigma, pending, j, zeros(8))
        j += 8
    if d - j >= 4:
        subtract_panel(sigma, pending, j, zeros(4))
        j += 4
    if d - j == 3:
        subtract_panel(sigma, pending, j, zeros(3))
    elif d - j == 2:
        subtract_panel(sigma, pending, j, zeros(2))
    elif d - j == 1:
        subtract_panel(sigma, pending, j, zeros(1))


@helper
def subtract_panel(sigma: Any, pending: Any, j: Any, like: Any) -> None:
    """Subtract two outer products from as many columns of Sigma as `like` has lanes, from j on."""
    z0, z1 = load(like, pending, (0, j)), load(like, pending, (1, j))
    for i in range(sigma.shape[0]):
        w0, w1 = spread(like, pending[0, i]), spread(like, pending[1, i])
        change = add(multiply(w0, z0), multiply(w1, z1))
        store(subtract(load(like, sigma, (i, j)), change), sigma, (i, j))


@helper
def collect(sigma: Any, pending: Any, count: Any, z: Any) -> Any:
    """Add z to the pending changes, apply them when they are enough, and return how many are left."""
    for j in range(z.size):
        pending[count, j] = z[j]
    if z.size < COLLECT_FROM and count == 1:
        apply_two(sigma, pending)
        return 0
    if count == DEPTH - 1:
        apply_pending(sigma, pending)
        return 0
    return count + 1


@helper
def subtract_pending(z: Any, pending: Any, w: Any) -> None:
    """Subtract the pending rows, weighted by w, from z."""
    if z.size < COLLECT_FROM:
        for j in range(z.size):
            z[j] -= w[0] * pending[0, j]
        return
    add_eight(
        z, pending, 0, 1, 2, 3, 4, 5, 6, 7, -w[0], -w[1], -w[2], -w[3], -w[4], -w[5], -w[6], -w[7]
    )  # fmt: skip


@helper
def tighten(sigma: Any, mu: Any, axis: Any, bound: Any, sums: Any) -> None:
    """Set the axis and the bounds that hold for every later Sigma; `sums` is room to work in.

    Examples with a large margin teach nothing, so where features are alike Sigma stays long in the direction
    of mu and shrinks in all others. Without Sigma mu / sqrt(mu' Sigma mu) it is still positive, and small.
    """
    for j in range(mu.size):
        axis[j] = inner_row(sigma, j, mu, 0)
    length = math.sqrt(inner(axis, mu, 0))
    for j in range(mu.size):
        axis[j] /= length
    row_sums(sigma, sums)
    largest = sums.max()
    bound[0] = min(bound[0], (1.0 + SLACK) * largest)
    residual_sums(sigma, axis, sums)
    rest = sums.max() + SLACK * largest
    bound[1] = rest if rest < WORTHWHILE * bound[0] else np.inf


@helper
def largest_variance(axis: Any, bound: Any, s: Any, columns: Any, c: Any, values: Any, o: Any, n: Any) -> Any:
    """Return what v cannot exceed for an x with ||x||^2 = s."""
    limit = bound[0] * s
    if bound[1] < np.inf:
        along = dot(axis, columns, c, values, o, n)
        closer = bound[1] * s + along * along
        limit = closer if closer < limit else limit
    return limit


@kernel(
    void(
        types.FunctionType(SECOND_ORDER_RULE), READ_1D, ROWS, READ_1D, READ_INT64,
        WRITE_1D, WRITE_2D, WRITE_2D, WRITE_1D, WRITE_1D, WRITE_INT64, boolean, boolean,
    )
)  # fmt: skip
def run(
    rule: Any, p: Any, rows: Any, y: Any, order: Any,
    mu: Any, sigma: Any, pending: Any, axis: Any, bound: Any, counters: Any, screened: bool, adaptive: bool,
) -> None:  # fmt: skip
    """Run the examples of `order`; counters: rounds, mistakes, updates, effective, breakdowns, pending.

    Sigma is `sigma` less the outer products of the rows of `pending`. bound[0] is at least the largest
    eigenvalue of Sigma, which never grows, and bound[1] at least that of Sigma less the outer product of
    `axis`. With `screened` the rule promises a loss that does not fall as v grows, so a round without loss at
    the largest v that these allow needs no v; how large that is only matters where the margin is `adaptive`.
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
            limit = largest_variance(axis, bound, s, columns, at, values, o, n)
            loss, alpha, c = rule(m, limit, mistake, t, p)
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
        if adaptive and counters[3] % d == 0:
            tighten(sigma, mu, axis, bound, sums)
        if not streamed:
            project(sigma, columns, at, values, o, n, z)
        if counters[5] > 0:
            subtract_pending(z, pending, w)
        for j in range(d):
            mu[j] += alpha * y[i] * z[j]
        if c == 0.0:
            continue
        root = math.sqrt(c / (1.0 + c * v))
        for j in range(d):
            z[j] *= root
        counters[5] = collect(sigma, pending, counters[5], z)
        if counters[5] == 0:
            w[:] = 0.0
