"""Statistics across data sets, with one number each; `difference` compares algorithms on one data set."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Losses = tuple[Floats, tuple[str, ...], tuple[str, ...]]
LEVEL = 0.05
#: At or above this many discordant pairs, McNemar's test is approximated.
FEW_DISCORDANT = 25
#: Means of counts carry rounding errors of about 1e-16; relative differences up to this are noise.
ROUNDING = 1e-12
#: Below so many data sets there is no comparison with a control: the posterior is mostly prior.
FEWEST_FOR_CONTROL = 5
#: Differences up to this share of the smaller error are negligible, unless a config says otherwise.
NEGLIGIBLE = 0.01
#: Errors below this one are not divided by.
_SMALLEST = 1e-12
#: The strength of the prior at zero in the Bayesian signed-rank test: the default of baycomp.
PRIOR = 0.5
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Posterior:
    """The probabilities that a difference is below, in and above the region of practical equivalence."""

    left: float
    rope: float
    right: float


@dataclass(frozen=True)
class Across:
    """A comparison over data sets after Demšar, JMLR 7 (2006); ranks are averages, 1 is the best."""

    datasets: tuple[str, ...]
    labels: tuple[str, ...]
    ranks: dict[str, float]
    statistic: float
    p: float
    #: Iman and Davenport's F, which is less conservative.
    iman_davenport: float
    iman_davenport_p: float
    critical_difference: float
    #: The largest groups of at least two whose average ranks differ by less than the critical difference.
    groups: tuple[tuple[str, ...], ...]
    #: The algorithms that would lead if a data set were left out, where that changes who leads.
    without: dict[str, str]


@dataclass(frozen=True)
class Pair:
    """Two algorithms over the data sets that both have: it depends on no other algorithm.

    The mean is that of the differences, first minus second; wins are those of the first. p is Wilcoxon's.
    """

    first: str
    second: str
    mean: float
    wins: int
    ties: int
    losses: int
    p: float

    def flip(self) -> "Pair":
        return Pair(self.second, self.first, -self.mean, self.losses, self.ties, self.wins, self.p)


@dataclass(frozen=True)
class Rival:
    """An algorithm against the control, over data sets: a pair, and p with Holm's correction."""

    label: str
    mean: float
    wins: int
    ties: int
    losses: int
    p: float
    adjusted: float
    significant: bool
    posterior: Posterior


@dataclass(frozen=True)
class Against:
    """All algorithms against one, over data sets; `selected` says that the data named it, as the best."""

    label: str
    selected: bool
    rivals: tuple[Rival, ...]


def across(means: Mapping[str, Mapping[str, float]], better: str = "lower") -> Across | str:
    """Compare algorithms over data sets, from `means[dataset][label]`, or return why that is impossible.

    Only data sets with a number for every algorithm count.
    """
    losses = table, datasets, labels = _find_losses(means, better)
    if reason := _find_obstacle(table, labels):
        return reason
    n, k = table.shape
    ranks, critical = _average_ranks(table, labels), critical_difference(k, n)
    friedman = _friedman(table)
    tests = (*friedman, *_iman_davenport(friedman[0], n, k))
    return Across(datasets, labels, ranks, *tests, critical, _groups(ranks, critical), _leave_one_out(losses))


def _order(ranks: Mapping[str, float]) -> list[str]:
    return sorted(ranks, key=lambda label: (ranks[label], label))


def leave_one_out(means: Mapping[str, Mapping[str, float]], better: str = "lower") -> dict[str, str]:
    """Return the algorithms that would lead if a data set were left out, where that changes who leads."""
    return _leave_one_out(_find_losses(means, better))


def _leave_one_out(losses: Losses) -> dict[str, str]:
    table, datasets, labels = losses
    ranks = _rank(table)
    leader = labels.index(_order(_average_ranks(table, labels))[0])
    # Sums of ranks are whole or halves: no rounding.
    leaders = zip(datasets, ranks.sum(axis=0) - ranks, strict=True)
    return {name: labels[int(sums.argmin())] for name, sums in leaders if sums[leader] > sums.min()}


