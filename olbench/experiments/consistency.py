"""Whether a setting agrees with a reported pair of mistakes and updates, and how far it is from it."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from olbench.experiments.trial import Record
from olbench.papers import Cell as ReportedCell
from olbench.papers import Reported


@dataclass(frozen=True)
class Tolerance:
    """How far means may lie apart: so many deviations and half a printed unit, or a share of the number."""

    deviations: float
    of_mistakes: float
    of_updates: float
    #: Whether a deviation counts as half a printed unit at least: "0.000" may have been 0.0004.
    unrounded: bool = False

    def allowed(self, reported: Reported, own: float, share: float) -> float:
        """Return the difference that is allowed to a mean whose own deviation is known."""
        deviation = max(reported.deviation, own, reported.half_unit if self.unrounded else 0.0)
        return max(self.deviations * deviation + reported.half_unit, share * reported.mean)


#: Consistent: within 2 of the larger deviation, as the verdicts on single numbers have it; for updates, which
#: are printed with more digits than a different order of the examples would repeat, 3% is as good.
CONSISTENT = Tolerance(2.0, 0.0, 0.03)
#: Near enough, after the one pass that screens a setting, to be worth further permutations.
NEAR = Tolerance(6.0, 0.1, 0.1, unrounded=True)


@dataclass(frozen=True)
class Spread:
    """A mean and a deviation over permutations."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Return the spread of values; one alone has no deviation."""
        return cls(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0)


@dataclass(frozen=True)
class Pair:
    """What a setting makes of a data set: mistakes and updates over some permutations."""

    permutations: int
    mistake_rate: Spread
    updates: Spread
    #: How many of the passes lost the covariance to rounding.
    broken: int

    @classmethod
    def of(cls, records: Sequence[Record]) -> "Pair":
        """Return the pair of the records of one setting."""
        return cls(
            len(records),
            Spread.of([record["mistakes"] / record["n"] for record in records]),
            Spread.of([record["updates"] for record in records]),
            sum(record["breakdowns"] > 0 for record in records),
        )


def distance(pair: Pair, reported: ReportedCell, tolerance: Tolerance) -> float:
    """Return the larger difference of the two, in units of what is allowed: up to 1 is within tolerance."""
    return max(
        _share(pair.mistake_rate, reported.mistake_rate, tolerance, tolerance.of_mistakes),
        _share(pair.updates, reported.updates, tolerance, tolerance.of_updates),
    )


def _share(own: Spread, reported: Reported, tolerance: Tolerance, share: float) -> float:
    difference = abs(own.mean - reported.mean)
    return difference / tolerance.allowed(reported, own.deviation, share) if difference else 0.0


def only_by_spread(pair: Pair, reported: ReportedCell) -> bool:
    """Tell whether a consistent pair owes it to deviations of ours that are larger than the reported ones."""
    still = Pair(
        pair.permutations, Spread(pair.mistake_rate.mean, 0.0), Spread(pair.updates.mean, 0.0), pair.broken
    )
    return distance(pair, reported, CONSISTENT) <= 1.0 < distance(still, reported, CONSISTENT)
