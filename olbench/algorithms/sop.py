"""The second-order perceptron.

It keeps a perceptron vector w and predicts with S w, S = (Sigma^-1 + x x')^-1. The rule acts on mu = Sigma w,
which predicts the same sign: S w . x = mu . x / (1 + v).
"""

from typing import Any

from olbench.algorithms.definition import Traits, second_order

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
