"""Second-order passes with a full covariance that is larger than a near cache.

Reading Sigma would bound a pass with one sweep per product or change. Here several rounds share each sweep,
until arithmetic is the bound: a dense round that changes the state costs d^2 multiplications and additions
for the product, and half as many for the change. docs/kernels.md describes how.

Changes: Sigma is a base matrix minus the outer products of pending vectors, which are applied to it together.

Look-ahead: a sweep projects up to ROWS_PER_SWEEP rows that will probably need it. A projection is of the base
matrix; the round subtracts the pending changes. Each entry is the same sum in the same order however many
rows share the sweep, so a pass has the same bits whatever was guessed.
"""

import math

import numpy as np

from olbench.kernels.counters import EFFECTIVE, EXTRA, ROUNDS, ROW, TILE
from olbench.kernels.covariance import (
    GATHER_COST,
    covariance_pass,
    gathered_variance,
    has_no_loss,
    largest_variance,
    tighten,
)
from olbench.kernels.helpers import inlined
from olbench.kernels.margins import (
    VARIANCE,
    count_breakdown,
    count_round,
    is_change,
    is_lost,
    is_unlearned,
    keep,
    keeps_variance,
    usable_variance,
)
from olbench.kernels.matrix import inner, inner_four, project
from olbench.kernels.rows import dot, locate, open_rows
from olbench.kernels.vectors import (
    WIDEST,
    add_products,
    empty_block,
    prefetch,
    subtract_block,
    subtract_mirrored,
    write_block,
)

# Columns per panel when pending vectors are summed: four chains of additions hide their latency.
PANEL = 4 * WIDEST
# Rows that share a sweep: eight sums per entry of Sigma fit the registers, and make its load negligible.
ROWS_PER_SWEEP = 8
# How many rounds ahead rows are guessed, and how many projections are kept.
WINDOW = 64
SLOTS = 32
# A row shares a sweep if more than one in LONG of its entries are not zero.
LONG = 2
# Fewer rows than this are faster in separate sweeps.
WORTH_SHARING = 3


@inlined
def apply_pending(sigma, pending):
    """Subtract the outer products of all pending vectors from Sigma in one sweep over its tiles.

    Tiles below the diagonal are copies of those above it. A tile on the diagonal is symmetric to the bit by
    itself, because (i, j) and (j, i) sum the same products.
    """
    depth, d = pending.shape[0], sigma.shape[0]
    for i in range(0, d, TILE):
        for j in range(i, d, WIDEST):
            block = empty_block(TILE, WIDEST)
            for k in range(depth):
                block = add_products(block, pending, (k, i), pending, (k, j))
            if j < i + TILE:
                subtract_block(block, sigma, (i, j))
            else:
                subtract_mirrored(block, sigma, (i, j))


@inlined
def project_rows(sigma, columns_of_rows, d, target, first):
    """Set ROWS_PER_SWEEP rows of the target, from `first` on, to Sigma x of as many examples.

    columns_of_rows[j] has entry j of every example. Each entry of Sigma is loaded once for all of them.
    """
    for j in range(0, sigma.shape[0], WIDEST):
        block = empty_block(ROWS_PER_SWEEP, WIDEST)
        # The hardware does not follow a walk down a column, so the column after this one is asked for.
        after = min(j + WIDEST, sigma.shape[0] - 1)
        for k in range(d):
            prefetch(sigma, (k, after))
            block = add_products(block, columns_of_rows, (k, 0), sigma, (k, j))
        write_block(block, target, (first, j))


@inlined
def weigh_pending(pending, count, d, columns, c, values, o, n, w):
    """Set w[k] to the product of pending vector k with x, for the first `count` of them."""
    k = 0
    if n == d:
        while k + 4 <= count:
            w[k], w[k + 1], w[k + 2], w[k + 3] = inner_four(pending, k, values[o : o + d])
            k += 4
    while k < count:
        w[k] = dot(pending[k, :d], columns, c, values, o, n)
        k += 1