def pairwise(means: Mapping[str, Mapping[str, float]], better: str = "lower") -> list[Pair]:
    """Compare every two algorithms over the data sets that both have."""
    sign = -1.0 if better == "higher" else 1.0
    labels = dict.fromkeys(label for row in means.values() for label in row)
    columns = {
        label: sign * np.array([row.get(label, math.nan) for row in means.values()]) for label in labels
    }
    found = []
    for first, second in combinations(labels, 2):
        one, other = columns[first], columns[second]
        shared = ~(np.isnan(one) | np.isnan(other))
        if shared.any():
            apart = _subtract_ties(one[shared], other[shared])
            wins, ties, losses = (int(np.count_nonzero(np.sign(apart) == each)) for each in (-1, 0, 1))
            p, _ = _test_signed_ranks(apart, _rank(np.abs(apart)))
            found.append(Pair(first, second, sign * float(apart.mean()), wins, ties, losses, p))
    return found


def against(
    means: Mapping[str, Mapping[str, float]],
    better: str = "lower",
    control: str | None = None,
    negligible: float | None = None,
) -> Against | str:
    """Compare every algorithm with one or, by default, with the one that has the best mean rank.

    The data selected the best one: its comparisons are corrected for all pairs, and the others for theirs.
    `negligible` is a difference; None is a share of the smaller error.
    """
    table, _, labels = _find_losses(means, better)
    control = control if control in labels else None
    if len(table) < FEWEST_FOR_CONTROL:
        needed = f"{FEWEST_FOR_CONTROL} data sets that have all {len(labels)} algorithms"
        return f"a comparison over data sets with one algorithm needs {needed}; this run has {len(table)}"
    if reason := _find_obstacle(table, labels):
        return reason
    order = _order(_average_ranks(table, labels))
    best = order[0] if control is None else control
    found = pairwise(means, better)
    tested = [each for each in found if control is None or best in (each.first, each.second)]
    pairs: dict[tuple[str, str], tuple[Pair, float]] = {}
    for each, q in zip(tested, holm([each.p for each in tested]), strict=True):
        pairs |= {(own.first, own.second): (own, q) for own in (each, each.flip())}
    rivals = [label for label in order if label != best]
    columns = dict(zip(labels, table.T, strict=True))
    losses, own = np.array([columns[label] for label in rivals]), columns[best]
    if negligible is None:
        sign = -1.0 if better == "higher" else 1.0
        errors = np.fmin(*(find_errors(sign * each, better) for each in (losses, own)))
        posteriors = bayesian_signed_rank(losses, own, NEGLIGIBLE, np.maximum(errors, _SMALLEST))
    else:
        posteriors = bayesian_signed_rank(losses, own, negligible)
    tests = []
    for label, posterior in zip(rivals, posteriors, strict=True):
        pair, q = pairs[label, best]
        signs = pair.wins, pair.ties, pair.losses
        tests.append(Rival(label, pair.mean, *signs, pair.p, q, q <= LEVEL, posterior))
    return Against(best, control is None, tuple(tests))


def find_errors(values: Floats, better: str) -> Floats:
    """Return what is missing to the best possible value: 1 less a score, or the loss itself."""
    return np.asarray(np.maximum(0.0, 1.0 - values) if better == "higher" else np.abs(values))


