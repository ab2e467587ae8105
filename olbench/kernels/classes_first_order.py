"""First-order passes over several classes: all means shrink, then two of them move, at a cost of K nnz.

The binary rules apply to the differences of two classes: Phi = (e_y - e_s) (x) x has the margin
m = F_y - F_s and the squared norm 2 ||x||^2, and w is all means together. A round is bound by the sweep over
the means; an update touches the two classes of the round in memory that the sweep has just read. The means
are a common factor times an array, so shrinking all of them is one multiplication.
"""

import numpy as np
from numba import boolean, float64, int64

from olbench.kernels.classes import predict_round
from olbench.kernels.compile import (
    FIRST_ORDER_RULE,
    WRITE_1D,
    WRITE_2D,
    WRITE_2D_INT64,
    WRITE_INT64,
    inlined,
    pass_kernel,
)
from olbench.kernels.counters import UPDATES
from olbench.kernels.first_order import LARGEST_SCALE, SMALLEST_SCALE, multiply_out, renew_norm
from olbench.kernels.margins import is_lost, is_shift, is_unlearned
from olbench.kernels.rows import open_rows, read_round

# How the rivals of the true class share the step: the highest alone, all equally, or by their lead.
MAX, UNIFORM, PROP = 0, 1, 2


@inlined
def add_to_class(means, k, step, columns, c, values, o, n):
    for j in range(n):
        means[columns[c + j], k] += step * values[o + j]


@inlined
def share_step(scores, classes, truth, allocation, strict, shares):
    """Set shares[e] to what class e loses of a step: all that score as high as the true class lose some.

    With `strict`, only those that score higher. In proportion means to their lead over the true class, or
    equally if nobody leads.
    """
    count, total = 0, 0.0
    for k in range(classes):
        lead = scores[k] - scores[truth]
        shares[k] = 0.0
        if k != truth and (lead > 0.0 or (lead == 0.0 and not strict)):
            count += 1
            total += lead
            shares[k] = 1.0
    for k in range(classes):
        if shares[k] > 0.0:
            by_lead = allocation == PROP and total > 0.0
            shares[k] = (scores[k] - scores[truth]) / total if by_lead else 1.0 / count


@pass_kernel(
    FIRST_ORDER_RULE, WRITE_2D, WRITE_1D, WRITE_1D, WRITE_2D_INT64, WRITE_INT64, float64, int64, boolean
)
def run(
    rule, p, rows, y, order, means, scalars, squares, confusion, counters, top, allocation, partial, margins
):
    """Run the examples of `order`; the means are scalars[0] * means.

    scalars[1], `squares` and `top` are as in `first_order.run`; `allocation` says how the rivals
    share a step. With `partial`, as in a toolbox, only the two means of a round shrink, and only classes that
    score higher than the true one share a step.
    """
    columns, values, storage = open_rows(rows)
    norms, flat = rows[4], means.ravel()
    width, classes = means.shape[1], confusion.shape[0]
    scores, shares = np.empty(width), np.zeros(width)
    for now in range(order.size):
        entry, i, n, at, o = read_round(rows, y, order, now, storage)
        truth = int(y[i])
        rival, m, t, mistake = predict_round(
            means, scalars[0], columns, at, values, o, n, scores, truth, entry, confusion, counters, margins
        )
        s = 2.0 * norms[i]
        if is_unlearned(entry) or is_lost(counters, entry, m, n, s) or m > top:
            continue
        q = scalars[0] * scalars[0] * scalars[1]
        loss, shrink, tau = rule(m, s, mistake, q, t, counters[UPDATES], p)
        if not is_shift(counters, entry, n, loss, shrink, tau):
            continue
        if shrink != 1.0 and partial:
            for j in range(means.shape[0]):
                means[j, truth] *= shrink
                means[j, rival] *= shrink
            multiply_out(flat, 1.0, squares, width)
        elif shrink != 1.0:
            scalars[0] *= shrink
            if not SMALLEST_SCALE <= abs(scalars[0]) <= LARGEST_SCALE:
                multiply_out(flat, scalars[0], squares, width)
                scalars[0] = 1.0
        step = tau / scalars[0]
        add_to_class(means, truth, step, columns, at, values, o, n)
        if allocation == MAX:
            add_to_class(means, rival, -step, columns, at, values, o, n)
        else:
            share_step(scores, classes, truth, allocation, partial, shares)
            for k in range(classes):
                if shares[k] > 0.0:
                    add_to_class(means, k, -step * shares[k], columns, at, values, o, n)
        scalars[1] = renew_norm(flat, squares, columns, at, n, width)
