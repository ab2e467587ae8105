"""AROW, its narrow versions, and normal herding."""

from typing import Any

from olbench.algorithms.definition import KEEPS_PRODUCT, POWERS_OF_TWO, Parameter, Traits, second_order
from olbench.kernels.losses import excess

TRAITS = Traits(True, True, True, False)
B = Parameter("b", 1.0, "inverse of the variance v above which the covariance shrinks", grid=POWERS_OF_TWO)


@second_order(
    "nherd",
    title="NHERD",
    source="Crammer & Lee, Learning via Gaussian herding, NIPS 2010",
    parameters=(Parameter("C", 1.0, "cost of the squared hinge loss", grid=POWERS_OF_TWO),),
    traits=TRAITS,
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


@second_order(
    "arow",
    title="AROW",
    source="Crammer, Kulesza & Dredze, NIPS 2009; scw2012, section 2.4",
    parameters=(
        Parameter("r", 1.0, "regularisation: a larger r gives each example less weight", grid=POWERS_OF_TWO),
    ),
    traits=TRAITS,
    monotone=True,
    passive_above=lambda r: 1.0,
)
def arow(m: float, v: float, mistake: bool, t: int, p: Any) -> Any:
    """Trade the squared hinge loss and the variance along x against the change of the Gaussian."""
    loss, r = excess(1.0, m), p[0]
    if loss == 0.0:
        return 0.0, 0.0, 0.0
    return loss, loss / (v + r), 1.0 / r


@second_order(
    "narow",
    title="NAROW",
    source="Orabona & Crammer, NIPS 2010, in the form that LIBOL runs",
    parameters=(B,),
    traits=TRAITS,
    monotone=True,
    passive_above=lambda b: 1.0,
)
def narow(m: float, v: float, mistake: bool, t: int, p: Any) -> Any:
    """Run AROW with r = v / (b v - 1) if v > 1 / b; otherwise r is infinite and nothing changes."""
    loss, b = excess(1.0, m), p[0]
    c = b - 1.0 / v if v * b > 1.0 else 0.0
    if loss == 0.0 or c <= 0.0:
        return loss, 0.0, 0.0
    return loss, loss * c / (1.0 + c * v), c


@second_order(
    "narow2010",
    title="NAROW (2010)",
    source="Orabona & Crammer, New adaptive algorithms for online classification, NIPS 2010",
    parameters=(B,),
    traits=TRAITS,
    no_diagonal=KEEPS_PRODUCT,
    monotone=True,
    passive_above=lambda b: 1.0,
)
def narow2010(m: float, v: float, mistake: bool, t: int, p: Any) -> Any:
    """Keep mu = Sigma theta with theta += y x, written as a step on mu itself."""
    loss, b = excess(1.0, m), p[0]
    if loss == 0.0:
        return 0.0, 0.0, 0.0
    c = max(0.0, b - 1.0 / v) if v * b > 1.0 else 0.0
    return loss, (1.0 - c * m) / (1.0 + c * v), c
