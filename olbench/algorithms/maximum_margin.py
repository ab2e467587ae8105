"""Large margins without slack: ROMMA, its aggressive variant, and ALMA."""

import math
from typing import Any

from olbench.algorithms.definition import TENTHS, Parameter, Traits, first_order
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


@first_order(
    "alma",
    title="ALMA",
    source="Gentile, A new approximate maximal margin algorithm, JMLR 2 (2001), p = 2",
    parameters=(
        Parameter("alpha", 0.9, "accuracy: at least 1 - alpha of the best margin", 0.0, 1.0, "right", TENTHS),
        Parameter("C", math.sqrt(2.0), "length of the first step"),
    ),
    traits=TRAITS,
)
def alma(m: float, s: float, mistake: bool, q: float, t: int, k: int, p: Any) -> Any:
    """Learn x / ||x|| below a margin that falls as 1 / sqrt(k), and project w onto the unit ball."""
    if s == 0.0:
        return (1.0 if mistake else 0.0), 1.0, 0.0
    alpha, C = p[0], p[1]
    root = math.sqrt(k + 1.0)
    if m > (1.0 - alpha) * math.sqrt(8.0 * s) / (alpha * root):
        return 0.0, 1.0, 0.0
    tau = C / (root * math.sqrt(s))
    shrink = 1.0 / max(1.0, math.sqrt(max(0.0, q + tau * (2.0 * m + tau * s))))
    return 1.0, shrink, shrink * tau
