"""Second-order passes with a full covariance that fits a near cache, stored as the symmetric matrix itself.

The cost of a round with nnz entries depends on how far it gets. A round that cannot trigger costs nnz. A
round that needs its variance costs nnz^2 / 2 gathered or nnz d streamed reads, whichever is less. Only a
round that changes the state costs d^2. Up to d = 20 or so the latency of one round's chain (margin, rule,
change of the mean) bounds the pass, then the loads and stores of the sweeps over Sigma. `blocked` is the
kernel for larger matrices.
"""

import math
from typing import Any

import numpy as np
from numba import boolean

from olbench.kernels.compile import SECOND_ORDER_RULE, WRITE_1D, WRITE_2D, WRITE_INT64, inlined, pass_kernel
from olbench.kernels.counters import BREAKDOWNS, EFFECTIVE, EXTRA, ROW
from olbench.kernels.margins import (
    count_round,
    is_change,
    is_lost,
    is_unlearned,
    keep_variance,
    keeps_variance,
)
from olbench.kernels.matrix import project
from olbench.kernels.rows import announce, dot, dot_row, locate, open_rows
from olbench.kernels.screening import GATHER_COST, gathered_variance, largest_variance, tighten
from olbench.kernels.vectors import add, load, multiply, spread, store, subtract, zeros

# Rank-one changes are collected and applied two at a time: Sigma fits a near cache, and a sweep over it is
# bound by its stores.
DEPTH = 2


@inlined
def apply_two(sigma: Any, pending: Any) -> None:
    """Subtract two pending outer products from Sigma, in panels of columns.

    A panel keeps its part of the two vectors in registers while it walks down the rows. Unlike the panels of
    `matrix.sum_panels` these may not overlap, because a column would be changed twice; hence the cascade of
    widths for what is left.
    Entries (i, j) and (j, i) sum the same products in the same order, so Sigma stays symmetric to the bit.
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


@inlined
def subtract_panel(sigma: Any, pending: Any, j: Any, like: Any) -> None:
    """Subtract two outer products from the columns of Sigma from j on, as many as `like` has lanes."""
    z0, z1 = load(like, pending, (0, j)), load(like, pending, (1, j))
    for i in range(sigma.shape[0]):
        w0, w1 = spread(like, pending[0, i]), spread(like, pending[1, i])
        change = add(multiply(w0, z0), multiply(w1, z1))
        store(subtract(load(like, sigma, (i, j)), change), sigma, (i, j))


@pass_kernel(
    SECOND_ORDER_RULE, WRITE_1D, WRITE_2D, WRITE_2D, WRITE_1D, WRITE_1D, WRITE_INT64, boolean, boolean
)
def run(
    rule: Any, p: Any, rows: Any, y: Any, order: Any,
    mu: Any, sigma: Any, pending: Any, axis: Any, bound: Any, counters: Any, screened: bool, adaptive: bool,
    margins: Any,
) -> None:  # fmt: skip
    """Run the examples of `order`.

    Sigma is `sigma` minus the outer products of the first counters[EXTRA] rows of `pending`. bound[0] is an
    upper bound of Sigma's largest eigenvalue, which never grows, and bound[1] one of that of Sigma minus the
    outer product of `axis`. With `screened` the rule promises that its loss does not fall as v grows, so a
    round without loss at the largest possible v needs no v. How close that bound is only matters if the
    margin is `adaptive`, that is if the loss depends on v.
    """
    d = mu.size
    columns, values, storage = open_rows(rows)
    norms = rows[4]
    z = np.empty(d)
    sums = np.empty(d)
    w = np.zeros(DEPTH)
    for now in range(order.size):
        entry = order[now]
        i = entry & ROW
        announce(rows, y, order, now)
        n, at, o = locate(storage, i)
        f = dot(mu, columns, at, values, o, n)
        t, mistake = count_round(counters, margins, entry, f, y[i])
        m = y[i] * f
        s = norms[i]
        if is_unlearned(entry) and not keeps_variance(margins):
            continue
        if is_lost(counters, f, n, s):
            continue
        if screened and not keeps_variance(margins):
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
        for k in range(counters[EXTRA]):
            w[k] = dot_row(pending, k, columns, at, values, o, n)
            v -= w[k] * w[k]
        if n > 0 and not 0.0 < v < np.inf:
            counters[BREAKDOWNS] += 1
            v = 0.0
        if keeps_variance(margins):
            keep_variance(margins, counters, v)
            if is_unlearned(entry):
                continue
        loss, alpha, c = rule(m, v, mistake, t, p)
        if not is_change(counters, v, loss, alpha, c):
            continue
        # The bounds cost d^2, so once in d changes their cost per change is that of one row of Sigma.
        if adaptive and counters[EFFECTIVE] % d == 0:
            tighten(sigma, mu, axis, bound, sums)
        if not streamed:
            project(sigma, columns, at, values, o, n, z)
        if counters[EXTRA] > 0:
            for j in range(d):
                z[j] -= w[0] * pending[0, j]
        for j in range(d):
            mu[j] += alpha * y[i] * z[j]
        if c == 0.0:
            continue
        # beta z z' = (sqrt(beta) z) (sqrt(beta) z)': one vector describes the change.
        root = math.sqrt(c / (1.0 + c * v))
        for j in range(d):
            pending[counters[EXTRA], j] = root * z[j]
        counters[EXTRA] += 1
        if counters[EXTRA] == DEPTH:
            apply_two(sigma, pending)
            counters[EXTRA] = 0
