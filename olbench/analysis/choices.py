"""What tuning chose for an entry: the usual values, their range, and those on an edge of their grid."""

from collections.abc import Mapping
from contextlib import suppress

from olbench.algorithms import get_definition
from olbench.algorithms.definition import OPTIONS, Parameter, Value
from olbench.analysis.results import Entry
from olbench.errors import UserError
from olbench.protocols.tuning import Choice, Edge, find_edges, most_frequent, unite


def list_choices(entry: Entry) -> list[Choice]:
    """Return what each trial was tuned to; empty if one tuning decided for all."""
    return [choice for choice in entry.choices or entry.columns["choice"] if choice]


def find_settings(entry: Entry) -> dict[str, Value]:
    """Return its parameters, tuned options and settings: the most frequent where trials differ."""
    params = entry.params or {}
    options = [name for name in entry.spec.grid if name in OPTIONS and name not in params]
    tuned = {name: entry.options.get(name, OPTIONS[name].default) for name in options}
    return {**params, **tuned, **entry.setting, **(most_frequent(list_choices(entry)) or {})}


def find_parameters(entry: Entry) -> Mapping[str, Parameter]:
    """Return the parameters and options of an algorithm; none of one in a user's file that is not loaded."""
    with suppress(UserError):
        return get_definition(entry.algorithm).searchable
    return {}


def list_edges(entry: Entry) -> list[Edge]:
    grid = {**entry.spec.grid, **entry.grid} if entry.done else {}
    return find_edges(find_settings(entry), grid, find_parameters(entry)) if grid else []


def find_ranges(entry: Entry) -> Mapping[str, tuple[Value, ...]]:
    """Return the chosen values in ascending order, by parameter, where trials differ."""
    grids = [{name: (value,) for name, value in choice.items()} for choice in list_choices(entry)]
    found = {name: unite(name, grids) for name in (grids[0] if grids else ())}
    return {name: values for name, values in found.items() if len(values) > 1}
