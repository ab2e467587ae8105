"""Scikit-learn estimators: one class per algorithm, on the same kernels as the benchmark.

The classes are made from the definitions of the algorithms; `estimators.pyi` lists them for type checkers and
editors.

>>> import numpy as np
>>> from olbench.estimators import AROW
>>> X, y = np.array([[1.0, 0.0], [0.0, 1.0]] * 20), np.array(["ham", "spam"] * 20)
>>> AROW(r=0.5).fit(X, y).predict([[2.0, 0.0]]).tolist()
['ham']
"""

from dataclasses import field, make_dataclass
from pkgutil import resolve_name
from typing import Any

from olbench.algorithms import definitions
from olbench.algorithms.definition import Definition, Parameter
from olbench.learners.classifiers import (
    AllocatingClassifier,
    EllipsoidClassifier,
    OnlineClassifier,
    SecondOrderClassifier,
)
from olbench.learners.docstrings import describe_estimator


def _make_estimator(definition: Definition) -> type[OnlineClassifier]:
    estimator = make_dataclass(
        definition.estimator_name,
        [_make_field(definition, parameter) for parameter in definition.parameters],
        bases=(_choose_base(definition),),
        namespace={"algorithm_id": definition.id, "__module__": __name__},
        eq=False,
        repr=False,
        kw_only=True,
    )
    estimator.__doc__ = describe_estimator(estimator, definition)
    return estimator


def _choose_base(definition: Definition) -> type[Any]:
    if definition.estimator.base:
        return resolve_name(definition.estimator.base)
    if definition.order in ("first", "compiled"):
        return AllocatingClassifier if definition.allocated else OnlineClassifier
    return SecondOrderClassifier if definition.estimator.gaussian else EllipsoidClassifier


def _make_field(definition: Definition, parameter: Parameter) -> tuple[str, Any, Any]:
    alternatives = {
        name for each in definition.parameters if each.instead_of for name in (each.name, each.instead_of)
    }
    if parameter.name in alternatives:
        return parameter.name, float | None, field(default=None)
    return parameter.name, str if parameter.choices else float, field(default=parameter.default)


ESTIMATORS = {
    definition.estimator_name: _make_estimator(definition)
    for definition in definitions()
    if definition.order in ("first", "second", "compiled") or definition.estimator.base
    if not (definition.is_own or definition.only_native)
}
globals().update(ESTIMATORS)
__all__ = ["OnlineClassifier", "SecondOrderClassifier", *ESTIMATORS]
