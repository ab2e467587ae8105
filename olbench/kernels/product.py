"""Passes that keep a perceptron vector w and a diagonal Sigma apart, and predict with their product.

The prediction for x already counts x: it uses S = (Sigma^-1 + diag(x_j^2))^-1, which differs from row to row,
so no weight vector stands for it. With a full Sigma the product S w . x is mu . x up to a positive factor,
which is why that form needs no kernel of its own. One division per entry bounds a round.
"""

import numpy as np
from numba import void

from olbench.kernels.compile import (
    READ_2D,
    READ_INT64,
    ROWS,
    SECOND_ORDER_RULE,
    WRITE_1D,
    WRITE_2D,
    WRITE_INT64,
    inlined,
    kernel,
    pass_kernel,
)
from olbench.kernels.counters import EFFECTIVE, ROUNDS, UPDATES
from olbench.kernels.margins import count_breakdown, count_round, is_unlearned
from olbench.kernels.rows import locate, open_rows, read_round


@inlined
def score(moments, columns, c, values, o, n):
    """Return w . S x and x' S x, each summed in two lanes by position."""
    whole = n - n % 2
    f0 = f1 = v0 = v1 = 0.0
    for k in range(0, whole, 2):
        i, j = columns[c + k], columns[c + k + 1]
        x, z = values[o + k], values[o + k + 1]
        # S_j x_j: one division per feature, which decides the cost of a round.
        px = moments[i, 1] * x / (1.0 + moments[i, 1] * (x * x))
        pz = moments[j, 1] * z / (1.0 + moments[j, 1] * (z * z))
        f0 += moments[i, 0] * px
        f1 += moments[j, 0] * pz
        v0 += x * px
        v1 += z * pz
    if whole < n:
        i, x = columns[c + whole], values[o + whole]
        px = moments[i, 1] * x / (1.0 + moments[i, 1] * (x * x))
        f0 += moments[i, 0] * px
        v0 += x * px
    return f0 + f1, v0 + v1


@pass_kernel(SECOND_ORDER_RULE, WRITE_2D, WRITE_INT64)
def run(rule, p, rows, y, order, moments, counters, margins):
    """Run the examples of `order`; moments[j] is (w_j, Sigma_j).

    A round with a loss adds y x to w, and the gain c of the rule adds c x_j^2 to each precision. The step
    alpha belongs to the mean Sigma w, which is not kept here.
    """
    columns, values, storage = open_rows(rows)
    for now in range(order.size):
        entry, i, n, at, o = read_round(rows, y, order, now, storage)
        f, v = score(moments, columns, at, values, o, n)
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
def score_rows(rows, order, moments, scores):
    columns, values, storage = open_rows(rows)
    for k in range(order.size):
        n, at, o = locate(storage, order[k])
        scores[k] = score(moments, columns, at, values, o, n)[0]
