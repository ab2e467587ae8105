"""Second-order passes with a full covariance, stored as the symmetric matrix itself.

The cost of a round with nnz entries depends on how far it gets. A round that cannot trigger costs nnz. A
round that needs its variance costs nnz^2 / 2 gathered or nnz d streamed reads, whichever is less. Only a
round that changes the state costs d^2.
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

# A gathered read of a large matrix takes about as long as four streamed ones.
GATHER_COST = 4
# Rank-one changes are collected and applied in one sweep over Sigma. Below this d Sigma fits a near cache,
# the sweep is bound by its stores, and two changes at a time are enough. From this d on the sweep is bound by
# reading Sigma, so DEPTH changes share one read; every pending change costs one product with x per round.
COLLECT_FROM = 128
DEPTH = 8
# Allowance for rounding in a bound, as a share of Sigma's largest row sum: far above the error of d
# additions.
SLACK = 1e-9
# The axis is used if removing it at least halves Sigma's largest row sum; otherwise its product with x does
# not pay.
WORTHWHILE = 0.5


@helper
def gathered_variance(sigma: Any, columns: Any, c: Any, values: Any, o: Any, n: Any) -> Any:
    """Return x' Sigma x from the entries of Sigma that x touches.

    Only those on and below the diagonal are read, because Sigma is symmetric: row k is multiplied with the
    first k entries of x and counted twice.
    """
    v = 0.0
    for k in range(n):
        i, x = columns[c + k], values[o + k]
        v += x * (sigma[i, i] * x + 2.0 * dot_row(sigma, i, columns, c, values, o, k))
    return v


@helper
def apply_pending(sigma: Any, pending: Any) -> None:
    """Subtract DEPTH pending outer products from Sigma in one sweep, and clear them.

    Entries (i, j) and (j, i) sum the same products in the same order, so Sigma stays symmetric to the bit.
    The sum is a balanced tree of depth three: a chain of eight additions would wait for each of them.
    """
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
    """Subtract two pending outer products from Sigma, in panels of columns.

    A panel keeps its part of the two vectors in registers while it walks down the rows. Unlike the panels of
    `matrix.sum_panels` these may not overlap, because a column would be changed twice; hence the cascade of
    widths for what is left. Symmetry is exact, as in `apply_pending`.
    """
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
    """Subtract two outer products from the columns of Sigma from j on, as many as `like` has lanes."""
    z0, z1 = load(like, pending, (0, j)), load(like, pending, (1, j))
    for i in range(sigma.shape[0]):
        w0, w1 = spread(like, pending[0, i]), spread(like, pending[1, i])
        change = add(multiply(w0, z0), multiply(w1, z1))
        store(subtract(load(like, sigma, (i, j)), change), sigma, (i, j))


@helper
def collect(sigma: Any, pending: Any, count: Any, z: Any) -> Any:
    """Add z to the pending changes, apply them if there are enough, and return how many are left."""
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
    """Subtract the pending rows, weighted by w, from z = sigma x: what remains is Sigma x.

    Rows that are not pending yet have weight zero, so the loop has the same shape however many there are.
    """
    if z.size < COLLECT_FROM:
        for j in range(z.size):
            z[j] -= w[0] * pending[0, j]
        return
    add_eight(
        z, pending, 0, 1, 2, 3, 4, 5, 6, 7, -w[0], -w[1], -w[2], -w[3], -w[4], -w[5], -w[6], -w[7]
    )  # fmt: skip


@helper
def tighten(sigma: Any, mu: Any, axis: Any, bound: Any, sums: Any) -> None:
    """Set the axis and the bounds that hold for every later Sigma; `sums` is working memory.

    Examples with a large margin trigger no update. Where features have similar scales, Sigma therefore stays
    long in the direction of mu and shrinks in all others. Subtracting the outer product of the axis
    a = Sigma mu / sqrt(mu' Sigma mu) leaves a matrix that is positive semi-definite (Schur complement) and
    small. Sigma only shrinks, so both bounds hold until they are next computed.
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
    """Return an upper bound of v for an x with ||x||^2 = s.

    v = x' (Sigma - a a') x + (a.x)^2, and the first term is at most bound[1] s.
    """
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

    Sigma is `sigma` minus the outer products of the first counters[5] rows of `pending`. bound[0] is an upper
    bound of Sigma's largest eigenvalue, which never grows, and bound[1] one of that of Sigma minus the outer
    product of `axis`. With `screened` the rule promises that its loss does not fall as v grows, so a round
    without loss at the largest possible v needs no v. How close that bound is only matters if the margin is
    `adaptive`, that is if the loss depends on v.
    """
    d = mu.size
    packed_columns, packed_values = buffers(rows)
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
        # A square that over- or underflows gives no usable variance; a row of zeros is no such case.
        if not np.isfinite(f) or (n > 0 and not 0.0 < s < np.inf):
            counters[4] += 1
            continue
        if screened:
            limit = largest_variance(axis, bound, s, columns, at, values, o, n)
            loss, alpha, c = rule(m, limit, mistake, t, p)
            if loss <= 0.0 and alpha == 0.0 and c == 0.0:
                continue
        streamed = GATHER_COST * n > d
        # Few entries: gather nnz^2 / 2 of Sigma. Many: stream nnz whole rows, which gives z as well.
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
        # The bounds cost d^2, so once in d changes their cost per change is that of one row of Sigma.
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
        # beta z z' = (sqrt(beta) z) (sqrt(beta) z)': one vector describes the change.
        root = math.sqrt(c / (1.0 + c * v))
        for j in range(d):
            z[j] *= root
        counters[5] = collect(sigma, pending, counters[5], z)
        if counters[5] == 0:
            w[:] = 0.0
