"""LIBOL's variants: what the toolbox of the SCW authors computes where it is not what the papers say.

Its learners of several classes (0.3.0) have one Sigma for all classes, and no binary form.
"""

import math
from dataclasses import replace
from typing import Any

from olbench.algorithms.arow import TRAITS as SOFT
from olbench.algorithms.arow import R
from olbench.algorithms.cw import ETA, PHI, confidence, precision_gain
from olbench.algorithms.cw import TRAITS as CONFIDENT
from olbench.algorithms.definition import KEEPS_PRODUCT, Estimator, Traits, first_order, second_order
from olbench.algorithms.perceptron import OWN
from olbench.algorithms.romma import TRAITS as RELAXED
from olbench.algorithms.romma import relaxed_step
from olbench.algorithms.scw import C, soft_learner
from olbench.algorithms.sop import TRAITS as SECOND
from olbench.kernels.helpers import helper
from olbench.kernels.losses import excess

TOOLBOX = "LIBOL 0.3.0 (2013)"


@first_order(
    "perceptron-libol",
    title="Perceptron (LIBOL)",
    source=f"{TOOLBOX}, its multi-class perceptrons",
    traits=Traits(False, False, True, False, source=OWN),
    passive_above=lambda: 0.0,
    allocated=True,
    only_native=True,
)
def perceptron_libol(m: float, s: float, mistake: bool, q: float, t: int, k: int, p: Any) -> Any:
    """Learn several classes on every mistake; only classes that score higher than the true one share a step.

    With the allocations uniform and prop, a mistake among equal scores takes nothing from any class.
    """
    if mistake:
        return 1.0, 1.0, 1.0
    return 0.0, 1.0, 0.0


@first_order(
    "romma-libol",
    title="ROMMA (LIBOL)",
    source=TOOLBOX,
    traits=RELAXED,
    passive_above=lambda: 0.0,
    only_native=True,
)
def romma_libol(m: float, s: float, mistake: bool, q: float, t: int, k: int, p: Any) -> Any:
    """Take ROMMA's step for several classes, but shrink only the means of the true class and its rival."""
    if not mistake:
        return 0.0, 1.0, 0.0
    shrink, tau = relaxed_step(m, s, q)
    return 1.0, shrink, tau


@first_order(
    "aromma-libol",
    title="agg-ROMMA (LIBOL)",
    source=TOOLBOX,
    traits=RELAXED,
    passive_above=lambda: 1.0,
    only_native=True,
)
def aromma_libol(m: float, s: float, mistake: bool, q: float, t: int, k: int, p: Any) -> Any:
    """Take agg-ROMMA's step for several classes, but shrink only two means, as romma-libol does."""
    loss = excess(1.0, m)
    if loss == 0.0:
        return 0.0, 1.0, 0.0
    shrink, tau = relaxed_step(m, s, q)
    return loss, shrink, tau


@second_order(
    "sop-libol",
    title="SOP (LIBOL)",
    source="LIBOL (2012)",
    traits=SECOND,
    no_diagonal=KEEPS_PRODUCT,
    monotone=True,
    estimator=Estimator("The second-order perceptron as LIBOL runs it.", accuracy=0.95, name="SOPLibol"),
)
def sop_libol(m: float, v: float, mistake: bool, t: int, p: Any) -> Any:
    """Add y x to w on every mistake, but x x' to the precision in every round."""
    if mistake:
        return 1.0, (1.0 - m) / (1.0 + v), 1.0
    return 0.0, -m / (1.0 + v), 1.0


@second_order(
    "arow-libol",
    title="AROW (LIBOL)",
    source=f"{TOOLBOX}; not the optimum",
    parameters=(R,),
    traits=SOFT,
    monotone=True,
    only_native=True,
)
def arow_libol(m: float, v: float, mistake: bool, t: int, p: Any) -> Any:
    """Learn several classes with one Sigma and x' Sigma x, half of the variance, in place of the variance.

    The step is up to twice that of AROW.
    """
    loss, r = excess(1.0, m), p[0]
    if loss == 0.0:
        return 0.0, 0.0, 0.0
    return loss, loss / (0.5 * v + r), 1.0 / r


@helper
def toolbox_step(r: float, phi: float) -> float:
    """Return a = alpha sqrt(v) of LIBOL's CW for several classes, for r = m / sqrt(v) and v = x' Sigma x.

    1 + phi^2 / 2 is where the root of its problem has 1 + phi^2, so this is not the optimum.
    """
    return max(0.0, 0.5 * (phi * math.sqrt((0.5 * r * r + 2.0) / (1.0 + 0.5 * phi * phi)) - r))


@helper
def toolbox_gain(a: float, phi: float, v: float) -> float:
    """Return c = alpha phi / sqrt(2 u), where u is half of the variance that LIBOL's step leaves."""
    k = a * phi
    return 0.25 * k * (k + math.sqrt(k * k + 8.0)) / v


@second_order(
    "cw-libol",
    title="CW (LIBOL)",
    source=f"{TOOLBOX}; not the optimum",
    parameters=(ETA, PHI),
    traits=CONFIDENT,
    constants=confidence,
    form="root",
    monotone=True,
    scale_free=True,
    only_native=True,
)
def cw_libol(m: float, v: float, mistake: bool, t: int, p: Any) -> Any:
    """Learn several classes with one Sigma and the step of the toolbox, which misses CW's constraint."""
    phi, half = p[0], 0.5 * v
    loss = excess(phi * math.sqrt(half), m)
    if loss == 0.0 or v == 0.0:
        return loss, 0.0, 0.0
    deviation = math.sqrt(half)
    a = toolbox_step(m / deviation, phi)
    return loss, a / deviation, toolbox_gain(a, phi, half)


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
    source=f"{TOOLBOX}; not the optimum",
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
