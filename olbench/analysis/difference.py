"""How two algorithms differ on one data set: one answer, whatever the protocol.

The rows are a sample of their source, and the orders are a sample of all orders of these rows. With D_k the
difference in permutation k, and S_g the sum over the rows of group g of their influence on it, averaged over
the permutations,

    difference = mean of D_k
    a = G/(G - 1) sum of S_g^2 / n^2        b = error_orders^2 = var of D_k / K
    error_rows^2 = the larger of a and what `_measure_learning` finds
    t = difference / sqrt(error_rows^2 + b), with the degrees of freedom of Welch and Satterthwaite.

Records from before groups were counted, and quantities without influence such as updates, have b only: their
differences are over orders of these rows.
"""

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from olbench.analysis.stats import LEVEL, NEGLIGIBLE, ROUNDING, find_errors, holm

Floats = NDArray[np.float64]
#: What a difference speaks of: new rows of the same source, other orders of these rows, rounds of the same
#: stream, or new draws of the data.
Over = Literal["rows", "orders", "blocks", "draws"]
#: With fewer permutations only the best is printed in bold; folds and blocks of a stream stand for more.
FEWEST_ORDERS = 5
#: With fewer rows of the rarer class, a measure that depends on the class has no interval.
FEWEST_OF_CLASS = 5


@dataclass(frozen=True)
class Difference:
    """An algorithm minus another one on a data set.

    `adjusted` is p with Holm's correction. The interval is corrected with it: it excludes 0 where the two
    differ significantly, and only there.
    """

    label: str
    against: str
    mean: float
    low: float
    high: float
    p: float
    adjusted: float
    #: The standard errors that come from the rows and from the orders; NaN if unknown.
    error_rows: float
    error_orders: float
    wins: int
    ties: int
    losses: int
    over: Over
    #: Whether the whole interval lies within what is negligible.
    equal: bool = False

    @property
    def significant(self) -> bool:
        """Whether the two differ at the 5% level, after the correction."""
        return self.adjusted <= LEVEL


def influence(counts: Mapping[str, Floats], measure: Callable[[Mapping[str, Floats]], Any]) -> Floats:
    """Return the influence of each group on a measure of counts: its derivative by the weight of the group.

    Each array of counts has one row per trial and one column per group. The measure takes the totals by name
    and depends only on their ratios, so that the influences of a trial add up to zero.

    >>> counts = {"n": np.array([[4.0, 4.0]]), "mistakes": np.array([[1.0, 3.0]])}
    >>> influence(counts, lambda of: of["mistakes"] / of["n"]).round(9).tolist()
    [[-1.0, 1.0]]
    """
    totals = {name: each.sum(axis=1) for name, each in counts.items()}
    n = totals["n"]
    step = 1e-5 * n
    found = np.zeros(counts["n"].shape)
    for name, each in counts.items():
        above, below = ({**totals, name: totals[name] + sign * step} for sign in (0.5, -0.5))
        slope = (np.asarray(measure(above), np.float64) - measure(below)) / step
        found += (n * slope)[:, None] * each
    return np.asarray(found - found.mean(axis=1, keepdims=True))


