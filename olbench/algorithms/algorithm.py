"""Algorithms with their settings made, ready to start a learner."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from olbench.algorithms.definition import Definition, Value
from olbench.algorithms.options import (
    Allocation,
    Covariance,
    Form,
    Kernel,
    Multiclass,
    Projection,
    split_options,
)
from olbench.algorithms.registry import get_definition
from olbench.errors import UserError


@dataclass(frozen=True)
class Algorithm:
    """A definition with its parameters set; `make_algorithm` returns it and `online_pass` runs it."""

    definition: Definition
    params: Mapping[str, Value]
    covariance: Covariance = "full"
    projection: Projection = "kl"
    form: Form = "covariance"
    a: float = 1.0
    #: Below 1, variances grow by its inverse between examples, up to a.
    forgetting: float = 1.0
    kernel: Kernel | None = None
    #: The settings that the definition `takes`.
    extras: Mapping[str, Any] = field(default_factory=dict)
    #: How several classes are learnt; two classes are always learnt by one binary learner.
    multiclass: Multiclass = "one-vs-rest"
    #: How a native perceptron's rivals share a step.
    allocation: Allocation = "max"

    @property
    def id(self) -> str:
        return self.definition.id

    def __repr__(self) -> str:
        options = ("covariance", "projection" if self.covariance == "diag" else "form", "a")
        shown = dict(self.params)
        if self.definition.order == "second":
            shown |= {name: getattr(self, name) for name in options}
        if self.forgetting < 1.0:
            shown["forgetting"] = self.forgetting
        if self.kernel is not None:
            shown["kernel"] = self.kernel.name
        if self.multiclass == "native":
            shown["multiclass"] = "native"
        if self.allocation != "max":
            shown["allocation"] = self.allocation
        settings = "".join(f", {name}={value!r}" for name, value in shown.items())
        return f"<Algorithm {self.id!r}{settings}>"


def make_algorithm(id: str, **settings: Any) -> Algorithm:
    """Return the algorithm `id` with these parameters.

    Second-order algorithms also take covariance ("full" or "diag"), projection ("kl" or "l2" for diag; cw and
    cw-var also have "exact"), form ("covariance" or "root" for full), the initial variance a, and forgetting
    (below 1, every variance grows by 1 / forgetting between examples, up to a). With kernel
    ("linear", "rbf" or "poly", and gamma, degree, coef0) they run in the kernel's feature space. Definitions
    may name further settings that they take.

    multiclass="native" learns several classes (labels="all") in one learner instead of one-vs-rest, where an
    algorithm has it. Its covariance is "block" (one per class), "shared" or "diag".
    A native perceptron takes allocation ("max", "uniform" or "prop").

    >>> make_algorithm("scw1", C=0.5).params
    {'C': 0.5, 'eta': 0.75}
    """
    definition = get_definition(id)
    options, params = split_options(definition, settings)
    return Algorithm(definition, definition.resolve(params), **options)


def find_algorithm(algorithm: Algorithm | str, settings: Mapping[str, Any]) -> Algorithm:
    if isinstance(algorithm, str):
        return make_algorithm(algorithm, **settings)
    if settings:
        given = ", ".join(settings)
        raise UserError(
            f"{given}: {algorithm.id} is made already; give its settings to make_algorithm, or its id here"
        )
    return algorithm
