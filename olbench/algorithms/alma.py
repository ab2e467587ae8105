"""The approximate large margin algorithm."""

import math
from typing import Any

from olbench.algorithms.definition import Parameter, Traits, first_order
from olbench.algorithms.perceptron import OWN


@first_order(
    "alma",
    title="ALMA",
    source="Gentile, A new approximate maximal margin algorithm, JMLR 2 (2001), p = 2",
    parameters=(
        Parameter(
            "alpha",
            0.9,
            "accuracy: the margin found is at least 1 - alpha of the largest one",
            high=1.0,
            closed="right",
            grid=tuple(k / 10 for k in range(1, 11)),
        ),
        Parameter("C", math.sqrt(2.0), "length of the first step"),
    ),
    traits=Traits(True, False, False, False, source=OWN),
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