@dataclass(frozen=True)
class Contest(ABC):
    """Algorithms that are compared with each other on one data set, by one measure."""

    labels: tuple[str, ...]
    #: The means that tables show; NaN where a measure is undefined in a trial.
    means: Floats
    better: str
    #: What is negligible; None is a share of the smaller error.
    negligible: float | None

    @property
    def best(self) -> str:
        """The algorithm with the best mean; an undefined one cannot be the best."""
        return self.labels[int(np.nanargmin(-self.means if self.better == "higher" else self.means))]

    def differences(self, against: str | None = None) -> list[Difference]:
        """Return the difference of every other algorithm from one or, by default, from the best.

        The data selected the best one, so that its comparisons are corrected for all pairs; those with an
        algorithm that was named before are corrected for these pairs only.
        """
        if against not in self._known:
            place = self.labels.index(self.best if against is None else against)
            found = self.compare(place)
            adjusted = self.correct(place, found) if against is None else holm([each.p for each in found])
            pairs = zip(found, adjusted, strict=True)
            found = self.compare(place, [LEVEL * (each.p / q if q else 1 / self.pairs) for each, q in pairs])
            limits = self._limits(place)
            self._known[against] = [
                replace(each, adjusted=q, equal=max(abs(each.low), abs(each.high)) <= limits[each.label])
                for each, q in zip(found, adjusted, strict=True)
            ]
        return self._known[against]

    @cached_property
    def _known(self) -> dict[str | None, list[Difference]]:
        return {}

    def bold(self, against: str | None = None) -> set[str]:
        """Return the best algorithm, what equals it in every trial, and what is not significantly worse.

        What is significantly worse than a named algorithm is not among them.
        """
        found = self.differences()
        equal = {each.label for each in found if each.mean == 0.0 and not each.wins and not each.losses}
        tested = {each.label for each in found if self.is_tested(each) and not math.isnan(each.adjusted)}
        return {self.best} | (equal | tested) - self._find_worse(None) - self._find_worse(against)

    def _find_worse(self, against: str | None) -> set[str]:
        sign = -1 if self.better == "higher" else 1
        found = self.differences(against)
        return {each.label for each in found if each.significant and sign * each.mean > 0}

    def is_tested(self, difference: Difference) -> bool:
        """Whether it rests on enough trials to print an algorithm that is not worse than the best in bold."""
        return True

    def exceeds(self, constant: float) -> bool:
        """Return whether the best is better than a constant, at the 5% level where there is a test."""
        best = float(self.means[self.labels.index(self.best)])
        return best > constant if self.better == "higher" else best < constant

    @property
    @abstractmethod
    def over(self) -> Over:
        """What the differences speak of."""

    @abstractmethod
    def compare(self, place: int, levels: Sequence[float] = ()) -> list[Difference]:
        """Return the difference of every other algorithm from that at a place, before any correction.

        Intervals fail with the probability of these levels, by default LEVEL.
        """

    @abstractmethod
    def correct(self, place: int, found: Sequence[Difference]) -> list[float]:
        """Return p with Holm's correction over all pairs of algorithms."""

    @property
    def pairs(self) -> int:
        """The number of pairs of algorithms."""
        return math.comb(len(self.labels), 2)

    def _limits(self, place: int) -> dict[str, float]:
        errors = find_errors(self.means, self.better)
        limits = NEGLIGIBLE * np.fmin(errors, errors[place])
        return {
            label: float(limit) if self.negligible is None else self.negligible
            for label, limit in zip(self.labels, limits, strict=True)
        }


