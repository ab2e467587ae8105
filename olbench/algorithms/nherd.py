"""Normal herding."""

from typing import Any

from olbench.algorithms.definition import POWERS_OF_TWO, Parameter, Traits, second_order
from olbench.kernels.losses import excess


@second_order(
    "nherd",
    title="NHERD",
    source="Crammer & Lee, Learning via Gaussian herding, NIPS 2010",
    parameters=(Parameter("C", 1.0, "cost of the squared hinge loss", grid=POWERS_OF_TWO),),
    traits=Traits(True, True, True, False),
    monotone=True,
    passive_above=lambda C: 1.0,
)
def nherd(m: float, v: float, mistake: bool, t: int, p: Any) -> Any:
    """Move a Gaussian herd of weight vectors: beta = (v + 2/C) / (v + 1/C)^2."""
    loss = excess(1.0, m)
    if loss == 0.0:
        return 0.0, 0.0, 0.0
    C = p[0]
    return loss, loss / (v + 1.0 / C), C * (2.0 + C * v)
