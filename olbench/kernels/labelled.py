"""Second-order passes whose rule sees the label, keeps numbers of its own and lets Sigma forget.

Such a rule is called once for every example that is learnt, because a call may change its numbers. So no
round is screened, which would ask the rule before the variance is known. Otherwise the passes are those of
`diagonal` and `root`, with the same bits.
"""

import math

import numpy as np
from numba import boolean

from olbench.kernels.compile import LABELLED_RULE, WRITE_1D, WRITE_2D, WRITE_INT64, inlined, pass_kernel
from olbench.kernels.counters import EFFECTIVE, ROUNDS, ROW
from olbench.kernels.diagonal import predict_round, update_row
from olbench.kernels.forgetting import LARGEST_SCALE, RATE, START, find_caps, grow, multiply_out
from olbench.kernels.margins import (
    count_breakdown,
    count_round,
    is_change,
    is_lost,
    is_unlearned,
    keep_variance,
    keeps_variance,
)
from olbench.kernels.matrix import row_sums
from olbench.kernels.root import change_root, find_deviation
from olbench.kernels.rows import dot, locate, open_rows, read_round

# No cap of D is zero. This one says that R has changed: finding the caps costs d^2, and few rules forget.
STALE = 0.0


@inlined
def set_decay(clock, decay):
    """Let variances grow by 1 / decay before the next example that is learnt; return whether they can.

    The growth is bounded so that no clock overflows: every variance is back at its start long before.
    """
    if not 0.0 < decay <= 1.0:
        return False
    clock[RATE] = min(1.0 / decay, LARGEST_SCALE)
    return True


@inlined
def step_along_root(moments, columns, a, values, o, n, step, c):
    """Let the precisions of a row grow by c x_j^2, then move mu along the root of the new variances."""
    for k in range(n):
        j, x = columns[a + k], values[o + k]
        sigma = moments[j, 1]
        sigma /= 1.0 + c * sigma * x * x
        moments[j, 0] += step * math.sqrt(sigma) * x
        moments[j, 1] = sigma


@pass_kernel(LABELLED_RULE, WRITE_1D, WRITE_2D, WRITE_1D, WRITE_1D, WRITE_INT64, boolean, boolean)
def run_diagonal(rule, p, rows, y, order, s, moments, marks, clock, counters, kl, along_root, margins):
    """Run the examples of `order` with a diagonal covariance; s has the numbers of the rule.

    The rest is as in `diagonal.run`. With `along_root`, mu += alpha y x Sigma^(1/2) for the new Sigma.
    """
    columns, values, storage = open_rows(rows)
    for now in range(order.size):
        entry, i, n, at, o = read_round(rows, y, order, now, storage)
        f, v, t, mistake, learns = predict_round(
            moments, marks, clock, columns, at, values, o, n, y[i], entry, counters, margins
        )
        if not learns:
            continue
        loss, alpha, c, decay = rule(y[i] * f, v, y[i], mistake, t, p, s)
        if not set_decay(clock, decay):
            alpha = np.nan
        if not is_change(counters, entry, v, loss, alpha, c):
            continue
        if along_root:
            step_along_root(moments, columns, at, values, o, n, alpha * y[i], c)
        else:
            beta = c / (1.0 + c * v)
            update_row(moments, 0, moments, 1, columns, at, values, o, n, alpha * y[i], c, beta, kl)


@pass_kernel(LABELLED_RULE, WRITE_1D, WRITE_1D, WRITE_2D, *[WRITE_1D] * 5, WRITE_INT64)
def run_root(rule, p, rows, y, order, s, mu, root, bound, reach, scales, caps, clock, counters, margins):
    """Run the examples of `order` with a full covariance; s has the numbers of the rule.

    The rest is as in `root.run`, without a scale: Sigma = D R R' D, and D grows as the rule has said.
    """
    d = mu.size
    columns, values, storage = open_rows(rows)
    norms = rows[4]
    a, x = np.empty(d), np.empty(d)
    start = math.sqrt(clock[START])
    for entry in order:
        i = entry & ROW
        n, at, o = locate(storage, i)
        f = dot(mu, columns, at, values, o, n)
        t, mistake = count_round(counters, margins, entry, f, y[i])
        if d > 0 and clock[RATE] > 1.0 and not is_unlearned(entry):
            if caps[0] == STALE:
                find_caps(root, start, caps)
            if grow(scales, caps, math.sqrt(clock[RATE])) > LARGEST_SCALE / 2.0:
                multiply_out(scales, root, reach, bound)
                caps[0] = STALE
        if is_lost(counters, entry, f, n, norms[i]) or (is_unlearned(entry) and not keeps_variance(margins)):
            continue
        for k in range(n):
            x[k] = scales[columns[at + k]] * values[o + k]
        deviation = find_deviation(root, reach, columns, at, x, n, a)
        keep_variance(margins, entry, counters[ROUNDS], deviation * deviation)
        if is_unlearned(entry):
            continue
        if n > 0 and deviation == 0.0:
            count_breakdown(counters, entry, counters[ROUNDS])
        loss, alpha, c, decay = rule(y[i] * f, deviation * deviation, y[i], mistake, t, p, s)
        if not set_decay(clock, decay):
            alpha = np.nan
        step, gain = alpha * deviation, c * deviation * deviation
        if not is_change(counters, entry, deviation, loss, step, gain):
            continue
        change_root(root, mu, scales, a, step * y[i], gain)
        caps[0] = STALE
        if counters[EFFECTIVE] % d == 0:
            row_sums(root, reach)
