"""Steps of u, one vector per advice set: in closed form, or within the cone u >= 0.

The inequalities of all sets lie below each other as CSR rows, so that a condition on one of many features
costs one entry. What depends only on mu is prepared once, by the learner. `step.SETS` describes `sets`.

The step within the cone minimises |u - old|^2 / 2 + mu / 2 (|D'u + z w|^2 + (1 + d'u)_+^2) over u >= 0.
Coordinate descent from the old u ends most steps within a few sweeps. Where inequalities nearly repeat each
other and mu is large it is slow: its error falls by 1 - 1 / (1 + mu |D|^2) per sweep. Block principal
pivoting then ends the step (Portugal, Judice and Vicente, Math. Comp. 1994): it guesses which entries of u
are positive, solves a linear system in these, and exchanges entries that turn out negative, or whose slope at
zero is. The minimum is exact once none is left. `scratch` has q = D'u + z w in its first d entries, then the
old u.
"""

import numpy as np

from olbench.kernels.helpers import helper

#: Sweeps before pivoting is tried; each further attempt comes after twice as many.
PATIENCE = 8
#: Sweeps after which a step ends anyway; pivoting ends all but contrived problems long before.
SWEEPS = 100_000
#: Systems that one attempt solves.
PIVOTS = 500
#: Exchanges of all wrong entries in a row that may leave as many wrong; then one at a time is exchanged.
EXCHANGES = 3
#: A slope below this share of its largest term is rounding.
FLAT = 1e-13
#: A negative entry or slope of less than this share of its terms counts as zero.
ROUNDING = 1e-12


@helper
def product(sets, j, vector):
    """Return the product of inequality j with a vector, summed in the order of the columns."""
    values, columns, ends = sets[0], sets[1], sets[2]
    total = 0.0
    for k in range(ends[j], ends[j + 1]):
        total += values[k] * vector[columns[k]]
    return total


@helper
def add_row(sets, j, factor, vector):
    values, columns, ends = sets[0], sets[1], sets[2]
    for k in range(ends[j], ends[j + 1]):
        vector[columns[k]] += factor * values[k]


@helper
def solve(i, sets, p, w, u, scratch):
    """Set scratch to v = B (u - mu z D w) with B = (I + mu D D')^-1, and return 1 + d'v.

    v minimises |v - u|^2 + mu |D'v + z w|^2. With the term mu (1 + d'v)^2 the minimum is v - c (1 + d'v) B d,
    by the inverse of a matrix changed by d d', and 1 + d'v has the same sign at both.
    """
    bounds, starts, signs, inverse, corners = sets[3], sets[4], sets[5], sets[6], sets[7]
    first, size = starts[i], starts[i + 1] - starts[i]
    v = scratch[:size]
    v[:] = 0.0
    # By columns, which the inverse has one after the other: all sums advance together, each in its own order.
    for k in range(size):
        value = u[first + k] - p[1] * signs[i] * product(sets, first + k, w)
        column = inverse[corners[i] + k * size : corners[i] + (k + 1) * size]
        for j in range(size):
            v[j] += column[j] * value
    gap = 1.0
    for j in range(size):
        gap += bounds[first + j] * v[j]
    return gap


@helper
def truncate(i, sets, gap, u, scratch):
    """Set u to (v - c gap B d)_+, where scratch holds v."""
    starts, directions, factors = sets[4], sets[8], sets[9]
    first = starts[i]
    for j in range(starts[i + 1] - first):
        u[first + j] = max(0.0, scratch[j] - factors[i] * gap * directions[first + j])


@helper
def descend(i, sets, mu, w, u, scratch):
    """Move the u of set i to the minimum."""
    starts = sets[4]
    for j in range(starts[i], starts[i + 1]):
        scratch[w.size + j - starts[i]] = u[j]
    gap = refresh(i, sets, w, u, scratch)
    attempt = PATIENCE
    for sweep in range(1, SWEEPS + 1):
        gap, steepest = sweep_once(i, sets, mu, gap, w.size, u, scratch)
        if steepest <= FLAT:
            return
        if sweep == attempt:
            attempt *= 2
            if finish(i, sets, mu, w, u, scratch):
                return


@helper
def refresh(i, sets, w, u, scratch):
    """Set q to D'u + z w for the u of set i, and return 1 + d'u."""
    bounds, starts, signs = sets[3], sets[4], sets[5]
    for k in range(w.size):
        scratch[k] = signs[i] * w[k]
    gap = 1.0
    for j in range(starts[i], starts[i + 1]):
        if u[j] != 0.0:
            gap += bounds[j] * u[j]
            add_row(sets, j, u[j], scratch)
    return gap


@helper
def sweep_once(i, sets, mu, gap, d, u, scratch):
    """Move each coordinate to its own minimum; return 1 + d'u and the steepest slope.

    Slopes are relative to the size of their terms; one that only leads out of the cone does not count.
    """
    bounds, starts, norms = sets[3], sets[4], sets[10]
    first = starts[i]
    steepest = 0.0
    for j in range(first, starts[i + 1]):
        pull = mu * product(sets, j, scratch)
        slope = u[j] - scratch[d + j - first] + pull
        # Most entries are zero and stay so: with d_j >= 0 the hinge only adds to the slope.
        if u[j] == 0.0 and slope >= 0.0 and bounds[j] >= 0.0:
            continue
        bend = 1.0 + mu * norms[j]
        step = -slope / bend
        # Does the minimum without the hinge lie where the hinge is inactive? Then it is the minimum with it.
        if gap + bounds[j] * step > 0.0:
            slope += mu * bounds[j] * gap
            step = -slope / (bend + mu * bounds[j] * bounds[j])
        step = max(step, -u[j])
        if step != 0.0:
            size = u[j] + scratch[d + j - first] + abs(pull) + mu * abs(bounds[j] * gap)
            steepest = max(steepest, abs(slope) / max(size, 1e-300))
            u[j] += step
            gap += bounds[j] * step
            add_row(sets, j, step, scratch)
    return gap, steepest


