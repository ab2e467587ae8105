"""The loss that rules and passes share."""

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
