"""The losses and penalties that rules, learners and passes share."""

import math

from olbench.kernels.helpers import helper

#: A loss below this fraction of its larger term is rounding error.
TOLERANCE = 1e-12


@helper
def excess(wanted: float, got: float) -> float:
    """Return wanted - got, or zero if that is negative or within rounding of zero."""
    loss = wanted - got
    if math.isinf(loss):
        return max(0.0, loss)
    return loss if loss > TOLERANCE * max(abs(wanted), abs(got)) else 0.0


@helper
def logistic_slope(m: float) -> float:
    """Return how fast log(1 + exp(-m)) falls at the margin m: 1 / (1 + exp(m))."""
    odds = math.exp(-abs(m))
    return (odds if m > 0.0 else 1.0) / (1.0 + odds)


@helper
def soften(value: float, amount: float) -> float:
    """Return a value moved towards zero by an amount, or zero if it is smaller: the step of an L1 penalty."""
    return math.copysign(max(0.0, abs(value) - amount), value)
