"""Theory checked on runs: lemmas, bounds and closed forms of the papers, as printed and as corrected."""

import math
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from importlib import import_module
from pathlib import Path
from typing import Any, SupportsFloat

import numpy as np
import yaml
from threadpoolctl import threadpool_limits

from olbench.errors import UserError, suggest
from olbench.plugins import find_paper_part, is_paper_file, paper_ids

Plain = float | int | str | list[float] | list[list[float]]
Within = tuple[float, str]

SEED, TRIALS = 2012, 40
POINTS = 25
#: The order of the papers in a listing; others follow.
FIRST = ("cw2008", "cw2012", "scw2012", "adviceptron2010")


class Instance:
    """By how much the printed and the corrected form are violated; None if it does not test a form."""

    def __init__(
        self, printed: SupportsFloat | None, corrected: SupportsFloat | None = None, /, **shown: Any
    ):
        self.printed = None if printed is None else float(printed)
        self.corrected = None if corrected is None else float(corrected)
        self.shown = {name: _plain(value) for name, value in shown.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return float(value) if isinstance(value, Decimal) else value


Instances = Iterator[Instance | str]
Examine = Callable[[np.random.Generator, int], Instances]


@dataclass
class Evidence:
    """`worst` is the largest violation in `unit`, or negative; `example` is the first violation."""

    tolerance: float = 0.0
    unit: str = ""
    tried: int = 0
    violations: int = 0
    worst: float = -math.inf
    example: Mapping[str, Plain] = field(default_factory=dict)

    def add(self, violation: float | None, example: Mapping[str, Plain]) -> None:
        """Count an instance; NaN counts as a violation."""
        if violation is None:
            return
        self.tried += 1
        self.worst = max(self.worst, math.inf if math.isnan(violation) else violation)
        if not violation <= self.tolerance:
            self.violations += 1
            self.example = self.example or example

    @property
    def holds(self) -> bool:
        return self.tried > 0 and self.violations == 0

    @property
    def verdict(self) -> str:
        return "holds" if self.holds else "wrong"


@dataclass(frozen=True)
class Check:
    """A statement of a paper and how it is examined; `correction` is empty if it is right as printed.

    `within` is the largest violation that counts as rounding, and the unit of violations; the corrected form
    may have its own.
    """

    paper: str
    id: str
    examine: Examine
    where: str
    statement: str
    correction: str = ""
    within: Within = (0.0, "")
    corrected_within: Within | None = None
    note: str = ""

    def run(self, seed: int = SEED, trials: int = TRIALS) -> "Result":
        """Run with fifty digits for decimals, and one thread: far faster for matrices of a few rows."""
        rng = np.random.default_rng((seed, zlib.crc32(f"{self.paper} {self.id}".encode())))
        printed, note = Evidence(*self.within), self.note
        corrected = Evidence(*(self.corrected_within or self.within))
        with threadpool_limits(1), localcontext(prec=50):
            for found in self.examine(rng, trials):
                if isinstance(found, str):
                    note = found
                else:
                    printed.add(found.printed, found.shown)
                    corrected.add(found.corrected, found.shown)
        is_corrected = self.correction or corrected.tried
        return Result(self, printed, corrected if is_corrected else None, note, seed, trials)


@dataclass(frozen=True)
class Result:
    check: Check
    printed: Evidence
    corrected: Evidence | None
    note: str
    seed: int
    trials: int

    @property
    def as_expected(self) -> bool:
        """Whether true statements hold, and a printed form known to be wrong has its counter-example."""
        if not self.check.correction:
            return self.printed.holds and self.corrected is None
        shown = not self.printed.holds and bool(self.printed.example)
        return shown and self.corrected is not None and self.corrected.holds

    @property
    def command(self) -> str:
        words = ["olbench audit", self.check.paper, "--check", self.check.id]
        words += [f"--seed {self.seed}"] if self.seed != SEED else []
        words += [f"--trials {self.trials}"] if self.trials != TRIALS else []
        return " ".join(words)


REGISTRY: dict[tuple[str, str], Check] = {}


def check(*, paper: str, id: str = "", **stated: Any) -> Callable[[Examine], Examine]:
    """Register a function (rng, trials) that yields instances as a check; its name gives the id.

    `stated` has the other fields of `Check`. A function may yield the note as text, if that depends on what
    it finds.
    """

    def register(examine: Examine) -> Examine:
        name = id or examine.__name__.replace("_", "-")
        known = REGISTRY.get((paper, name))
        if known is not None and known.examine.__module__ != examine.__module__:
            raise UserError(f"{paper} has a check named '{name}' already; choose another id")
        REGISTRY[paper, name] = Check(paper, name, examine, **stated)
        return examine

    return register


def stated_checks(module: str) -> Callable[[Examine], Examine]:
    """Return the decorator of a paper's checks; `audit.yaml` beside the module has their statements by id."""
    path = Path(module).with_suffix(".yaml")
    stated = yaml.safe_load(path.read_text(encoding="utf-8"))
    ids = {re.sub("[-.]", "_", id): id for id in stated}

    def register(examine: Examine) -> Examine:
        id = ids[examine.__name__]
        return check(**stated[id], paper=path.parent.name, id=id)(examine)

    return register


def checks(paper: str | None = None, id: str | None = None) -> list[Check]:
    for each in paper_ids():
        if module := find_paper_part(each, "audit"):
            import_module(module)
    order = list(dict.fromkeys([*FIRST, *(paper for paper, _ in REGISTRY)]))
    if paper is not None and paper not in order:
        if is_paper_file(paper) or paper in paper_ids():
            place = "beside numbers.yaml in the folder of a paper"
            raise UserError(f"there is no audit of {paper}: its checks would be in audit.py, {place}")
        raise UserError(
            f"there is no audit of '{paper}'{suggest(paper, order)}; the papers are {', '.join(order)}"
        )
    own = [check for check in REGISTRY.values() if paper in (None, check.paper)]
    chosen = [check for check in own if id in (None, check.id)]
    if not chosen:
        names = [check.id for check in own]
        raise UserError(
            f"there is no check '{id}'{suggest(str(id), names)}; `olbench audit --list` lists all of them"
        )
    return sorted(chosen, key=lambda check: order.index(check.paper))
