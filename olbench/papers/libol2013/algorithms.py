"""LIBOL's variants: the rules of the SCW authors' toolbox that differ from the papers.

Its learners of several classes (0.3.0) have one Sigma for all classes, and no binary form.
"""

import math
from dataclasses import replace
from typing import Any

from olbench.algorithms.arow import arow
from olbench.algorithms.cw import cw, precision_gain
from olbench.algorithms.definition import KEEPS_PRODUCT, Definition, register, second_order
from olbench.algorithms.ellipsoid import sop
from olbench.algorithms.maximum_margin import aromma, romma
from olbench.algorithms.perceptron import perceptron
from olbench.algorithms.scw import scw1, scw2, soft_learner
from olbench.kernels.helpers import helper
from olbench.kernels.losses import excess

TOOLBOX = "LIBOL 0.3.0 (2013)"


def learn_several(definition: Definition, doc: str, source: str = TOOLBOX) -> None:
    """Register the rule of an algorithm for several classes, as in the toolbox."""
    id, title = f"{definition.id}-libol", f"{definition.title} (LIBOL)"
    register(replace(definition, id=id, title=title, source=source, only_native=True, doc=doc))


learn_several(
    perceptron,
    "Learn several classes on every mistake; only classes that score higher than the true one share a step."
    "\n\nWith the allocations uniform and prop, a mistake among equal scores takes nothing from any class.",
    f"{TOOLBOX}, its multi-class perceptrons",
)
learn_several(
    romma, "Take ROMMA's step for several classes, but shrink only the means of the true class and its rival."
)
learn_several(
    aromma, "Take agg-ROMMA's step for several classes, but shrink only two means, as romma-libol does."
)


@second_order(
    "sop-libol",
    title="SOP (LIBOL)",
    source="LIBOL (2012)",
    traits=sop.traits,
    no_diagonal=KEEPS_PRODUCT,
    monotone=True,
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
    parameters=arow.parameters,
    traits=arow.traits,
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
def toolbox_update(m: float, v: float, phi: float, most: float) -> Any:
    """Return loss, alpha <= most and c of LIBOL's CW for several classes, with one Sigma and half of v.

    Its root has 1 + phi^2 / 2 where that of its problem has 1 + phi^2, so it is not the optimum.
    """
    half = 0.5 * v
    loss = excess(phi * math.sqrt(half), m)
    if loss == 0.0 or v == 0.0:
        return loss, 0.0, 0.0
    deviation = math.sqrt(half)
    r = m / deviation
    a = max(0.0, 0.5 * (phi * math.sqrt((0.5 * r * r + 2.0) / (1.0 + 0.5 * phi * phi)) - r))
    a = min(most * deviation, a)
    # c = alpha phi / sqrt(2 u), where u is half of the variance that the step leaves.
    k = a * phi
    return loss, a / deviation, 0.25 * k * (k + math.sqrt(k * k + 8.0)) / half


@second_order(
    "cw-libol",
    title="CW (LIBOL)",
    source=f"{TOOLBOX}; not the optimum",
    parameters=cw.parameters,
    traits=cw.traits,
    constants=cw.constants,
    form="root",
    monotone=True,
    scale_free=True,
    only_native=True,
)
def cw_libol(m: float, v: float, mistake: bool, t: int, p: Any) -> Any:
    """Learn several classes with one Sigma and the step of the toolbox, which misses CW's constraint."""
    return toolbox_update(m, v, p[0], math.inf)


@soft_learner(
    "scw2-libol",
    title="SCW-II (LIBOL)",
    source="LIBOL (2012); not the optimum of scw2012, eq. (5)",
    parameters=scw2.parameters,
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
    parameters=scw1.parameters,
    only_native=True,
)
def scw1_libol(m: float, v: float, mistake: bool, t: int, p: Any) -> Any:
    """Learn several classes with one Sigma and the step of the toolbox's CW, limited to alpha <= C."""
    return toolbox_update(m, v, p[1], p[0])
