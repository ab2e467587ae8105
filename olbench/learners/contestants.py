"""Learners from other libraries.

Online learners are objects with predict_one and learn_one (River) or predict and partial_fit (scikit-learn),
batch learners objects with fit and predict (scikit-learn).
"""

import warnings
from contextlib import suppress
from copy import deepcopy
from functools import partial
from inspect import signature
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from olbench.algorithms.algorithm import Algorithm
from olbench.algorithms.definition import Definition
from olbench.errors import UserError, shorten
from olbench.kernels import counters
from olbench.learners.examples import Floats, Ints, as_matrix
from olbench.learners.state import Learner, family

CLASSES = np.array([-1.0, 1.0])
#: What an object may predict; with None, it abstains.
LABELS = (-1, 0, 1, None)
#: With more columns than this, the author must state whether an object gets the zeros.
MOST_COLUMNS = 10_000
#: The methods of a learner by what it takes: single examples, arrays, or all examples at once.
STYLES = {"one": ("predict_one", "learn_one"), "batch": ("predict", "partial_fit"), "fit": ("predict", "fit")}


def find_style(learner: Any) -> str:
    """Return the style of a learner, or "" if it has the methods of none."""
    for style, methods in STYLES.items():
        if all(callable(getattr(learner, method, None)) for method in methods):
            return style
    return ""


def require_online(learner: Any, name: str) -> str:
    style = find_style(learner)
    if style not in ("one", "batch"):
        raise UserError(
            f"{name}: a contestant needs predict_one and learn_one (as in River) or predict and "
            "partial_fit (as in scikit-learn)"
        )
    return style


@family("object")
class ObjectLearner(Learner):
    """A Python object that runs example by example: slow, but with the same examples and counters.

    Every example is learnt, so updates equal rounds. River's learners get a dict of all features, or of the
    non-zero ones with `sparse=True`, and the label as a bool; scikit-learn's get one row and -1 or +1. Before
    the first example, and if the object abstains by returning None, the prediction is +1: sign(0) = +1.
    """

    def __init__(self, algorithm: Algorithm, d: int, classes: int = 1):
        super().__init__(algorithm, d, classes)
        factory: Any = algorithm.definition.factory
        self.model = factory(**algorithm.params, **algorithm.extras)
        self.style = require_online(self.model, algorithm.id)
        if self.style == "one" and algorithm.definition.sparse is None and d > MOST_COLUMNS:
            raise UserError(
                f"{algorithm.definition.place}{algorithm.id} would get all {d:,} features of every row; add "
                "sparse=True to @contestant for the non-zero ones only, or sparse=False for all"
            )
        takes_classes = self.style == "batch" and "classes" in signature(self.model.partial_fit).parameters
        self.fit_options = {"classes": CLASSES} if takes_classes else {}

    @classmethod
    def plan_bytes(cls, algorithm: Algorithm, d: int, classes: int) -> None:
        """Return None: only the object knows what it holds."""

    @property
    def state_bytes(self) -> int | None:
        return None

    def keep_margins(self, ring: Floats) -> None:
        """Keep the predictions too: an object may predict otherwise than the sign of its score."""
        super().keep_margins(ring)
        self.signs = np.zeros(ring.shape[0], bool)

    def find_signs(self, places: Ints) -> NDArray[np.bool_]:
        return self.signs[places]

    def warm_up(self) -> None:
        """Do nothing: there is nothing to compile."""

    def _learn(self, rows: tuple[Any, ...], y: Floats, order: Ints) -> None:
        for entry in order.tolist():
            i = entry & counters.ROW
            x, truth = self._read(rows, i), bool(y[i] > 0)
            if entry < counters.ONLY_LEARN and self._predict(x, truth):
                self.missed[entry >> counters.GROUP & counters.GROUPS - 1, int(truth)] += 1
            if not counters.ONLY_PREDICT <= entry < counters.ONLY_LEARN:
                self._teach(x, truth)

    def _read(self, rows: tuple[Any, ...], i: int) -> Any:
        """Return row i as the object takes it: features by index, or an array of two dimensions."""
        indices, values = _read_row(rows, i)
        if self.style == "one" and self.algorithm.definition.sparse:
            return dict(zip(indices.tolist(), values.tolist(), strict=True))
        row = np.zeros((1, self.d))
        row[0, indices] = values
        return dict(enumerate(row[0].tolist())) if self.style == "one" else row

    def _predict(self, x: Any, truth: bool) -> bool:
        """Return whether the prediction is a mistake."""
        positive = True
        if self.updates:
            predicted = [self.model.predict_one(x)] if self.style == "one" else self.model.predict(x)
            positive = bool(self._read_labels(predicted, 1)[0] > 0)
        if self.margins.shape[0]:
            place = self.rounds % self.margins.shape[0]
            self.margins[place, :2], self.signs[place] = (self._score(x, positive), 0.0), positive
        self.counters[[counters.ROUNDS, counters.UNLEARNED]] += 1
        self.counters[counters.MISTAKES] += positive != truth
        self.counters[counters.POSITIVES] += truth
        self.counters[counters.FALSE_ALARMS] += positive and not truth
        return positive != truth

    def _teach(self, x: Any, truth: bool) -> None:
        if self.style == "one":
            self.model.learn_one(x, truth)
        else:
            self.model.partial_fit(x, np.array([1.0 if truth else -1.0]), **self.fit_options)
        self.counters[[counters.UPDATES, counters.EFFECTIVE]] += 1
        self.counters[counters.UNLEARNED] -= 1

    def _score(self, x: Any, positive: bool) -> float:
        """Return how sure the object is: by its decision function or its probabilities if it has any."""
        if not self.updates:
            return 0.0
        if self.style == "batch" and hasattr(self.model, "decision_function"):
            return float(np.ravel(self.model.decision_function(x))[0])
        if self.style == "one":
            with suppress(AttributeError, NotImplementedError):
                shares = self.model.predict_proba_one(x)
                return float(shares.get(True, 0.0)) - float(shares.get(False, 0.0))
        return 1.0 if positive else -1.0

    def scores(self, rows: tuple[Any, ...], order: Ints) -> Floats:
        """Return how sure the object is of each row of `order`, above zero for +1."""
        labels = self.predict(rows, order)
        return np.array([self._score(self._read(rows, i), y > 0) for i, y in zip(order, labels, strict=True)])

    def predict(self, rows: tuple[Any, ...], order: Ints) -> Floats:
        if not self.updates:
            return np.ones(order.size)
        if self.style == "batch":
            predicted = self.model.predict(as_matrix(rows)[order])
        else:
            predicted = [self.model.predict_one(self._read(rows, i)) for i in order]
        return self._read_labels(predicted, order.size)

    def _read_labels(self, predicted: Any, n: int) -> Floats:
        """Return n predictions as -1 or +1; NaN, or a class that is not in the data, would count as -1."""
        found = np.asarray(predicted).tolist()
        wrong = [found] if np.shape(predicted) != (n,) else [each for each in found if each not in LABELS]
        if wrong:
            raise UserError(
                f"{STYLES[self.style][0]} of {self.algorithm.id} returns {shorten(repr(wrong[0]))}; it must "
                "return -1 or +1" + (" for each row" if self.style == "batch" else ", or False or True")
            )
        return np.array([1.0 if each is None or each > 0 else -1.0 for each in found])

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


