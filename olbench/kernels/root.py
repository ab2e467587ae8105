"""Second-order passes with a full covariance, stored as a square root: Sigma = D R R' D.

The variance is a sum of squares, so it cannot turn negative however far Sigma shrinks (Potter's form of the
Kalman filter). A round costs nnz d for a = R' x; a change of state sweeps R once and costs d^2.
Reading R bounds both. D is a diagonal of ones, unless the learner forgets (`forgetting`).
"""

import math

import numpy as np
from numba import boolean

from olbench.kernels.compile import SECOND_ORDER_RULE, WRITE_1D, WRITE_2D, WRITE_INT64, pass_kernel
from olbench.kernels.counters import EFFECTIVE, EXTRA, ROUNDS, ROW
from olbench.kernels.forgetting import LARGEST_SCALE, RATE, START, find_caps, grow, multiply_out
from olbench.kernels.helpers import helper, inlined
from olbench.kernels.margins import (
    EXPONENT,
    VARIANCE,
    count_breakdown,
    count_round,
    is_change,
    is_lost,
    is_unlearned,
    keep,
    keeps_variance,
)
from olbench.kernels.matrix import inner, largest_column_sum, project, row_sums
from olbench.kernels.rows import dot, locate, open_rows, squared_norm

# When ||R' x|| / ||x|| falls below SMALLEST, a scale-free learner is multiplied by 2^STEP. Squares of numbers
# around SMALLEST are still normal doubles, so nothing has underflowed by then.
SMALLEST = 2.0**-300
STEP = 256
# No entry of R may grow beyond this: rows of rarely seen features stay large while others shrink. The rest,
# up to 2^1024, is for the values of x.
LARGEST = 2.0**700
EPSILON = 2.0**-52


@helper
def rescale(roots, means):
    """Multiply all roots and means by 2^STEP unless an entry would grow too large; return the exponent used.

    roots[k] belongs to class k, whose mean is column k; if there is only roots[0], to all classes. A power of
    two changes no digit. A row that no mean has used yet does not prevent it: beyond LARGEST its variance is
    as good as infinite, so it stays behind.
    """
    factor, d = 2.0**STEP, means.shape[0]
    for k in range(roots.shape[0]):
        for i in range(d):
            used = False
            for j in range(means.shape[1]):
                used = used or (means[i, j] != 0.0 and (roots.shape[0] == 1 or j == k))
            if used and largest_entry(roots[k], i) > LARGEST / factor:
                return 0
    for k in range(roots.shape[0]):
        for i in range(d):
            if largest_entry(roots[k], i) <= LARGEST / factor:
                for j in range(d):
                    roots[k, i, j] *= factor
    for i in range(d):
        for k in range(means.shape[1]):
            means[i, k] *= factor
    return STEP


@helper
def largest_entry(root, i):
    largest = 0.0
    for j in range(root.shape[1]):
        largest = max(largest, abs(root[i, j]))
    return largest


@inlined
def rounding(reach, columns, c, values, o, n):
    """Return a length below which R' x may be nothing but rounding.

    R' x is the sum of the rows x_j R_j, each of which is rounded, and reach[j] is at least the length of R_j.
    """
    total = 0.0
    for k in range(n):
        total += abs(values[o + k]) * reach[columns[c + k]]
    return EPSILON * total


@inlined
def normalise(a):
    """Divide a vector by its length and return the length.

    The vector is first multiplied by a power of two that brings its largest entry near one, so that no square
    over- or underflows.
    """
    largest = 0.0
    for j in range(a.size):
        largest = max(largest, abs(a[j]))
    if not 0.0 < largest < np.inf:
        return largest
    power = 2.0 ** -min(1000, max(-1000, math.frexp(largest)[1]))
    for j in range(a.size):
        a[j] *= power
    length = math.sqrt(squared_norm(a, 0, a.size))
    for j in range(a.size):
        a[j] /= length
    return length / power


@inlined
def find_deviation(root, reach, columns, c, x, n, a):
    """Set a to R' x divided by its length, and return the length, or 0 if it may be nothing but rounding."""
    project(root, columns, c, x, 0, n, a)
    deviation = normalise(a)
    return deviation if rounding(reach, columns, c, x, 0, n) < deviation < np.inf else 0.0


@inlined
def shrink_root(root, a, gain, z):
    """Set z to R a, and let R be a root of the covariance whose precision along R a grows by `gain`.

    R (I - g a a')(I - g a a')' R' is the new Sigma if (1 - g)^2 = 1 / h^2, for a of length one. Written so,
    g = 1 - 1 / h does not cancel for a small gain.
    """
    h = math.sqrt(1.0 + gain)
    g = gain / (h * (h + 1.0))
    # One sweep reads row j for z_j and changes it while it is in cache.
    for j in range(z.size):
        z[j] = inner(root[j], a, 0)
        weight = g * z[j]
        for k in range(z.size):
            root[j, k] -= weight * a[k]


