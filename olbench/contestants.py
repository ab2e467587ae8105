"""Online learners from elsewhere: any object with predict_one/learn_one or predict/partial_fit."""

import time
from copy import deepcopy
from inspect import signature
from typing import Any

import numpy as np

from olbench.algorithms.definition import Definition
from olbench.errors import UserError
from olbench.examples import Floats, Ints
from olbench.learners import Algorithm, Learner

CLASSES = np.array([-1.0, 1.0])


def wrap(learner: Any, id: str = "") -> Algorithm:
    """Make an algorithm of one unfitted learner object; every pass starts from a deep copy of it."""
    name = id or type(learner).__name__
    _style(learner, name)
    definition = Definition(
        id=name,
        title=name,
        order="object",
        source=type(learner).__module__,
        factory=Copies(learner),
    )
    return Algorithm(definition, {})


class Copies:
    """A function that returns a new copy of an object, and that pickles."""

    def __init__(self, original: Any):
        self.original = original

    def __call__(self) -> Any:
        """Return a copy."""
        return deepcopy(self.original)


def _style(learner: Any, name: str) -> str:
    for style, methods in (("one", ("predict_one", "learn_one")), ("batch", ("predict", "partial_fit"))):
        if all(callable(getattr(learner, method, None)) for method in methods):
            return style
    raise UserError(
        f"{name}: a contestant needs predict_one and learn_one (as in River) or predict and "
        "partial_fit (as in scikit-learn)"
    )


class ObjectLearner(Learner):
    """A Python object run example by example; slow, but on the same examples and the same counters.

    Every example is learnt, so updates equal rounds. River's learners see a dict of the non-zero features and
    the label as a bool; scikit-learn's see one row and -1 or +1. Before anything was learnt, or where the
    object abstains with None, the prediction is +1, as sign(0) is everywhere else.
    """

    def __init__(self, algorithm: Algorithm, d: int):
        super().__init__(Algorithm(algorithm.definition, {}), d)
        self.algorithm = algorithm
        factory = algorithm.definition.factory
        if factory is None:
            raise UserError(f"{algorithm.id} has no function that builds it")
        self.model = factory(**algorithm.params)
        self.style = _style(self.model, algorithm.id)
        takes_classes = self.style == "batch" and "classes" in signature(self.model.partial_fit).parameters
        self.classes = {"classes": CLASSES} if takes_classes else {}

    def warm_up(self) -> None:
        """There is nothing to compile."""

    def _trace(
        self, rows: tuple[Any, ...], y: Floats, order: Ints, ends: Ints, counts: Ints, seconds: Floats
    ) -> None:
        started = time.perf_counter()
        begin = 0
        for k, end in enumerate(ends):
            self._learn(rows, y, order[begin:end])
            begin = end
            seconds[k] = time.perf_counter() - started
            counts[k] = self.mistakes, self.updates

    def _learn(self, rows: tuple[Any, ...], y: Floats, order: Ints) -> None:
        step = self._learn_one if self.style == "one" else self._partial_fit
        for i in order:
            indices, values = _row(rows, i)
            positive = step(indices, values, float(y[i]))
            self.counters[:4] += 1, positive != (y[i] > 0), 1, 1

    def _learn_one(self, indices: Any, values: Any, label: float) -> bool:
        features = dict(zip(indices.tolist(), values.tolist(), strict=True))
        predicted = self.model.predict_one(features)
        self.model.learn_one(features, label > 0)
        return self.rounds == 0 or predicted is None or bool(predicted > 0)

    def _partial_fit(self, indices: Any, values: Any, label: float) -> bool:
        row = np.zeros((1, self.d))
        row[0, indices] = values
        positive = self.rounds == 0 or bool(self.model.predict(row)[0] > 0)
        self.model.partial_fit(row, np.array([label]), **self.classes)
        return positive

    @property
    def weights(self) -> Floats:
        """The object's linear weights where it shows them, else zeros."""
        coef = getattr(self.model, "coef_", None)
        if coef is not None and np.size(coef) == self.d:
            return np.asarray(coef, dtype=np.float64).ravel().copy()
        weights = np.zeros(self.d)
        named = getattr(self.model, "weights", None)
        for index, value in named.items() if isinstance(named, dict) else ():
            weights[index] = value
        return weights


def _row(rows: tuple[Any, ...], i: int) -> tuple[Any, Any]:
    dense, data, indices, indptr = rows[:4]
    if dense.shape[0]:
        kept = np.flatnonzero(dense[i])
        return kept, dense[i, kept]
    return indices[indptr[i] : indptr[i + 1]], data[indptr[i] : indptr[i + 1]]
