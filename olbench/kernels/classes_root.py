"""Second-order passes over several classes with covariances stored as square roots: Sigma_k = R_k R_k'.

As in `root`, a variance is a sum of squares and cannot turn negative however far a covariance shrinks. A
round that may trigger costs two products R' x; a change sweeps the roots of the true class and its rival.
"""

import math

import numpy as np
from numba import boolean, types

from olbench.kernels.classes import predict_round
from olbench.kernels.compile import (
    PAIR_RULE,
    SECOND_ORDER_RULE,
    WRITE_1D,
    WRITE_2D,
    WRITE_2D_INT64,
    WRITE_3D,
    WRITE_INT64,
    inlined,
    pass_kernel,
)
from olbench.kernels.counters import EXTRA, ROUNDS
from olbench.kernels.helpers import helper
from olbench.kernels.margins import count_breakdown, is_change, is_lost, is_unlearned
from olbench.kernels.matrix import inner_row, project, row_sums
from olbench.kernels.root import LARGEST, SMALLEST, STEP, largest_entry, normalise, renew_bound, rounding
from olbench.kernels.rows import open_rows, read_round


@helper
def rescale(roots, means):
    """Multiply all roots and means by 2^STEP unless an entry would grow too large; return the exponent used.

    As in `root.rescale`, a row that no mean has used yet may stay behind: its variance is as good as
    infinite. That holds for all rows of a class that no round has touched.
    """
    factor = 2.0**STEP
    for k in range(roots.shape[0]):
        for i in range(means.shape[0]):
            if is_used(means, i, k, roots.shape[0]) and largest_entry(roots[k], i) > LARGEST / factor:
                return 0
    for k in range(roots.shape[0]):
        for i in range(means.shape[0]):
            if largest_entry(roots[k], i) <= LARGEST / factor:
                for j in range(means.shape[0]):
                    roots[k, i, j] *= factor
    for i in range(means.shape[0]):
        for k in range(means.shape[1]):
            means[i, k] *= factor
    return STEP


@inlined
def is_used(means, i, k, count):
    """Return whether feature i has a mean other than zero in class k, or in any class if all share a root."""
    if count > 1:
        return means[i, k] != 0.0
    used = False
    for j in range(means.shape[1]):
        used = used or means[i, j] != 0.0
    return used


@inlined
def shrink_root(root, a, gain, weight, z):
    """Set z to weight R a for an a of length one, and change R so that a' R' x shrinks by sqrt(1 + gain).

    One sweep reads row j for z_j and changes it while it is in cache. Written so, g = 1 - 1 / h does not
    cancel for a small gain.
    """
    h = math.sqrt(1.0 + gain)
    g = gain / (h * (h + 1.0))
    for j in range(z.size):
        product = inner_row(root, j, a, 0)
        z[j] = weight * product
        part = g * product
        for k in range(z.size):
            root[j, k] -= part * a[k]


@inlined
def is_certain(root, reach, deviation, columns, c, values, o, n):
    """Return whether a deviation is more than rounding; renew the bounds of the rows before saying no.

    A class whose mean is far off can shrink a covariance by many orders of magnitude in one round.
    """
    if n == 0 or deviation > rounding(reach, columns, c, values, o, n):
        return True
    row_sums(root, reach)
    return deviation > rounding(reach, columns, c, values, o, n)


STATE = (WRITE_2D, WRITE_3D, WRITE_1D, WRITE_2D, WRITE_INT64, WRITE_2D_INT64, WRITE_INT64)


@pass_kernel(SECOND_ORDER_RULE, *STATE, types.FunctionType(PAIR_RULE), boolean, boolean, boolean)
def run(
    rule,
    p,
    rows,
    y,
    order,
    means,
    roots,
    bound,
    reach,
    changes,
    confusion,
    counters,
    pair,
    paired,
    screened,
    scale_free,
    margins,
):
    """Run the examples of `order`; counters[EXTRA] is the exponent of the scale of all classes.

    roots[k] belongs to class k; if there is only roots[0], to all classes. bound[k] and reach[k] are the
    bounds of `root.run`, renewed once in d of changes[k]. `pair` and `paired` are those of
    `classes_covariance.run`. Scale-free rules get the margin in units of its deviation.
    """
    d, is_shared = means.shape[0], roots.shape[0] == 1
    columns, values, storage = open_rows(rows)
    norms = rows[4]
    scores, a_y, a_s, z = np.empty(means.shape[1]), np.empty(d), np.empty(d), np.empty(d)
    for now in range(order.size):
        entry, i, n, at, o = read_round(rows, y, order, now, storage)
        truth, s = int(y[i]), norms[i]
        rival, m, t, mistake = predict_round(
            means, 1.0, columns, at, values, o, n, scores, truth, entry, confusion, counters, margins
        )
        if is_unlearned(entry) or is_lost(counters, entry, m, n, s):
            continue
        own, other = (0, 0) if is_shared else (truth, rival)
        if screened:
            limit = math.hypot(bound[own], bound[other]) * math.sqrt(s)
            unit = limit if scale_free and 0.0 < limit < np.inf else 1.0
            loss, alpha, c = rule(m / unit, (limit / unit) * (limit / unit), mistake, t, p)
            if loss <= 0.0 and alpha == 0.0 and c == 0.0 and limit * limit < np.inf:
                continue
        project(roots[own], columns, at, values, o, n, a_y)
        d_y = normalise(a_y)
        is_known = is_certain(roots[own], reach[own], d_y, columns, at, values, o, n)
        d_s = d_y
        if not is_shared:
            project(roots[other], columns, at, values, o, n, a_s)
            d_s = normalise(a_s)
            is_known = is_known and is_certain(roots[other], reach[other], d_s, columns, at, values, o, n)
        deviation = math.hypot(d_y, d_s)
        if not (is_known and deviation < np.inf):
            count_breakdown(counters, entry, counters[ROUNDS])
            deviation = 0.0
        unit = deviation if scale_free and deviation > 0.0 else 1.0
        u_y, u_s = d_y / unit, d_s / unit
        # In units of the deviation, a scale-free variance is exactly one, as it is in the screening.
        v = 1.0 if unit == deviation else deviation * deviation
        loss, alpha, c = rule(m / unit, v, mistake, t, p)
        if paired and loss > 0.0 and deviation > 0.0:
            alpha, c = pair(m / unit, u_y * u_y, u_s * u_s, p)
        if not is_change(counters, entry, deviation, loss, alpha, c):
            continue
        shrink_root(roots[own], a_y, c * u_y * u_y, alpha * u_y, z)
        for j in range(d):
            means[j, truth] += z[j]
        if not is_shared:
            shrink_root(roots[other], a_s, c * u_s * u_s, alpha * u_s, z)
        for j in range(d):
            means[j, rival] -= z[j]
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
