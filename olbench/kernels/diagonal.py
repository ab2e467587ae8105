"""Second-order passes with a diagonal covariance: a round costs nnz, whatever d is.

The mean and the variance of a feature are stored side by side, so that a round touches one cache line per
feature. docs/kernels.md has the shares: with large d, fetching these lines and summing; for short rows over
few features, the sums, the rule and the change of the state alike.
"""

import numpy as np
from numba import boolean

from olbench.kernels.compile import SECOND_ORDER_RULE, WRITE_1D, WRITE_2D, WRITE_INT64, inlined, pass_kernel
from olbench.kernels.counters import EFFECTIVE, ROUNDS, ROW, UNLEARNED, UPDATES
from olbench.kernels.forgetting import advance, grown_variance, refresh
from olbench.kernels.margins import count_breakdown, count_round, is_unlearned, keep_variance, usable_variance
from olbench.kernels.rows import announce, locate, open_rows
from olbench.kernels.vectors import add, divide, four, load, multiply, pack_four, spread, subtract, zeros


@inlined
def margin_and_variance(moments, columns, c, values, o, n):
    """Return mu . x and x' Sigma x, each summed in two lanes by position.

    Two sums of two lanes make four independent chains of additions, enough to hide their latency.
    """
    whole = n - n % 2
    f0 = f1 = v0 = v1 = 0.0
    for k in range(0, whole, 2):
        i, j = columns[c + k], columns[c + k + 1]
        x, z = values[o + k], values[o + k + 1]
        f0 += moments[i, 0] * x
        f1 += moments[j, 0] * z
        v0 += moments[i, 1] * (x * x)
        v1 += moments[j, 1] * (z * z)
    if whole < n:
        i, x = columns[c + whole], values[o + whole]
        f0 += moments[i, 0] * x
        v0 += moments[i, 1] * (x * x)
    return f0 + f1, v0 + v1


@inlined
def update_four(moments, columns, a, values, o, step, c, beta, kl):
    """Update the moments of four features at once.

    The division decides the cost, and one of four lanes takes little longer than one of a single number. The
    products are formed in the same order as in the loop for the remaining features, so a feature has the same
    bits wherever it is in the row.
    """
    j0, j1, j2, j3 = columns[a], columns[a + 1], columns[a + 2], columns[a + 3]
    x = load(zeros(4), values, (o,))
    sigma = pack_four(moments[j0, 1], moments[j1, 1], moments[j2, 1], moments[j3, 1])
    s0, s1, s2, s3 = four(multiply(multiply(spread(x, step), sigma), x))
    moments[j0, 0] += s0
    moments[j1, 0] += s1
    moments[j2, 0] += s2
    moments[j3, 0] += s3
    one = spread(x, 1.0)
    if kl:
        reduced = divide(sigma, add(one, multiply(multiply(multiply(spread(x, c), sigma), x), x)))
    else:
        part = multiply(multiply(multiply(spread(x, beta), sigma), x), x)
        reduced = multiply(sigma, subtract(one, part))
    v0, v1, v2, v3 = four(reduced)
    moments[j0, 1] = v0
    moments[j1, 1] = v1
    moments[j2, 1] = v2
    moments[j3, 1] = v3


@inlined
def update_row(moments, columns, a, values, o, n, step, c, beta, kl):
    """Update the moments of all features of a row; by c with `kl`, otherwise by beta."""
    # Columns within a row are distinct, so four at a time cannot write the same feature twice.
    whole = n - n % 4
    for k in range(0, whole, 4):
        update_four(moments, columns, a + k, values, o + k, step, c, beta, kl)
    for k in range(whole, n):
        j, x = columns[a + k], values[o + k]
        sigma = moments[j, 1]
        moments[j, 0] += step * sigma * x
        if kl:
            moments[j, 1] = sigma / (1.0 + c * sigma * x * x)
        else:
            moments[j, 1] = sigma * (1.0 - beta * sigma * x * x)


@pass_kernel(SECOND_ORDER_RULE, WRITE_2D, WRITE_1D, WRITE_1D, WRITE_INT64, boolean)
def run(rule, p, rows, y, order, moments, marks, clock, counters, kl, margins):
    """Run the examples of `order`; moments[j] is (mu_j, Sigma_j).

    `marks` and `clock` are those of `forgetting`; without it there are no marks.

    The full update is projected onto the diagonal. With `kl` (the Kullback-Leibler projection) each precision
    grows by c x_j^2; otherwise (the Euclidean projection) the diagonal of Sigma - beta z z' is kept.
    """
    columns, values, storage = open_rows(rows)
    for now in range(order.size):
        entry = order[now]
        i = entry & ROW
        announce(rows, y, order, now)
        n, at, o = locate(storage, i)
        if marks.size > 0 and not is_unlearned(entry):
            if counters[ROUNDS] > counters[UNLEARNED]:
                advance(clock, marks)
            refresh(moments, marks, clock, columns, at, n)
        f, v = margin_and_variance(moments, columns, at, values, o, n)
        if marks.size > 0 and is_unlearned(entry):
            v = grown_variance(moments, marks, clock, columns, at, values, o, n)
        t, mistake = count_round(counters, margins, entry, f, y[i])
        m = y[i] * f
        if not np.isfinite(f):
            count_breakdown(counters, entry, counters[ROUNDS])
            continue
        v = usable_variance(v)
        keep_variance(margins, entry, counters[ROUNDS], v)
        if is_unlearned(entry):
            continue
        if n > 0 and v == 0.0:
            count_breakdown(counters, entry, counters[ROUNDS])
        loss, alpha, c = rule(m, v, mistake, t, p)
        counters[UPDATES] += loss > 0.0
        if v == 0.0 or (alpha == 0.0 and c == 0.0):
            continue
        if not (np.isfinite(alpha) and 0.0 <= c < np.inf):
            count_breakdown(counters, entry, counters[ROUNDS])
            continue
        counters[EFFECTIVE] += 1
        beta = c / (1.0 + c * v)
        update_row(moments, columns, at, values, o, n, alpha * y[i], c, beta, kl)
