"""Second-order passes with a diagonal covariance: a round costs nnz, whatever d is.

The mean and the variance of a feature are stored side by side, so that a round touches one cache line per
feature. With large d, fetching these lines bounds a round.
"""

import numpy as np
from numba import boolean, void

from olbench.kernels.compile import (
    READ_2D,
    READ_INT64,
    ROWS,
    SECOND_ORDER_RULE,
    WRITE_1D,
    WRITE_2D,
    WRITE_INT64,
    kernel,
    pass_kernel,
)
from olbench.kernels.counters import EFFECTIVE, ROUNDS, UNLEARNED, UPDATES
from olbench.kernels.forgetting import GROWTH, advance, grown_variance, refresh
from olbench.kernels.helpers import inlined
from olbench.kernels.margins import (
    VARIANCE,
    count_breakdown,
    count_round,
    is_change,
    is_unlearned,
    keep,
    usable_variance,
)
from olbench.kernels.rows import locate, open_rows, read_round
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
def update_row(means, e, variances, g, columns, a, values, o, n, step, c, beta, kl):
    """Update the moments of all features of a row: columns e and g of the two arrays.

    By c with `kl`, otherwise by beta. A division of four lanes takes little longer than one of a single
    number. A feature has the same bits wherever it is in the row.
    """
    # Columns within a row are distinct, so four at a time cannot write the same feature twice.
    whole = n - n % 4
    for k in range(0, whole, 4):
        b = a + k
        j0, j1, j2, j3 = columns[b], columns[b + 1], columns[b + 2], columns[b + 3]
        x = load(zeros(4), values, (o + k,))
        sigma = pack_four(variances[j0, g], variances[j1, g], variances[j2, g], variances[j3, g])
        s0, s1, s2, s3 = four(multiply(multiply(spread(x, step), sigma), x))
        means[j0, e] += s0
        means[j1, e] += s1
        means[j2, e] += s2
        means[j3, e] += s3
        one = spread(x, 1.0)
        if kl:
            reduced = divide(sigma, add(one, multiply(multiply(multiply(spread(x, c), sigma), x), x)))
        else:
            part = multiply(multiply(multiply(spread(x, beta), sigma), x), x)
            reduced = multiply(sigma, subtract(one, part))
        variances[j0, g], variances[j1, g], variances[j2, g], variances[j3, g] = four(reduced)
    for k in range(whole, n):
        j, x = columns[a + k], values[o + k]
        sigma = variances[j, g]
        means[j, e] += step * sigma * x
        if kl:
            variances[j, g] = sigma / (1.0 + c * sigma * x * x)
        else:
            variances[j, g] = sigma * (1.0 - beta * sigma * x * x)


@inlined
def predict_round(moments, marks, clock, columns, c, values, o, n, label, entry, counters, margins):
    """Predict and count a round; return f, v, the examples learnt, the mistake and whether the round learns.

    `marks` and `clock` are those of `forgetting`; without it `marks` is empty.
    """
    forgets, lone = marks.size > 0, is_unlearned(entry)
    if forgets and not lone:
        if counters[ROUNDS] > counters[UNLEARNED]:
            advance(clock, marks)
        # The clock stays at 1 until the first growth.
        if clock[GROWTH] > 1.0:
            refresh(moments, marks, clock, columns, c, n)
    f, v = margin_and_variance(moments, columns, c, values, o, n)
    if forgets and lone:
        v = grown_variance(moments, marks, clock, columns, c, values, o, n)
    t, mistake = count_round(counters, margins, entry, f, label)
    v = usable_variance(v)
    if np.isfinite(f):
        keep(margins, entry, counters[ROUNDS], VARIANCE, v)
    if not np.isfinite(f) or (n > 0 and v == 0.0):
        count_breakdown(counters, entry, counters[ROUNDS])
    return f, v, t, mistake, np.isfinite(f) and not lone


