"""Theory checked on runs: lemmas, bounds and closed forms of the papers, as printed and as corrected."""

import importlib
import pkgutil
from functools import cache
from importlib.util import find_spec

from olbench.audit.definition import (
    REGISTRY,
    SEED,
    TRIALS,
    Check,
    Evidence,
    Result,
    Tally,
    Verification,
    check,
)
from olbench.errors import UserError, suggest

__all__ = [
    "SEED",
    "TRIALS",
    "Check",
    "Evidence",
    "Result",
    "Tally",
    "Verification",
    "check",
    "checks",
    "papers",
]  # fmt: skip

#: The papers that come first in lists, in this order; the others follow by name.
FIRST = ("cw2008", "cw2012", "scw2012", "adviceptron2010")


@cache
def _load() -> list[str]:
    """Import the checks of every paper that has a file of them; return these papers in order."""
    import olbench.papers

    found = sorted(each.name for each in pkgutil.iter_modules(olbench.papers.__path__) if each.ispkg)
    names = [*FIRST, *(name for name in found if name not in FIRST)]
    audited = [name for name in names if find_spec(f"olbench.papers.{name}.audit")]
    for name in audited:
        importlib.import_module(f"olbench.papers.{name}.audit")
    return audited


def papers() -> list[str]:
    """Return the papers that have checks: those that ship in one order, then others as they were defined."""
    shipped = _load()
    known = dict.fromkeys(paper for paper, _ in REGISTRY)
    return sorted(known, key=lambda paper: shipped.index(paper) if paper in shipped else len(shipped))


def checks(paper: str | None = None, id: str | None = None) -> list[Check]:
    """Return the checks of a paper, or of all; with an id, those of that name."""
    _load()
    if paper is not None and paper not in papers():
        raise UserError(
            f"there is no audit of '{paper}'{suggest(paper, papers())}; the papers are {', '.join(papers())}"
        )
    order = {name: number for number, name in enumerate(papers())}
    known = sorted(REGISTRY.values(), key=lambda each: order[each.paper])
    known = [each for each in known if paper in (None, each.paper)]
    chosen = [each for each in known if id in (None, each.id)]
    if not chosen:
        ids = [each.id for each in known]
        raise UserError(
            f"there is no check '{id}'{suggest(str(id), ids)}; `olbench audit --list` lists all of them"
        )
    return chosen
