"""Theory checked on runs: lemmas, bounds and closed forms of the papers, as printed and as corrected."""

import importlib
from functools import cache

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

#: The files of this folder that hold a paper's checks.
FILES = ("cw2008", "cw2012", "scw2012", "adviceptron2010")


@cache
def _load() -> None:
    for name in FILES:
        importlib.import_module(f"olbench.audit.{name}")


def papers() -> list[str]:
    """Return the papers that have checks, in the order of the files and then of their definition."""
    _load()
    known = dict.fromkeys(paper for paper, _ in REGISTRY)
    return sorted(known, key=lambda paper: FILES.index(paper) if paper in FILES else len(FILES))


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
