"""Intervals for one stream cover the truth as often as they say, although its rounds depend on each other."""

import numpy as np
import pytest
from scipy.signal import lfilter

from olbench.analysis.blocks import StreamContest, compare_counts, compare_pairs
from olbench.protocols import measures
from olbench.protocols.stream import PLACES, count_pairs
from olbench.records.quantities import MISTAKE_RATE
from tests.cases import correct_by_closed_testing

N, RUNS, RESAMPLES = 5000, 400, 500


def count(margins, labels):
    """Return the counts between PLACES places."""
    at = np.rint(np.arange(PLACES + 1) * labels.size / PLACES).astype(int)
    said, true = margins >= 0, labels > 0
    rounds = np.column_stack([np.ones(labels.size, int), said != true, true, said & ~true])
    return np.diff(np.vstack([np.zeros(4, int), np.cumsum(rounds, axis=0)])[at], axis=0)


def columns(measure):
    """Return a measure of counts as a function of the columns that records keep."""
    return lambda *counts: measure(measures.Counts.of(*counts))


def autoregressive(rng, n, rho):
    noise = rng.standard_normal(n + 300) * np.sqrt(1 - rho**2)
    return lfilter([1.0], [1.0, -rho], noise)[300:]


def play(rng, rho, n):
    """Two learners on one stream: hard and easy times come and go, for both and for each of them."""
    labels = np.where(rng.random(n) < 0.3, 1.0, -1.0)
    hard = autoregressive(rng, n, rho)
    margins = [
        labels + 0.8 + hard + autoregressive(rng, n, rho) + k * rng.standard_normal(n) for k in (1, 1.5)
    ]
    return labels, margins


@pytest.mark.parametrize(
    ("name", "rho", "n"), [("balanced_accuracy", 0.5, N), ("kappa", 0.9, N), ("auc", 0.8, 3000)]
)
def test_intervals_cover_the_truth_on_dependent_rounds(name, rho, n):
    measure, rng, covered = getattr(measures, name), np.random.default_rng(11), 0
    labels, margins = play(rng, rho, 2_000_000)
    if name == "auc":
        truth = np.subtract(*(measure(labels, f) for f in margins))
    else:
        truth = np.subtract(*(columns(measure)(*count(f, labels).sum(axis=0)) for f in margins))
    for seed in range(RUNS):
        labels, margins = play(rng, rho, n)
        if name == "auc":
            found = compare_pairs(*(count_pairs(labels, f) for f in margins), seed, RESAMPLES).difference(
                0.05
            )
        else:
            found = compare_counts(
                *(count(f, labels) for f in margins), columns(measure), seed, RESAMPLES
            ).difference(0.05)
        assert abs(found.p - 0.05) < 0.005 or (found.low <= 0 <= found.high) == (found.p > 0.05)
        covered += found.low <= truth <= found.high
    assert 0.93 <= covered / RUNS <= 0.97


def test_a_learner_is_not_different_from_itself(rng):
    labels = np.where(rng.random(500) < 0.5, 1.0, -1.0)
    margins = rng.standard_normal(500)
    counts = count(margins, labels)
    same = compare_counts(counts, counts, columns(measures.accuracy)).difference(0.05)
    assert (same.mean, same.low, same.high, same.p) == (0.0, 0.0, 0.0, 1.0)
    same = compare_pairs(count_pairs(labels, margins), count_pairs(labels, margins)).difference(0.05)
    assert (same.mean, same.p) == (0.0, 1.0)
    pair = (count_pairs(np.ones(500), side * margins) for side in (-1, 1))
    one_class = compare_pairs(*pair).difference(0.05)
    assert np.isnan([one_class.mean, one_class.p]).all()


def test_a_rare_class_gives_no_warning(rng):
    labels = np.where(np.isin(np.arange(40), (3, 20, 21)), 1.0, -1.0)
    for _ in range(5):
        found = compare_pairs(*(count_pairs(labels, rng.standard_normal(40)) for _ in range(2))).difference(
            0.05
        )
        assert np.isfinite(found.mean)


def test_a_constant_prediction_has_counts_that_are_never_negative(rng):
    """Means of counts were rounded, and the root of a count a little below zero is undefined."""
    for share in (0.8, 0.9, 0.95):
        labels = np.where(rng.random(40) < share, 1.0, -1.0)
        other = np.where(rng.random(40) < 0.95, 1.0, -1.0)
        for measure in (measures.g_mean, measures.mcc):
            runs = (count(each, labels) for each in (np.ones(40), other))
            assert np.isfinite(compare_counts(*runs, columns(measure)).value)


def contest(rates, rng, n=2000):
    """Return learners on one stream that make mistakes at these rates, and share hard times."""
    hard = np.repeat(rng.normal(0, 0.03, PLACES), n // PLACES)
    zeros, arrays = np.zeros(n, int), []
    for rate in rates:
        wrong = rng.random(n) < rate + hard
        rounds = np.column_stack([np.ones(n, int), wrong, zeros, wrong])
        arrays.append(rounds.reshape(PLACES, -1, 4).sum(axis=1))
    means = np.array([each[:, 1].sum() / n for each in arrays])
    labels = tuple(f"a{place}" for place in range(len(arrays)))
    return StreamContest(labels, means, "lower", None, MISTAKE_RATE, tuple(arrays))


def test_of_fifteen_equal_learners_the_best_is_rarely_called_better(rng):
    contests = [contest([0.2] * 15, rng) for _ in range(10)]
    found = [each.differences() for each in contests]
    assert sum(any(each.significant for each in own) for own in found) <= 1
    assert any(min(each.p for each in own) < 0.05 for own in found)


def test_a_clear_winner_of_fifteen_is_significant(rng):
    """The smallest p of the usual number of resamples, times 105 pairs, is above 5%."""
    own = contest([0.1] + [0.3] * 14, rng)
    assert all(each.significant for each in own.differences())
    assert own.bold() == {"a0"}


def test_the_best_is_corrected_for_all_pairs_and_a_named_one_for_its_own(rng):
    own = contest([0.2, 0.21, 0.24, 0.26], rng)
    found = own.differences()
    p = [each.p for each in found]
    # The three pairs without the best are not tested, and count as equal.
    assert [each.adjusted for each in found] == pytest.approx(correct_by_closed_testing([*p, 1, 1, 1])[:3])
    named = own.differences("a1")
    assert [each.label for each in named] == ["a0", "a2", "a3"]
    assert [each.adjusted for each in named] == pytest.approx(
        correct_by_closed_testing([each.p for each in named])
    )


def test_wins_are_blocks_with_fewer_mistakes(rng):
    own = contest([0.2, 0.25], rng)
    one, other = (each.reshape(20, -1, 4).sum(axis=1)[:, 1] for each in own.arrays)
    [found] = own.differences("a1")
    assert (found.label, found.against, found.over) == ("a0", "a1", "blocks")
    assert (found.wins, found.ties, found.losses) == (
        (one < other).sum(),
        (one == other).sum(),
        (one > other).sum(),
    )
    assert found.mean == own.means[0] - own.means[1]