@family("batch")
class RefusedBatch(ObjectLearner):
    def __init__(self, algorithm: Algorithm, d: int, classes: int = 1):
        raise UserError(
            f"{algorithm.id} learns from all examples at once and has no online pass; run it in a "
            "cross-validation, together with online learners"
        )


class BatchLearner:
    """A classifier that fits all training examples at once. Sparse examples stay sparse."""

    #: Only the classifier knows what it holds.
    state_bytes: int | None = None

    def __init__(self, algorithm: Algorithm):
        factory: Any = algorithm.definition.factory
        if algorithm.definition.online:
            raise UserError(f"{algorithm.id} learns online; call start(algorithm, d)")
        self.algorithm = algorithm
        self.model = factory(**algorithm.params, **algorithm.extras)

    def fit(self, rows: tuple[Any, ...], y: Floats, order: Ints | None = None) -> Self:
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

    def predict(self, rows: tuple[Any, ...], order: Ints | None = None) -> Floats:
        """Return the predicted label, -1 or +1, of each row of `order`, or of all rows."""
        X = as_matrix(rows)
        return np.asarray(self.model.predict(X if order is None else X[order]), dtype=np.float64)


def _read_row(rows: tuple[Any, ...], i: int) -> tuple[Any, Any]:
    """Return the indices and values of the non-zero entries of row i."""
    dense, data, indices, indptr = rows[:4]
    if dense.shape[0]:
        kept = np.flatnonzero(dense[i])
        return kept, dense[i, kept]
    return indices[indptr[i] : indptr[i + 1]], data[indptr[i] : indptr[i + 1]]


def wrap(learner: Any, id: str = "") -> Algorithm:
    """Return an algorithm that runs an unfitted learner object; every pass starts from a deep copy of it."""
    if isinstance(learner, type):
        raise UserError(f"wrap takes an object, not a class: wrap({learner.__name__}())")
    name = id or type(learner).__name__
    require_online(learner, name)
    factory, source = partial(deepcopy, learner), type(learner).__module__
    return Algorithm(Definition(id=name, title=name, order="object", source=source, factory=factory), {})