@inlined
def subtract_pending(z, pending, w, count):
    """Subtract the first `count` pending vectors, weighted by w, from z = sigma x: Sigma x is left."""
    j = 0
    while j + PANEL <= z.shape[1]:
        block = empty_block(1, PANEL)
        for k in range(count):
            block = add_products(block, w, (k,), pending, (k, j))
        subtract_block(block, z, (0, j))
        j += PANEL
    while j < z.shape[1]:
        block = empty_block(1, WIDEST)
        for k in range(count):
            block = add_products(block, w, (k,), pending, (k, j))
        subtract_block(block, z, (0, j))
        j += WIDEST


@inlined
def measure(sigma, pending, held, d, columns, c, values, o, n, z, w, known):
    """Return v = x' Sigma x; set w to the pending vectors times x.

    z is sigma x if `known`, or becomes it if x has many entries.
    """
    if GATHER_COST * n > d:
        if not known:
            project(sigma, columns, c, values, o, n, z[0])
        v = dot(z[0, :d], columns, c, values, o, n)
    else:
        v = gathered_variance(sigma, columns, c, values, o, n)
    weigh_pending(pending, held, d, columns, c, values, o, n, w)
    for k in range(held):
        v -= w[k] * w[k]
    return v


@inlined
def complete(sigma, pending, held, d, columns, c, values, o, n, z, w):
    """Set z to Sigma x after `measure`."""
    if GATHER_COST * n <= d:
        project(sigma, columns, c, values, o, n, z[0])
    subtract_pending(z, pending, w, held)


@inlined
def product(vector, rows, i):
    """Return vector . x of row i for a guess: a dense row is not packed, so its sum has another order."""
    dense, data, columns, indptr = rows[0], rows[1], rows[2], rows[3]
    if dense.shape[0] > 0:
        return inner(vector, dense[i], 0)
    return dot(vector, columns, indptr[i], data, indptr[i], indptr[i + 1] - indptr[i])


@inlined
def spread_row(rows, i, columns_of_rows, r):
    """Write row i, zeros included, to column r."""
    dense, data, columns, indptr = rows[0], rows[1], rows[2], rows[3]
    if dense.shape[0] > 0:
        for j in range(dense.shape[1]):
            columns_of_rows[j, r] = dense[i, j]
        return
    for j in range(columns_of_rows.shape[0]):
        columns_of_rows[j, r] = 0.0
    for k in range(indptr[i], indptr[i + 1]):
        columns_of_rows[columns[k], r] = data[k]


@inlined
def is_long(rows, i, d):
    """Return whether row i has enough entries to share a sweep, which multiplies its zeros as well."""
    dense, indptr, has_zeros = rows[0], rows[3], rows[5]
    if dense.shape[0] == 0:
        return LONG * (indptr[i + 1] - indptr[i]) > d
    if not has_zeros:
        return True
    n = 0
    for j in range(d):
        n += dense[i, j] != 0.0
    return LONG * n > d


@inlined
def needs_variance(rule, p, rows, i, label, t, screen):
    """Guess with the present mean whether round t will need Sigma x: whether screening lets row i pass."""
    mu, axis, bound, screened, top = screen
    if not screened:
        return True
    f = product(mu, rows, i)
    limit = bound[0] * rows[4][i]
    if bound[1] < np.inf:
        along = product(axis, rows, i)
        limit = min(limit, bound[1] * rows[4][i] + along * along)
    mistake = (f >= 0.0) != (label > 0.0)
    return not has_no_loss(rule, p, label * f, limit, mistake, t, top)


@inlined
def choose_rows(rule, p, rows, y, order, now, t, most, screen, slots, owners, free, columns_of_rows):
    """Write the row of round `now` and up to most - 1 later ones that will probably need Sigma x to columns.

    Their projections belong in the slots from `free` on; rows that have one already are left out.
    """
    for r in range(ROWS_PER_SWEEP):
        owners[free + r] = -1
    count = 0
    for later in range(now, min(now + WINDOW, order.size)):
        i = order[later] & ROW
        if count == most:
            return
        if owners[slots[later % WINDOW]] == later or not is_long(rows, i, screen[0].size):
            continue
        if is_unlearned(order[later]) and later > now:
            continue
        if later == now or needs_variance(rule, p, rows, i, y[i], t + later - now, screen):
            spread_row(rows, i, columns_of_rows, count)
            slots[later % WINDOW] = free + count
            owners[free + count] = later
            count += 1


