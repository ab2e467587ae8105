"""Scikit-learn estimators that take rules."""

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from olbench.algorithms.algorithm import make_algorithm
from olbench.errors import UserError, count
from olbench.learners.classifiers import OnlineClassifier, estimator
from olbench.learners.start import start
from olbench.papers.adviceptron2010.names import Names, default_features, expand_names
from olbench.papers.adviceptron2010.rules import compile_texts, read_rules
from olbench.papers.adviceptron2010.sets import Advice, unsatisfiable

#: Parameters of the estimators that the algorithms do not have.
ABOUT_RULES = ("rules", "feature_names")


@dataclass(eq=False, repr=False, kw_only=True)
class Adviceptron(OnlineClassifier):
    """Passive-aggressive learning with rules (Algorithm 1 of the Adviceptron paper).

    Parameters
    ----------
    lam : float, default=1.0
        Price of a margin violation on an example; it lies in (0, inf).
    mu : float, default=1.0
        Price of leaving the advice; it lies in (0, inf).
    start : {'zero', 'advice'}, default='zero'
        Begin at zero, as the paper does, or at the batch solution for the advice without examples.
    heads : {'all', 'positive'}, default='all'
        Learn from all rules, or from those for the positive class only.
    rules : list of str, str, path or None, default=None
        Rules such as "bmi >= 30 and glucose >= 126 => diabetes", or a rule file: its path or, for one that
        ships with olbench, its name. Classes are named by their labels. The settings `missing` and `domain`
        need a file.
    feature_names : list of str or None, default=None
        Names of the columns; by default those of a DataFrame, else x1, x2, ...

    Attributes
    ----------
    advice_ : list of Advice
        The compiled rules of each learner.

    Examples
    --------
    >>> import numpy as np
    >>> from olbench.estimators import Adviceptron
    >>> X, y = np.array([[1.0, 0.0], [0.0, 1.0]] * 20), np.array(["ham", "spam"] * 20)
    >>> model = Adviceptron(rules=["x2 >= 1 => spam"], random_state=0).fit(X, y)
    >>> model.predict([[0.0, 2.0]]).tolist()
    ['spam']
    """

    algorithm_id = "adviceptron"
    lam: float = 1.0
    mu: float = 1.0
    start: str = "zero"
    heads: str = "all"
    rules: Any = None
    feature_names: Any = None

    def _settings(self) -> dict[str, Any]:
        return {name: value for name, value in super()._settings().items() if name not in ABOUT_RULES}

    def _validate_examples(self, X: Any, y: Any, reset: bool) -> tuple[Any, NDArray[Any]]:
        X, y = super()._validate_examples(X, y, reset)
        if reset and self.rules is not None:
            # Whether a feature is whole or 0/1 decides what some rules mean; the first examples show it.
            self._names = Names(self._feature_names()).with_values(X[:, : self.n_features_in_])
        return X, y

    def _start(self, classes: NDArray[Any]) -> None:
        super()._start(classes)
        self.advice_: list[Advice] = []
        if self.rules is None:
            return
        algorithm = make_algorithm(self.algorithm_id, **self._settings())
        for positive in classes[1:] if self._binary else classes:
            signs = {str(label): 1 if label == positive else -1 for label in classes.tolist()}
            self.advice_.append(self._compile(replace(self._names, classes=signs, two_classes=self._binary)))
        self.learners_ = [
            start(replace(algorithm, extras={"advice": advice}), advice.n) for advice in self.advice_
        ]

    def _feature_names(self) -> tuple[str, ...]:
        given, d = self.feature_names, self.n_features_in_
        if given is None:
            given = getattr(self, "feature_names_in_", default_features(d))
        names = expand_names([str(name) for name in given])
        if len(names) != d:
            raise UserError(f"feature_names has {count(len(names), 'name')}, but X has {count(d, 'feature')}")
        return names

    def _compile(self, names: Names) -> Advice:
        if isinstance(self.rules, str | Path):
            advice = read_rules(self.rules).compile(names)
        else:
            advice = compile_texts(map(str, self.rules), names)
        if self.fit_intercept:
            return advice.with_constant()
        if inside := unsatisfiable(advice):
            warnings.warn(
                f"no weights satisfy '{advice.sets[inside[0]].text}': the origin satisfies its conditions, "
                "and w.x is zero there; set fit_intercept=True",
                stacklevel=4,
            )
        return advice


@estimator("adviceptron-printed")
class AdviceptronPrinted(Adviceptron):
    """The Adviceptron with eq. (13) to the letter."""


@estimator("adviceptron-exact")
class AdviceptronExact(Adviceptron):
    """The Adviceptron with the exact solution of its cone problem."""