@helper
def finish(i, sets, mu, w, u, scratch):
    """Set u to the minimum by pivoting and return True, or leave it and return False.

    With a square in place of the hinge the minimum is the same if it has a gap of zero or more; if not, the
    hinge is inactive at the minimum and its term can be left out.
    """
    first, end = sets[4][i], sets[4][i + 1]
    x = np.empty(end - first)
    for active in (1.0, 0.0):
        x[:] = u[first:end]
        ended, gap = pivot(i, sets, mu, active, w, x, scratch)
        if not ended:
            return False
        if active == 0.0 or gap >= 0.0:
            break
    u[first:end] = x
    return True


@helper
def pivot(i, sets, mu, active, w, x, scratch):
    """Set x to the minimum and return whether it was found, and 1 + d'x there.

    The first guess are the entries that are positive at first. Exchanging all wrong entries at once mostly
    ends within a few systems but may cycle. Exchanging only the last one cannot, so that is done if their
    number has not fallen for a while.
    """
    free = x > 0.0
    fewest, chances = x.size + 1, EXCHANGES
    wrong = np.empty(x.size, np.bool_)
    for _ in range(PIVOTS):
        places = np.flatnonzero(free)
        dual, values = solve_face(i, sets, mu, active, w, places, scratch)
        x[:] = 0.0
        for a in range(places.size):
            x[places[a]] = values[a]
        count = mark_wrong(i, sets, mu, active, w.size, dual, free, x, scratch, wrong)
        if count == 0:
            for j in range(x.size):
                x[j] = max(0.0, x[j])
            return True, dual[w.size]
        if count < fewest:
            fewest, chances = count, EXCHANGES
        else:
            chances -= 1
        if chances >= 0:
            for j in range(x.size):
                free[j] ^= wrong[j]
        else:
            last = np.flatnonzero(wrong)[-1]
            free[last] = not free[last]
    return False, 0.0


@helper
def mark_wrong(i, sets, mu, active, d, dual, free, x, scratch, wrong):
    """Mark free entries that are negative and others whose slope at zero is; return how many there are."""
    bounds, first = sets[3], sets[4][i]
    largest = np.max(np.abs(x))
    count = 0
    for j in range(x.size):
        if free[j]:
            wrong[j] = x[j] < -ROUNDING * largest
        else:
            pull = mu * product(sets, first + j, dual)
            push = mu * active * bounds[first + j] * dual[d]
            size = scratch[d + j] + abs(pull) + abs(push) + largest
            wrong[j] = pull + push - scratch[d + j] < -ROUNDING * size
        count += wrong[j]
    return count


@helper
def solve_face(i, sets, mu, active, w, free, scratch):
    """Return q with the gap, and u, at the minimum over the entries `free` of u, of either sign.

    The others are zero. With E = [D d] and b = old - mu (z D w + d), all for these entries, u solves
    (I + mu E E') u = b.
    """
    bounds, first, sign, d = sets[3], sets[4][i], sets[5][i], w.size
    b = np.empty(free.size)
    for a in range(free.size):
        j = first + free[a]
        b[a] = scratch[d + free[a]] - mu * (sign * product(sets, j, w) + active * bounds[j])
    substitute(factor_system(i, sets, mu, active, d, free), b)
    dual = np.zeros(d + 1)
    for a in range(free.size):
        add_row(sets, first + free[a], b[a], dual)
        dual[d] += active * bounds[first + free[a]] * b[a]
    for k in range(d):
        dual[k] += sign * w[k]
    dual[d] += active
    return dual, b


@helper
def factor_system(i, sets, mu, active, d, free):
    """Return the lower Cholesky factor of I + mu E E', by sparse rows: most rows of D have few entries."""
    bounds, first = sets[3], sets[4][i]
    root = np.empty((free.size, free.size))
    row = np.zeros(d)
    for a in range(free.size):
        add_row(sets, first + free[a], 1.0, row)
        for b in range(a + 1):
            total = product(sets, first + free[b], row)
            total += active * bounds[first + free[a]] * bounds[first + free[b]]
            root[a, b] = mu * total
        add_row(sets, first + free[a], -1.0, row)
        root[a, a] += 1.0
    factor(root)
    return root


@helper
def factor(root):
    """Replace the lower half of a matrix by its Cholesky factor.

    A finished column is subtracted from all that follow: the sums are independent of each other, so the
    processor adds several at once, and each keeps its order.
    """
    size = root.shape[0]
    column = np.empty(size)
    for k in range(size):
        root[k, k] = np.sqrt(root[k, k])
        for a in range(k + 1, size):
            root[a, k] /= root[k, k]
            column[a] = root[a, k]
        for a in range(k + 1, size):
            row, other = root[a, k + 1 : a + 1], column[k + 1 : a + 1]
            for b in range(row.size):
                row[b] -= column[a] * other[b]


@helper
def substitute(root, x):
    """Solve R R'y = x in place, where R is the lower half of root."""
    for a in range(x.size):
        total = x[a]
        for k in range(a):
            total -= root[a, k] * x[k]
        x[a] = total / root[a, a]
    for a in range(x.size - 1, -1, -1):
        total = x[a]
        for k in range(a + 1, x.size):
            total -= root[k, a] * x[k]
        x[a] = total / root[a, a]
