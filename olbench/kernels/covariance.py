"""Second-order passes with a full covariance that fits a near cache, stored as the symmetric matrix itself.

The cost of a round with nnz entries depends on how far it gets. A round that cannot trigger costs nnz. A
round that needs its variance costs nnz^2 / 2 gathered or nnz d streamed reads, whichever is less. Only a
round that changes the state costs d^2. Up to d = 20 or so the latency of one round's chain (margin, rule,
change of the mean) bounds the pass, then the loads and stores of the sweeps over Sigma. `blocked` is the
kernel for larger matrices.
"""

import math

import numpy as np
from numba import boolean, float64, types

from olbench.kernels.compile import SECOND_ORDER_RULE, WRITE_1D, WRITE_2D, WRITE_INT64, pass_kernel
from olbench.kernels.counters import EXTRA, ONLY_LEARN, ONLY_PREDICT
from olbench.kernels.helpers import helper, inlined
from olbench.kernels.margins import (
    MARGIN,
    VARIANCE,
    count_breakdown,
    count_by_group,
    is_unlearned,
    is_usable,
    judge,
    keep,
    keeps_variance,
    read_counts,
    usable_variance,
    write_counts,
)
from olbench.kernels.matrix import inner, residual_sums, row_sums, sum_panels
from olbench.kernels.rows import dot, dot_row, open_rows, read_round
from olbench.kernels.vectors import add, load, multiply, spread, store, subtract, zeros

# A gathered read of a large matrix takes about as long as four streamed ones.
GATHER_COST = 4
# Allowance for rounding in a bound, as a share of Sigma's largest row sum: far above the error of d
# additions.
SLACK = 1e-9
# Screening by a bound is tried in TRIED rounds; if it does not pay in these, it rests for RESTING rounds.
TRIED, RESTING = 32, 256
# The axis is used if removing it at least halves Sigma's largest row sum; otherwise its product with x does
# not pay.
WORTHWHILE = 0.5


@inlined
def gathered_variance(sigma, columns, c, values, o, n):
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
def tighten(sigma, mu, axis, bound, sums):
    """Set the axis and the bounds that hold for every later Sigma; `sums` is working memory.

    Examples with a large margin trigger no update. Where features have similar scales, Sigma therefore stays
    long in the direction of mu and shrinks in all others. Subtracting the outer product of the axis
    a = Sigma mu / sqrt(mu' Sigma mu) leaves a matrix that is positive semi-definite (Schur complement) and
    small. Sigma only shrinks, so both bounds hold until they are next computed.
    """
    for j in range(mu.size):
        axis[j] = inner(mu, sigma[j], 0)
    axis /= math.sqrt(inner(axis, mu, 0))
    row_sums(sigma, sums)
    largest = sums.max()
    bound[0] = min(bound[0], (1.0 + SLACK) * largest)
    residual_sums(sigma, axis, sums)
    rest = sums.max() + SLACK * largest
    bound[1] = rest if rest < WORTHWHILE * bound[0] else np.inf


@inlined
def largest_variance(axis, bound, s, columns, c, values, o, n):
    """Return an upper bound of v for an x with ||x||^2 = s.

    v = x' (Sigma - a a') x + (a.x)^2, and the first term is at most bound[1] s.
    """
    limit = bound[0] * s
    if bound[1] < np.inf:
        along = dot(axis, columns, c, values, o, n)
        closer = bound[1] * s + along * along
        limit = closer if closer < limit else limit
    return limit


