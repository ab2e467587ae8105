"""The uncertainty of a difference between two learners on one stream, whose rounds are dependent.

A moving-block bootstrap draws blocks of neighbouring rounds, the same for both learners (Künsch 1989; Liu and
Singh 1992). The difference is studentised, because a percentile interval of twenty blocks would be too short.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olbench.analysis.difference import Contest, Difference
from olbench.analysis.stats import LEVEL, holm
from olbench.learners.examples import Floats
from olbench.protocols.stream import BLOCKS
from olbench.records.quantities import Quantity

COLUMNS = ("n", "mistakes", "positives", "false_alarms")
COUNTS, PAIRS = "counts", "pairs"
#: The smallest p is one in so many; the correction for many pairs needs up to MOST_RESAMPLES.
RESAMPLES, MOST_RESAMPLES = 2000, 20_000


def find_array(quantity: Quantity) -> str:
    """Return the array of a trial that tests a quantity over blocks of its rounds; '' if there is none."""
    if quantity.name == "auc":
        return PAIRS
    return COUNTS if set(quantity.fields) <= set(COLUMNS) else ""


class Studentised(NamedTuple):
    """A difference, its deviation, its errors in resamples in units of theirs, and blocks by sign."""

    value: float
    deviation: float
    sizes: Floats
    signs: tuple[int, int, int]
    is_tested: bool

    def difference(self, level: float) -> Difference:
        """Return the difference with an interval that fails with this probability."""
        value, deviation = self.value, self.deviation
        if deviation == 0.0:  # the two agree in every block, or differ by a constant
            low, high, p = value, value, float(value == 0.0)
        elif not self.is_tested:
            low, high, p = math.nan, math.nan, math.nan
        else:
            # The interval is symmetric, like the test: it excludes 0 where p is below the level.
            reach = float(np.quantile(self.sizes, 1 - level)) * deviation
            low, high = value - reach, value + reach
            exceeding = np.count_nonzero(self.sizes >= abs(value / deviation))
            p = float((1 + exceeding) / (1 + self.sizes.size))
        return Difference("", "", value, low, high, p, math.nan, deviation, math.nan, *self.signs, "blocks")


@dataclass(frozen=True)
class StreamContest(Contest):
    """A contest on one stream, over blocks of its rounds."""

    quantity: Quantity
    #: The array `find_array` of each algorithm.
    arrays: tuple[NDArray[Any], ...]

    over = "blocks"

    def compare(self, place: int, levels: Sequence[float] = ()) -> list[Difference]:
        others = [i for i in range(len(self.labels)) if i != place]
        found = []
        for i, level in zip(others, levels or [LEVEL] * len(others), strict=True):
            if (i, place) not in self._drawn:
                self._drawn[i, place] = self._draw(i, place)
            label, each = self.labels[i], self._drawn[i, place].difference(level)
            if self.quantity.better == "lower":
                each = replace(each, wins=each.losses, losses=each.wins)
            found.append(replace(each, label=label, against=self.labels[place]))
        return found

    @cached_property
    def _drawn(self) -> dict[tuple[int, int], Studentised]:
        return {}

    def _draw(self, i: int, place: int) -> Studentised:
        resamples = min(max(RESAMPLES, 40 * self.pairs), MOST_RESAMPLES)
        pair = self.arrays[i], self.arrays[place]
        if find_array(self.quantity) == PAIRS:
            return compare_pairs(*pair, resamples=resamples)
        return compare_counts(*pair, _compute(self.quantity), resamples=resamples)

    def correct(self, place: int, found: Sequence[Difference]) -> list[float]:
        # The other pairs are not tested; 1 for each is the most cautious guess.
        untested = [1.0] * (self.pairs - len(found))
        return holm([*(each.p for each in found), *untested])[: len(found)]


def _compute(quantity: Quantity) -> Callable[..., Any]:
    def compute(*columns: Any) -> Any:
        named = dict(zip(COLUMNS, columns, strict=True))
        parts = [named[name] for name in quantity.fields]
        if quantity.formula is not None:
            return quantity.formula(*parts)
        count, total = parts
        return np.divide(count, total, out=np.full(count.shape, np.nan), where=total > 0)

    return compute


def compare_counts(
    one: NDArray[np.int64],
    other: NDArray[np.int64],
    measure: Callable[..., Floats],
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Studentised:
    """Compare a measure of two learners on the same stream.

    A row of an array has the counts COLUMNS of some consecutive rounds; all rows cover the stream. `measure`
    takes these columns, or sums of them. There must be at least BLOCKS rows.

    >>> rng = np.random.default_rng(0)
    >>> lost = rng.random((2, 2000)) < [[0.2], [0.25]]
    >>> ones, zeros = np.ones(2000, int), np.zeros(2000, int)
    >>> runs = [np.column_stack([ones, each, zeros, each]) for each in lost]
    >>> found = compare_counts(*runs, lambda n, mistakes, *others: mistakes / n).difference(0.05)
    >>> -0.1 < found.low < found.mean < found.high < 0
    True
    """
    places = one.shape[0]
    one, other = (np.vstack([np.zeros(4, np.int64), np.cumsum(each, axis=0)]) for each in (one, other))
    length = places // BLOCKS
    starts = np.random.default_rng(seed).integers(0, places - length + 1, (resamples, BLOCKS))
    fixed = np.arange(BLOCKS) * length

    def differ(blocks: tuple[Floats, Floats]) -> Floats:
        first, second = (np.asarray(measure(*np.moveaxis(each, -1, 0))) for each in blocks)
        return np.asarray(first - second)

    def blocks_at(begins: NDArray[np.int64]) -> tuple[Floats, Floats]:
        cut = [(each[begins + length] - each[begins]).astype(np.float64) for each in (one, other)]
        return cut[0], cut[1]

    def estimate(begins: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Return the difference over the blocks of a resample, and its jackknife standard deviation."""
        cut = blocks_at(begins)
        totals = cut[0].sum(axis=-2), cut[1].sum(axis=-2)
        left = (totals[0][..., None, :] - cut[0], totals[1][..., None, :] - cut[1])
        return differ(totals), _jackknife(differ(left))

    value = float(differ((one[-1] - one[0], other[-1] - other[0])))
    every = blocks_at(np.arange(places - length + 1))
    centre = float(differ((every[0].sum(axis=0), every[1].sum(axis=0))))
    drawn, deviations = estimate(starts)
    parts = differ(blocks_at(fixed))
    return _studentise(value, float(estimate(fixed)[1]), drawn - centre, deviations, parts)


