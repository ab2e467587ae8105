"""What the rounds of all passes share: their roles, and how margins, predictions and updates are counted.

An entry of an order is a row, which is predicted and then learnt. One with ONLY_PREDICT or ONLY_LEARN added
is a row whose label comes late, or never, or that is not scored: it is predicted and learnt in rounds apart.
"""

import numpy as np

from olbench.kernels.counters import (
    BREAKDOWNS,
    BROKEN_ENTRY,
    BROKEN_ROUND,
    COUNTERS,
    EFFECTIVE,
    FALSE_ALARMS,
    GROUP,
    GROUPS,
    MISTAKES,
    ONLY_LEARN,
    ONLY_PREDICT,
    POSITIVES,
    ROUNDS,
    UNLEARNED,
    UPDATES,
)
from olbench.kernels.helpers import inlined

# The columns of a ring of margins: f, the exponent of its scale and, if there is a third, the variance.
MARGIN, EXPONENT, VARIANCE = 0, 1, 2


@inlined
def keep(margins, entry, t, column, value):
    """Write a value of the t-th prediction to the ring, if the round predicts and the ring has the column.

    `margins` is a ring of a power of two of rounds, so that a slice of a pass needs no offset of its own. An
    exponent e says that the margin is 2 ** e times that of the problem; it is zero unless a kernel writes it.
    """
    if margins.shape[0] > 0 and margins.shape[1] > column and entry < ONLY_LEARN:
        margins[(t - 1) & (margins.shape[0] - 1), column] = value


@inlined
def judge(f, label):
    """Return whether a prediction with the margin f is a mistake, and whether it is a false alarm."""
    mistake = (f >= 0.0) != (label > 0.0)
    return mistake, mistake & (f >= 0.0)


@inlined
def keeps_variance(margins):
    """Return whether the variance of every prediction is asked for, so that none may be skipped."""
    return margins.shape[1] > VARIANCE


@inlined
def count_by_group(counters, entry, mistake, columns, column):
    """Count a mistake in a column of the group of its row; a branch on the mistake would cost more."""
    counters[COUNTERS + columns * ((entry >> GROUP) & (GROUPS - 1)) + column] += mistake


@inlined
def count_round(counters, margins, entry, f, label):
    """Count a round with the margin f; return how many examples have been learnt with it, and its mistake.

    A round that only learns makes no prediction: its mistake is not counted.
    """
    mistake, false_alarm = judge(f, label)
    if entry < ONLY_LEARN:
        counters[MISTAKES] += mistake
        counters[POSITIVES] += label > 0.0
        counters[FALSE_ALARMS] += false_alarm
        count_by_group(counters, entry, mistake, 2, label > 0.0)
    return count_prediction(counters, margins, entry, f), mistake


@inlined
def count_class(counters, margins, confusion, entry, predicted, truth):
    """Count a round that predicts a class; return how many examples have been learnt with it."""
    if entry < ONLY_LEARN:
        mistake, classes = predicted != truth, confusion.shape[0]
        counters[MISTAKES] += mistake
        count_by_group(counters, entry, mistake, 2 * classes, truth)
        count_by_group(counters, entry, mistake, 2 * classes, classes + predicted)
        confusion[truth, predicted] += 1
    return count_prediction(counters, margins, entry, predicted)


@inlined
def count_prediction(counters, margins, entry, f):
    if entry < ONLY_LEARN:
        counters[ROUNDS] += 1
        keep(margins, entry, counters[ROUNDS], MARGIN, f)
        counters[UNLEARNED] += entry >= ONLY_PREDICT
    else:
        counters[UNLEARNED] -= 1
    return counters[ROUNDS] - counters[UNLEARNED]


@inlined
def is_unlearned(entry):
    return ONLY_PREDICT <= entry < ONLY_LEARN


@inlined
def is_usable(f, n, s):
    """Return whether a round with the margin f and ||x||^2 = s can be learnt.

    A square that over- or underflows gives no usable step; a row of zeros, with n = 0, can be learnt.
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

    A variance of zero allows no change. A loss that is NaN, a step that is not finite, or a gain below zero,
    is a breakdown.
    """
    counters[UPDATES] += loss > 0.0
    undefined = np.isnan(loss)
    if v == 0.0 or (alpha == 0.0 and c == 0.0 and not undefined):
        return False
    return is_effective(counters, entry, np.isfinite(alpha) and 0.0 <= c < np.inf and not undefined)


@inlined
def is_shift(counters, entry, n, loss, shrink, tau):
    """Return whether a first-order rule changes the weights, and count as `is_change` does."""
    counters[UPDATES] += loss > 0.0
    undefined = np.isnan(loss)
    if n == 0 or (shrink == 1.0 and tau == 0.0 and not undefined):
        return False
    return is_effective(counters, entry, np.isfinite(shrink) and np.isfinite(tau) and not undefined)


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
def write_counts(counters, rounds, unlearned, updates, effective, positives):
    """Write the counts; those of mistakes are the sums over the groups."""
    counters[ROUNDS], counters[UNLEARNED] = rounds, unlearned
    counters[UPDATES], counters[EFFECTIVE] = updates, effective
    counters[POSITIVES] += positives
    false_alarms = misses = 0
    for k in range(COUNTERS, counters.size, 2):
        false_alarms += counters[k]
        misses += counters[k + 1]
    counters[MISTAKES], counters[FALSE_ALARMS] = false_alarms + misses, false_alarms