@dataclass(frozen=True)
class TrialContest(Contest):
    """A contest over trials: what each algorithm has in every permutation, and by group of rows if known."""

    #: A row per algorithm and a column per permutation, NaN where there is no value.
    values: Floats
    #: A row per algorithm and a column per group of rows: the sums of influences, averaged over permutations.
    influence: Floats | None = None
    rows: int = 0
    #: The rows of the rarer class, for a measure that depends on the class.
    rarer: int | None = None
    #: The sums of influences by algorithm, permutation and fifth of the pass.
    fifths: Floats | None = None
    #: Of trials that share training rows: the size of a test set relative to its training set.
    overlap: float = 0.0
    #: Whether trials are folds of divisions, of which few are enough.
    in_folds: bool = False
    #: Whether every trial draws its data anew.
    is_fresh: bool = False

    @property
    def over(self) -> Over:
        return "draws" if self.is_fresh else "orders" if self.influence is None else "rows"

    def is_tested(self, difference: Difference) -> bool:
        shared = difference.wins + difference.ties + difference.losses
        return self.in_folds or shared >= FEWEST_ORDERS

    def exceeds(self, constant: float) -> bool:
        place = self.labels.index(self.best)
        known = None if self.influence is None else self.influence[place] * [[1.0], [0.0]]
        parts = None if self.fifths is None else self.fifths[place] * [[[1.0]], [[0.0]]]
        values = np.stack([self.values[place], np.full(self.values.shape[1], constant)])
        means = np.array([self.means[place], constant])
        [found] = replace(
            self, labels=(self.best, ""), means=means, values=values, influence=known, fifths=parts
        ).differences("")
        # The best is one of several that could have exceeded it.
        return super().exceeds(constant) and not found.p * len(self.labels) > LEVEL

    def compare(self, place: int, levels: Sequence[float] = ()) -> list[Difference]:
        others = [other for other in range(len(self.labels)) if other != place]
        apart, mean, rows, orders, freedom, count = self._measure(place, others)
        low, high, p = student_t(mean, rows, freedom, orders, count - 1, np.array(levels or LEVEL))
        sign = 1 if self.better == "higher" else -1
        wins, ties, losses = (np.count_nonzero(np.sign(apart) == each, axis=1) for each in (sign, 0, -sign))
        names = [(self.labels[other], self.labels[place]) for other in others]
        columns = (mean, low, high, p, np.full(p.shape, math.nan), np.sqrt(rows), np.sqrt(orders))
        numbers, counts = np.stack(columns, axis=1).tolist(), np.stack([wins, ties, losses], axis=1).tolist()
        parts = zip(names, numbers, counts, strict=True)
        facts: list[list[Any]] = [[*name, *values, *signs, self.over] for name, values, signs in parts]
        return [Difference(*each) for each in facts]

    def correct(self, place: int, found: Sequence[Difference]) -> list[float]:
        k = len(self.labels)
        p = np.full((k, k), math.nan)
        for first in range(k - 1):
            others = list(range(first + 1, k))
            _, mean, rows, orders, freedom, count = self._measure(first, others)
            p[first, others] = p[others, first] = student_t(mean, rows, freedom, orders, count - 1)[2]
        adjusted = np.full((k, k), math.nan)
        upper = np.triu_indices(k, 1)
        adjusted[upper] = holm(p[upper])
        adjusted.T[upper] = adjusted[upper]
        return list(map(float, np.delete(adjusted[place], place)))

    def _measure(self, place: int, others: list[int]) -> tuple[Floats, Floats, Floats, Floats, int, Floats]:
        """Return the differences by permutation, their means, both variances, and what these rest on."""
        apart = drop_noise(self.values[others], self.values[place])
        there = ~np.isnan(apart)
        count = there.sum(axis=1).astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(there, apart, 0.0).sum(axis=1) / count
            spread = np.where(there, apart - mean[:, None], 0.0)
            orders = np.square(spread).sum(axis=1) / (count - 1) * (1.0 / count + self.overlap)
        orders[count < 2] = math.nan
        rows, groups = np.full(mean.shape, math.nan), 0
        if self.influence is not None:
            groups = self.influence.shape[1]
            sums = self.influence[others] - self.influence[place]
            rows = groups / (groups - 1) * np.square(sums).sum(axis=1) / self.rows**2
            rows = np.fmax(rows, self._measure_learning(place, others, apart))
        if self.influence is not None and self.rarer is not None:
            groups = min(groups, self.rarer)
            if self.rarer < FEWEST_OF_CLASS:
                rows, orders = np.full(mean.shape, math.nan), np.full(mean.shape, math.nan)
        return apart, mean, rows, orders, groups - 1, count

    def _measure_learning(self, place: int, others: list[int], apart: Floats) -> Floats:
        """Return the variance that comes from the rows, with what is learnt from them; NaN if unknown.

        A pass over new rows varies by its rows and by their order. If what it learns from a row does not
        last, the fifths of a pass vary independently, except that a permutation draws them without
        replacement, so the sum of their variances over permutations is that of both. What other orders of
        the same rows change is known, and the rest comes from the rows.
        """
        if self.fifths is None or apart.shape[1] < FEWEST_ORDERS:
            return np.full(len(others), math.nan)
        parts = self.fifths.shape[2]
        moved = (self.fifths[others] - self.fifths[place]) / self.rows + apart[:, :, None] / parts
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of algorithms that share no permutation
            both = np.nanvar(moved, axis=1, ddof=1).sum(axis=1) / (1 - 1 / parts)
            return np.asarray(both - np.nanvar(apart, axis=1, ddof=1))


def drop_noise(one: Floats, other: Floats) -> Floats:
    """Return a difference that is 0 where two values differ only by the rounding of their means."""
    apart = one - other
    noise = ROUNDING * np.maximum(np.abs(one), np.abs(other))
    return np.asarray(np.where(np.abs(apart) <= noise, 0.0, apart))


def student_t(
    mean: Floats,
    rows: Floats,
    rows_freedom: int,
    orders: Floats,
    orders_freedom: Floats,
    level: Floats | float = LEVEL,
) -> tuple[Floats, Floats, Floats]:
    """Return the ends of the interval of each mean, and its p, from one variance or the sum of both.

    The interval fails with the probability `level`. NaN is a variance that is not known. Without any
    variation, p is 1 for a mean of 0, else 0.
    """
    parts = np.stack([rows, orders])
    freedom = np.stack([np.full(mean.shape, float(rows_freedom)), orders_freedom])
    known = ~np.isnan(parts) & (freedom > 0)
    parts = np.where(known, parts, 0.0)
    variance = parts.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        weights = np.where(known, np.square(parts) / freedom, 0.0).sum(axis=0)
        degrees = np.where(variance > 0.0, np.square(variance) / weights, 1.0)
        error = np.sqrt(variance)
        reach = special.stdtrit(degrees, 1 - level / 2) * error
        p = np.where(variance > 0.0, 2 * special.stdtr(degrees, -np.abs(mean / error)), mean == 0.0)
    nothing = ~known.any(axis=0) | np.isnan(mean)
    low, high, p = (np.where(nothing, math.nan, each) for each in (mean - reach, mean + reach, p))
    return low, high, p
