"""Settings by data set: a mapping from names with `*` for anything, of which the first that fits decides."""

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, TypeAlias, TypeVar

from olbench.data.catalog import catalog
from olbench.errors import UserError, suggest
from olbench.structs import Node

T = TypeVar("T")
ByDataset: TypeAlias = T | Mapping[str, T]


class PerDataset(dict[str, Any]):
    def __init__(self, values: Mapping[str, Any], places: Mapping[str, str]):
        super().__init__(values)
        self.places = dict(places)


def refuse_unknown(setting: Any, datasets: Iterable[str]) -> None:
    """A run of some of the data sets of a config keeps what the config says about the others."""
    if not isinstance(setting, PerDataset):
        return
    names = list(dict.fromkeys([*datasets, *catalog()]))
    for pattern, place in setting.places.items():
        if not any(fnmatchcase(name, pattern) for name in names):
            raise UserError(f"{place}: there is no data set '{pattern}'{suggest(pattern, names)}")


def by_dataset(read: Callable[[Node, str], Any]) -> Callable[[Node, str], Any]:
    def reader(node: Node, name: str) -> Any:
        if not isinstance(node.value, dict):
            return read(node, name)
        if not node.value:
            raise node.fail(f"{name} must not be empty")
        return PerDataset({pattern: read(item, name) for pattern, item in node.value.items()}, node.keys)

    return reader


def value_for(setting: Any, dataset: str, default: Any) -> Any:
    """Return the value of a setting for a data set.

    >>> value_for({"tb-*": 50, "*": 200}, "tb-bovis", 100), value_for(20, "pima", 100)
    (50, 20)
    """
    if not isinstance(setting, Mapping):
        return default if setting is None else setting
    return next((value for pattern, value in setting.items() if fnmatchcase(dataset, pattern)), default)
