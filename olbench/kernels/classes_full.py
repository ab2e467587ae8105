"""Second-order passes over several classes with full covariances: one per class, or one for all of them.

A round that cannot trigger costs K nnz for the scores. One that needs its variance reads the covariances of
the true class and of its rival; a change of state touches no other class. Changes of a covariance are
collected and applied together, as in `blocked`, whose sweeps are used here for matrices of any size.

Look-ahead: reading a large covariance bounds its product with one row. Several rows share a sweep, therefore:
later rows of the class, and rows whose rival will probably be the class. The guess is made WINDOW rounds
ahead with the means of that time. A wrong one only costs time, as in `blocked`.
"""

import math

import numpy as np
from numba import boolean, types

from olbench.kernels.blocked import (
    LONG,
    ROWS_PER_SWEEP,
    WORTH_SHARING,
    apply_pending,
    complete,
    measure,
    project_rows,
    spread_row,
)
from olbench.kernels.classes import find_rival, open_board, predict_round, score_panels
from olbench.kernels.compile import (
    PAIR_RULE,
    SECOND_ORDER_RULE,
    WRITE_1D,
    WRITE_2D,
    WRITE_2D_INT64,
    WRITE_3D,
    WRITE_INT64,
    pass_kernel,
)
from olbench.kernels.counters import AHEAD_FROM, EXTRA, ROUNDS, ROW
from olbench.kernels.covariance import has_no_loss, largest_variance, tighten
from olbench.kernels.helpers import inlined
from olbench.kernels.margins import count_breakdown, is_change, is_lost, is_unlearned
from olbench.kernels.matrix import project, row_sums
from olbench.kernels.root import SMALLEST, normalise, renew_bound, rescale, rounding, shrink_root
from olbench.kernels.rows import announce, locate, open_rows, read_round

# How many rounds ahead rivals are guessed, and how many projections are kept: two for each of these rounds.
WINDOW = 128
SLOTS = 2 * WINDOW
# The columns of `changes`: pending changes of a covariance, and all changes.
HELD, ALL = 0, 1


@inlined
def largest_class_variance(axis, bound, k, s, columns, c, values, o, n):
    """Return an upper bound of v under covariance k for an x with ||x||^2 = s."""
    return largest_variance(axis[k], bound[k], s, columns, c, values, o, n)


@inlined
def hold_change(sigma, pending, changes, k, z, beta, owners, blocks):
    """Add the change -beta z z' of covariance k to the pending ones; apply them if there are enough.

    That makes all projections of sigma[k] void.
    """
    held, depth = changes[k, HELD], pending.shape[0]
    root = math.sqrt(beta)
    for j in range(z.shape[1]):
        pending[held, j] = root * z[0, j]
    changes[k, HELD] = held + 1
    if held + 1 == depth:
        apply_pending(sigma, pending)
        changes[k, HELD] = 0
        for slot in range(owners.size):
            if blocks[slot] == k:
                owners[slot] = -1


@inlined
def gather_rows(rows, y, order, now, role, k, is_shared, most, cache, free):
    """Write the row of round `now` and up to most - 1 later ones that need covariance k to columns.

    Their projections belong in the slots from `free` on: slots[t % WINDOW, 0] is that of the true class of
    round t, slots[t % WINDOW, 1] that of its rival, if owners[slot] == t. Return how many rows there are.
    """
    guesses, slots, owners, blocks, columns_of_rows, _ = cache
    for r in range(ROWS_PER_SWEEP):
        owners[free + r] = -1
    count = 0
    for later in range(now, min(now + WINDOW, order.size)):
        i, place, part = order[later] & ROW, later % WINDOW, role
        if later > now:
            if guesses[place] < 0 or not (is_shared or int(y[i]) == k or guesses[place] == k):
                continue
            part = 0 if is_shared or int(y[i]) == k else 1
            if owners[slots[place, part]] == later and blocks[slots[place, part]] == k:
                continue
        spread_row(rows, i, columns_of_rows, count)
        slots[place, part] = free + count
        owners[free + count] = later
        blocks[free + count] = k
        count += 1
        if count == most:
            break
    return count


