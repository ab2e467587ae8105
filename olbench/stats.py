"""Statistics of a comparison: within one data set over its permutations, and across data sets.

The two are kept apart. Permutations of one data set are the same examples again, so what they say is
conditional on that data set: it is about the order of the examples, not about other data. Across data sets
the unit is the data set, one number each; permutations are never counted as data sets.

Arrays of one data set are aligned: position p is permutation p, and NaN stands for one that is not there.
`better` says whether lower or higher numbers are better.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

Floats = NDArray[np.float64]
LEVEL = 0.05
#: What stands beside every statistic of `within`.
CONDITIONAL = "conditional on this data set: over orders of the same examples, not over other data"
#: Means of counts carry rounding errors of about 1e-16; differences below this share of them are none.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Difference:
    """An algorithm against the best on one data set, over the permutations that both have.

    Mean of (this - best) with its 95% bootstrap interval; on how many permutations this one is better (wins),
    equal and worse; p of the paired t-test. Interval and p are NaN below two permutations.
    """

    label: str
    mean: float
    low: float
    high: float
    wins: int
    ties: int
    losses: int
    p: float


@dataclass(frozen=True)
class PairTest:
    """Two algorithms over the data sets: Wilcoxon's p, and Holm's adjustment over all pairs."""

    first: str
    second: str
    p: float
    adjusted: float
    significant: bool
    #: On how many data sets the two differ; Wilcoxon's test drops the others.
    untied: int


@dataclass(frozen=True)
class Across:
    """A comparison over data sets after Demšar, JMLR 7 (2006); ranks are averages, 1 is the best."""

    datasets: tuple[str, ...]
    labels: tuple[str, ...]
    ranks: dict[str, float]
    #: Friedman's chi-square, corrected for ties.
    statistic: float
    p: float
    #: Iman and Davenport's F, which is less conservative.
    iman_davenport: float
    iman_davenport_p: float
    critical_difference: float
    pairs: tuple[PairTest, ...]
    #: The largest sets of at least two whose average ranks differ by less than the critical difference.
    groups: tuple[tuple[str, ...], ...]
    power: str


def not_worse(values: Mapping[str, Floats], better: str = "lower", level: float = LEVEL) -> set[str]:
    """Return the best mean and all that are not significantly worse: what is bold in scw2012, Table 3.

    Worse means a worse mean over the permutations shared with the best, by more than chance according to the
    paired two-sided t-test. With one shared permutation nothing can be said: only exact ties stand beside the
    best then.
    """
    losses = _orient(values, better)
    best = _best(losses)
    return {
        label for label in _present(losses) if label == best or not _worse(losses[label], losses[best], level)
    }


def _orient(values: Mapping[str, Floats], better: str) -> dict[str, Floats]:
    """Return the values turned so that lower is better."""
    return {label: -array if better == "higher" else array for label, array in values.items()}


def paired_t(first: Floats, second: Floats) -> tuple[float, float]:
    """Return the mean of (first - second) over the shared permutations, and p of the two-sided t-test.

    Differences that are all zero give p = 1, a constant other difference gives p = 0 (the limits of the test
    as the variance vanishes), fewer than two permutations NaN.
    """
    apart = _apart(first, second)
    if not apart.size:
        return math.nan, math.nan
    mean = float(apart.mean())
    if apart.size == 1:
        return mean, math.nan
    if not np.ptp(apart):
        return mean, float(mean == 0)
    t = mean / (apart.std(ddof=1) / math.sqrt(apart.size))
    return mean, float(2 * special.stdtr(apart.size - 1, -abs(t)))


def within(
    values: Mapping[str, Floats], better: str = "lower", seed: int = 0, resamples: int = 10_000
) -> tuple[str, list[Difference]]:
    """Return the best on a data set and the difference of each other to it, conditional on that data set.

    The interval is the percentile bootstrap of the mean of paired differences, whole permutations drawn anew.
    It is somewhat too short for few permutations: with 20 it covers about 93% instead of 95%.
    """
    losses = _orient(values, better)
    best = _best(losses)
    found = [
        _difference(label, losses[label], losses[best], seed, resamples)
        for label in _present(losses)
        if label != best
    ]
    return best, [_turn_back(each) for each in found] if better == "higher" else found


def _turn_back(each: Difference) -> Difference:
    """Return a difference of losses as one of the values themselves."""
    return replace(each, mean=-each.mean, low=-each.high, high=-each.low)


def across(
    means: Mapping[str, Mapping[str, float]], better: str = "lower", level: float = LEVEL
) -> Across | str:
    """Compare algorithms over data sets, `means[dataset][label]`; a text says why it cannot be done.

    Only data sets with a number for every algorithm count, each once: the data set is the unit, so its mean
    over permutations is one observation. Wilcoxon's test ranks the plain differences of the means.
    """
    labels = tuple(dict.fromkeys(label for row in means.values() for label in row))
    datasets = tuple(name for name, row in means.items() if _complete(row, labels))
    if len(labels) < 3:
        return f"a comparison over data sets needs 3 algorithms; this run has {len(labels)}"
    if len(datasets) < 3:
        return (
            f"a comparison over data sets needs 3 of them with all {len(labels)} algorithms; "
            f"this run has {len(datasets)}"
        )
    table = np.array([[means[name][label] for label in labels] for name in datasets], np.float64)
    losses = _rounded(-table if better == "higher" else table, float(np.abs(table).max()))
    return _compared(losses, datasets, labels, level)


def nemenyi_q(k: int, level: float = LEVEL) -> float:
    """Return the critical value of Nemenyi's test for k algorithms: the studentized range over √2.

    >>> round(nemenyi_q(3), 3)
    2.344
    """
    return float(stats.studentized_range.ppf(1 - level, k, np.inf)) / math.sqrt(2)


def critical_difference(k: int, n: int, level: float = LEVEL) -> float:
    """Return how far average ranks of k algorithms over n data sets must be apart (Demšar 2006, 3.2.2)."""
    return nemenyi_q(k, level) * math.sqrt(k * (k + 1) / (6 * n))


def holm(p: Sequence[float]) -> list[float]:
    """Return the p-values adjusted by Holm's step-down procedure (1979): compare them with the level itself.

    >>> [round(each, 3) for each in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p, np.float64)
    order = np.argsort(values, kind="stable")
    stepped = np.maximum.accumulate(values[order] * np.arange(values.size, 0, -1))
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(stepped, 1.0)
    return [float(each) for each in adjusted]


