"""What the rounds of all passes share: how margins, mistakes, updates and breakdowns are counted."""

from typing import Any

import numpy as np

from olbench.kernels.compile import inlined
from olbench.kernels.counters import BREAKDOWNS, EFFECTIVE, MISTAKES, ROUNDS, UPDATES


@inlined
def keep_margin(margins: Any, t: Any, f: Any, exponent: Any) -> None:
    """Write f, times 2 ** exponent in the units of the learner, as the margin of its t-th round.

    `margins` is a ring of a power of two of rounds, so that a slice of a pass needs no offset of its own. It
    has no rows unless margins are asked for; the branch is the same in every round and costs next to nothing.
    """
    if margins.shape[0] > 0:
        place = (t - 1) & (margins.shape[0] - 1)
        margins[place, 0] = f
        margins[place, 1] = exponent


@inlined
def count_round(counters: Any, margins: Any, f: Any, label: Any, exponent: Any = 0) -> Any:
    """Count a round with the margin f, and return its number, from 1, and whether it is a mistake."""
    mistake = (f >= 0.0) != (label > 0.0)
    counters[ROUNDS] += 1
    keep_margin(margins, counters[ROUNDS], f, exponent)
    counters[MISTAKES] += mistake
    return counters[ROUNDS], mistake


@inlined
def is_lost(counters: Any, f: Any, n: Any, s: Any) -> Any:
    """Return whether a round with the margin f and ||x||^2 = s is a breakdown, and count it if so.

    A square that over- or underflows gives no usable step; a row of zeros, with n = 0, is no such case.
    """
    if np.isfinite(f) and (n == 0 or 0.0 < s < np.inf):
        return False
    counters[BREAKDOWNS] += 1
    return True


@inlined
def is_change(counters: Any, v: Any, loss: Any, alpha: Any, c: Any) -> Any:
    """Return whether a second-order rule changes the state, and count its update, change or breakdown.

    A variance of zero allows no change. A step that is not finite, or a gain below zero, is a breakdown.
    """
    counters[UPDATES] += loss > 0.0
    if v == 0.0 or (alpha == 0.0 and c == 0.0):
        return False
    if not (np.isfinite(alpha) and 0.0 <= c < np.inf):
        counters[BREAKDOWNS] += 1
        return False
    counters[EFFECTIVE] += 1
    return True
