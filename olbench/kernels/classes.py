"""What all passes over several classes share: the scores of all classes, the rival, and the counts.

The mean of class k is column k of `means`: one row per feature, padded with zeros to whole vectors. A row of
x streams through contiguous memory once, whatever the number of classes. y holds the numbers of the classes.
"""

import numpy as np
from numba import void

from olbench.kernels.compile import READ_2D, READ_INT64, ROWS, WRITE_2D, inlined, kernel
from olbench.kernels.counters import MISTAKES, ONLY_LEARN, ONLY_PREDICT, ROUNDS, UNLEARNED
from olbench.kernels.margins import keep_margin
from olbench.kernels.rows import locate, open_rows
from olbench.kernels.vectors import add, load, multiply, spread, store, zeros


@inlined
def score_classes(means, columns, c, values, o, n, scores):
    """Set scores[k] to mu_k . x for all classes, in panels of up to 16."""
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
        even = add(even, multiply(x, load(even, means, (columns[c + k], j))))
        odd = add(odd, multiply(z, load(odd, means, (columns[c + k + 1], j))))
    if whole < n:
        x = spread(even, values[o + whole])
        even = add(even, multiply(x, load(even, means, (columns[c + whole], j))))
    store(add(even, odd), scores, (j,))


@inlined
def find_rival(scores, classes, truth):
    """Return the wrong class with the highest score, of equals the first; no number is the lowest score."""
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
def count_prediction(counters, confusion, margins, entry, truth, predicted):
    """Count a round; return how many examples have been learnt with it, and whether it is a mistake.

    The ring of margins has the number of the predicted class.
    """
    if entry < ONLY_LEARN:
        counters[ROUNDS] += 1
        keep_margin(margins, counters[ROUNDS], predicted, 0)
        counters[MISTAKES] += predicted != truth
        counters[UNLEARNED] += entry >= ONLY_PREDICT
        confusion[truth, predicted] += 1
    else:
        counters[UNLEARNED] -= 1
    return counters[ROUNDS] - counters[UNLEARNED], predicted != truth


@inlined
def predict_round(
    means, factor, columns, c, values, o, n, scores, truth, entry, confusion, counters, margins
):
    """Predict and count a round of means times a factor; return rival, margin, examples learnt, mistake."""
    classes = confusion.shape[0]
    score_classes(means, columns, c, values, o, n, scores)
    # A factor below zero turns the order of the classes around, so the scores are multiplied themselves.
    for k in range(classes):
        scores[k] *= factor
    rival = find_rival(scores, classes, truth)
    predicted = predict_class(scores, truth, rival)
    t, mistake = count_prediction(counters, confusion, margins, entry, truth, predicted)
    return rival, scores[truth] - scores[rival], t, mistake


@kernel(void(ROWS, READ_INT64, READ_2D, WRITE_2D))
def score_rows(rows, order, means, scores):
    """Set scores[k] to the scores of all classes for row order[k], summed as in a pass."""
    columns, values, storage = open_rows(rows)
    room = np.empty(means.shape[1])
    for k in range(order.size):
        n, c, o = locate(storage, order[k])
        score_classes(means, columns, c, values, o, n, room)
        for j in range(scores.shape[1]):
            scores[k, j] = room[j]