def compare_pairs(
    one: NDArray[np.int64], other: NDArray[np.int64], seed: int = 0, resamples: int = RESAMPLES
) -> Studentised:
    random, ones = np.random.default_rng(seed), np.ones((1, BLOCKS))
    # The correctly ordered pairs and all pairs, by their blocks.
    first, second = (
        np.stack([0.5 * each[:BLOCKS], np.multiply.outer(*each[BLOCKS:]).astype(np.float64)])
        for each in (one, other)
    )
    # How often each block is in a resample.
    times = random.multinomial(BLOCKS, np.full(BLOCKS, 1 / BLOCKS), resamples).astype(np.float64)

    def estimate(times: Floats) -> tuple[Floats, Floats]:
        both = [_areas(each, times) for each in (first, second)]
        return both[0][0] - both[1][0], _jackknife(both[0][1] - both[1][1], times)

    (value,), (deviation,) = estimate(ones)
    drawn, deviations = estimate(times)
    parts = _own_area(first) - _own_area(second)
    return _studentise(float(value), float(deviation), drawn - float(value), deviations, parts)


def _areas(pairs: Floats, times: Floats) -> tuple[Floats, Floats]:
    forth, back = times @ pairs, times @ pairs.transpose(0, 2, 1)
    total = (forth * times).sum(axis=-1)
    left = total[..., None] - forth - back + np.einsum("...ii->...i", pairs)[:, None, :]
    return _share(*total), _share(*left)


def _own_area(pairs: Floats) -> Floats:
    """Return the AUC within each block, NaN if one of the classes does not occur."""
    return _share(*np.einsum("...ii->...i", pairs))


def _share(part: Floats, whole: Floats) -> Floats:
    """Return a quotient, NaN if the whole is not positive, as for a block that was not drawn."""
    return np.asarray(np.divide(part, whole, out=np.full(part.shape, math.nan), where=whole > 0))


def _jackknife(left: Floats, times: Floats | None = None) -> Floats:
    """Return the standard deviation from leave-one-out estimates, weighted by how often blocks occur."""
    if times is None:
        return np.asarray(np.sqrt((BLOCKS - 1) * np.var(left, axis=-1)))
    drawn = np.where(times > 0, left, 0.0)
    mean = (times * drawn).sum(axis=-1, keepdims=True) / BLOCKS
    return np.asarray(np.sqrt((BLOCKS - 1) * (times * np.square(drawn - mean)).sum(axis=-1) / BLOCKS))


def _studentise(
    value: float, deviation: float, errors: Floats, deviations: Floats, parts: Floats
) -> Studentised:
    above, equal, below = (int(np.count_nonzero(each)) for each in (parts > 0, parts == 0, parts < 0))
    with np.errstate(invalid="ignore", divide="ignore"):
        t = errors / deviations
    t = t[np.isfinite(t)]
    is_tested = math.isfinite(value) and t.size >= errors.size // 2
    return Studentised(value, deviation, np.abs(t), (above, equal, below), is_tested)