@inlined
def take_projection(rows, y, order, now, role, k, is_shared, sigma, room, d, cache, free, z):
    """Set z to sigma x from a sweep that several rows share; return whether there is one, and the free slots.

    `room` is how many changes can still be pending. Once they are applied all projections are void, so no
    more rows than that share.
    """
    _, slots, owners, blocks, columns_of_rows, projections = cache
    slot, most = slots[now % WINDOW, role], min(ROWS_PER_SWEEP, room)
    known = owners[slot] == now and blocks[slot] == k
    if not known and most >= WORTH_SHARING:
        count = gather_rows(rows, y, order, now, role, k, is_shared, most, cache, free)
        if count >= WORTH_SHARING:
            project_rows(sigma, columns_of_rows, d, projections, free)
            slot, free, known = free, (free + ROWS_PER_SWEEP) % SLOTS, True
        else:
            for r in range(count):
                owners[free + r] = -1
    if known:
        for j in range(z.shape[1]):
            z[0, j] = projections[slot, j]
    return known, free


@inlined
def guess_rival(rule, p, board, truth, s, t, bound, is_shared, screened):
    """Return the rival of a later round by the present scores; -1 if the round will need no variance."""
    scores, masks = board[:2]
    rival = find_rival(scores, masks, truth)
    m = scores[truth] - scores[rival]
    own, other = (0, 0) if is_shared else (truth, rival)
    limit = (bound[own, 0] + bound[other, 0]) * s
    return -1 if screened and has_no_loss(rule, p, m, limit, m <= 0.0, t, np.inf) else rival


#: confusion, counters, the rule for two covariances, and promises: whether it is used, and two of the rule
RULES = (WRITE_2D_INT64, WRITE_INT64, types.FunctionType(PAIR_RULE), types.UniTuple(boolean, 3))
#: sigma, pending, changes; axis, bound
COVARIANCES = types.Tuple((WRITE_3D, WRITE_3D, WRITE_2D_INT64)), types.Tuple((WRITE_2D, WRITE_2D))


