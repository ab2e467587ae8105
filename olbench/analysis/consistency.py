"""Whether a setting agrees with what a paper reports for one row, and how far it is from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from olbench.analysis.published import Paper, Reported
from olbench.records.quantities import (
    BREAKDOWNS,
    MISTAKE_RATE,
    REPRODUCED,
    TOLERANCES,
    UPDATES,
    Quantity,
    mean_and_deviation,
)
from olbench.records.trial import Record

COMPARED = (MISTAKE_RATE, UPDATES)


@dataclass(frozen=True)
class Target:
    dataset: str
    row: str
    where: str
    numbers: Mapping[str, Reported]


def targets(paper: Paper) -> dict[tuple[str, str], Target]:
    found = {}
    for dataset, row in dict.fromkeys((number.dataset, number.row) for number in paper.numbers):
        numbers = paper.of(dataset, row)
        if all(quantity.name in numbers for quantity in COMPARED):
            where = numbers[COMPARED[0].name].where
            found[dataset, row] = Target(dataset, row, where, numbers)
    return found


@dataclass(frozen=True)
class Tolerance:
    """How far means may lie apart: some deviations and half a printed unit, or a share of the number."""

    deviations: float
    shares: Mapping[str, float]
    #: Whether a deviation counts as half a printed unit at least: "0.000" may have been 0.0004.
    unrounded: bool = False
    #: Whether our deviation counts where it is the larger.
    by_ours: bool = True

    def allowed(self, reported: Reported, own: float) -> float:
        least = reported.half_unit if self.unrounded else 0.0
        deviation = max(reported.deviation or 0.0, own if self.by_ours else 0.0, least)
        share = self.shares[reported.quantity] * reported.mean
        return max(self.deviations * deviation + reported.rounding, share)


#: Consistent: within the tolerance of the verdicts on single numbers; for updates, which
#: are printed with more digits than a different order of the examples would repeat, 3% is as good.
CONSISTENT = Tolerance(TOLERANCES[REPRODUCED], {MISTAKE_RATE.name: 0.0, UPDATES.name: 0.03})
#: Near enough, after the one pass that screens a setting, to be worth further permutations.
NEAR = Tolerance(6.0, {MISTAKE_RATE.name: 0.1, UPDATES.name: 0.1}, unrounded=True)


@dataclass(frozen=True)
class Spread:
    mean: float
    deviation: float


@dataclass(frozen=True)
class Observed:
    permutations: int
    spreads: Mapping[str, Spread]
    #: How many of the passes lost the covariance to rounding.
    broken: int

    @classmethod
    def of(cls, records: Sequence[Record]) -> "Observed":
        spreads = {each.name: Spread(*mean_and_deviation(map(each.of, records))) for each in COMPARED}
        return cls(len(records), spreads, sum(BREAKDOWNS.of(record) > 0 for record in records))

    def spread(self, quantity: Quantity) -> Spread:
        return self.spreads[quantity.name]


def distance(observed: Observed, target: Target, tolerance: Tolerance) -> float:
    """Return the largest difference in units of what is allowed: up to 1 is within tolerance."""
    shares = [0.0]
    for quantity in COMPARED:
        own, reported = observed.spread(quantity), target.numbers[quantity.name]
        if difference := abs(own.mean - reported.mean):
            shares.append(difference / tolerance.allowed(reported, own.deviation))
    return max(shares)


def is_only_by_spread(observed: Observed, target: Target) -> bool:
    """Return whether a consistent setting is so only because our deviations exceed the reported ones."""
    printed = replace(CONSISTENT, by_ours=False)
    return distance(observed, target, CONSISTENT) <= 1.0 < distance(observed, target, printed)
