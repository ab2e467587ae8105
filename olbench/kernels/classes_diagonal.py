"""Second-order passes over several classes with one variance per class and feature: K nnz for the scores.

A round that may trigger costs 2 nnz more, those of the true class and its rival. The means and the variances
are two arrays of one layout, so that the sweep over the means reads nothing else.
"""

import numpy as np
from numba import boolean, types

from olbench.kernels.classes import predict_round
from olbench.kernels.compile import (
    EXACT_RULE,
    PAIR_RULE,
    SECOND_ORDER_RULE,
    WRITE_2D,
    WRITE_2D_INT64,
    WRITE_INT64,
    inlined,
    pass_kernel,
)
from olbench.kernels.counters import ROUNDS, UPDATES
from olbench.kernels.diagonal import update_row
from olbench.kernels.exact import find_step
from olbench.kernels.margins import count_breakdown, is_change, is_effective, is_lost, is_unlearned
from olbench.kernels.rows import open_rows, read_round, squared_norm


@inlined
def measure_pair(variances, truth, rival, columns, c, values, o, n):
    """Return v_y and v_s, each summed in two lanes by position."""
    whole = n - n % 2
    y0 = y1 = s0 = s1 = 0.0
    for k in range(0, whole, 2):
        i, j = columns[c + k], columns[c + k + 1]
        x, z = values[o + k], values[o + k + 1]
        y0 += variances[i, truth] * (x * x)
        y1 += variances[j, truth] * (z * z)
        s0 += variances[i, rival] * (x * x)
        s1 += variances[j, rival] * (z * z)
    if whole < n:
        i, x = columns[c + whole], values[o + whole]
        y0 += variances[i, truth] * (x * x)
        s0 += variances[i, rival] * (x * x)
    return y0 + y1, s0 + s1


STATE = (WRITE_2D, WRITE_2D, WRITE_2D_INT64, WRITE_INT64)


@pass_kernel(SECOND_ORDER_RULE, *STATE, types.FunctionType(PAIR_RULE), boolean, boolean)
def run(rule, p, rows, y, order, means, variances, confusion, counters, pair, paired, kl, margins):
    """Run the examples of `order`.

    The step over the covariances of two classes is projected onto the diagonal of each, as in `diagonal`.
    `pair` and `paired` are those of `classes_covariance.run`.
    """
    columns, values, storage = open_rows(rows)
    norms, scores = rows[4], np.empty(means.shape[1])
    for now in range(order.size):
        entry, i, n, at, o = read_round(rows, y, order, now, storage)
        truth = int(y[i])
        rival, m, t, mistake = predict_round(
            means, 1.0, columns, at, values, o, n, scores, truth, entry, confusion, counters, margins
        )
        if is_unlearned(entry) or is_lost(counters, entry, m, n, norms[i]):
            continue
        v_y, v_s = measure_pair(variances, truth, rival, columns, at, values, o, n)
        v = v_y + v_s
        if n > 0 and not (v_y > 0.0 and v_s > 0.0 and v < np.inf):
            count_breakdown(counters, entry, counters[ROUNDS])
            v = 0.0
        loss, alpha, c = rule(m, v, mistake, t, p)
        if paired and loss > 0.0 and v > 0.0:
            alpha, c = pair(m, v_y, v_s, p)
        if not is_change(counters, entry, v, loss, alpha, c):
            continue
        b_y, b_s = c / (1.0 + c * v_y), c / (1.0 + c * v_s)
        update_row(means, truth, variances, truth, columns, at, values, o, n, alpha, c, b_y, kl)
        update_row(means, rival, variances, rival, columns, at, values, o, n, -alpha, c, b_s, kl)


@pass_kernel(EXACT_RULE, *STATE)
def run_exact(rule, p, rows, y, order, means, variances, confusion, counters, margins):
    """Run the examples of `order` with the optimum over diagonal covariances, by the equation of `exact`.

    Phi has the entries of x twice, for the true class and for its rival, and so has the equation.
    """
    columns, values, storage = open_rows(rows)
    norms, scores = rows[4], np.empty(means.shape[1])
    shares = np.empty(2 * means.shape[0])
    for now in range(order.size):
        entry, i, n, at, o = read_round(rows, y, order, now, storage)
        truth = int(y[i])
        rival, m, _, _ = predict_round(
            means, 1.0, columns, at, values, o, n, scores, truth, entry, confusion, counters, margins
        )
        if is_unlearned(entry) or is_lost(counters, entry, m, n, norms[i]):
            continue
        v_y, v_s = measure_pair(variances, truth, rival, columns, at, values, o, n)
        v = v_y + v_s
        if n > 0 and not 0.0 < v < np.inf:
            count_breakdown(counters, entry, counters[ROUNDS])
            v = 0.0
        loss, unit, A, b0, b1, K = rule(m, v, p)
        counters[UPDATES] += loss > 0.0
        if v == 0.0 or loss <= 0.0:
            continue
        scale = 1.0 / v
        for k in range(n):
            j, x = columns[at + k], values[o + k]
            shares[k] = variances[j, truth] * (x * x) * scale
            shares[n + k] = variances[j, rival] * (x * x) * scale
        squares = squared_norm(shares, 0, 2 * n)
        alpha, c = find_step(shares, 2 * n, squares, m, v, unit, A, b0, b1, K)
        if not is_effective(counters, entry, np.isfinite(alpha) and 0.0 <= c < np.inf):
            continue
        update_row(means, truth, variances, truth, columns, at, values, o, n, alpha, c, 0.0, True)
        update_row(means, rival, variances, rival, columns, at, values, o, n, -alpha, c, 0.0, True)
