"""Averaged learners: the mean of w over all rounds predicts unseen examples.

Online they are the perceptron, PA and PA-I themselves: the mistakes of a pass are those of w, the prediction
of `olbench.learners.passes.predict_signs` is that of the mean.
"""

from functools import partial
from typing import Any

from olbench.algorithms.definition import Estimator, Traits, first_order
from olbench.algorithms.passive_aggressive import TRAITS, C
from olbench.algorithms.perceptron import OWN
from olbench.kernels.losses import excess

averaged_learner = partial(
    first_order, source="Freund & Schapire, Machine Learning 37 (1999); cw2008, section 5", averaged=True
)


@averaged_learner(
    "averaged-perceptron",
    title="Averaged perceptron",
    traits=Traits(False, False, True, False, source=OWN),
    estimator=Estimator("The perceptron whose mean over all rounds predicts.", accuracy=0.93),
)
def averaged_perceptron(m: float, s: float, mistake: bool, q: float, t: int, k: int, p: Any) -> Any:
    """Learn as the perceptron does; predict unseen examples with the mean of w over all rounds."""
    if mistake:
        return 1.0, 1.0, 1.0
    return 0.0, 1.0, 0.0


@averaged_learner(
    "averaged-pa",
    title="Averaged PA",
    traits=TRAITS,
    estimator=Estimator(
        "Passive-aggressive learning with a hard margin, whose mean over all rounds predicts.", accuracy=0.92
    ),
)
def averaged_pa(m: float, s: float, mistake: bool, q: float, t: int, k: int, p: Any) -> Any:
    """Learn as PA does; predict unseen examples with the mean of w over all rounds."""
    loss = excess(1.0, m)
    if loss == 0.0 or s == 0.0:
        return loss, 1.0, 0.0
    return loss, 1.0, loss / s


@averaged_learner(
    "averaged-pa1",
    title="Averaged PA-I",
    parameters=(C,),
    traits=TRAITS,
    estimator=Estimator(
        "Passive-aggressive learning with linear slack, whose mean over all rounds predicts.", accuracy=0.92
    ),
)
def averaged_pa1(m: float, s: float, mistake: bool, q: float, t: int, k: int, p: Any) -> Any:
    """Learn as PA-I does; predict unseen examples with the mean of w over all rounds."""
    loss, C = excess(1.0, m), p[0]
    if loss == 0.0 or s == 0.0:
        return loss, 1.0, 0.0
    return loss, 1.0, min(C, loss / s)
