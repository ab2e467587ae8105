"""Soft confidence-weighted learning."""

import math
from dataclasses import replace
from functools import partial
from typing import Any

from olbench.algorithms.cw import ETA, confident_step, pair_step, precision_gain, quantile
from olbench.algorithms.definition import POWERS_OF_TWO, Parameter, Traits, second_order
from olbench.kernels.losses import excess

C = Parameter("C", 1.0, "cost of violating the confidence constraint", grid=POWERS_OF_TWO)
#: The rules take C and phi.
soft_learner = partial(
    second_order,
    traits=Traits(True, True, True, True),
    constants=lambda C, eta: (C, quantile(eta)),
    monotone=True,
)


def scw1_pair(m: float, v_y: float, v_s: float, p: Any) -> Any:
    """Take the step of CW for two Gaussians, limited to alpha <= C."""
    return pair_step(m, v_y, v_s, p[1], 0.0, p[0])


def scw2_pair(m: float, v_y: float, v_s: float, p: Any) -> Any:
    """Take the step of CW for two Gaussians with squared slack."""
    return pair_step(m, v_y, v_s, p[1], 0.5 / p[0], math.inf)


@soft_learner(
    "scw1",
    title="SCW-I",
    source="scw2012, eq. (4) and Proposition 1",
    parameters=(C, replace(ETA, default=0.75)),
    pair=scw1_pair,
)
def scw1(m: float, v: float, mistake: bool, t: int, p: Any) -> Any:
    """Take the step of CW, limited to alpha <= C (linear slack)."""
    C, phi = p[0], p[1]
    loss = excess(phi * math.sqrt(v), m)
    if loss == 0.0 or v == 0.0:
        return loss, 0.0, 0.0
    deviation = math.sqrt(v)
    a = min(C * deviation, confident_step(m / deviation, phi, 1.0))
    return loss, a / deviation, precision_gain(a, phi, v)


@soft_learner(
    "scw2",
    title="SCW-II",
    source="scw2012, eq. (5) and Proposition 2",
    parameters=(C, replace(ETA, default=0.9)),
    pair=scw2_pair,
)
def scw2(m: float, v: float, mistake: bool, t: int, p: Any) -> Any:
    """Trade the squared violation of CW's constraint against the change of the Gaussian."""
    C, phi = p[0], p[1]
    loss = excess(phi * math.sqrt(v), m)
    if loss == 0.0 or v == 0.0:
        return loss, 0.0, 0.0
    deviation = math.sqrt(v)
    share = 2.0 * C * v / (1.0 + 2.0 * C * v)
    a = confident_step(m / deviation, phi, share)
    return loss, a / deviation, precision_gain(a, phi, v)
