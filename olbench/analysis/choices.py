"""What tuning chose for an entry: the usual values, their range, and those on an edge of their grid."""

from collections.abc import Mapping
from contextlib import suppress

from olbench.algorithms import get_definition
from olbench.algorithms.definition import OPTIONS, Definition, Parameter, Value
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


def find_definition(id: str) -> Definition | None:
    """Return an algorithm, or None if it is of a user's file, which reports do not run."""
    with suppress(UserError):
        return get_definition(id)
    return None


def find_parameters(entry: Entry) -> Mapping[str, Parameter]:
    definition = find_definition(entry.algorithm)
    return definition.searchable if definition else {}


def list_edges(entry: Entry) -> list[Edge]:
    grid = {**entry.spec.grid, **entry.grid} if entry.done else {}
    return find_edges(find_settings(entry), grid, find_parameters(entry)) if grid else []


def find_ranges(entry: Entry) -> Mapping[str, tuple[Value, ...]]:
    """Return the chosen values in ascending order, by parameter, where trials differ."""
    grids = [{name: (value,) for name, value in choice.items()} for choice in list_choices(entry)]
    found = {name: unite(name, grids) for name in (grids[0] if grids else ())}
    return {name: values for name, values in found.items() if len(values) > 1}
