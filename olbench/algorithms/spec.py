"""An entry of `algorithms` in a config: an id, fixed parameters, a grid, and options."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from types import MappingProxyType
from typing import Annotated, Any

from olbench.algorithms.algorithm import make_algorithm
from olbench.algorithms.definition import KERNEL, KERNELS, NATIVE, OPTIONS, Definition, Parameter, Value
from olbench.errors import UserError
from olbench.structs import Flat, Key, Node, anything, many, mapping, name_text, place_errors, with_schema


def _make_key(option: Parameter) -> Key:
    schema = {"enum": list(option.choices)} if option.choices else {"type": "number"}
    return Key(option.name, with_schema(partial(anything), schema), None, option.doc)


OPTION_KEYS = tuple(map(_make_key, OPTIONS.values()))


@dataclass(frozen=True)
class AlgorithmSpec:
    id: Annotated[str, name_text, "one of `olbench algorithms`, or of a plugin"]
    params: Annotated[Mapping[str, Value], mapping(anything), "parameters that are fixed"] = field(
        default_factory=dict
    )
    grid: Annotated[
        Mapping[str, tuple[Value, ...]],
        mapping(many(anything)),
        "values to search, by parameter or option; by default the grids of the papers",
    ] = field(default_factory=dict)
    options: Annotated[Mapping[str, Any], Flat(OPTION_KEYS)] = field(default_factory=dict)
    name: Annotated[str, name_text, "what reports call it"] = ""
    settings: Annotated[Mapping[str, Any], Flat()] = field(default_factory=dict)


def read_grid(
    node: Node | None, definition: Definition, fixed: Mapping[str, Any], is_tuned: bool
) -> dict[str, tuple[Value, ...]]:
    """Return the values to search: the given grid or, when tuning, the papers' for parameters not fixed."""
    if node is None:
        return dict(definition.grid_beside(fixed)) if is_tuned else {}
    if not is_tuned:
        raise node.fail("a grid needs tuning; add for example tuning: {search: grid}")
    if not isinstance(node.value, dict) or not node.value:
        raise node.fail("grid must be a mapping of parameters to lists, and not empty")
    grid = {}
    for name, items in node.value.items():
        if name in fixed:
            raise UserError(f"{node.keys[name]}: {name} is both fixed and searched in grid")
        listed, options = items.items(f"the grid of {name}"), definition.searched_options
        values = [check_value(definition, name, item, options) for item in listed]
        if len(set(values)) < len(values):
            raise items.fail(f"the grid of {name} has a value twice")
        grid[name] = tuple(values)
    return grid


def read_options(
    given: Mapping[str, Any],
    places: Mapping[str, Node],
    definition: Definition,
    covariance: str,
    grid: Mapping[str, tuple[Value, ...]],
) -> dict[str, Any]:
    """Return the options of an entry as records name them; `covariance` is the default of the config.

    Beside options that a grid searches, they are as given: what they imply depends on those.
    """
    default: dict[str, Any] = {}
    if definition.order != "second":
        for name in given.keys() - NATIVE:
            raise places[name].fail(f"{definition.id} has no covariance, so '{name}' does not apply")
    # A matrix, the default of configs, is one per class for a native learner.
    elif covariance != "full" or not (definition.only_native or given.get("multiclass") == "native"):
        default = {"covariance": covariance}
    tuned = {name: values for name, values in grid.items() if name in definition.searched_options}
    fixed = {name: value for name, value in {**default, **given}.items() if name not in tuned}
    keys = (*(["grid"] if tuned else []), "covariance", "kernel", "allocation", "multiclass", "id")
    with place_errors(places[next(key for key in keys if key in places)]):
        for values in product(*tuned.values()):
            made = make_algorithm(
                definition.id, **choose_options(fixed, dict(zip(tuned, values, strict=True)))
            )
    return fixed if tuned else made.options


def choose_options(fixed: Mapping[str, Any], tuned: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with tuned ones; a kernel that is tuned leaves out what belongs to the others."""
    unused = [name for name in KERNEL if "kernel" in tuned and name not in KERNELS[tuned["kernel"]]]
    return {name: value for name, value in {**fixed, **tuned}.items() if name not in unused}


def check_value(
    definition: Definition, name: str, node: Node, options: Mapping[str, Parameter] = MappingProxyType({})
) -> Value:
    if isinstance(node.value, dict | list):
        raise node.fail(f"{definition.id}: {name} must be one value, not {node.shown()}")
    with place_errors(node):
        if name in options:
            return options[name].check(node.value, definition.id)
        return definition.resolve({name: node.value})[name]