@covariance_pass
def run(rule, p, rows, y, order, mu, sigma, pending, bounds, _, counters, screened, adaptive, top, margins):
    """Run the examples of `order`, with the arguments and the rounds of `covariance.run`.

    `sigma` has d rows, padded with zeros to a multiple of TILE. Its rows and those of `pending` may be longer
    than that by more zeros, which are never changed.
    """
    d, padded, depth = mu.size, sigma.shape[0], pending.shape[0]
    axis, bound = bounds
    columns, values, storage = open_rows(rows)
    norms = rows[4]
    z, sums, w = np.empty((1, padded)), np.empty(padded), np.empty(depth)
    columns_of_rows, projections = np.zeros((padded, ROWS_PER_SWEEP)), np.empty((SLOTS, padded))
    screen = (mu, axis, bound, screened, top)
    # slots[t % WINDOW] is the slot of round t if owners[slot] == t.
    slots, owners, free = np.zeros(WINDOW, np.int64), np.full(SLOTS, -1), 0
    for now in range(order.size):
        entry = order[now]
        i = entry & ROW
        n, at, o = locate(storage, i)
        f = dot(mu, columns, at, values, o, n)
        t, mistake = count_round(counters, margins, entry, f, y[i])
        m = y[i] * f
        s = norms[i]
        if is_lost(counters, entry, f, n, s):
            continue
        passive = is_unlearned(entry)
        if screened and not passive:
            limit = largest_variance(axis, bound, s, columns, at, values, o, n)
            passive = has_no_loss(rule, p, m, limit, mistake, t, top)
        if passive and not keeps_variance(margins):
            continue
        count = counters[EXTRA]
        slot = slots[now % WINDOW]
        # Once the pending changes are applied all projections are void, so no more rows than that share.
        most = min(ROWS_PER_SWEEP, depth - count)
        if owners[slot] != now and most >= WORTH_SHARING and LONG * n > d:
            choose_rows(rule, p, rows, y, order, now, t, most, screen, slots, owners, free, columns_of_rows)
            project_rows(sigma, columns_of_rows, d, projections, free)
            slot, free = free, (free + ROWS_PER_SWEEP) % SLOTS
        known = owners[slot] == now
        if known:
            for j in range(padded):
                z[0, j] = projections[slot, j]
        v = measure(sigma, pending, count, d, columns, at, values, o, n, z, w, known)
        v = usable_variance(v)
        keep(margins, entry, counters[ROUNDS], VARIANCE, v)
        if passive:
            continue
        if n > 0 and v == 0.0:
            count_breakdown(counters, entry, counters[ROUNDS])
        loss, alpha, c = rule(m, v, mistake, t, p)
        if not is_change(counters, entry, v, loss, alpha, c):
            continue
        # The bounds cost d^2, so once in d changes their cost per change is that of one row of Sigma.
        if adaptive and counters[EFFECTIVE] % d == 0:
            tighten(sigma, mu, axis, bound, sums)
        complete(sigma, pending, count, d, columns, at, values, o, n, z, w)
        for j in range(d):
            mu[j] += alpha * y[i] * z[0, j]
        if c == 0.0:
            continue
        # beta z z' = (sqrt(beta) z) (sqrt(beta) z)': one vector describes the change.
        root = math.sqrt(c / (1.0 + c * v))
        for j in range(padded):
            pending[count, j] = root * z[0, j]
        counters[EXTRA] = count + 1
        if counters[EXTRA] == depth:
            apply_pending(sigma, pending)
            counters[EXTRA] = 0
            owners[:] = -1
