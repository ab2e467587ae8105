"""Soft confidence-weighted learning, and SCW-II as the authors' toolbox LIBOL computes it."""

import math
from dataclasses import replace
from functools import partial
from typing import Any

from olbench.algorithms.cw import (
    ETA,
    confident_step,
    pair_step,
    precision_gain,
    quantile,
    toolbox_gain,
    toolbox_step,
)
from olbench.algorithms.definition import POWERS_OF_TWO, Estimator, Parameter, Traits, second_order
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
    estimator=Estimator("Soft confidence-weighted learning with linear slack.", accuracy=0.98),
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
    estimator=Estimator("Soft confidence-weighted learning with squared slack.", accuracy=0.98),
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


@soft_learner(
    "scw2-libol",
    title="SCW-II (LIBOL)",
    source="LIBOL (2012); not the optimum of scw2012, eq. (5)",
    parameters=(C, replace(ETA, default=0.9)),
    estimator=Estimator(
        "SCW-II with the formula of the LIBOL toolbox, which is not the optimum.",
        accuracy=0.97,
        name="SCW2Libol",
    ),
)
def scw2_libol(m: float, v: float, mistake: bool, t: int, p: Any) -> Any:
    """Run SCW-II with the toolbox's discriminant, which has 2 v and 2 phi where the paper has squares."""
    C, phi = p[0], p[1]
    loss = excess(phi * math.sqrt(v), m)
    if loss == 0.0 or v == 0.0:
        return loss, 0.0, 0.0
    deviation = math.sqrt(v)
    share = 2.0 * C * v / (1.0 + 2.0 * C * v)
    r, squared = m / deviation, share * phi * phi
    root = math.hypot(
        math.sqrt(2.0) * r * squared / deviation, 2.0 * phi * math.sqrt(1.0 + 2.0 * phi * share)
    )
    a = max(0.0, 0.5 * share * (root - r * (2.0 + squared)) / (1.0 + squared))
    return loss, a / deviation, precision_gain(a, phi, v)


@soft_learner(
    "scw1-libol",
    title="SCW-I (LIBOL)",
    source="LIBOL 0.3.0 (2013); not the optimum",
    parameters=(C, replace(ETA, default=0.75)),
    only_native=True,
)
def scw1_libol(m: float, v: float, mistake: bool, t: int, p: Any) -> Any:
    """Learn several classes with one Sigma and the step of the toolbox's CW, limited to alpha <= C."""
    C, phi, half = p[0], p[1], 0.5 * v
    loss = excess(phi * math.sqrt(half), m)
    if loss == 0.0 or v == 0.0:
        return loss, 0.0, 0.0
    deviation = math.sqrt(half)
    a = min(C * deviation, toolbox_step(m / deviation, phi))
    return loss, a / deviation, toolbox_gain(a, phi, half)
