"""What all passes over several classes share: the scores of all classes, the rival, and the counts.

The mean of class k is column k of `means`: one row per feature, padded with zeros to whole vectors. A row of
x streams through contiguous memory once, whatever the number of classes. y holds the numbers of the classes.
"""

from typing import Any

import numpy as np
from numba import boolean, float64, int64, types, void

from olbench.kernels.compile import (
    EXACT_RULE,
    FIRST_ORDER_RULE,
    PAIR_RULE,
    READ_2D,
    READ_INT64,
    ROWS,
    SECOND_ORDER_RULE,
    WRITE_1D,
    WRITE_2D,
    WRITE_2D_INT64,
    WRITE_INT64,
    kernel,
    pass_kernel,
    rule,
)
from olbench.kernels.counters import ROUNDS, UPDATES
from olbench.kernels.diagonal import update_row
from olbench.kernels.exact import find_step, measure_shares
from olbench.kernels.first_order import LARGEST_SCALE, SMALLEST_SCALE, multiply_out, renew_norm
from olbench.kernels.helpers import helper, inlined
from olbench.kernels.margins import (
    count_breakdown,
    count_class,
    is_change,
    is_effective,
    is_lost,
    is_shift,
    is_unlearned,
)
from olbench.kernels.rows import locate, open_rows, read_round
from olbench.kernels.vectors import add, four, larger, load, multiply, spread, store, zeros


@inlined
def score_classes(means, columns, c, values, o, n, scores):
    """Set scores[k] to mu_k . x for all classes; a full row needs no columns, which saves a quarter."""
    if n == means.shape[0]:
        score_panels(means, None, 0, values, o, n, scores)
    else:
        score_panels(means, columns, c, values, o, n, scores)


@inlined
def score_panels(means, columns, c, values, o, n, scores):
    width = means.shape[1]
    j = 0
    while width - j >= 16:
        score_panel(means, columns, c, values, o, n, scores, j, zeros(16))
        j += 16
    if width - j == 12:
        score_panel(means, columns, c, values, o, n, scores, j, zeros(12))
    elif width - j == 8:
        score_panel(means, columns, c, values, o, n, scores, j, zeros(8))
    elif width - j == 4:
        score_panel(means, columns, c, values, o, n, scores, j, zeros(4))


@inlined
def score_panel(means, columns, c, values, o, n, scores, j, even):
    """Set the scores from j on, as many as `even` has lanes.

    Entry k of the row goes to the sum k % 2: two chains of additions per vector hide their latency. The order
    does not depend on the width of the panel, so a class has the same bits wherever it is.
    """
    odd = even
    whole = n - n % 2
    for k in range(0, whole, 2):
        x, z = spread(even, values[o + k]), spread(even, values[o + k + 1])
        even = add(even, multiply(x, load(even, means, (k if columns is None else columns[c + k], j))))
        odd = add(odd, multiply(z, load(odd, means, (k + 1 if columns is None else columns[c + k + 1], j))))
    if whole < n:
        x = spread(even, values[o + whole])
        even = add(
            even, multiply(x, load(even, means, (whole if columns is None else columns[c + whole], j)))
        )
    store(add(even, odd), scores, (j,))


@helper
def mask_classes(classes, width):
    """Return a mask of the scores for each true class: minus infinity where a class cannot be its rival."""
    masks = np.zeros((classes, width))
    masks[:, classes:] = -np.inf
    for k in range(classes):
        masks[k, k] = -np.inf
    return masks


@inlined
def find_rival(scores, masks, truth):
    """Return the wrong class with the highest score, of equals the first; NaN is the lowest score.

    The highest score comes first, without branches: which class leads is hard to predict.
    """
    run = zeros(4)
    run = add(load(run, scores, (0,)), load(run, masks, (truth, 0)))
    for j in range(4, scores.size, 4):
        run = larger(add(load(run, scores, (j,)), load(run, masks, (truth, j))), run)
    s0, s1, s2, s3 = four(run)
    s0 = s0 if s0 > s1 else s1
    s2 = s2 if s2 > s3 else s3
    best = s0 if s0 > s2 else s2
    if not np.isfinite(best):
        return find_finite_rival(scores, masks.shape[0], truth)
    rival = 0
    while scores[rival] != best or rival == truth:
        rival += 1
    return rival


@helper
def find_finite_rival(scores, classes, truth):
    rival, best = (1 if truth == 0 else 0), -np.inf
    for k in range(classes):
        if k != truth and best < scores[k] < np.inf:
            rival, best = k, scores[k]
    return rival


@inlined
def predict_class(scores, truth, rival):
    """Return the class with the highest score, of equals the first: the true one or its rival."""
    own, other = scores[truth], scores[rival]
    own = own if np.isfinite(own) else -np.inf
    other = other if np.isfinite(other) else -np.inf
    return truth if own > other or (own == other and truth < rival) else rival


@inlined
def predict_round(means, factor, columns, c, values, o, n, board, truth, entry):
    """Predict and count a round of means times a factor; return rival, margin, examples learnt, mistake.

    The ring of margins has the number of the predicted class.
    """
    scores, masks, confusion, counters, margins = board
    score_classes(means, columns, c, values, o, n, scores)
    # A factor below zero turns the order of the classes around, so the scores are multiplied themselves.
    if factor != 1.0:
        for k in range(scores.size):
            scores[k] *= factor
    rival = find_rival(scores, masks, truth)
    predicted = predict_class(scores, truth, rival)
    t = count_class(counters, margins, confusion, entry, predicted, truth)
    return rival, scores[truth] - scores[rival], t, predicted != truth