def bayesian_signed_rank(
    losses: Floats,
    control: Floats,
    rope: float,
    unit: Floats | float = 1.0,
    samples: int = 10_000,
    seed: int = 0,
) -> list[Posterior]:
    """Compare each row of losses with the control; both have one loss per data set.

    The differences are in these units, such as the smaller of both losses.

    Benavoli, Corani, Demšar and Zaffalon, JMLR 18(77), 2017, as in baycomp: a Dirichlet process.

    The prior is one pseudo-observation at zero. A sample of weights gives a probability that the mean of two
    observations is below -rope, in between, or above rope (on the border, half); the posterior is how often
    each of the three is the largest, ties shared. All rows use the same samples.
    """
    rows, n = losses.shape
    observed, scale = (np.pad(each / unit, ((0, 0), (1, 0))) for each in _subtract(losses, control))
    one, other = np.triu_indices(n + 1)
    sums = observed[:, one] + observed[:, other]
    noise = ROUNDING * np.maximum(scale[:, one], scale[:, other])
    # Every pair of two observations is drawn in both orders.
    orders = np.where(one == other, 1.0, 2.0)

    def weigh_beyond(signed: Floats) -> Floats:
        beyond = signed - 2 * rope
        return np.asarray((orders * np.where(np.abs(beyond) <= noise, 0.5, beyond > 0)).T)

    below, above = weigh_beyond(-sums), weigh_beyond(sums)
    generator = np.random.default_rng(seed)
    strengths = np.array([PRIOR, *[1.0] * n])
    wins = np.zeros((3, rows))
    block = max(1, _BLOCK // max(one.size, 3 * rows))
    for start in range(0, samples, block):
        weights = generator.dirichlet(strengths, min(block, samples - start))
        products = weights[:, one] * weights[:, other]
        left, right = products @ below, products @ above
        masses = np.stack([left, 1 - left - right, right])
        largest = masses == masses.max(axis=0)
        wins += (largest / largest.sum(axis=0)).sum(axis=1)
    return [Posterior(*map(float, shares)) for shares in (wins / samples).T]


def _find_obstacle(losses: Floats, labels: Sequence[str]) -> str:
    if len(labels) < 3:
        return f"a comparison over data sets needs 3 algorithms; this run has {len(labels)}"
    if len(losses) < 3:
        return (
            f"a comparison over data sets needs 3 data sets that have all {len(labels)} algorithms; "
            f"this run has {len(losses)}"
        )
    return ""


def _find_losses(means: Mapping[str, Mapping[str, float]], better: str) -> Losses:
    """Return the losses on the data sets that have every algorithm, with these data sets and the labels."""
    labels = tuple(dict.fromkeys(label for row in means.values() for label in row))
    datasets = tuple(name for name, row in means.items() if is_complete(row, labels))
    table = np.array([[means[name][label] for label in labels] for name in datasets], np.float64)
    return merge_ties(-table if better == "higher" else table), datasets, labels


def _average_ranks(table: Floats, labels: tuple[str, ...], ties: str = "average") -> dict[str, float]:
    return dict(zip(labels, map(float, _rank(table, ties).mean(axis=0)), strict=True))


def _rank(table: Floats, ties: str = "average") -> Floats:
    """As scipy.stats.rankdata, whose module takes longer to import than a report to make."""
    order = np.argsort(table, axis=-1, kind="stable")
    ordered = np.take_along_axis(table, order, axis=-1)
    places = np.arange(1.0, table.shape[-1] + 1)
    edge = np.ones((*table.shape[:-1], 1), bool)
    changes = ordered[..., 1:] != ordered[..., :-1]
    first = np.maximum.accumulate(np.where(np.concatenate([edge, changes], -1), places, 1.0), axis=-1)
    if ties == "average":
        ends = np.where(np.concatenate([changes, edge], -1), places, np.inf)
        first = (first + np.minimum.accumulate(ends[..., ::-1], axis=-1)[..., ::-1]) / 2
    ranks = np.empty_like(first)
    np.put_along_axis(ranks, order, first, axis=-1)
    return ranks


def nemenyi_q(k: int, level: float = LEVEL) -> float:
    """Return the critical value of Nemenyi's test for k algorithms: the studentized range over √2.

    >>> round(nemenyi_q(3), 3)
    2.344
    """
    from scipy import stats

    return float(stats.studentized_range.ppf(1 - level, k, np.inf)) / math.sqrt(2)


def critical_difference(k: int, n: int, level: float = LEVEL) -> float:
    """Return how far apart average ranks of k algorithms over n data sets must be (Demšar 2006, 3.2.2)."""
    return nemenyi_q(k, level) * math.sqrt(k * (k + 1) / (6 * n))


def holm(p: Sequence[float] | Floats) -> list[float]:
    """Return the p-values adjusted by Holm's step-down procedure (1979), to compare with the level itself.

    NaN means that nothing was tested: it does not count, and stays.

    >>> [round(each, 3) for each in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p, np.float64)
    order = np.argsort(values, kind="stable")
    tests = int(np.count_nonzero(~np.isnan(values)))
    stepped = np.maximum.accumulate(values[order] * (tests - np.arange(values.size)))
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(stepped, 1.0)
    return [float(each) for each in adjusted]


def wilcoxon(first: Floats, second: Floats) -> tuple[float, int]:
    """Return the exact two-sided p-value of the signed-rank test, and how many differences are not zero.

    Zeros are dropped, as Wilcoxon did; ties share their average rank (ranks are doubled to make them whole).
    """
    apart = _subtract_ties(first, second)
    return _test_signed_ranks(apart, _rank(np.abs(apart)))


def _test_signed_ranks(differences: Floats, ranks: Floats) -> tuple[float, int]:
    apart = differences != 0
    if not apart.any():
        return 1.0, 0
    # Zeros have the smallest ranks: without them, each of the others moves down by their number.
    doubled = np.rint(2 * (ranks[apart] - np.count_nonzero(~apart))).astype(np.int64)
    doubled //= np.gcd.reduce(doubled)
    positive = int(doubled[differences[apart] > 0].sum())
    smaller = min(positive, int(doubled.sum()) - positive)
    return min(1.0, 2 * _rank_sum_tail(np.sort(doubled), smaller)), doubled.size


def _rank_sum_tail(ranks: NDArray[np.int64], bound: int) -> float:
    """Sums above the bound are not computed; small ranks come first, so that there are few sums for long."""
    shares, largest = np.zeros(bound + 1), 0
    shares[0] = 1.0
    used = ranks[: np.searchsorted(ranks, bound, "right")].tolist()
    for rank in used:
        largest = min(largest + rank, bound)
        shares[rank : largest + 1] += shares[: largest + 1 - rank]
        shares *= 0.5  # counts would leave the range of doubles beyond 1,000 ranks
    return math.ldexp(float(shares.sum()), len(used) - ranks.size)


def mean_ranks(
    means: Mapping[str, Mapping[str, float]], better: str = "lower", ties: str = "average"
) -> dict[str, float]:
    """Return mean ranks; ties share their average rank or, with ties="min", the smallest (cw2012, Table 2).

    >>> means = {"a": {"x": 0.1, "y": 0.2}, "b": {"x": 0.3, "y": 0.3}}
    >>> mean_ranks(means), mean_ranks(means, ties="min")
    ({'x': 1.25, 'y': 1.75}, {'x': 1.0, 'y': 1.5})
    """
    losses, _, labels = _find_losses(means, better)
    return _average_ranks(losses, labels, ties) if losses.size else {}


@dataclass(frozen=True)
class McNemar:
    first_alone: int
    second_alone: int
    p: float
    exact: bool


def mcnemar(first_wrong: Bools, second_wrong: Bools) -> McNemar:
    """McNemar's test (1947) on the errors of two classifiers on the same examples.

    Exact below FEW_DISCORDANT examples on which only one is wrong; from there the chi-square with Edwards'
    continuity correction, (|b - c| - 1)^2 / (b + c).
    """
    if first_wrong.shape != second_wrong.shape:
        raise ValueError("McNemar's test needs the errors of both on the same examples")
    b = int(np.count_nonzero(first_wrong & ~second_wrong))
    c = int(np.count_nonzero(second_wrong & ~first_wrong))
    if b + c < FEW_DISCORDANT:
        # The tail P(X <= min(b, c)) is a regularised incomplete beta function.
        tail = float(special.bdtr(min(b, c), b + c, 0.5)) if b + c else 1.0
        return McNemar(b, c, min(1.0, 2 * tail), True)
    statistic = max(abs(b - c) - 1, 0) ** 2 / (b + c)
    return McNemar(b, c, float(special.chdtrc(1, statistic)), False)


def pitman_morgan(one: Floats, other: Floats) -> float:
    """Return p of Pitman and Morgan's test (1939) that paired values have equal variances; NaN is no value.

    If so, their sums and their differences are not correlated.
    """
    paired = ~np.isnan(one + other)
    total, apart = (one + other)[paired], (one - other)[paired]
    if total.size < 3 or min(np.ptp(total), np.ptp(apart)) <= ROUNDING * np.abs(total).max():
        return 1.0
    r, freedom = float(np.corrcoef(total, apart)[0, 1]), total.size - 2
    # Of variances, the smaller may be 0.
    t = abs(r) * math.sqrt(freedom / (1.0 - r * r)) if abs(r) < 1.0 else math.inf
    return float(2 * special.stdtr(freedom, -t))


def kendall_tau(ours: Sequence[float] | Floats, theirs: Sequence[float] | Floats) -> float:
    """Return Kendall's tau-b of two lists of values for the same items; NaN if a list has one value only."""
    if np.ptp(ours) == 0 or np.ptp(theirs) == 0:
        return math.nan
    from scipy import stats

    return float(stats.kendalltau(ours, theirs).statistic)


def _subtract_ties(first: Floats, second: Floats) -> Floats:
    """Return the differences along the last axis, without the rounding noise between those of one size."""
    apart, scale = _subtract(first, second)
    return np.copysign(merge_ties(np.abs(apart), scale), apart)


def _subtract(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Return the differences, 0 for ties, and the larger number of each, which bounds its rounding noise."""
    apart, scale = first - second, np.maximum(np.abs(first), np.abs(second))
    differ = np.abs(apart) > ROUNDING * scale
    return np.where(differ, apart, 0.0), np.where(differ, scale, 0.0)


def find_best(means: Mapping[str, float], better: str) -> list[str]:
    """Return the algorithms with the best mean on a data set: several if they tie, none if all are NaN."""
    sign = -1.0 if better == "higher" else 1.0
    losses = merge_ties(sign * np.array(list(means.values()), np.float64))
    return [label for label, loss in zip(means, losses, strict=True) if loss == np.fmin.reduce(losses)]


def merge_ties(values: Floats, scale: Floats | None = None) -> Floats:
    """Return values of which those that differ only by rounding noise, along the last axis, are equal.

    Noise is relative to the larger of two neighbours or, if given, to their `scale`: the data set with the
    largest losses does not decide what a tie is on the others.

    >>> merge_ties(np.array([[0.1 + 0.2, 0.3, 0.4], [7e17, 2e5, 1e5]])).tolist()
    [[0.3, 0.3, 0.4], [7e+17, 200000.0, 100000.0]]
    """
    if not values.size:
        return values
    order = np.argsort(values, axis=-1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=-1)
    scale = np.take_along_axis(np.abs(values) if scale is None else scale, order, axis=-1)
    differ = ~(np.diff(ordered) <= ROUNDING * np.maximum(scale[..., 1:], scale[..., :-1]))
    first = np.zeros(values.shape, np.int64)
    first[..., 1:] = np.maximum.accumulate(np.where(differ, np.arange(1, values.shape[-1]), 0), axis=-1)
    merged = np.empty_like(values)
    np.put_along_axis(merged, order, np.take_along_axis(ordered, first, axis=-1), axis=-1)
    return merged


def is_complete(row: Mapping[str, float], labels: Iterable[str]) -> bool:
    return all(not math.isnan(row.get(label, math.nan)) for label in labels)


def _friedman(table: Floats) -> tuple[float, float]:
    if not np.ptp(table, axis=1).any():
        return 0.0, 1.0
    from scipy import stats

    test = stats.friedmanchisquare(*table.T)
    return float(test.statistic), float(test.pvalue)


def _iman_davenport(chi2: float, n: int, k: int) -> tuple[float, float]:
    """Return F and its p-value (Demšar 2006, 3.2.2); the same order on every data set makes F infinite."""
    rest = n * (k - 1) - chi2
    if rest <= ROUNDING * n * k:
        return math.inf, 0.0
    f = (n - 1) * chi2 / rest
    return f, float(special.fdtrc(k - 1, (k - 1) * (n - 1), f))


def _groups(ranks: Mapping[str, float], critical: float) -> tuple[tuple[str, ...], ...]:
    order = sorted(ranks, key=lambda label: ranks[label])
    groups: list[tuple[str, ...]] = []
    for start, first in enumerate(order):
        group = tuple(label for label in order[start:] if ranks[label] - ranks[first] < critical)
        if len(group) > 1 and not (groups and set(group) <= set(groups[-1])):
            groups.append(group)
    return tuple(groups)


def derangements(size: int, most: int) -> NDArray[np.int64]:
    """Return permutations that leave nothing in its place: all if they are at most `most`, or random ones.

    >>> derangements(3, 10).tolist()
    [[1, 2, 0], [2, 0, 1]]
    """
    places = np.arange(size)
    # Of all permutations, about one in e is a derangement.
    if math.factorial(size) <= math.e * (most + 1):
        orders = np.array(list(permutations(range(size))), np.int64).reshape(-1, size)
    else:
        orders = np.random.default_rng(0).permuted(np.tile(places, (4 * most, 1)), axis=1)
    return np.asarray(orders[(orders != places).all(axis=1)][:most])