@pass_kernel(SECOND_ORDER_RULE, WRITE_2D, WRITE_1D, WRITE_1D, WRITE_INT64, boolean)
def run(rule, p, rows, y, order, moments, marks, clock, counters, kl, margins):
    """Run the examples of `order`; moments[j] is (mu_j, Sigma_j).

    The full update is projected onto the diagonal. With `kl` (the Kullback-Leibler projection) each precision
    grows by c x_j^2; otherwise (the Euclidean projection) the diagonal of Sigma - beta z z' is kept.
    """
    columns, values, storage = open_rows(rows)
    for now in range(order.size):
        entry, i, n, at, o = read_round(rows, y, order, now, storage)
        f, v, t, mistake, learns = predict_round(
            moments, marks, clock, columns, at, values, o, n, y[i], entry, counters, margins
        )
        if not learns:
            continue
        loss, alpha, c = rule(y[i] * f, v, mistake, t, p)
        if is_change(counters, entry, v, loss, alpha, c):
            beta = c / (1.0 + c * v)
            update_row(moments, 0, moments, 1, columns, at, values, o, n, alpha * y[i], c, beta, kl)


# Below, a perceptron vector w and a diagonal Sigma are kept apart, and predict with their product. The
# prediction for x already counts x: it uses S = (Sigma^-1 + diag(x_j^2))^-1, so no weight vector stands for
# it. (With a full Sigma, S w . x is mu . x up to a positive factor.) One division per entry bounds a round.


@inlined
def share(moments, j, x):
    """Return S_j x_j."""
    return moments[j, 1] * x / (1.0 + moments[j, 1] * (x * x))


@inlined
def score_product(moments, columns, c, values, o, n):
    """Return w . S x and x' S x, each summed in two lanes by position."""
    whole = n - n % 2
    f0 = f1 = v0 = v1 = 0.0
    for k in range(0, whole, 2):
        i, j = columns[c + k], columns[c + k + 1]
        x, z = values[o + k], values[o + k + 1]
        px, pz = share(moments, i, x), share(moments, j, z)
        f0 += moments[i, 0] * px
        f1 += moments[j, 0] * pz
        v0 += x * px
        v1 += z * pz
    if whole < n:
        i, x = columns[c + whole], values[o + whole]
        px = share(moments, i, x)
        f0 += moments[i, 0] * px
        v0 += x * px
    return f0 + f1, v0 + v1


@pass_kernel(SECOND_ORDER_RULE, WRITE_2D, WRITE_INT64)
def run_product(rule, p, rows, y, order, moments, counters, margins):
    """Run the examples of `order`; moments[j] is (w_j, Sigma_j).

    A round with a loss adds y x to w, and the gain c of the rule adds c x_j^2 to each precision. The step
    alpha belongs to the mean Sigma w, which is not kept here.
    """
    columns, values, storage = open_rows(rows)
    for now in range(order.size):
        entry, i, n, at, o = read_round(rows, y, order, now, storage)
        f, v = score_product(moments, columns, at, values, o, n)
        t, mistake = count_round(counters, margins, entry, f, y[i])
        if is_unlearned(entry):
            continue
        # x' S x is at most n. It is zero only if every square over- or underflows.
        if not np.isfinite(f) or (n > 0 and not v > 0.0):
            count_breakdown(counters, entry, counters[ROUNDS])
            continue
        loss, _, c = rule(y[i] * f, v, mistake, t, p)
        counters[UPDATES] += loss > 0.0
        if n == 0 or (loss <= 0.0 and c == 0.0):
            continue
        counters[EFFECTIVE] += 1
        for k in range(n):
            j, x = columns[at + k], values[o + k]
            if loss > 0.0:
                moments[j, 0] += y[i] * x
            moments[j, 1] /= 1.0 + c * moments[j, 1] * (x * x)


@kernel(void(ROWS, READ_INT64, READ_2D, WRITE_1D))
def score_products(rows, order, moments, scores):
    columns, values, storage = open_rows(rows)
    for k in range(order.size):
        n, at, o = locate(storage, order[k])
        scores[k] = score_product(moments, columns, at, values, o, n)[0]