@inlined
def is_due(renewals):
    """Return whether the bounds are renewed after renewals * d changes: ever less often, as Sigma shrinks."""
    return renewals % (1 + renewals // 64) == 0


@inlined
def pays_off(hits, n, d):
    """Return whether screening saves time if `hits` of TRIED rounds end with it.

    Measured: it costs some 20 ns, and saves a product with n rows of Sigma at about 1 / 16 ns per entry.
    """
    return hits * (n * d + 300) > TRIED * 320


@inlined
def has_no_loss(rule, p, m, limit, mistake, t, top):
    """Return whether a rule does nothing at the margin m, whatever the variance is up to `limit`.

    A rule that promises to do nothing above a margin `top` is not called: its loss does not depend on v.
    """
    if top < np.inf:
        return m > top
    loss, alpha, c = rule(m, limit, mistake, t, p)
    return loss <= 0.0 and alpha == 0.0 and c == 0.0


# Rank-one changes are collected and applied two at a time: Sigma fits a near cache, and a sweep over it is
# bound by its stores.
DEPTH = 2


@inlined
def apply_two(sigma, pending):
    """Subtract two pending outer products from Sigma, in panels of columns.

    A panel keeps its part of the two vectors in registers while it walks down the rows. Panels may not
    overlap here, because a column would be changed twice: hence the cascade of widths.
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
def subtract_panel(sigma, pending, j, like):
    """Subtract two outer products from the columns of Sigma from j on, as many as `like` has lanes."""
    z0, z1 = load(like, pending, (0, j)), load(like, pending, (1, j))
    for i in range(sigma.shape[0]):
        w0, w1 = spread(like, pending[0, i]), spread(like, pending[1, i])
        change = add(multiply(w0, z0), multiply(w1, z1))
        store(subtract(load(like, sigma, (i, j)), change), sigma, (i, j))


@inlined
def change_state(mu, pending, held, z, w, step, root):
    """Subtract w times a pending vector, if one is held, from z; add step z to mu; write root z after it.

    All in one sweep, in the runs of four that the next margin loads, as in `first_order.add_full`. A loop
    over each array would first test whether two of them overlap, which takes as long as eight features.
    """
    whole = mu.size - mu.size % 4
    for j in range(0, whole, 4):
        run = load(zeros(4), z, (j,))
        if held > 0:
            run = subtract(run, multiply(spread(run, w), load(run, pending, (0, j))))
        store(add(load(run, mu, (j,)), multiply(spread(run, step), run)), mu, (j,))
        store(multiply(spread(run, root), run), pending, (held, j))
    for j in range(whole, mu.size):
        entry = z[j] - w * pending[0, j] if held > 0 else z[j]
        mu[j] += step * entry
        pending[held, j] = root * entry


#: A pass with the arguments mu, sigma, pending, (axis, bound), screening, counters, screened, adaptive, top.
covariance_pass = pass_kernel(
    SECOND_ORDER_RULE,
    *(WRITE_1D, WRITE_2D, WRITE_2D, types.UniTuple(WRITE_1D, 2), WRITE_INT64, WRITE_INT64),
    *(boolean, boolean, float64),
)


@covariance_pass
def run(
    rule, p, rows, y, order, mu, sigma, pending, bounds, screening, counters, screened, adaptive, top, margins
):
    """Run the examples of `order`.

    Sigma is `sigma` minus the outer products of the first counters[EXTRA] rows of `pending`. bound[0] is an
    upper bound of Sigma's largest eigenvalue, which never grows, and bound[1] one of that of Sigma minus the
    outer product of `axis`. With `screened` the rule promises that its loss does not fall as v grows, so a
    round without loss at the largest possible v needs no v. The bounds are renewed if the loss depends on v:
    if the margin is `adaptive`. At a margin above `top`, if that is finite, the rule does nothing.
    `screening` has the rounds tried, the hits among them, and the rounds left to rest.
    """
    d, (axis, bound) = mu.size, bounds
    columns, values, storage = open_rows(rows)
    norms = rows[4]
    z, sums = np.empty(d), np.empty(d)
    # The counts stay in registers: in the array, each would be loaded and stored again in every round.
    before, unlearned, updates, effective = read_counts(counters)
    held = counters[EXTRA]
    tried, hits, resting = screening[0], screening[1], screening[2]
    changes_left = d - effective % d
    unpredicted = positives = 0
    for now in range(order.size):
        entry, i, n, at, o = read_round(rows, y, order, now, storage)
        f = dot(mu, columns, at, values, o, n)
        label, s = y[i], norms[i]
        m = label * f
        mistake, _ = judge(f, label)
        if entry < ONLY_LEARN:
            unlearned += entry >= ONLY_PREDICT
            keep(margins, entry, before + now + 1 - unpredicted, MARGIN, f)
            positives += label > 0.0
        else:
            unpredicted += 1
            unlearned -= 1
        count_by_group(counters, entry, mistake & (entry < ONLY_LEARN), 2, label > 0.0)
        rounds = before + now + 1 - unpredicted
        t = rounds - unlearned
        if not is_usable(f, n, s):
            count_breakdown(counters, entry, rounds)
            continue
        passive = is_unlearned(entry)
        if screened and not passive:
            if top < np.inf:
                passive = m > top
            elif resting > 0:
                resting -= 1
            else:
                limit = largest_variance(axis, bound, s, columns, at, values, o, n)
                passive = has_no_loss(rule, p, m, limit, mistake, t, top)
                hits += passive
                tried += 1
                if tried == TRIED:
                    resting = 0 if pays_off(hits, n, d) else RESTING
                    tried = hits = 0
        if passive and not keeps_variance(margins):
            continue
        streamed = GATHER_COST * n > d
        # Few entries: gather nnz^2 / 2 of Sigma. Many: stream nnz whole rows, which gives z as well.
        if streamed:
            if n == d:
                sum_panels(sigma, None, 0, values, o, n, z)
            else:
                sum_panels(sigma, columns, at, values, o, n, z)
            v = dot(z, columns, at, values, o, n)
        else:
            v = gathered_variance(sigma, columns, at, values, o, n)
        w = 0.0
        if held > 0:
            w = dot_row(pending, 0, columns, at, values, o, n)
            v -= w * w
        v = usable_variance(v)
        keep(margins, entry, rounds, VARIANCE, v)
        if passive:
            continue
        if n > 0 and v == 0.0:
            count_breakdown(counters, entry, rounds)
        loss, alpha, c = rule(m, v, mistake, t, p)
        updates += loss > 0.0
        undefined = np.isnan(loss)
        if v == 0.0 or (alpha == 0.0 and c == 0.0 and not undefined):
            continue
        if undefined or not (np.isfinite(alpha) and 0.0 <= c < np.inf):
            count_breakdown(counters, entry, rounds)
            continue
        effective += 1
        # The bounds cost d^2, so once in d changes their cost per change is that of one row of Sigma.
        changes_left -= 1
        if changes_left == 0:
            changes_left = d
            if adaptive and is_due(effective // d):
                tighten(sigma, mu, axis, bound, sums)
        if not streamed:
            sum_panels(sigma, columns, at, values, o, n, z)
        # beta z z' = (sqrt(beta) z) (sqrt(beta) z)': one vector describes the change.
        change_state(mu, pending, held, z, w, alpha * label, math.sqrt(c / (1.0 + c * v)))
        held += c > 0.0
        if held == DEPTH:
            apply_two(sigma, pending)
            held = 0
    counters[EXTRA] = held
    screening[0], screening[1], screening[2] = tried, hits, resting
    rounds = before + order.size - unpredicted
    write_counts(counters, rounds, unlearned, updates, effective, positives)