@pass_kernel(SECOND_ORDER_RULE, WRITE_2D, *COVARIANCES, *RULES)
def run_covariance(
    rule, p, rows, y, order, means, covariances, bounds, confusion, counters, pair, promises, margins
):
    """Run the examples of `order`.

    The covariance of class k is sigma[k] minus the outer products of the first changes[k, HELD] rows of
    pending[k]; if there is only sigma[0], it is that of all classes. `axis`, `bound`, `screened` and
    `adaptive` are those of `covariance.run`, for each covariance. The rule gets the variance of the margin,
    v_y + v_s. With `paired` it only decides about the loss, and the step comes from `pair`.
    """
    (sigma, pending, changes), (axis, bound) = covariances, bounds
    paired, screened, adaptive = promises
    d, padded, depth = means.shape[0], sigma.shape[1], pending.shape[1]
    is_shared = sigma.shape[0] == 1
    columns, values, storage = open_rows(rows)
    norms = rows[4]
    board, mean, sums = open_board(means, confusion, counters, margins), np.empty(d), np.empty(padded)
    scores = board[0]
    # The first of two is of the true class, the second of its rival; a shared covariance has only the first.
    parts = 1 if is_shared else 2
    z, w, v = np.empty((2, 1, padded)), np.empty((2, depth)), np.empty(2)
    ahead = d >= AHEAD_FROM
    guesses, slots = np.full(WINDOW, -1), np.zeros((WINDOW, 2), np.int64)
    owners, blocks, free = np.full(SLOTS, -1), np.zeros(SLOTS, np.int64), 0
    projections = np.empty((SLOTS if ahead else 0, padded))
    columns_of_rows = np.zeros((padded if ahead else 0, ROWS_PER_SWEEP))
    cache = (guesses, slots, owners, blocks, columns_of_rows, projections)
    guessed = 0
    for now in range(order.size):
        entry = order[now]
        i = entry & ROW
        if not ahead:
            announce(rows, y, order, now)
        while ahead and guessed < min(now + WINDOW, order.size):
            announce(rows, y, order, guessed)
            later = order[guessed]
            j, t = later & ROW, counters[ROUNDS] + 1 + guessed - now
            n, at, o = locate(storage, j)
            rival = -1
            if LONG * n > d and not is_unlearned(later):
                score_panels(means, columns, at, values, o, n, scores)
                truth = int(y[j])
                rival = guess_rival(rule, p, board, truth, norms[j], t, bound, is_shared, screened)
            guesses[guessed % WINDOW] = rival
            guessed += 1
        n, at, o = locate(storage, i)
        truth, s = int(y[i]), norms[i]
        rival, m, t, mistake = predict_round(means, 1.0, columns, at, values, o, n, board, truth, entry)
        if is_unlearned(entry) or is_lost(counters, entry, m, n, s):
            continue
        own, other = (0, 0) if is_shared else (truth, rival)
        if screened:
            limit = largest_class_variance(axis, bound, own, s, columns, at, values, o, n)
            limit += largest_class_variance(axis, bound, other, s, columns, at, values, o, n)
            if has_no_loss(rule, p, m, limit, mistake, t, np.inf):
                continue
        for role in range(parts):
            k, known = (other if role else own), False
            held = changes[k, HELD]
            if ahead and LONG * n > d:
                room = depth - held
                known, free = take_projection(
                    rows, y, order, now, role, k, is_shared, sigma[k], room, d, cache, free, z[role]
                )
            v[role] = measure(
                sigma[k], pending[k], held, d, columns, at, values, o, n, z[role], w[role], known
            )
        v[1] = v[parts - 1]
        total = v[0] + v[1]
        if n > 0 and not (v[0] > 0.0 and v[1] > 0.0 and total < np.inf):
            count_breakdown(counters, entry, counters[ROUNDS])
            total = 0.0
        loss, alpha, c = rule(m, total, mistake, t, p)
        if paired and loss > 0.0 and total > 0.0:
            alpha, c = pair(m, v[0], v[1], p)
        if not is_change(counters, entry, total, loss, alpha, c):
            continue
        for role in range(parts):
            k = other if role else own
            complete(sigma[k], pending[k], changes[k, HELD], d, columns, at, values, o, n, z[role], w[role])
        for j in range(d):
            means[j, truth] += alpha * z[0, 0, j]
            means[j, rival] -= alpha * z[parts - 1, 0, j]
        if c == 0.0:
            continue
        for role in range(parts):
            k, label = (other, rival) if role else (own, truth)
            hold_change(sigma[k], pending[k], changes, k, z[role], c / (1.0 + c * v[role]), owners, blocks)
            changes[k, ALL] += 1
            # The bounds cost d^2, so once in d changes their cost per change is that of one row of Sigma.
            if adaptive and changes[k, ALL] % d == 0:
                for j in range(d):
                    mean[j] = means[j, label]
                tighten(sigma[k], mean, axis[k], bound[k], sums)


@inlined
def find_class_deviation(root, reach, columns, c, values, o, n, a):
    """Set a to R' x divided by its length, and return the length, or 0 if it may be nothing but rounding.

    A class whose mean is far off can shrink a covariance by many orders of magnitude in one round, so the
    bounds of the rows are renewed before the answer is 0.
    """
    project(root, columns, c, values, o, n, a)
    deviation = normalise(a)
    if n > 0 and not deviation > rounding(reach, columns, c, values, o, n):
        row_sums(root, reach)
        if not deviation > rounding(reach, columns, c, values, o, n):
            return 0.0
    return deviation


