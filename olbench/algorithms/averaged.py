"""Averaged learners: the mean of w over all rounds predicts unseen examples.

Online they are the perceptron, PA and PA-I themselves: the mistakes of a pass are those of w, the prediction
of `olbench.learners.passes.predict_signs` is that of the mean.
"""

from dataclasses import replace

from olbench.algorithms.definition import Definition, Estimator, register
from olbench.algorithms.passive_aggressive import pa, pa1
from olbench.algorithms.perceptron import perceptron

SOURCE = "Freund & Schapire, Machine Learning 37 (1999); cw2008, section 5"


def average(definition: Definition, title: str, named: str, accuracy: float, summary: str) -> None:
    register(
        replace(
            definition,
            id=f"averaged-{definition.id}",
            title=title,
            source=SOURCE,
            averaged=True,
            allocated=False,
            passive_above=None,
            estimator=Estimator(f"{summary} whose mean over all rounds predicts.", accuracy),
            doc=f"Learn as {named} does; predict unseen examples with the mean of w over all rounds.",
        )
    )


average(perceptron, "Averaged perceptron", "the perceptron", 0.93, "The perceptron")
average(pa, "Averaged PA", "PA", 0.92, "Passive-aggressive learning with a hard margin,")
average(pa1, "Averaged PA-I", "PA-I", 0.92, "Passive-aggressive learning with linear slack,")
