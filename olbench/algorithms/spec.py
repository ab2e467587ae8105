"""An entry of `algorithms` in a config: an id, fixed parameters, a grid, and options."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, get_args

from olbench.algorithms.algorithm import Algorithm, make_algorithm
from olbench.algorithms.definition import Definition, Value
from olbench.algorithms.options import Allocation, Covariance, Form, KernelName, Multiclass, Projection
from olbench.errors import UserError
from olbench.structs import (
    Flat,
    Key,
    Node,
    anything,
    many,
    mapping,
    name_text,
    place_errors,
    select,
    with_schema,
)


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


def read_grid(
    node: Node | None, definition: Definition, params: Mapping[str, Value], is_tuned: bool
) -> dict[str, tuple[Value, ...]]:
    """Return the values to search: the given grid, or when tuning the papers' for what is not fixed."""
    if node is None:
        return dict(definition.grid_beside(params)) if is_tuned else {}
    if not is_tuned:
        raise node.fail("a grid needs tuning; add for example tuning: {search: grid}")
    if not isinstance(node.value, dict) or not node.value:
        raise node.fail("grid must be a mapping of parameters to lists, and not empty")
    grid = {}
    for name, items in node.value.items():
        if name in params:
            raise UserError(f"{node.keys[name]}: {name} is both fixed in params and searched in grid")
        values = [check_value(definition, name, item) for item in items.items(f"the grid of {name}")]
        if len(set(values)) < len(values):
            raise items.fail(f"the grid of {name} has a value twice")
        grid[name] = tuple(values)
    return grid


def read_options(
    given: Mapping[str, Any], places: Mapping[str, Node], definition: Definition, covariance: str
) -> dict[str, Any]:
    """Return how several classes are learnt, and how the covariance of a second-order algorithm is kept.

    One-vs-rest, the default, is not named: trials on record do not name it either.
    """
    several = select(NATIVE_KEYS, given)
    if definition.order != "second":
        for key in given.keys() - several.keys():
            raise places[key].fail(f"{definition.id} has no covariance, so '{key}' does not apply")
        with place_errors(places.get("allocation", places.get("multiclass", places["id"]))):
            return _name_native(make_algorithm(definition.id, **several))
    for name in given.keys() & {parameter.name for parameter in definition.parameters}:
        raise places[name].fail(f"{name} is a parameter of {definition.id}; write params: {{{name}: ...}}")
    # A matrix, the default of a config, is one per class for a native learner.
    is_native = definition.only_native or several.get("multiclass") == "native"
    usual = {} if is_native and covariance == "full" else {"covariance": covariance}
    places_of_errors = ("covariance", "kernel", "multiclass", "id")
    with place_errors(places[next(key for key in places_of_errors if key in places)]):
        made = make_algorithm(definition.id, **{**usual, **given})
    if made.kernel is None:
        detail = "projection" if made.covariance == "diag" else "form"
        forgetting = {"forgetting": float(made.forgetting)} if made.forgetting < 1.0 else {}
        return {
            "covariance": made.covariance, detail: getattr(made, detail), "a": float(made.a), **forgetting,
            **_name_native(made),
        }  # fmt: skip
    # Only the settings that mean something to the kernel.
    used = {"linear": (), "rbf": ("gamma",), "poly": ("gamma", "degree", "coef0")}[made.kernel.name]
    kernel = {"kernel": made.kernel.name, **{name: getattr(made.kernel, name) for name in used}}
    return {"covariance": made.covariance, "a": float(made.a), **kernel}


def _name_native(made: Algorithm) -> dict[str, Any]:
    allocation = {"allocation": made.allocation} if made.allocation != "max" else {}
    return {"multiclass": "native", **allocation} if made.multiclass == "native" else {}


def check_value(definition: Definition, name: str, node: Node) -> Value:
    if isinstance(node.value, dict | list):
        raise node.fail(f"{definition.id}: {name} must be one value, not {node.shown()}")
    with place_errors(node):
        return definition.resolve({name: node.value})[name]
