"""Batch learners that take advice: the knowledge-based SVM, and what the rules say by themselves."""

from typing import Any, get_args

import numpy as np

from olbench.advice.kbsvm import Loss, solve_advice, solve_kbsvm
from olbench.advice.sets import Advice
from olbench.algorithms.adviceptron import LAM, MU
from olbench.algorithms.definition import Parameter, batch_contestant
from olbench.learn.examples import Floats

LOSSES = get_args(Loss)


class KnowledgeClassifier:
    """A hyperplane from eq. (4) of adviceptron2010; without examples, from the advice alone."""

    def __init__(
        self, advice: Advice | None, lam: float, mu: float, loss: Loss = "quadratic", alone: bool = False
    ):
        self.advice, self.lam, self.mu, self.loss, self.alone = advice, lam, mu, loss, alone

    def fit(self, X: Any, y: Any) -> "KnowledgeClassifier":
        advice = self.advice or Advice((), X.shape[1])
        if self.alone:
            self.solution_ = solve_advice(advice, self.mu)
        else:
            self.solution_ = solve_kbsvm(X, y, advice, self.lam, self.mu, self.loss)
        self.coef_: Floats = self.solution_.w
        return self

    def predict(self, X: Any) -> Floats:
        """Return the side of the hyperplane; on it, +1."""
        return np.where(self.solution_.decide(X) >= 0.0, 1.0, -1.0)


@batch_contestant(
    "kbsvm",
    title="KBSVM",
    source="Fung, Mangasarian and Shavlik, NIPS 2003; adviceptron2010, eq. (4)",
    parameters=(
        LAM,
        MU,
        Parameter(
            "loss",
            "quadratic",
            "squares as in eq. (5), absolute values throughout (linear) or of slacks (hinge)",
            choices=LOSSES,
        ),
    ),
    advised=True,
)
def kbsvm(lam: float, mu: float, loss: Loss, advice: Advice | None = None) -> KnowledgeClassifier:
    """Return a knowledge-based support vector machine; without advice, a linear one."""
    return KnowledgeClassifier(advice, lam, mu, loss)


@batch_contestant(
    "rules-alone",
    title="Rules alone",
    source="eq. (4) of adviceptron2010 without examples",
    parameters=(Parameter("mu", 1.0, "price of leaving the advice"),),
    advised=True,
)
def rules_alone(mu: float, advice: Advice | None = None) -> KnowledgeClassifier:
    """Return the hyperplane of the advice alone, where `start: advice` begins; examples play no part."""
    return KnowledgeClassifier(advice, 1.0, mu, alone=True)
