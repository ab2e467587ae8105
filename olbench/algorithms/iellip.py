"""The improved ellipsoid method for online learning."""

from typing import Any

from olbench.algorithms.definition import Parameter, Traits, second_order


@second_order(
    "iellip",
    title="IELLIP",
    source="Yang, Jin & Ye, Online learning by ellipsoid method, ICML 2009",
    parameters=(
        Parameter(
            "b",
            0.9,
            "decay of the shrinkage, round by round",
            high=1.0,
            closed="right",
            grid=tuple(k / 10 for k in range(1, 10)),
        ),
        Parameter("c", 0.1, "shrinkage of the ellipsoid in the first round", high=1.0),
    ),
    traits=Traits(False, True, True, False),
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
