"""Algorithms with their settings made, ready to start a learner."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from olbench.advice.learner import AdviceLearner
from olbench.advice.sets import Advice
from olbench.algorithms import get_definition
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
from olbench.errors import UserError
from olbench.learn.contestants import BatchLearner, ObjectLearner, find_style
from olbench.learn.learners import (
    AveragedLearner,
    BaselineLearner,
    CovarianceLearner,
    DiagonalLearner,
    DualLearner,
    ExactLearner,
    FirstOrderLearner,
    LabelledDiagonal,
    LabelledRoot,
    Learner,
    ProductLearner,
    RootLearner,
)
from olbench.learn.state import add_weights, count_state_bytes


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
    advice: Advice | None = None
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

    def start(self, d: int) -> Learner:
        """Return a learner for d features that has seen no example yet."""
        if not self.definition.online:
            raise UserError(
                f"{self.id} learns from all examples at once and has no online pass; run it in a "
                "cross-validation, beside the online learners"
            )
        if self.definition.only_native:
            raise UserError(f"{self.id} learns several classes: it needs labels='all'")
        if self.definition.order == "object":
            return ObjectLearner(self, d)
        if self.definition.order == "advice":
            return AdviceLearner(self, d)
        if self.definition.order == "baseline":
            return BaselineLearner(self, d)
        if self.definition.order == "first":
            return AveragedLearner(self, d) if self.definition.averaged else FirstOrderLearner(self, d)
        if self.kernel is not None:
            return DualLearner(self, d, self.kernel)
        if self.definition.sees_label:
            return LabelledDiagonal(self, d) if self.covariance == "diag" else LabelledRoot(self, d)
        if self.covariance == "diag" and self.definition.product:
            return ProductLearner(self, d)
        if self.covariance == "diag":
            return ExactLearner(self, d) if self.projection == "exact" else DiagonalLearner(self, d)
        return RootLearner(self, d) if self.form == "root" else CovarianceLearner(self, d)

    def state_bytes(self, d: int, classes: int = 1) -> int | None:
        """Return how many bytes the state of a learner for d features has, as `Learner.state_bytes` does.

        1 class stands for a binary learner. None where the examples decide, as with a kernel, or where only
        a Python object knows.
        """
        return count_state_bytes(self, d, classes)

    def memory_bytes(self, d: int, classes: int = 1) -> int:
        """Return how many bytes a learner takes with the weights that it returns; roughly if not known."""
        state = self.state_bytes(d, classes)
        return add_weights(16 * d * classes if state is None else state, d, classes)

    def start_batch(self) -> BatchLearner:
        return BatchLearner(self)


def make_algorithm(id: str, **settings: Any) -> Algorithm:
    """Return the algorithm `id` with these parameters.

    Second-order algorithms also take covariance ("full" or "diag"), projection ("kl" or "l2" for diag; cw and
    cw-var also have "exact"), form ("covariance" or "root" for full), the initial variance a, and forgetting
    (below 1, every variance grows by 1 / forgetting between examples, up to a). With kernel
    ("linear", "rbf" or "poly", and gamma, degree, coef0) they run in the kernel's feature space. Algorithms
    that take advice take `advice`.

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


def wrap(learner: Any, id: str = "") -> Algorithm:
    """Return an algorithm that runs an unfitted learner object; every pass starts from a deep copy of it."""
    name = id or type(learner).__name__
    find_style(learner, name)
    factory, source = Copies(learner), type(learner).__module__
    return Algorithm(Definition(id=name, title=name, order="object", source=source, factory=factory), {})


class Copies:
    """A function that returns a new copy of an object, and that can be pickled."""

    def __init__(self, original: Any):
        self.original = original

    def __call__(self) -> Any:
        return deepcopy(self.original)
