"""The relaxed online maximum margin algorithm and its aggressive variant."""

from typing import Any

from olbench.algorithms.definition import Traits, first_order
from olbench.algorithms.perceptron import OWN
from olbench.kernels.helpers import helper
from olbench.kernels.losses import TOLERANCE, excess

SOURCE = "Li & Long, The relaxed online maximum margin algorithm, NIPS 1999"
TRAITS = Traits(True, False, False, False, source=OWN)


@helper
def relaxed_step(m: float, s: float, q: float) -> tuple[float, float]:
    """Return (shrink, tau) for the shortest w with unit margin on x and w.w_old >= ||w_old||^2."""
    if q == 0.0:
        return 1.0, 1.0
    denominator = s * q - m * m
    if denominator <= TOLERANCE * s * q:
        return 1.0, 0.0
    return (s * q - m) / denominator, q * (1.0 - m) / denominator


@first_order("romma", title="ROMMA", source=SOURCE, traits=TRAITS, passive_above=lambda: 0.0)
def romma(m: float, s: float, mistake: bool, q: float, t: int, k: int, p: Any) -> Any:
    """Take the relaxed maximum-margin step on every mistake; the first step gives w = y x."""
    if not mistake:
        return 0.0, 1.0, 0.0
    shrink, tau = relaxed_step(m, s, q)
    return 1.0, shrink, tau


@first_order("aromma", title="agg-ROMMA", source=SOURCE, traits=TRAITS, passive_above=lambda: 1.0)
def aromma(m: float, s: float, mistake: bool, q: float, t: int, k: int, p: Any) -> Any:
    """Take the relaxed maximum-margin step whenever the margin is below one."""
    loss = excess(1.0, m)
    if loss == 0.0:
        return 0.0, 1.0, 0.0
    shrink, tau = relaxed_step(m, s, q)
    return loss, shrink, tau