@helper
def renew_bound(root, reach, scratch, bound):
    """Set reach to the bounds of the rows, and return a bound of the largest singular value, at most `bound`.

    ||R||_2 <= sqrt(||R||_1 ||R||_inf).
    """
    row_sums(root, reach)
    spread = math.sqrt(reach.max()) * math.sqrt(largest_column_sum(root, scratch))
    return min(bound, (1.0 + 1e-9) * spread)


@pass_kernel(SECOND_ORDER_RULE, WRITE_1D, WRITE_2D, *[WRITE_1D] * 5, WRITE_INT64, boolean, boolean)
def run(
    rule, p, rows, y, order, mu, R, bound, reach, scales, caps, clock, counters, screened, scale_free, margins
):
    """Run the examples of `order`; counters[EXTRA] is the exponent of the scale.

    bound[0] is an upper bound of the largest singular value of R, and reach[j] one of the length of its row
    j; `screened` is as in the covariance form. A `scale_free` learner does not depend on the common scale of
    mu and R: both are multiplied by a power of two, whose exponent is counted, before they underflow. A
    deviation within rounding of zero is a breakdown; linearly dependent features can lead to it.
    D has the diagonal `scales`; if clock[RATE] > 1 it grows before each example that is learnt but the first,
    and scales[j] stops at caps[j].
    """
    d = mu.size
    columns, values, storage = open_rows(rows)
    norms = rows[4]
    a, x, z = np.empty(d), np.empty(d), np.empty(d)
    rate, start = math.sqrt(clock[RATE]), math.sqrt(clock[START])
    forgets = rate > 1.0
    for entry in order:
        i = entry & ROW
        n, at, o = locate(storage, i)
        f = dot(mu, columns, at, values, o, n)
        t, mistake = count_round(counters, margins, entry, f, y[i])
        keep(margins, entry, counters[ROUNDS], EXPONENT, counters[EXTRA])
        m = y[i] * f
        if forgets and not is_unlearned(entry) and t > 1 and grow(scales, caps, rate) > LARGEST_SCALE / 2.0:
            multiply_out(scales, R, reach, bound)
            find_caps(R, start * 2.0 ** counters[EXTRA], caps)
        if is_lost(counters, entry, f, n, norms[i]):
            continue
        for k in range(n):
            x[k] = scales[columns[at + k]] * values[o + k]
        s = squared_norm(x, 0, n) if forgets else norms[i]
        # Scale-free rules get m / sqrt(v) and v = 1, so that v itself may lie outside the range of doubles.
        passive = is_unlearned(entry)
        if screened and not passive:
            limit = bound[0] * math.sqrt(s)
            if scale_free and 0.0 < limit < np.inf:
                loss, alpha, c = rule(m / limit, 1.0, mistake, t, p)
            else:
                loss, alpha, c = rule(m, limit * limit, mistake, t, p)
            passive = loss <= 0.0 and alpha == 0.0 and c == 0.0 and limit * limit < np.inf
        if passive and not keeps_variance(margins):
            continue
        deviation = find_deviation(R, reach, columns, at, x, n, a)
        keep(margins, entry, counters[ROUNDS], VARIANCE, deviation * deviation)
        if passive:
            continue
        if n > 0 and deviation == 0.0:
            count_breakdown(counters, entry, counters[ROUNDS])
        if scale_free and deviation > 0.0:
            loss, step, gain = rule(m / deviation, 1.0, mistake, t, p)
        else:
            loss, alpha, c = rule(m, deviation * deviation, mistake, t, p)
            step, gain = alpha * deviation, c * deviation * deviation
        if not is_change(counters, entry, deviation, loss, step, gain):
            continue
        shrink_root(R, a, gain, z)
        for j in range(d):
            mu[j] += step * y[i] * (scales[j] * z[j])
        # It costs d^2, so it is renewed once in d changes.
        if counters[EFFECTIVE] % d == 0:
            bound[0] = renew_bound(R, reach, a, bound[0])
        if scale_free and deviation < SMALLEST * math.sqrt(norms[i]):
            exponent = rescale(R.reshape((1, d, d)), mu.reshape((d, 1)))
            bound[0] *= 2.0**exponent
            row_sums(R, reach)
            counters[EXTRA] += exponent
        if forgets:
            find_caps(R, start * 2.0 ** counters[EXTRA], caps)
