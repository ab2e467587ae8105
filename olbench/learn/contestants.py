"""Learners from other libraries.

Online learners are objects with predict_one and learn_one (River) or predict and partial_fit (scikit-learn),
batch learners objects with fit and predict (scikit-learn).
"""

import warnings
from inspect import signature
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from olbench.errors import UserError
from olbench.learn.examples import Floats, Ints, as_matrix
from olbench.learn.learners import Learner

if TYPE_CHECKING:
    from olbench.learn.algorithm import Algorithm

CLASSES = np.array([-1.0, 1.0])


def find_style(learner: Any, name: str) -> str:
    """Return whether a learner takes single examples ('one') or arrays ('batch')."""
    for style, methods in (("one", ("predict_one", "learn_one")), ("batch", ("predict", "partial_fit"))):
        if all(callable(getattr(learner, method, None)) for method in methods):
            return style
    raise UserError(
        f"{name}: a contestant needs predict_one and learn_one (as in River) or predict and "
        "partial_fit (as in scikit-learn)"
    )


class ObjectLearner(Learner):
    """A Python object that runs example by example: slow, but with the same examples and counters.

    Every example is learnt, so updates equal rounds. River's learners get a dict of the non-zero features and
    the label as a bool; scikit-learn's get one row and -1 or +1. Before the first example, and if the object
    abstains by returning None, the prediction is +1, in line with sign(0) = +1.
    """

    def __init__(self, algorithm: "Algorithm", d: int):
        super().__init__(algorithm, d)
        factory = algorithm.definition.factory
        if factory is None:
            raise UserError(f"{algorithm.id} has no factory function that builds it")
        self.model = factory(**algorithm.params)
        self.style = find_style(self.model, algorithm.id)
        takes_classes = self.style == "batch" and "classes" in signature(self.model.partial_fit).parameters
        self.classes = {"classes": CLASSES} if takes_classes else {}

    def warm_up(self) -> None:
        """Do nothing: there is nothing to compile."""

    def _learn(self, rows: tuple[Any, ...], y: Floats, order: Ints) -> None:
        step = self._learn_one if self.style == "one" else self._partial_fit
        for i in order:
            positive = step(rows, i, float(y[i]))
            self.counters[:4] += 1, positive != (y[i] > 0), 1, 1

    def _keep(self, margin: float) -> None:
        """Keep the margin of the round that comes next."""
        self.margins[self.rounds % self.margins.shape[0]] = margin, 0.0

    def _learn_one(self, rows: tuple[Any, ...], i: int, label: float) -> bool:
        features = _read_features(rows, i)
        predicted = self.model.predict_one(features)
        positive = self.rounds == 0 or predicted is None or bool(predicted > 0)
        if self.margins.shape[0]:
            self._keep(self._score_one(features, positive))
        self.model.learn_one(features, label > 0)
        return positive

    def _score_one(self, features: dict[int, float], positive: bool) -> float:
        """Return how sure a River learner is, by its probabilities if it has any."""
        if self.rounds == 0:
            return 0.0
        try:
            shares = self.model.predict_proba_one(features)
        except (AttributeError, NotImplementedError):
            return 1.0 if positive else -1.0
        return float(shares.get(True, 0.0)) - float(shares.get(False, 0.0))

    def _partial_fit(self, rows: tuple[Any, ...], i: int, label: float) -> bool:
        indices, values = _read_row(rows, i)
        row = np.zeros((1, self.d))
        row[0, indices] = values
        positive = self.rounds == 0 or bool(self.model.predict(row)[0] > 0)
        if self.margins.shape[0]:
            self._keep(self._score_row(row, positive))
        self.model.partial_fit(row, np.array([label]), **self.classes)
        return positive

    def _score_row(self, row: Floats, positive: bool) -> float:
        """Return how sure a scikit-learn learner is, by its decision function if it has one."""
        if self.rounds == 0:
            return 0.0
        if not hasattr(self.model, "decision_function"):
            return 1.0 if positive else -1.0
        return float(np.ravel(self.model.decision_function(row))[0])

    def scores(self, rows: tuple[Any, ...], order: Ints) -> Floats:
        """Return how sure the object is of each row of `order`, above zero for +1."""
        labels = self.predict(rows, order)
        if self.rounds == 0:
            return np.zeros(order.size)
        pairs = zip(order, labels, strict=True)
        if self.style == "one":
            return np.array([self._score_one(_read_features(rows, i), label > 0) for i, label in pairs])
        matrix = as_matrix(rows)
        return np.array([self._score_row(_as_row(matrix[i]), label > 0) for i, label in pairs])

    def predict(self, rows: tuple[Any, ...], order: Ints) -> Floats:
        """Return the object's prediction for each row of `order`; +1 if it has seen nothing or abstains."""
        if self.rounds == 0:
            return np.ones(order.size)
        if self.style == "batch":
            return np.where(np.asarray(self.model.predict(as_matrix(rows)[order])) > 0, 1.0, -1.0)
        predicted = (self.model.predict_one(_read_features(rows, i)) for i in order)
        return np.array([1.0 if label is None or label > 0 else -1.0 for label in predicted])

    @property
    def weights(self) -> Floats:
        """The object's linear weights if it exposes them, otherwise zeros."""
        coef = getattr(self.model, "coef_", None)
        if coef is not None and np.size(coef) == self.d:
            return np.asarray(coef, dtype=np.float64).ravel().copy()
        weights = np.zeros(self.d)
        named = getattr(self.model, "weights", None)
        for index, value in named.items() if isinstance(named, dict) else ():
            weights[index] = value
        return weights


