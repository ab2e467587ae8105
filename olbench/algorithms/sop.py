"""The second-order perceptron, as published and as the LIBOL toolbox runs it.

Both keep a perceptron vector w and predict with S w, S = (Sigma^-1 + x x')^-1. The rules here act on
mu = Sigma w, which predicts the same sign: S w . x = mu . x / (1 + v).
"""

from typing import Any

from olbench.algorithms.definition import KEEPS_PRODUCT, Estimator, Traits, second_order

TRAITS = Traits(False, True, True, False)


@second_order(
    "sop",
    title="SOP",
    source="Cesa-Bianchi, Conconi & Gentile, SIAM J. Comput. 34(3), 2005",
    traits=TRAITS,
    product=True,
    monotone=True,
    passive_above=lambda: 0.0,
    estimator=Estimator("The second-order perceptron.", accuracy=0.97),
)
def sop(m: float, v: float, mistake: bool, t: int, p: Any) -> Any:
    """Add y x to w and x x' to the precision on every mistake.

    The diagonal form adds x_j^2 to each precision instead, and predicts with S of that form.
    """
    if not mistake:
        return 0.0, 0.0, 0.0
    return 1.0, (1.0 - m) / (1.0 + v), 1.0


@second_order(
    "sop-libol",
    title="SOP (LIBOL)",
    source="LIBOL (2012)",
    traits=TRAITS,
    no_diagonal=KEEPS_PRODUCT,
    monotone=True,
    estimator=Estimator("The second-order perceptron as LIBOL runs it.", accuracy=0.95, name="SOPLibol"),
)
def sop_libol(m: float, v: float, mistake: bool, t: int, p: Any) -> Any:
    """Add y x to w on every mistake, but x x' to the precision in every round."""
    if mistake:
        return 1.0, (1.0 - m) / (1.0 + v), 1.0
    return 0.0, -m / (1.0 + v), 1.0
