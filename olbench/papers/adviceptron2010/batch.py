"""Batch learners that take advice: the knowledge-based SVM, and what the rules say by themselves."""

from typing import Any

import numpy as np

from olbench.learners.examples import Floats
from olbench.papers.adviceptron2010.kbsvm import Loss, solve_advice, solve_kbsvm
from olbench.papers.adviceptron2010.sets import Advice


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