@helper
def open_board(means, confusion, counters, margins):
    """Return what `predict_round` works with: the scores of a round and their masks, and what counts it."""
    masks = mask_classes(confusion.shape[0], means.shape[1])
    return np.empty(means.shape[1]), masks, confusion, counters, margins


@kernel(void(ROWS, READ_INT64, READ_2D, WRITE_2D))
def score_rows(rows, order, means, scores):
    """Set scores[k] to the scores of all classes for row order[k], summed as in a pass."""
    columns, values, storage = open_rows(rows)
    padded = np.empty(means.shape[1])
    for k in range(order.size):
        n, c, o = locate(storage, order[k])
        score_classes(means, columns, c, values, o, n, padded)
        scores[k] = padded[: scores.shape[1]]


# How the rivals of the true class share the step: only the highest, all equally, or by their lead.
MAX, UNIFORM, PROP = 0, 1, 2


@inlined
def add_to_class(means, k, step, columns, c, values, o, n):
    for j in range(n):
        means[columns[c + j], k] += step * values[o + j]


@inlined
def move_pair(means, truth, rival, step, columns, c, values, o, n):
    """Add step times a row to the mean of the true class and subtract it from that of its rival."""
    # Unsigned, because numba tests a signed index for counting from the end.
    truth, rival = np.uint64(truth), np.uint64(rival)
    full = n == means.shape[0]
    for j in range(n):
        i, change = np.uint64(j) if full else np.uint64(columns[c + j]), step * values[o + j]
        means[i, truth] += change
        means[i, rival] -= change


@inlined
def share_step(scores, classes, truth, allocation, strict, shares):
    """Set shares[e] to the share of a step that class e loses.

    Classes that score at least as high as the true class lose some; with `strict`, those that score higher.
    Shares are equal, or proportional to the lead over the true class if a class leads.
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
def run_first_order(
    rule, p, rows, y, order, means, scalars, squares, confusion, counters, top, allocation, partial, margins
):
    """Run the examples of `order`; the means are scalars[0] * means.

    scalars[1], `squares` and `top` are as in `first_order.run`; `allocation` says how the rivals
    share a step. With `partial`, as in a toolbox, only the two means of a round shrink, and only classes that
    score higher than the true one share a step.
    """
    columns, values, storage = open_rows(rows)
    norms, flat = rows[4], means.ravel()
    width = means.shape[1]
    board, shares = open_board(means, confusion, counters, margins), np.zeros(width)
    classes, scores = confusion.shape[0], board[0]
    for now in range(order.size):
        entry, i, n, at, o = read_round(rows, y, order, now, storage)
        truth = int(y[i])
        rival, m, t, mistake = predict_round(
            means, scalars[0], columns, at, values, o, n, board, truth, entry
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
        if allocation == MAX:
            move_pair(means, truth, rival, step, columns, at, values, o, n)
        else:
            add_to_class(means, truth, step, columns, at, values, o, n)
            share_step(scores, classes, truth, allocation, partial, shares)
            for k in range(classes):
                if shares[k] > 0.0:
                    add_to_class(means, k, -step * shares[k], columns, at, values, o, n)
        scalars[1] = renew_norm(flat, squares, columns, at, n, width)


def _take_no_step(m: float, v_y: float, v_s: float, p: Any) -> tuple[float, float]:
    return 0.0, 0.0


#: The address of a function that is never called.
NO_PAIR = rule(PAIR_RULE, _take_no_step)


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


DIAGONALS = (WRITE_2D, WRITE_2D, WRITE_2D_INT64, WRITE_INT64)


@pass_kernel(SECOND_ORDER_RULE, *DIAGONALS, types.FunctionType(PAIR_RULE), boolean, boolean)
def run_diagonal(rule, p, rows, y, order, means, variances, confusion, counters, pair, paired, kl, margins):
    """Run the examples of `order`.

    The step over the covariances of two classes is projected onto the diagonal of each, as in `diagonal`.
    `pair` and `paired` are those of `classes_full.run_covariance`.
    """
    columns, values, storage = open_rows(rows)
    norms, board = rows[4], open_board(means, confusion, counters, margins)
    for now in range(order.size):
        entry, i, n, at, o = read_round(rows, y, order, now, storage)
        truth = int(y[i])
        rival, m, t, mistake = predict_round(means, 1.0, columns, at, values, o, n, board, truth, entry)
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


@pass_kernel(EXACT_RULE, *DIAGONALS)
def run_exact(rule, p, rows, y, order, means, variances, confusion, counters, margins):
    """Run the examples of `order` with the optimum over diagonal covariances, by the equation of `exact`.

    Phi has the entries of x twice, for the true class and for its rival, and so has the equation.
    """
    columns, values, storage = open_rows(rows)
    norms, board = rows[4], open_board(means, confusion, counters, margins)
    shares = np.empty(2 * means.shape[0])
    for now in range(order.size):
        entry, i, n, at, o = read_round(rows, y, order, now, storage)
        truth = int(y[i])
        rival, m, _, _ = predict_round(means, 1.0, columns, at, values, o, n, board, truth, entry)
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
        measure_shares(variances, truth, columns, at, values, o, n, v, shares, 0)
        measure_shares(variances, rival, columns, at, values, o, n, v, shares, n)
        alpha, c = find_step(shares, 2 * n, m, v, unit, A, b0, b1, K)
        if not is_effective(counters, entry, np.isfinite(alpha) and 0.0 <= c < np.inf):
            continue
        update_row(means, truth, variances, truth, columns, at, values, o, n, alpha, c, 0.0, True)
        update_row(means, rival, variances, rival, columns, at, values, o, n, -alpha, c, 0.0, True)
