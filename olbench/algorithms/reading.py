"""Reads the grid and the options of an entry of `algorithms` in a config."""

from collections.abc import Mapping
from typing import Any

from olbench.algorithms.algorithm import Algorithm, make_algorithm
from olbench.algorithms.definition import Definition, Value
from olbench.algorithms.spec import NATIVE_KEYS
from olbench.errors import UserError
from olbench.structs import Node, place_errors, select


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
