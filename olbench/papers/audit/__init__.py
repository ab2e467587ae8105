"""Theory checked on runs: lemmas, bounds and closed forms of the papers, as printed and as corrected."""

from functools import cache
from importlib import import_module

from olbench.errors import UserError, suggest
from olbench.papers.audit.definition import REGISTRY, SEED, TRIALS, Check, Instance, Result, check
from olbench.plugins import find_paper_part, paper_ids

__all__ = ["SEED", "TRIALS", "Check", "Instance", "Result", "check", "checks", "papers"]

FIRST = ("cw2008", "cw2012", "scw2012", "adviceptron2010")


@cache
def _load() -> None:
    for paper in paper_ids():
        if module := find_paper_part(paper, "audit"):
            import_module(module)


def papers() -> list[str]:
    _load()
    known = dict.fromkeys(paper for paper, _ in REGISTRY)
    return sorted(known, key=lambda paper: FIRST.index(paper) if paper in FIRST else len(FIRST))


def checks(paper: str | None = None, id: str | None = None) -> list[Check]:
    order = papers()
    if paper is not None and paper not in order:
        raise UserError(
            f"there is no audit of '{paper}'{suggest(paper, order)}; the papers are {', '.join(order)}"
        )
    known = [each for each in REGISTRY.values() if paper in (None, each.paper)]
    chosen = [each for each in known if id in (None, each.id)]
    if not chosen:
        ids = [each.id for each in known]
        raise UserError(
            f"there is no check '{id}'{suggest(str(id), ids)}; `olbench audit --list` lists all of them"
        )
    return sorted(chosen, key=lambda each: order.index(each.paper))
