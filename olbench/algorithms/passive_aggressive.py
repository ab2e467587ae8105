"""Passive-aggressive learning: PA, PA-I and PA-II."""

from typing import Any

from olbench.algorithms.definition import POWERS_OF_TWO, Parameter, Traits, average, first_order
from olbench.kernels.losses import excess

SOURCE = "Crammer et al., JMLR 7 (2006); scw2012, section 2.2"
TRAITS = Traits(True, False, True, False)
C = Parameter("C", 1.0, "aggressiveness: cost of a margin violation", grid=POWERS_OF_TWO)


@first_order("pa", title="PA", source=SOURCE, traits=TRAITS, passive_above=lambda: 1.0)
def pa(m: float, s: float, mistake: bool, q: float, t: int, k: int, p: Any) -> Any:
    """Make the smallest change of w that gives this example a margin of one."""
    loss = excess(1.0, m)
    if loss == 0.0 or s == 0.0:
        return loss, 1.0, 0.0
    return loss, 1.0, loss / s


@first_order("pa1", title="PA-I", source=SOURCE, parameters=(C,), traits=TRAITS, passive_above=lambda C: 1.0)
def pa1(m: float, s: float, mistake: bool, q: float, t: int, k: int, p: Any) -> Any:
    """Step as PA does, but by at most C (linear slack)."""
    loss, C = excess(1.0, m), p[0]
    if loss == 0.0 or s == 0.0:
        return loss, 1.0, 0.0
    return loss, 1.0, min(C, loss / s)


@first_order("pa2", title="PA-II", source=SOURCE, parameters=(C,), traits=TRAITS, passive_above=lambda C: 1.0)
def pa2(m: float, s: float, mistake: bool, q: float, t: int, k: int, p: Any) -> Any:
    """Step as PA does, with 1 / (2 C) added to the squared norm (squared slack)."""
    loss, C = excess(1.0, m), p[0]
    return loss, 1.0, loss / (s + 0.5 / C)


average(pa, "Averaged PA", "PA")
average(pa1, "Averaged PA-I", "PA-I")
