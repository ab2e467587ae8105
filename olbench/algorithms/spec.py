"""An entry of `algorithms` in a config: an id, fixed parameters, a grid, and options."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, get_args

from olbench.algorithms.definition import Value
from olbench.algorithms.native import Allocation, Multiclass
from olbench.algorithms.options import Covariance, Form, KernelName, Projection
from olbench.structs import Flat, Key, anything, many, mapping, name_text, with_schema


def _option(name: str, doc: str, words: Any = None) -> Key:
    schema = {"enum": list(get_args(words))} if words else {"type": "number"}
    return Key(name, with_schema(partial(anything), schema), None, doc)


NATIVE_KEYS = (
    _option("multiclass", "several classes: one learner per class, or one of all", Multiclass),
    _option("allocation", "how the rivals of a native perceptron share a step", Allocation),
)
OPTION_KEYS = (
    *NATIVE_KEYS,
    _option(
        "covariance",
        "whether the covariance is a matrix or only its diagonal; block and shared are native",
        Covariance,
    ),
    _option("projection", "how a diagonal covariance stays diagonal after an update", Projection),
    _option("form", "whether the full covariance or a root of it is stored", Form),
    _option("a", "the initial variance of every weight"),
    _option("forgetting", "below 1: variances grow by its inverse between examples, up to a"),
    _option("kernel", "learn in the feature space of a kernel", KernelName),
    _option("gamma", "the scale of the kernel"),
    _option("degree", "the degree of a polynomial kernel"),
    _option("coef0", "the constant of a polynomial kernel"),
)


@dataclass(frozen=True)
class AlgorithmSpec:
    id: Annotated[str, name_text, "one of `olbench algorithms`, or of a plugin"]
    params: Annotated[Mapping[str, Value], mapping(anything), "parameters that are fixed"] = field(
        default_factory=dict
    )
    grid: Annotated[
        Mapping[str, tuple[Value, ...]],
        mapping(many(anything)),
        "values to search, by parameter; by default those of the papers",
    ] = field(default_factory=dict)
    options: Annotated[Mapping[str, Any], Flat(OPTION_KEYS)] = field(default_factory=dict)
    name: Annotated[str, name_text, "what reports call it"] = ""
    settings: Annotated[Mapping[str, Any], Flat()] = field(default_factory=dict)
