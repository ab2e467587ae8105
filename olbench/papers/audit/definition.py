"""What a check is: a statement of a paper, checked numerically as printed and as corrected."""

import math
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any, SupportsFloat

import numpy as np
import yaml
from threadpoolctl import threadpool_limits

from olbench.errors import UserError

Plain = float | int | str | list[float] | list[list[float]]
Within = tuple[float, str]

SEED, TRIALS = 2012, 40
POINTS = 25


class Instance:
    """By how much the printed and the corrected form are violated; None where it is no test of a form."""

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
    """`worst` is the largest violation in `unit`, negative if none; `example` the first that violates."""

    tolerance: float = 0.0
    unit: str = ""
    tried: int = 0
    violations: int = 0
    worst: float = -math.inf
    example: Mapping[str, Plain] = field(default_factory=dict)

    def add(self, violation: float | None, example: Mapping[str, Plain]) -> None:
        """Count an instance; what is not a number counts as violated."""
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
    """A statement of a paper and how it is examined; `correction` is empty where it is right as printed."""

    paper: str
    id: str
    where: str
    statement: str
    correction: str
    examine: Examine
    within: Within
    corrected_within: Within

    def run(self, seed: int = SEED, trials: int = TRIALS) -> "Result":
        """Decimals have fifty digits. One thread is far faster than several for matrices of a few rows."""
        rng = np.random.default_rng((seed, zlib.crc32(f"{self.paper} {self.id}".encode())))
        printed, corrected, note = Evidence(*self.within), Evidence(*self.corrected_within), ""
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
        """Whether what is true holds, and a printed form known to be wrong has its counter-example."""
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


def check(
    where: str,
    statement: str,
    correction: str = "",
    *,
    paper: str,
    id: str = "",
    within: Within = (0.0, ""),
    corrected_within: Within | None = None,
) -> Callable[[Examine], Examine]:
    """Make a check of a function (rng, trials) that yields instances; its name gives the id.

    `within` is the largest violation that is still rounding, and the unit of violations.
    """

    def register(examine: Examine) -> Examine:
        name = id or examine.__name__.replace("_", "-")
        known = REGISTRY.get((paper, name))
        if known is not None and known.examine.__module__ != examine.__module__:
            raise UserError(f"{paper} has a check named '{name}' already; choose another id")
        limits = within, corrected_within or within
        REGISTRY[paper, name] = Check(paper, name, where, statement, correction, examine, *limits)
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
