"""The online Newton step on the logistic loss."""

import math
from typing import Any

from olbench.algorithms.definition import POWERS_OF_TWO, Estimator, Parameter, Traits, second_order
from olbench.algorithms.perceptron import OWN
from olbench.kernels.losses import logistic_slope


@second_order(
    "ons",
    title="ONS",
    source="Hazan, Agarwal & Kale, Logarithmic regret algorithms for online convex optimization, Machine "
    "Learning 69 (2007), without a projection",
    parameters=(Parameter("gamma", 1.0, "steps are divided by this", grid=POWERS_OF_TWO),),
    traits=Traits(True, True, True, False, source=OWN),
    estimator=Estimator(name="ONS", gaussian=False),
)
def ons(m: float, v: float, mistake: bool, t: int, p: Any) -> Any:
    """Step by w -= A^-1 g / gamma, where A is I / a plus the sum of g g' up to this round.

    Sigma is A^-1, so c is the square of the slope s of the loss, and A^-1 g = -s y Sigma x / (1 + s^2 v).
    """
    slope = logistic_slope(m)
    c = slope * slope
    return math.log1p(math.exp(-abs(m))) + max(0.0, -m), slope / (p[0] * (1.0 + c * v)), c