class BatchLearner:
    """A classifier that fits all training examples at once. Sparse examples stay sparse."""

    def __init__(self, algorithm: "Algorithm"):
        factory = algorithm.definition.factory
        if algorithm.definition.online or factory is None:
            raise UserError(f"{algorithm.id} learns online; start it with Algorithm.start")
        self.algorithm = algorithm
        advice = {"advice": algorithm.advice} if algorithm.definition.advised else {}
        self.model = factory(**algorithm.params, **advice)

    def fit(self, rows: tuple[Any, ...], y: Floats, order: Ints | None = None) -> Self:
        """Fit the rows of `order`, or all rows, from scratch."""
        from sklearn.exceptions import ConvergenceWarning

        X = as_matrix(rows)
        X, labels = (X, y) if order is None else (X[order], y[order])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            try:
                self.model.fit(X, labels)
            except ValueError as error:
                raise UserError(f"{self.algorithm.id} cannot fit these examples: {error}") from error
        return self

    @property
    def converged(self) -> bool:
        """Whether the solver met its tolerance within its iterations; true where there is no solver."""
        taken = np.max(getattr(self.model, "n_iter_", 0))
        return bool(taken < getattr(self.model, "max_iter", np.inf))

    def predict(self, rows: tuple[Any, ...], order: Ints | None = None) -> Floats:
        """Return the predicted label, -1 or +1, of each row of `order`, or of all rows."""
        X = as_matrix(rows)
        return np.asarray(self.model.predict(X if order is None else X[order]), dtype=np.float64)


def _as_row(row: Any) -> Floats:
    """Return one row of a matrix, dense or sparse, as an array of two dimensions."""
    return np.atleast_2d(row.toarray() if hasattr(row, "toarray") else row)


def _read_features(rows: tuple[Any, ...], i: int) -> dict[int, float]:
    """Return the non-zero entries of row i by index."""
    indices, values = _read_row(rows, i)
    return dict(zip(indices.tolist(), values.tolist(), strict=True))


def _read_row(rows: tuple[Any, ...], i: int) -> tuple[Any, Any]:
    """Return the indices and values of the non-zero entries of row i."""
    dense, data, indices, indptr = rows[:4]
    if dense.shape[0]:
        kept = np.flatnonzero(dense[i])
        return kept, dense[i, kept]
    return indices[indptr[i] : indptr[i + 1]], data[indptr[i] : indptr[i + 1]]
