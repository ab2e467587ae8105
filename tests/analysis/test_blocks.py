"""Intervals for one stream cover the truth as often as they say, although its rounds depend on each other."""

import numpy as np
import pytest
from scipy.signal import lfilter
from sklearn.metrics import roc_auc_score

from olbench.analysis import blocks
from olbench.analysis.blocks import compare_counts, compare_pairs
from olbench.protocols import measures
from olbench.protocols.stream import BLOCKS, PLACES, count_pairs

N, RUNS = 5000, 400


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch):
    monkeypatch.setattr(blocks, "RESAMPLES", 500)


def accuracy_of(predicted, labels):
    """Return the counts between PLACES places."""
    at = np.rint(np.arange(PLACES + 1) * labels.size / PLACES).astype(int)
    rounds = np.column_stack([
        np.ones(labels.size, int), predicted != labels, labels > 0, (predicted > 0) & (labels < 0)
    ])  # fmt: skip
    return np.diff(np.vstack([np.zeros(4, int), np.cumsum(rounds, axis=0)])[at], axis=0)


def columns(measure):
    """Return a measure of counts as a function of the columns that records keep."""
    return lambda *counts: measure(measures.Counts.of(*counts))


def autoregressive(rng, n, rho):
    noise = rng.standard_normal(n + 300) * np.sqrt(1 - rho**2)
    return lfilter([1.0], [1.0, -rho], noise)[300:]


def play(rng, rho, n=N):
    """Two learners on one stream: hard and easy times come and go, for both and for each of them."""
    labels = np.where(rng.random(n) < 0.3, 1.0, -1.0)
    hard = autoregressive(rng, n, rho)
    margins = [
        labels + 0.8 + hard + autoregressive(rng, n, rho) + k * rng.standard_normal(n) for k in (1, 1.5)
    ]
    return labels, margins


def count_predictions(truth, positive):
    counts = (truth.size, *map(np.count_nonzero, (truth != positive, truth, positive & ~truth)))
    return measures.Counts.of(*counts)


@pytest.mark.parametrize(("name", "rho"), [("accuracy", 0.9), ("balanced_accuracy", 0.5), ("kappa", 0.9)])
def test_intervals_cover_the_truth_on_dependent_rounds(name, rho):
    measure, rng = getattr(measures, name), np.random.default_rng(11)
    labels, margins = play(rng, rho, 2_000_000)
    truth = np.subtract(*(measure(count_predictions(labels > 0, f >= 0)) for f in margins))
    covered = 0
    for seed in range(RUNS):
        labels, margins = play(rng, rho)
        counts = [accuracy_of(np.where(f >= 0, 1.0, -1.0), labels) for f in margins]
        found = compare_counts(*counts, columns(measure), seed)
        covered += found.low <= truth <= found.high
    assert 0.93 <= covered / RUNS <= 0.97


def test_intervals_of_auc_cover_the_truth():
    rng = np.random.default_rng(12)
    labels, margins = play(rng, 0.8, 2_000_000)
    truth = measures.auc(labels, margins[0]) - measures.auc(labels, margins[1])
    covered = 0
    for seed in range(RUNS):
        labels, margins = play(rng, 0.8, 3000)
        found = compare_pairs(*(count_pairs(labels, f) for f in margins), seed)
        covered += found.low <= truth <= found.high
    assert 0.93 <= covered / RUNS <= 0.97


def test_equal_learners_are_rarely_told_apart():
    rng, told = np.random.default_rng(13), 0
    for seed in range(RUNS):
        labels = np.where(rng.random(3000) < 0.4, 1.0, -1.0)
        hard = autoregressive(rng, 3000, 0.9)
        margins = [labels + 1.0 + hard + autoregressive(rng, 3000, 0.9) for _ in range(2)]
        counts = [accuracy_of(np.where(f >= 0, 1.0, -1.0), labels) for f in margins]
        told += compare_counts(*counts, columns(measures.accuracy), seed).p < 0.05
    assert 0.02 <= told / RUNS <= 0.08


def test_pairs_add_up_to_the_auc(rng):
    labels = np.where(rng.random(997) < 0.2, 1.0, -1.0)
    margins = np.round(rng.standard_normal(997) + labels, 1)  # with ties
    counts = count_pairs(labels, margins)
    assert counts.shape == (BLOCKS + 2, BLOCKS)
    total = counts[BLOCKS].sum() * counts[BLOCKS + 1].sum()
    np.testing.assert_allclose(
        0.5 * counts[:BLOCKS].sum() / total, roc_auc_score(labels, margins), rtol=1e-12
    )


def test_a_learner_is_not_different_from_itself(rng):
    labels = np.where(rng.random(500) < 0.5, 1.0, -1.0)
    margins = rng.standard_normal(500)
    counts = accuracy_of(np.where(margins >= 0, 1.0, -1.0), labels)
    same = compare_counts(counts, counts, columns(measures.accuracy))
    assert (same.value, same.low, same.high, same.p) == (0.0, 0.0, 0.0, 1.0)
    same = compare_pairs(count_pairs(labels, margins), count_pairs(labels, margins))
    assert (same.value, same.p) == (0.0, 1.0)


def test_a_stream_of_one_class_has_no_interval_of_auc(rng):
    labels, margins = np.ones(200), rng.standard_normal(200)
    found = compare_pairs(count_pairs(labels, margins), count_pairs(labels, -margins))
    assert np.isnan(found.value)
    assert np.isnan(found.p)


def test_a_rare_class_gives_no_warning(rng):
    labels = np.where(np.isin(np.arange(40), (3, 20, 21)), 1.0, -1.0)
    for _ in range(5):
        found = compare_pairs(*(count_pairs(labels, rng.standard_normal(40)) for _ in range(2)))
        assert np.isfinite(found.value)


def test_a_constant_prediction_has_counts_that_are_never_negative(rng):
    """Means of counts were rounded, and the root of a count a little below zero is undefined."""
    for share in (0.8, 0.9, 0.95):
        labels = np.where(rng.random(40) < share, 1.0, -1.0)
        other = np.where(rng.random(40) < 0.95, 1.0, -1.0)
        for measure in (measures.g_mean, measures.mcc):
            runs = (accuracy_of(each, labels) for each in (np.ones(40), other))
            assert np.isfinite(compare_counts(*runs, columns(measure)).value)
