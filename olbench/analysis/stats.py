"""Statistics within one data set, over its permutations, and across data sets, with one number each.

Arrays of one data set are aligned: position p is permutation p, and NaN marks a missing one.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from olbench.analysis.blocks import COLUMNS, compare_counts, compare_pairs
from olbench.records.quantities import Quantity

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Losses = tuple[Floats, tuple[str, ...], tuple[str, ...]]
COUNTS, PAIRS = "counts", "pairs"
LEVEL = 0.05
POWER = 0.8
#: At or above this many discordant pairs, McNemar's test is approximated.
FEW_DISCORDANT = 25
#: Means of counts carry rounding errors of about 1e-16; relative differences up to this are noise.
_ROUNDING = 1e-12
#: Up to this many distinct resamples, a bootstrap sorts those instead of all.
_FEW_RESAMPLES = 500
#: Below so many data sets there is no comparison with a control: the posterior is mostly prior.
FEWEST_FOR_CONTROL = 5
#: Differences of rates up to this one are equal for practical purposes (Benavoli et al., JMLR 18(77), 2017).
ROPE = 0.01
#: The strength of the prior at zero in the Bayesian signed-rank test: the default of baycomp.
PRIOR = 0.5
_BLOCK = 1 << 20


@dataclass(frozen=True)
class PairedTest:
    mean: float
    low: float
    high: float
    p: float
    #: The smallest difference that it could have detected: `smallest_detectable`.
    detectable: float


@dataclass(frozen=True)
class Difference:
    """An algorithm minus the best one on a data set, over the permutations that both have.

    The interval is the bootstrap's or, where trials share training rows, that of the corrected t-test.
    `adjusted` is p with Holm's correction over the comparisons with the best of this data set.
    """

    label: str
    mean: float
    low: float
    high: float
    wins: int
    ties: int
    losses: int
    p: float
    detectable: float
    adjusted: float = math.nan


@dataclass(frozen=True)
class PairTest:
    """Two algorithms over all data sets: Wilcoxon's p-value, raw and with Holm's correction."""

    first: str
    second: str
    p: float
    adjusted: float
    significant: bool
    untied: int


@dataclass(frozen=True)
class Posterior:
    """The probabilities that a difference is below, in and above the region of practical equivalence."""

    left: float
    rope: float
    right: float


@dataclass(frozen=True)
class ControlTest:
    """The difference of average ranks in standard errors, with p raw and after Holm (Demšar 2006, 3.2.2)."""

    label: str
    z: float
    p: float
    adjusted: float
    significant: bool
    #: Whether it is better than the control (left), practically equal, or worse (right); None without a rope.
    posterior: Posterior | None


@dataclass(frozen=True)
class Control:
    label: str
    rope: float | None
    tests: tuple[ControlTest, ...]


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
    pairs: tuple[PairTest, ...]
    #: The largest groups of at least two whose average ranks differ by less than the critical difference.
    groups: tuple[tuple[str, ...], ...]
    power: str


def not_worse(values: Mapping[str, Floats], better: str = "lower", overlap: float = 0.0) -> set[str]:
    """Return the best algorithm and all not significantly worse: those in bold in scw2012, Table 3.

    One shared permutation allows no test: then only exact ties join the best.
    """
    losses = _orient(values, better)
    best = _best(losses)
    tests = {label: resampled_t(losses[label], losses[best], overlap) for label in _labels_present(losses)}
    tied = {label for label, test in tests.items() if math.isnan(test.p) and test.mean == 0}
    tested = {label for label, test in tests.items() if test.p >= LEVEL or (test.mean <= 0 and test.p >= 0)}
    return {best} | tied | tested


def _orient(values: Mapping[str, Any], better: str) -> dict[str, Any]:
    return {label: -array if better == "higher" else array for label, array in values.items()}


def resampled_t(first: Floats, second: Floats, overlap: float = 0.0) -> PairedTest:
    """Test (first - second) over the permutations that both have, two-sided.

    The corrected resampled t-test of Nadeau and Bengio, Machine Learning 52 (2003), section 3: folds share
    training rows, so the variance of the mean of k is (1/k + overlap) times that of a difference; `overlap`
    is n_test / n_train. Zero gives the ordinary paired t-test. If all differences are equal, p is 1 if they
    are zero, else 0. With fewer than two, it is NaN.
    """
    apart = _paired_differences(first, second)
    mean = float(apart.mean()) if apart.size else math.nan
    if apart.size < 2:
        return PairedTest(mean, math.nan, math.nan, math.nan, math.nan)
    if not np.ptp(apart):
        return PairedTest(mean, mean, mean, float(mean == 0), 0.0)
    deviation = float(apart.std(ddof=1))
    error = deviation / math.sqrt(_effective(apart.size, overlap))
    freedom = apart.size - 1
    reach = float(special.stdtrit(freedom, 1 - LEVEL / 2)) * error
    p = float(2 * special.stdtr(freedom, -abs(mean / error)))
    detectable = smallest_detectable(apart.size, deviation, overlap)
    return PairedTest(mean, mean - reach, mean + reach, p, detectable)


def _effective(count: int, overlap: float) -> float:
    """Return how many independent trials have a mean as variable as that of overlapping ones."""
    return count / (1 + count * overlap)


def smallest_detectable(count: int, deviation: float, overlap: float = 0.0) -> float:
    """Return the smallest true difference that a paired t-test detects with a power of POWER (noncentral t).

    >>> round(smallest_detectable(20, 1.0), 3)
    0.66
    """
    if count < 2:
        return math.nan
    return _noncentrality(count - 1) * deviation / math.sqrt(_effective(count, overlap))


@lru_cache(maxsize=64)
def _noncentrality(freedom: int) -> float:
    """Return the noncentrality with which the two-sided t-test has this power, by bisection."""
    bound = float(special.stdtrit(freedom, 1 - LEVEL / 2))

    def misses(shift: float) -> float:
        # The other tail is below 1e-15 from a shift of 8 on, where scipy's may be NaN.
        far = float(special.nctdtr(freedom, shift, -bound)) if shift < 8 else 0.0
        return float(special.nctdtr(freedom, shift, bound)) - far

    low, high = 0.0, 32.0  # with one degree of freedom, it is 16.3
    for _ in range(64):
        middle = (low + high) / 2
        low, high = (middle, high) if misses(middle) > 1 - POWER else (low, middle)
    return high


def within(
    values: Mapping[str, Floats], better: str = "lower", resamples: int = 10_000, overlap: float = 0.0
) -> tuple[str, list[Difference]]:
    """Return the best algorithm on a data set and the difference of every other one from it.

    The percentile bootstrap of whole permutations is somewhat too short: with 20, it covers about 93%.
    """
    losses = _orient(values, better)
    best = _best(losses)
    differences = _adjust(
        _difference(label, losses[label], losses[best], resamples, overlap)
        for label in _labels_present(losses)
        if label != best
    )
    if better == "higher":
        return best, [replace(each, mean=-each.mean, low=-each.high, high=-each.low) for each in differences]
    return best, differences


def array_for(quantity: Quantity) -> str:
    if quantity.name == "auc":
        return PAIRS
    return COUNTS if set(quantity.fields) <= set(COLUMNS) else ""


def compare_streams(
    quantity: Quantity, values: Mapping[str, float], arrays: Mapping[str, NDArray[Any]]
) -> tuple[str, list[Difference]]:
    best = min(values, key=lambda label: quantity.loss(values[label]))
    found = []
    for label in values:
        if label == best:
            continue
        both = arrays[label], arrays[best]
        each = compare_pairs(*both) if quantity.name == "auc" else compare_counts(*both, _formula(quantity))
        signs = (each.above, each.equal, each.below)
        signs = signs if quantity.better == "higher" else signs[::-1]
        found.append(Difference(label, each.value, each.low, each.high, *signs, each.p, each.detectable))
    return best, _adjust(found)


def _adjust(differences: Iterable[Difference]) -> list[Difference]:
    found = list(differences)
    adjusted = holm([each.p for each in found])
    return [replace(each, adjusted=q) for each, q in zip(found, adjusted, strict=True)]


def _formula(quantity: Quantity) -> Callable[..., Any]:
    def compute(*columns: Any) -> Any:
        named = dict(zip(COLUMNS, columns, strict=True))
        parts = [named[name] for name in quantity.fields]
        if quantity.formula is not None:
            return quantity.formula(*parts)
        count, total = parts
        return np.divide(count, total, out=np.full(count.shape, np.nan), where=total > 0)

    return compute


def across(means: Mapping[str, Mapping[str, float]], better: str = "lower") -> Across | str:
    """Compare algorithms over data sets, from `means[dataset][label]`, or return why that is impossible.

    Only data sets with a number for every algorithm count.
    """
    found = _tabulate(means, better)
    if isinstance(found, str):
        return found
    table, datasets, labels = found
    n, k = table.shape
    ranks, critical = _average_ranks(table, labels), critical_difference(k, n)
    friedman = _friedman(table)
    tests = (*friedman, *_iman_davenport(friedman[0], n, k))
    pairs, groups = _pairs(table, labels), _groups(ranks, critical)
    return Across(datasets, labels, ranks, *tests, critical, pairs, groups, _power(n, k, critical))


def against_control(
    means: Mapping[str, Mapping[str, float]],
    better: str = "lower",
    control: str | None = None,
    rope: float | None = None,
) -> Control | str:
    """The default control, with the best average rank, makes p somewhat too small."""
    table, _, labels = _find_losses(means, better)
    n, k = len(table), len(labels)
    if n < FEWEST_FOR_CONTROL:
        needed = f"{FEWEST_FOR_CONTROL} data sets that have all {k} algorithms"
        return f"a comparison with a control needs {needed}; this run has {n}"
    if isinstance(found := _tabulate(means, better), str):
        return found
    ranks = _average_ranks(table, labels)
    order = sorted(ranks, key=lambda label: (ranks[label], label))
    control = order[0] if control is None else control
    rivals = [label for label in order if label != control]
    z = [(ranks[label] - ranks[control]) / math.sqrt(k * (k + 1) / (6 * n)) for label in rivals]
    p = [float(2 * special.ndtr(-abs(each))) for each in z]
    columns = dict(zip(labels, table.T, strict=True))
    own, losses = columns[control], np.array([columns[label] for label in rivals])
    posteriors = [None] * len(rivals) if rope is None else bayesian_signed_rank(losses, own, rope)
    return Control(
        control,
        rope,
        tuple(
            ControlTest(label, each, raw, q, q <= LEVEL, posterior)
            for label, each, raw, q, posterior in zip(rivals, z, p, holm(p), posteriors, strict=True)
        ),
    )


def bayesian_signed_rank(
    losses: Floats, control: Floats, rope: float, samples: int = 10_000, seed: int = 0
) -> list[Posterior]:
    """Compare each row of losses with the control; both have one loss per data set.

    Benavoli, Corani, Demšar and Zaffalon, JMLR 18(77), 2017, as in baycomp: a Dirichlet process.

    The prior is one pseudo-observation at zero. A sample of weights gives a probability that the mean of two
    observations is below -rope, in between, or above rope (on the border, half); the posterior is how often
    each of the three is the largest, ties shared. All rows use the same samples.
    """
    rows, n = losses.shape
    observed, scale = (np.pad(each, ((0, 0), (1, 0))) for each in _subtract(losses, control))
    one, other = np.triu_indices(n + 1)
    sums = observed[:, one] + observed[:, other]
    noise = _ROUNDING * np.maximum(scale[:, one], scale[:, other])
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


def rank_intervals(
    means: Mapping[str, Mapping[str, float]], better: str = "lower"
) -> dict[str, tuple[float, float]]:
    """95% percentile bootstrap that resamples whole data sets; empty with too few of them."""
    found = _tabulate(means, better)
    if isinstance(found, str) or len(found[1]) < FEWEST_FOR_CONTROL:
        return {}
    table, _, labels = found
    columns = zip(labels, _rank(table).T, strict=True)
    return {label: _bootstrap(ranks, resamples=10_000) for label, ranks in columns}


def _tabulate(means: Mapping[str, Mapping[str, float]], better: str) -> Losses | str:
    found = losses, _, labels = _find_losses(means, better)
    if len(labels) < 3:
        return f"a comparison over data sets needs 3 algorithms; this run has {len(labels)}"
    if len(losses) < 3:
        return (
            f"a comparison over data sets needs 3 data sets that have all {len(labels)} algorithms; "
            f"this run has {len(losses)}"
        )
    return found


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


def holm(p: Sequence[float]) -> list[float]:
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


def kendall_tau(ours: Sequence[float] | Floats, theirs: Sequence[float] | Floats) -> float:
    """Return Kendall's tau-b of two lists of values for the same items; NaN if a list has one value only."""
    if np.ptp(ours) == 0 or np.ptp(theirs) == 0:
        return math.nan
    from scipy import stats

    return float(stats.kendalltau(ours, theirs).statistic)


