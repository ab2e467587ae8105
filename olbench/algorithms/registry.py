"""The list of all algorithms that are installed."""

import importlib
from functools import cache

from olbench.algorithms.definition import REGISTRY, Definition
from olbench.discovery import import_all, load_entry_points
from olbench.errors import UserError, show_name, suggest

FIRST = (
    "perceptron", "passive_aggressive", "averaged", "romma", "alma", "ogd", "sgd",
    "sop", "iellip", "cw", "nherd", "arow", "scw", "baselines", "batch", "adviceptron",
)  # fmt: skip
ELSEWHERE = ("olbench.advice.batch",)
ENTRY_POINTS = "olbench.algorithms"
#: The titles that records give to algorithms of their own, by id: their files are not run to report on them.
RECORDED: dict[str, str] = {}


@cache
def _load_installed() -> dict[str, int]:
    built_in = [*import_all("olbench.algorithms", FIRST), *ELSEWHERE]
    for module in ELSEWHERE:
        importlib.import_module(module)
    load_entry_points(ENTRY_POINTS, "the algorithms")
    return {module: place for place, module in enumerate(built_in)}


def definitions() -> list[Definition]:
    """Return all algorithms: the built-in ones in one order whatever was imported before, then the others."""
    place = _load_installed()
    return sorted(REGISTRY.values(), key=lambda definition: place.get(definition.module, len(place)))


def get_definition(name: str) -> Definition:
    """Return the algorithm with this id or, if there is none, with this title or id in any case.

    >>> get_definition("SCW-I") is get_definition("SCW1") is get_definition("scw1")
    True
    """
    _load_installed()
    if name in REGISTRY:
        return REGISTRY[name]
    known = definitions()
    for definition in known:
        if name.casefold() in (definition.title.casefold(), definition.id.casefold()):
            return definition
    hint = suggest(name, [each for definition in known for each in (definition.id, definition.title)])
    raise UserError(f"unknown algorithm {show_name(name)}{hint}; `olbench algorithms` lists all of them")


def title_of(id: str) -> str:
    """Return the title of an algorithm; of one that is only on record, what its run says, or the id.

    >>> title_of("scw1"), title_of("somebody-elses")
    ('SCW-I', 'somebody-elses')
    """
    _load_installed()
    return REGISTRY[id].title if id in REGISTRY else RECORDED.get(id, id)
