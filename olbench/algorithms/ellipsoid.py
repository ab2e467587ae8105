"""Second-order learners whose matrix is not a covariance: SOP, IELLIP and the online Newton step."""

import math
from typing import Any

from olbench.algorithms.definition import POWERS_OF_TWO, TENTHS, Parameter, Traits, second_order
from olbench.algorithms.perceptron import OWN
from olbench.kernels.losses import logistic_slope

TRAITS = Traits(False, True, True, False)


@second_order(
    "sop",
    title="SOP",
    source="Cesa-Bianchi, Conconi & Gentile, SIAM J. Comput. 34(3), 2005",
    traits=TRAITS,
    product=True,
    monotone=True,
    passive_above=lambda: 0.0,
)
def sop(m: float, v: float, mistake: bool, t: int, p: Any) -> Any:
    """Add y x to w and x x' to the precision on every mistake.

    The diagonal form adds x_j^2 to each precision instead, and predicts with S of that form.
    """
    if not mistake:
        return 0.0, 0.0, 0.0
    return 1.0, (1.0 - m) / (1.0 + v), 1.0


@second_order(
    "iellip",
    title="IELLIP",
    source="Yang, Jin & Ye, Online learning by ellipsoid method, ICML 2009",
    parameters=(
        Parameter("b", 0.9, "decay of the shrinkage, round by round", 0.0, 1.0, "right", TENTHS[:-1]),
        Parameter("c", 0.1, "shrinkage of the ellipsoid in the first round", high=1.0),
    ),
    traits=TRAITS,
    no_diagonal="its step is scaled by the whole ellipsoid, which a projection would change",
    monotone=True,
    passive_above=lambda b, c: 0.0,
    gaussian=False,
)
def iellip(m: float, v: float, mistake: bool, t: int, p: Any) -> Any:
    """Cut the ellipsoid by the half space of every mistake, with c_t = c b^(t - 1).

    t = 1, 2, ... counts rounds, mistakes or not, so the first round shrinks by c, as in the authors' code.
    The method also divides Sigma by 1 - c_t. No step on mu depends on Sigma's scale, so that factor is left
    out: mistakes, updates and weights are the same, and Sigma is known up to a factor.
    """
    if not mistake or v == 0.0:
        return (1.0 if mistake else 0.0), 0.0, 0.0
    b, c = p[0], p[1]
    shrinkage = c * b ** (t - 1)
    return 1.0, (1.0 - m) / v, shrinkage / ((1.0 - shrinkage) * v)


@second_order(
    "ons",
    title="ONS",
    source="Hazan, Agarwal & Kale, Logarithmic regret algorithms for online convex optimization, Machine "
    "Learning 69 (2007), without a projection",
    parameters=(Parameter("gamma", 1.0, "steps are divided by this", grid=POWERS_OF_TWO),),
    traits=Traits(True, True, True, False, source=OWN),
    gaussian=False,
)
def ons(m: float, v: float, mistake: bool, t: int, p: Any) -> Any:
    """Step by w -= A^-1 g / gamma, where A is I / a plus the sum of g g' up to this round.

    Sigma is A^-1, so c is the square of the slope s of the loss, and A^-1 g = -s y Sigma x / (1 + s^2 v).
    """
    slope = logistic_slope(m)
    c = slope * slope
    return math.log1p(math.exp(-abs(m))) + max(0.0, -m), slope / (p[0] * (1.0 + c * v)), c