def wilcoxon(differences: Floats) -> tuple[float, int]:
    """Return the two-sided p of the signed-rank test, and how many differences are not zero.

    Zeros are dropped, as Wilcoxon did; equal sizes share their average rank. The p is exact, ties or not: the
    distribution of the rank sum over all 2^n signs is added up, rank by rank (ranks are doubled to be whole).
    """
    apart = differences[differences != 0]
    if not apart.size:
        return 1.0, 0
    doubled = np.rint(2 * stats.rankdata(np.abs(apart))).astype(np.int64)
    chances = np.ones(1)
    for rank in doubled:
        chances = (np.pad(chances, (0, rank)) + np.pad(chances, (rank, 0))) / 2
    positive = int(doubled[apart > 0].sum())
    smaller = min(positive, int(doubled.sum()) - positive)
    return min(1.0, 2 * float(chances[: smaller + 1].sum())), int(apart.size)


def kendall_tau(ours: Sequence[float] | Floats, theirs: Sequence[float] | Floats) -> float:
    """Return Kendall's tau-b of two lists of values of the same things; NaN where one list is all ties."""
    if np.ptp(ours) == 0 or np.ptp(theirs) == 0:
        return math.nan
    return float(stats.kendalltau(ours, theirs).statistic)


def _present(rates: Mapping[str, Floats]) -> list[str]:
    if len({values.size for values in rates.values()}) > 1:
        raise ValueError("the arrays must be aligned by permutation, with NaN for those that are not there")
    return [label for label, values in rates.items() if not np.isnan(values).all()]


def _best(rates: Mapping[str, Floats]) -> str:
    present = _present(rates)
    if not present:
        raise ValueError("there is no algorithm with a permutation")
    return min(present, key=lambda label: float(np.nanmean(rates[label])))


def _apart(first: Floats, second: Floats) -> Floats:
    """Return the differences over the shared permutations, without the noise of rounding."""
    shared = ~(np.isnan(first) | np.isnan(second))
    first, second = first[shared], second[shared]
    scale = max(np.abs(first).max(initial=0), np.abs(second).max(initial=0))
    return _rounded(first - second, float(scale))


def _worse(one: Floats, best: Floats, level: float) -> bool:
    mean, p = paired_t(one, best)
    if math.isnan(p):
        return mean != 0
    return mean > 0 and p < level