#: roots; bound, reach; changes
ROOTS = (WRITE_3D, types.Tuple((WRITE_1D, WRITE_2D)), WRITE_INT64)


@pass_kernel(SECOND_ORDER_RULE, WRITE_2D, *ROOTS, *RULES)
def run_root(
    rule, p, rows, y, order, means, roots, bounds, changes, confusion, counters, pair, promises, margins
):
    """Run the examples of `order`; counters[EXTRA] is the exponent of the scale of all classes.

    roots[k] belongs to class k; if there is only roots[0], to all classes. bound[k] and reach[k] are the
    bounds of `root.run`, renewed once in d of changes[k]. `pair` and `paired` are those of
    `run_covariance`. Scale-free rules get the margin in units of its deviation.
    """
    (bound, reach), (paired, screened, scale_free) = bounds, promises
    d, is_shared = means.shape[0], roots.shape[0] == 1
    columns, values, storage = open_rows(rows)
    norms = rows[4]
    board = open_board(means, confusion, counters, margins)
    a_y, a_s, z = np.empty(d), np.empty(d), np.empty(d)
    for now in range(order.size):
        entry, i, n, at, o = read_round(rows, y, order, now, storage)
        truth, s = int(y[i]), norms[i]
        rival, m, t, mistake = predict_round(means, 1.0, columns, at, values, o, n, board, truth, entry)
        if is_unlearned(entry) or is_lost(counters, entry, m, n, s):
            continue
        own, other = (0, 0) if is_shared else (truth, rival)
        if screened:
            limit = math.hypot(bound[own], bound[other]) * math.sqrt(s)
            unit = limit if scale_free and 0.0 < limit < np.inf else 1.0
            loss, alpha, c = rule(m / unit, (limit / unit) * (limit / unit), mistake, t, p)
            if loss <= 0.0 and alpha == 0.0 and c == 0.0 and limit * limit < np.inf:
                continue
        d_s = d_y = find_class_deviation(roots[own], reach[own], columns, at, values, o, n, a_y)
        if not is_shared:
            d_s = find_class_deviation(roots[other], reach[other], columns, at, values, o, n, a_s)
        deviation = math.hypot(d_y, d_s)
        if n > 0 and not (d_y > 0.0 and d_s > 0.0 and deviation < np.inf):
            count_breakdown(counters, entry, counters[ROUNDS])
            deviation = 0.0
        unit = deviation if scale_free and deviation > 0.0 else 1.0
        u_y, u_s = d_y / unit, d_s / unit
        # In units of the deviation, a scale-free variance is exactly one, as in the screening.
        v = 1.0 if unit == deviation else deviation * deviation
        loss, alpha, c = rule(m / unit, v, mistake, t, p)
        if paired and loss > 0.0 and deviation > 0.0:
            alpha, c = pair(m / unit, u_y * u_y, u_s * u_s, p)
        if not is_change(counters, entry, deviation, loss, alpha, c):
            continue
        shrink_root(roots[own], a_y, c * u_y * u_y, z)
        for j in range(d):
            means[j, truth] += alpha * u_y * z[j]
        if not is_shared:
            shrink_root(roots[other], a_s, c * u_s * u_s, z)
        for j in range(d):
            means[j, rival] -= alpha * u_s * z[j]
        for role in range(1 if is_shared else 2):
            k = own if role == 0 else other
            changes[k] += 1
            if changes[k] % d == 0:
                bound[k] = renew_bound(roots[k], reach[k], z, bound[k])
        if scale_free and min(d_y, d_s) < SMALLEST * math.sqrt(s):
            exponent = rescale(roots, means)
            counters[EXTRA] += exponent
            if exponent > 0:
                for k in range(roots.shape[0]):
                    bound[k] *= 2.0**exponent
                    row_sums(roots[k], reach[k])
