"""Gradient descent: OGD and SGD."""

import math
from typing import Any

from olbench.algorithms.definition import POWERS_OF_TWO, Parameter, Traits, first_order
from olbench.algorithms.perceptron import OWN
from olbench.kernels.losses import TOLERANCE, excess

LOSSES = ("hinge", "logistic", "squared", "zero-one")
#: The margin above which a loss and its gradient are zero; the others have none.
PASSIVE_ABOVE = {"hinge": 1.0, "zero-one": 0.0}


@first_order(
    "ogd",
    title="OGD",
    source="Zinkevich, Online convex programming, ICML 2003",
    parameters=(
        Parameter("C", 1.0, "size of the first step", grid=POWERS_OF_TWO),
        Parameter("loss", "hinge", "the loss whose gradient is followed", choices=LOSSES),
    ),
    traits=Traits(True, False, True, False, source=OWN),
    constants=lambda C, loss: (C, LOSSES.index(loss)),
    passive_above=lambda C, loss: PASSIVE_ABOVE.get(loss, math.inf),
)
def ogd(m: float, s: float, mistake: bool, q: float, t: int, k: int, p: Any) -> Any:
    """Step against the gradient of the loss; with zero-one, add y x on mistakes, as the perceptron does."""
    C, loss_number = p[0], p[1]
    step = C / math.sqrt(t)
    if loss_number == 0.0:
        loss = excess(1.0, m)
        return loss, 1.0, (step if loss > 0.0 else 0.0)
    if loss_number == 1.0:
        odds = math.exp(-abs(m))
        loss = math.log1p(odds) + max(0.0, -m)
        if loss <= TOLERANCE:
            return 0.0, 1.0, 0.0
        return loss, 1.0, step * (odds if m > 0.0 else 1.0) / (1.0 + odds)
    if loss_number == 2.0:
        residual = excess(1.0, m) - excess(m, 1.0)
        return 0.5 * residual * residual, 1.0, step * residual
    if mistake:
        return 1.0, 1.0, step
    return 0.0, 1.0, 0.0


STEPS = ("sqrt", "inverse")


@first_order(
    "sgd",
    title="SGD",
    source="Zhang, Solving large scale linear prediction problems, ICML 2004",
    parameters=(
        Parameter(
            "eta0", 0.01, "size of the first step of the schedule sqrt", grid=(1e-4, 1e-3, 1e-2, 0.1, 1.0)
        ),
        Parameter("lam", 1e-4, "weight of the penalty lam / 2 ||w||^2"),
        Parameter(
            "step", "sqrt", "the schedule: sqrt is eta0 / sqrt(t), inverse is 1 / (lam t)", choices=STEPS
        ),
    ),
    traits=Traits(True, False, True, False, source=OWN),
    constants=lambda eta0, lam, step: (eta0, lam, STEPS.index(step)),
)
def sgd(m: float, s: float, mistake: bool, q: float, t: int, k: int, p: Any) -> Any:
    """Step against the gradient of the modified Huber loss plus lam / 2 ||w||^2.

    The loss is max(0, 1 - m)^2 for m >= -1 and -4 m below. cw2012 names no loss for its SGD. It cites Zhang
    (2004), who proposes this one, and Blitzer et al. (2007), who minimise a Huber loss, so it is the most
    likely.
    """
    eta0, lam, step = p[0], p[1], p[2]
    eta = eta0 / math.sqrt(t) if step == 0.0 else 1.0 / (lam * t)
    shortfall = excess(1.0, m)
    shrink = 1.0 - eta * lam
    if m < -1.0:
        return -4.0 * m, shrink, 4.0 * eta
    return shortfall * shortfall, shrink, 2.0 * eta * shortfall
