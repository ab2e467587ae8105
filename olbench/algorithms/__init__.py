"""What is learned: one short file per algorithm or tight family, and the listing of all of them."""

import importlib
import warnings
from functools import cache

from olbench.algorithms.definition import REGISTRY, Definition
from olbench.errors import UserError, suggest

FILES = (
    "perceptron", "passive_aggressive", "romma", "alma", "ogd", "sop", "iellip", "cw", "nherd", "arow", "scw",
    "adviceptron",
)  # fmt: skip
ENTRY_POINTS = "olbench.algorithms"


@cache
def _load_installed() -> None:
    from importlib.metadata import entry_points

    for name in FILES:
        importlib.import_module(f"olbench.algorithms.{name}")
    for point in entry_points(group=ENTRY_POINTS):
        try:
            point.load()
        except Exception as error:
            warnings.warn(f"the algorithms of {point.value} cannot be loaded: {error}", stacklevel=2)


def definitions() -> list[Definition]:
    """Return every algorithm: the built-in ones, those of installed packages and of files loaded so far."""
    _load_installed()
    return list(REGISTRY.values())


def get_definition(id: str) -> Definition:
    """Return the algorithm of this id."""
    known = {definition.id: definition for definition in definitions()}
    if id not in known:
        raise UserError(
            f"unknown algorithm '{id}'{suggest(id, list(known))}; `olbench algorithms` lists all of them"
        )
    return known[id]
