"""The list of all algorithms: those that ship, those that are installed, and those of a user's own file."""

import copyreg
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

from olbench.algorithms.compiled import CompiledDefinition
from olbench.algorithms.definition import REGISTRY, Definition
from olbench.errors import UserError, show_name, suggest
from olbench.plugins import PREFIX, load_file

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


def load_plugin(path: str | Path) -> list[Definition]:
    """Run a Python file once and return the algorithms that it defines."""
    REGISTRY.load()
    name = load_file(path)
    return [definition for definition in REGISTRY.values() if definition.module == name]


def restore(id: str, module: str, file: str) -> Definition:
    if module.startswith(PREFIX) and module not in sys.modules:
        load_plugin(file)
    return get_definition(id)


def _reduce(definition: Definition) -> tuple[Any, ...]:
    """Return how a definition is pickled: a listed one by its id and file, since rules cannot be pickled."""
    if REGISTRY.get(definition.id) is not definition:
        return type(definition), tuple(getattr(definition, each.name) for each in fields(definition))
    return restore, (definition.id, definition.module, definition.file)


for _kind in (Definition, CompiledDefinition):
    copyreg.pickle(_kind, _reduce)
