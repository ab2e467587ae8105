"""What the rounds of all passes share: their roles, and how margins, predictions and updates are counted.

An entry of an order is a row, which is predicted and then learnt. One with ONLY_PREDICT or ONLY_LEARN added
is a row whose label comes late, or never, or that is not scored: it is predicted and learnt in rounds apart.
"""

import numpy as np
from numba import int64, void

from olbench.kernels.compile import (
    READ_1D,
    READ_INT64,
    WRITE_2D,
    WRITE_2D_INT64,
    WRITE_INT64,
    inlined,
    kernel,
)
from olbench.kernels.counters import (
    BREAKDOWNS,
    BROKEN_ENTRY,
    BROKEN_ROUND,
    EFFECTIVE,
    FALSE_ALARMS,
    MISTAKES,
    ONLY_LEARN,
    ONLY_PREDICT,
    POSITIVES,
    ROUNDS,
    ROW,
    UNLEARNED,
    UPDATES,
)

# The columns of a ring of margins: f, its exponent and, if there is a third, the variance.
MARGIN, EXPONENT, VARIANCE = 0, 1, 2


@inlined
def keep_margin(margins, t, f):
    """Write f as the margin of the t-th round of a learner.

    `margins` is a ring of a power of two of rounds, so that a slice of a pass needs no offset of its own.
    Its exponents are zeros, unless a kernel that scales its margins writes them.
    """
    margins[(t - 1) & (margins.shape[0] - 1), MARGIN] = f


@inlined
def keep_exponent(margins, entry, t, exponent):
    """Write that the margin of the t-th round is 2 ** exponent times that of the problem, if it predicts."""
    if entry < ONLY_LEARN:
        margins[(t - 1) & (margins.shape[0] - 1), EXPONENT] = exponent


@kernel(void(READ_1D, READ_INT64, int64, WRITE_2D, WRITE_2D_INT64, WRITE_INT64))
def count_predictions(y, order, t, margins, confusion, counters):
    """Count what the rounds of `order` after the first t have predicted, by the margins that they have kept.

    Of several classes the ring has the number of the predicted class, and `confusion` counts them by both.
    """
    ring = margins.shape[0] - 1
    is_late = counters[ROUNDS] - t < order.size
    mistakes = positives = called = hits = 0
    for entry in order:
        if is_late and entry >= ONLY_LEARN:
            continue
        # Unsigned, because numba tests a signed index for counting from the end.
        f, label = margins[np.uint64(t & ring), MARGIN], y[np.uint64(entry & ROW)]
        t += 1
        if confusion.size > 0:
            confusion[np.uint64(label), np.uint64(f)] += 1
            mistakes += f != label
        else:
            # Sums without a branch, which a hard example would mispredict.
            called += f >= 0.0
            positives += label > 0.0
            hits += (f >= 0.0) & (label > 0.0)
    counters[MISTAKES] += mistakes + called + positives - 2 * hits
    counters[POSITIVES] += positives
    counters[FALSE_ALARMS] += called - hits


@inlined
def keeps_variance(margins):
    """Return whether the variance of every prediction is asked for, so that none may be skipped."""
    return margins.shape[1] > VARIANCE


@inlined
def keep_variance(margins, entry, t, v):
    """Write v, in the units of the learner, as the variance of its t-th round, if that is a prediction."""
    if keeps_variance(margins) and entry < ONLY_LEARN:
        margins[(t - 1) & (margins.shape[0] - 1), VARIANCE] = v


@inlined
def count_round(counters, margins, entry, f, label):
    """Keep the margin f of a round; return how many examples have been learnt with it, and its mistake.

    A round that only learns makes no prediction, so its mistake is for the rule alone.
    """
    if entry < ONLY_LEARN:
        counters[ROUNDS] += 1
        keep_margin(margins, counters[ROUNDS], f)
        counters[UNLEARNED] += entry >= ONLY_PREDICT
    else:
        counters[UNLEARNED] -= 1
    return counters[ROUNDS] - counters[UNLEARNED], (f >= 0.0) != (label > 0.0)


@inlined
def is_unlearned(entry):
    return ONLY_PREDICT <= entry < ONLY_LEARN


@inlined
def is_usable(f, n, s):
    """Return whether a round with the margin f and ||x||^2 = s can be learnt.

    A square that over- or underflows gives no usable step; a row of zeros, with n = 0, is no such case.
    """
    return np.isfinite(f) and (n == 0 or 0.0 < s < np.inf)


@inlined
def count_breakdown(counters, entry, t):
    """Count a breakdown after t predictions, and note where the first is; a lone prediction has none."""
    if is_unlearned(entry):
        return
    if counters[BREAKDOWNS] == 0:
        counters[BROKEN_ROUND], counters[BROKEN_ENTRY] = t, entry
    counters[BREAKDOWNS] += 1


@inlined
def is_lost(counters, entry, f, n, s):
    """Return whether a round with the margin f and ||x||^2 = s is a breakdown, and count it if so."""
    if is_usable(f, n, s):
        return False
    count_breakdown(counters, entry, counters[ROUNDS])
    return True


@inlined
def usable_variance(v):
    """Return a variance, or 0 if it is not positive and finite: a breakdown of what learns, unless x = 0."""
    return v if 0.0 < v < np.inf else 0.0


@inlined
def is_change(counters, entry, v, loss, alpha, c):
    """Return whether a second-order rule changes the state, and count its update, change or breakdown.

    A variance of zero allows no change. A step that is not finite, or a gain below zero, is a breakdown.
    """
    counters[UPDATES] += loss > 0.0
    if v == 0.0 or (alpha == 0.0 and c == 0.0):
        return False
    return is_effective(counters, entry, np.isfinite(alpha) and 0.0 <= c < np.inf)


@inlined
def is_shift(counters, entry, n, loss, shrink, tau):
    """Return whether a first-order rule changes the weights, and count as `is_change` does."""
    counters[UPDATES] += loss > 0.0
    if n == 0 or (shrink == 1.0 and tau == 0.0):
        return False
    return is_effective(counters, entry, np.isfinite(shrink) and np.isfinite(tau))


@inlined
def is_effective(counters, entry, is_finite):
    """Count a change, or a breakdown if its step is not finite; return which."""
    if is_finite:
        counters[EFFECTIVE] += 1
    else:
        count_breakdown(counters, entry, counters[ROUNDS])
    return is_finite


@inlined
def read_counts(counters):
    """Return rounds, unlearned, updates and effective updates, for a kernel that keeps them in registers."""
    return counters[ROUNDS], counters[UNLEARNED], counters[UPDATES], counters[EFFECTIVE]


@inlined
def write_counts(counters, rounds, unlearned, updates, effective):
    counters[ROUNDS], counters[UNLEARNED] = rounds, unlearned
    counters[UPDATES], counters[EFFECTIVE] = updates, effective
