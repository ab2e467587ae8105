"""Forgetting: between two examples that are learnt, every variance grows by 1 / f, up to where it started.

A Gaussian raised to the power f < 1 has the covariance Sigma / f: older examples count less. A direction that
no example touches would grow without bound, so every variance stops at its start a. Rows and columns of a
full Sigma are scaled: it keeps its correlations and stays positive semi-definite.

Neither form sweeps Sigma for it. A diagonal variance is brought up to date when an example touches it. A full
Sigma is D R R' D, where D is a diagonal that grows in d steps a round; an example is multiplied by D first.
R itself only shrinks, as without forgetting, so the bounds of screening hold.
"""

import math

from olbench.kernels.helpers import helper, inlined
from olbench.kernels.matrix import inner

# A clock, or a scale of D, beyond this is multiplied out. A power of two changes no digit of a clock.
LARGEST_CLOCK, LARGEST_SCALE = 2.0**500, 2.0**100
# The places in `clock`: the growth so far of a variance that nothing stopped, the growth 1 / f, the start a.
GROWTH, RATE, START = 0, 1, 2


@inlined
def advance(clock, marks):
    """Let all diagonal variances grow once; marks[j] is the clock when feature j was last up to date."""
    clock[GROWTH] *= clock[RATE]
    if clock[GROWTH] > LARGEST_CLOCK:
        for j in range(marks.size):
            marks[j] /= LARGEST_CLOCK
        clock[GROWTH] /= LARGEST_CLOCK


@inlined
def grown(moments, marks, clock, j):
    """Return the present variance of feature j."""
    variance = moments[j, 1] * (clock[GROWTH] / marks[j])
    # A mark that has underflowed gives infinity or NaN.
    return variance if variance < clock[START] else clock[START]


@inlined
def grown_variance(moments, marks, clock, columns, c, values, o, n):
    """Return x' Sigma x of a row that is only predicted; the state does not change."""
    v = 0.0
    for k in range(n):
        x = values[o + k]
        v += grown(moments, marks, clock, columns[c + k]) * (x * x)
    return v


@inlined
def refresh(moments, marks, clock, columns, c, n):
    for k in range(n):
        j = columns[c + k]
        if marks[j] != clock[GROWTH]:
            moments[j, 1] = grown(moments, marks, clock, j)
            marks[j] = clock[GROWTH]


@inlined
def grow(scales, caps, rate):
    """Let the diagonal of a full Sigma grow: its roots by `rate`, each up to its cap. Return the largest."""
    largest = 0.0
    for j in range(scales.size):
        scales[j] = min(scales[j] * rate, caps[j])
        largest = max(largest, scales[j])
    return largest


@helper
def multiply_out(scales, root, reach, bound):
    bound[0] *= max(1.0, scales.max())
    for j in range(scales.size):
        reach[j] *= scales[j]
        for k in range(scales.size):
            root[j, k] *= scales[j]
        scales[j] = 1.0


@helper
def find_caps(root, start, caps):
    """Set caps[j] to the scale at which the variance of feature j is back at its start, of the root `start`.

    A row of R that has underflowed may not grow without bound.
    """
    for j in range(caps.size):
        length = math.sqrt(inner(root[j], root[j], 0))
        caps[j] = min(start / length, LARGEST_SCALE) if length > 0.0 else 1.0