def _labels_present(rates: Mapping[str, Floats]) -> list[str]:
    if len({values.size for values in rates.values()}) > 1:
        raise ValueError("the arrays must be aligned by permutation, with NaN for a missing one")
    return [label for label, values in rates.items() if not np.isnan(values).all()]


def _best(rates: Mapping[str, Floats]) -> str:
    present = _labels_present(rates)
    if not present:
        raise ValueError("no algorithm has a permutation")
    return min(present, key=lambda label: float(np.nanmean(rates[label])))


def _paired_differences(first: Floats, second: Floats) -> Floats:
    shared = ~(np.isnan(first) | np.isnan(second))
    return _subtract_ties(first[shared], second[shared])


def _subtract_ties(first: Floats, second: Floats) -> Floats:
    """Return the differences along the last axis, without the rounding noise between those of one size."""
    apart, scale = _subtract(first, second)
    return np.copysign(merge_ties(np.abs(apart), scale), apart)


def _subtract(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Return the differences, 0 for ties, and the larger number of each, which bounds its rounding noise."""
    apart, scale = first - second, np.maximum(np.abs(first), np.abs(second))
    differ = np.abs(apart) > _ROUNDING * scale
    return np.where(differ, apart, 0.0), np.where(differ, scale, 0.0)


def find_best(means: Mapping[str, float], better: str) -> list[str]:
    """Return the algorithms with the best mean on a data set: several if they tie, none if all are NaN."""
    losses = merge_ties(np.array(list(_orient(means, better).values()), np.float64))
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
    differ = ~(np.diff(ordered) <= _ROUNDING * np.maximum(scale[..., 1:], scale[..., :-1]))
    first = np.zeros(values.shape, np.int64)
    first[..., 1:] = np.maximum.accumulate(np.where(differ, np.arange(1, values.shape[-1]), 0), axis=-1)
    merged = np.empty_like(values)
    np.put_along_axis(merged, order, np.take_along_axis(ordered, first, axis=-1), axis=-1)
    return merged


def _difference(label: str, one: Floats, best: Floats, resamples: int, overlap: float) -> Difference:
    apart = _paired_differences(one, best)
    test = resampled_t(one, best, overlap)
    low, high = (test.low, test.high) if overlap else _bootstrap(apart, resamples)
    wins, ties, losses = (int(count.sum()) for count in (apart < 0, apart == 0, apart > 0))
    return Difference(label, test.mean, low, high, wins, ties, losses, test.p, test.detectable)


def _bootstrap(apart: Floats, resamples: int) -> tuple[float, float]:
    if apart.size < 2:
        return math.nan, math.nan
    few = _distinct_weights(apart.size, resamples)
    if few is None:
        low, high = np.quantile(_resample_weights(apart.size, resamples) @ apart, [0.025, 0.975])
        return float(low), float(high)
    weights, counts = few
    means = weights @ apart
    order = np.argsort(means, kind="stable")
    ends = np.cumsum(counts[order])
    low, high = (_quantile(means[order], ends, share) for share in (0.025, 0.975))
    return low, high


def _quantile(values: Floats, ends: NDArray[np.int64], share: float) -> float:
    place = share * float(ends[-1] - 1)
    below, above = (values[np.searchsorted(ends, int(each), "right")] for each in (place, math.ceil(place)))
    return float(below + (above - below) * (place - int(place)))


@lru_cache(maxsize=4)
def _distinct_weights(size: int, resamples: int) -> tuple[Floats, NDArray[np.int64]] | None:
    """Return the distinct resamples with how often each is drawn; None if there are many."""
    if math.comb(2 * size - 1, size) > _FEW_RESAMPLES:
        return None
    weights, counts = np.unique(_resample_weights(size, resamples), axis=0, return_counts=True)
    return weights, counts


@lru_cache(maxsize=4)
def _resample_weights(size: int, resamples: int) -> Floats:
    """Return the weight of each permutation in each resample; all pairs of a report share them."""
    drawn = np.random.default_rng(0).integers(size, size=(resamples, size))
    return np.stack([(drawn == each).mean(axis=1) for each in range(size)], axis=1)


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
    if rest <= _ROUNDING * n * k:
        return math.inf, 0.0
    f = (n - 1) * chi2 / rest
    return f, float(special.fdtrc(k - 1, (k - 1) * (n - 1), f))


def _pairs(table: Floats, labels: tuple[str, ...]) -> tuple[PairTest, ...]:
    couples = list(combinations(range(len(labels)), 2))
    apart = _subtract_ties(*table.T[np.transpose(couples)])
    tested = list(map(_test_signed_ranks, apart, _rank(np.abs(apart))))
    adjusted = holm([p for p, _ in tested])
    return tuple(
        PairTest(labels[i], labels[j], p, q, q <= LEVEL, untied)
        for (i, j), (p, untied), q in zip(couples, tested, adjusted, strict=True)
    )


def _groups(ranks: Mapping[str, float], critical: float) -> tuple[tuple[str, ...], ...]:
    order = sorted(ranks, key=lambda label: ranks[label])
    groups: list[tuple[str, ...]] = []
    for start, first in enumerate(order):
        group = tuple(label for label in order[start:] if ranks[label] - ranks[first] < critical)
        if len(group) > 1 and not (groups and set(group) <= set(groups[-1])):
            groups.append(group)
    return tuple(groups)


def _power(n: int, k: int, critical: float) -> str:
    """Describe what goes undetected: Wilcoxon's smallest p is 2^(1-n), which Holm multiplies by the pairs."""
    pairs = k * (k - 1) // 2
    needed = 1 + math.ceil(math.log2(pairs / LEVEL))
    return (
        f"With {k} algorithms and {n} data sets, a difference below {critical:.2f} average ranks cannot be "
        f"detected at the {LEVEL:.0%} level, and Wilcoxon's test with Holm's correction over {pairs} pairs "
        f"detects nothing with fewer than {needed} data sets."
    )


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
