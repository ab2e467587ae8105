"""What a paper reports, as data: its numbers, what they are about, and what it concludes from them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

RANKED_KINDS = ("better", "mostly_better", "not_better", "best_is_better")
VALUED_KINDS = ("below", "at_least")
KINDS = (
    *RANKED_KINDS,
    "significantly_better",
    "not_significantly_worse",
    "best_or_joint",
    "steadier",
    *VALUED_KINDS,
)
#: Overall: by mean ranks over the data sets.
OVERALL = "overall"
QUANTIFIERS = ("every", "most", "many", "some", OVERALL)


@dataclass(frozen=True)
class Reported:
    where: str
    #: What it is about: the data set, the row that stands for an algorithm, and whatever else tells it apart.
    at: Mapping[str, str]
    quantity: str
    mean: float
    #: None where the paper prints no deviation.
    deviation: float | None
    #: Half a unit of the last printed digit.
    half_unit: float
    #: Over how many trials the mean and deviation are or, without a deviation, how many examples were tested.
    n: int | None
    printed: str
    marks: Mapping[str, str] = field(default_factory=dict)
    #: Why the number is unexplained, and therefore counted separately; otherwise empty.
    suspect: str = ""

    @property
    def rounding(self) -> float:
        """What print may have taken away: half a unit, and room for an exact tie in binary fractions."""
        return self.half_unit * (1 + 1e-6)

    @property
    def dataset(self) -> str:
        return self.at["dataset"]

    @property
    def row(self) -> str:
        return self.at["algorithm"]


@dataclass(frozen=True)
class RowSpec:
    id: str
    options: Mapping[str, Any]
    name: str = ""


@dataclass(frozen=True)
class Requirements:
    options: Mapping[str, Any] = field(default_factory=dict)
    grid: str = ""
    search: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    tuned: tuple[str, ...] = ()


@dataclass(frozen=True)
class MarkedTable:
    where: str
    rows: tuple[str, ...]
    against: tuple[str, ...]
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class PrintedRanks:
    where: str
    quantity: str
    datasets: tuple[str, ...]
    printed: Mapping[str, str]


@dataclass(frozen=True)
class Statement:
    """What a claim says, in the fixed vocabulary that `scw2012/numbers.yaml` explains above its claims."""

    kind: str
    quantity: str
    #: Rows; "pa@5" is the row pa after 5 steps of its curve, "pa@22%" after 22% of them.
    algorithms: tuple[str, ...]
    than: tuple[str, ...]
    #: On how many of the data sets it is said to hold: one of QUANTIFIERS, or a text like "11 of 12".
    on: str
    datasets: tuple[str, ...]
    value: float | None = None
    #: By which share the others must be worse.
    by: float | None = None
    ranked: tuple[str, ...] = ()
    text: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.algorithms, *self.than, *self.ranked)))


@dataclass(frozen=True)
class Claim:
    id: str
    text: str
    where: str
    parts: tuple[Statement, ...]


@dataclass(frozen=True)
class Paper:
    id: str
    title: str
    citation: str
    protocol: str
    numbers: tuple[Reported, ...]
    requires: Requirements
    tables: tuple[str, ...]
    traits: Mapping[str, tuple[bool, ...]]
    traits_where: str
    shapes: Mapping[str, Mapping[str, int]]
    shapes_where: str
    claims: tuple[Claim, ...]
    rows: Mapping[str, RowSpec] = field(default_factory=dict)
    variants: Mapping[str, tuple[RowSpec, ...]] = field(default_factory=dict)
    unavailable: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: The level that each mark of significance stands for; None if the paper does not explain it.
    marks: Mapping[str, float | None] = field(default_factory=dict)
    marked: tuple[MarkedTable, ...] = ()
    ranks: tuple[PrintedRanks, ...] = ()
    also: Mapping[str, "Paper"] = field(default_factory=dict)

    def under(self, protocol: str) -> "Paper":
        return self.also.get(protocol, self)

    @property
    def datasets(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(number.dataset for number in self.numbers))

    @property
    def algorithms(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(number.row for number in self.numbers))

    def row_spec(self, row: str) -> RowSpec:
        return self.rows.get(row) or RowSpec(row, {})

    def of(self, dataset: str, row: str) -> dict[str, Reported]:
        return self._numbers_of.get((dataset, row), {})

    @cached_property
    def _numbers_of(self) -> dict[tuple[str, str], dict[str, Reported]]:
        by_place: dict[tuple[str, str], dict[str, Reported]] = {}
        for number in self.numbers:
            by_place.setdefault((number.dataset, number.row), {})[number.quantity] = number
        return by_place


def standard_error(reported: Reported) -> float:
    """Return the binomial standard error of a share that is printed without a deviation; 0 without an n."""
    share = min(max(reported.mean, 0.0), 1.0)
    return math.sqrt(share * (1.0 - share) / reported.n) if reported.n else 0.0
