"""The list of all algorithms that are installed."""

from olbench.algorithms.definition import REGISTRY, Definition
from olbench.errors import UserError, show_name, suggest

#: The titles that records give to algorithms of their own, by id: their files are not run to report on them.
RECORDED: dict[str, str] = {}


def definitions() -> list[Definition]:
    """Return all algorithms: those that ship in one order, whatever was imported before, then the others."""
    return REGISTRY.listed()


def get_definition(name: str) -> Definition:
    """Return the algorithm with this id or, if there is none, with this title or id in any case.

    >>> get_definition("SCW-I") is get_definition("SCW1") is get_definition("scw1")
    True
    """
    REGISTRY.load()
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
    REGISTRY.load()
    return REGISTRY[id].title if id in REGISTRY else RECORDED.get(id, id)