def _difference(label: str, one: Floats, best: Floats, seed: int, resamples: int) -> Difference:
    apart = _apart(one, best)
    mean, p = paired_t(one, best)
    low, high = _bootstrap(apart, seed, resamples)
    wins, ties, losses = (int(count.sum()) for count in (apart < 0, apart == 0, apart > 0))
    return Difference(label, mean, low, high, wins, ties, losses, p)


def _bootstrap(apart: Floats, seed: int, resamples: int) -> tuple[float, float]:
    """Return the 95% percentile interval of the mean."""
    if apart.size < 2:
        return math.nan, math.nan
    low, high = np.quantile(_resampled(apart.size, seed, resamples) @ apart, [0.025, 0.975])
    return float(low), float(high)


@lru_cache(maxsize=4)
def _resampled(size: int, seed: int, resamples: int) -> Floats:
    """Return how much weight each permutation has in each resample; every pair of a report shares them."""
    drawn = np.random.default_rng(seed).integers(size, size=(resamples, size))
    return np.stack([(drawn == each).mean(axis=1) for each in range(size)], axis=1)


def _complete(row: Mapping[str, float], labels: tuple[str, ...]) -> bool:
    return all(not math.isnan(row.get(label, math.nan)) for label in labels)


def _rounded(values: Floats, scale: float) -> Floats:
    """Return the values without the noise of rounding, so that what is equal is exactly equal."""
    unit = _ROUNDING * (scale or 1.0)
    return np.asarray(np.round(values / unit) * unit, np.float64)


def _compared(table: Floats, datasets: tuple[str, ...], labels: tuple[str, ...], level: float) -> Across:
    n, k = table.shape
    ranks = dict(zip(labels, map(float, stats.rankdata(table, axis=1).mean(axis=0)), strict=True))
    statistic, p = _friedman(table)
    f, f_p = _iman_davenport(statistic, n, k)
    critical = critical_difference(k, n, level)
    return Across(
        datasets, labels, ranks, statistic, p, f, f_p, critical,
        _pairs(table, labels, level), _groups(ranks, critical), _power(n, k, critical, level),
    )  # fmt: skip


def _friedman(table: Floats) -> tuple[float, float]:
    if not np.ptp(table, axis=1).any():
        return 0.0, 1.0
    found = stats.friedmanchisquare(*table.T)
    return float(found.statistic), float(found.pvalue)


def _iman_davenport(chi2: float, n: int, k: int) -> tuple[float, float]:
    """Return F and its p (Demšar 2006, 3.2.2); the same order on every data set makes F infinite."""
    rest = n * (k - 1) - chi2
    if rest <= _ROUNDING * n * k:
        return math.inf, 0.0
    f = (n - 1) * chi2 / rest
    return f, float(stats.f.sf(f, k - 1, (k - 1) * (n - 1)))


def _pairs(table: Floats, labels: tuple[str, ...], level: float) -> tuple[PairTest, ...]:
    couples = list(combinations(range(len(labels)), 2))
    tested = [wilcoxon(_apart(table[:, i], table[:, j])) for i, j in couples]
    adjusted = holm([p for p, _ in tested])
    return tuple(
        PairTest(labels[i], labels[j], p, q, q <= level, untied)
        for (i, j), (p, untied), q in zip(couples, tested, adjusted, strict=True)
    )


def _groups(ranks: Mapping[str, float], critical: float) -> tuple[tuple[str, ...], ...]:
    order = sorted(ranks, key=lambda label: ranks[label])
    found: list[tuple[str, ...]] = []
    for start, first in enumerate(order):
        group = tuple(label for label in order[start:] if ranks[label] - ranks[first] < critical)
        if len(group) > 1 and not (found and set(group) <= set(found[-1])):
            found.append(group)
    return tuple(found)


def _power(n: int, k: int, critical: float, level: float) -> str:
    """Return what cannot be seen; Wilcoxon's smallest p is 2^(1-n), which Holm multiplies by the pairs."""
    pairs = k * (k - 1) // 2
    needed = 1 + math.ceil(math.log2(pairs / level))
    return (
        f"With {k} algorithms and {n} data sets a difference below {critical:.2f} average ranks cannot be "
        f"seen at the {level:.0%} level, and Wilcoxon's test with Holm's correction over {pairs} pairs can "
        f"find none with fewer than {needed} data sets."
    )
