"""A difference speaks of new rows: compared with SciPy, and with draws whose truth is known."""

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats
from sklearn import metrics

from olbench.analysis.difference import Difference, TrialContest, influence, student_t
from olbench.protocols import measures


def contest(values, **more):
    values = np.asarray(values, float)
    labels = tuple("abcdefgh"[: len(values)])
    means, better = more.pop("means", values.mean(axis=1)), more.pop("better", "lower")
    return TrialContest(labels, means, better, more.pop("negligible", None), values, **more)


def test_without_groups_it_is_the_paired_t_test():
    values = np.random.default_rng(0).normal(size=(3, 20)) * 0.01 + [[0.2], [0.21], [0.22]]
    found = {each.label: each for each in contest(values).differences("a")}
    for place, label in enumerate("abc"):
        if label != "a":
            test = scipy_stats.ttest_rel(values[place], values[0])
            interval = test.confidence_interval()
            each = found[label]
            assert each.p == pytest.approx(test.pvalue)
            assert (each.low, each.high) == pytest.approx(tuple(interval))
            assert each.over == "orders"
            assert math.isnan(each.error_rows)


def test_one_permutation_with_groups_is_the_t_test_over_groups():
    sums = np.random.default_rng(0).normal(size=(2, 50))
    sums -= sums.mean(axis=1, keepdims=True)
    found = contest([[0.5], [0.7]], influence=sums, rows=500).differences("a")[0]
    error = np.std(sums[1] - sums[0], ddof=1) * math.sqrt(50) / 500
    assert found.error_rows == pytest.approx(error)
    assert math.isnan(found.error_orders)
    assert found.p == pytest.approx(2 * scipy_stats.t.sf(0.2 / error, 49))
    assert found.over == "rows"


def test_both_errors_add_up_as_in_welch():
    low, high, p = student_t(np.array([0.3]), np.array([0.01]), 99, np.array([0.02]), np.array([19]))
    freedom = 0.03**2 / (0.01**2 / 99 + 0.02**2 / 19)
    assert p[0] == pytest.approx(2 * scipy_stats.t.sf(0.3 / math.sqrt(0.03), freedom))
    assert high[0] - low[0] == pytest.approx(2 * scipy_stats.t.ppf(0.975, freedom) * math.sqrt(0.03))


def test_the_influence_of_a_rate_is_its_mistakes_less_its_share():
    random = np.random.default_rng(1)
    counts = {"n": random.integers(3, 9, (4, 30)).astype(float)}
    counts["mistakes"] = random.binomial(counts["n"].astype(int), 0.3).astype(float)
    found = influence(counts, lambda of: of["mistakes"] / of["n"])
    rate = counts["mistakes"].sum(1) / counts["n"].sum(1)
    expected = counts["mistakes"] - rate[:, None] * counts["n"]
    np.testing.assert_allclose(found, expected - expected.mean(1, keepdims=True), atol=1e-8)


@pytest.mark.parametrize(
    ("ours", "score"),
    [
        (measures.balanced_accuracy, metrics.balanced_accuracy_score),
        (measures.f1, metrics.f1_score),
        (measures.mcc, metrics.matthews_corrcoef),
        (measures.kappa, metrics.cohen_kappa_score),
    ],
)
def test_the_influence_of_a_measure_is_its_derivative_by_the_weights_of_the_rows(ours, score):
    random = np.random.default_rng(2)
    truth, guess, group = random.integers(0, 2, (3, 400))
    group = random.permutation(np.arange(400) % 20)

    def by_group(chosen):
        return np.bincount(group, chosen, 20)[None]

    counts = {
        "n": by_group(np.ones(400)),
        "mistakes": by_group(truth != guess),
        "positives": by_group(truth == 1),
        "false_alarms": by_group((truth == 0) & (guess == 1)),
    }
    found = influence(counts, lambda of: ours(measures.Counts.of(**of)))[0]
    for place in range(20):
        weights = np.ones(400)
        weights[group == place] += 1e-6
        slope = (score(truth, guess, sample_weight=weights) - score(truth, guess)) / 1e-6
        assert found[place] == pytest.approx(400 * slope, abs=2e-3 * max(1, abs(found[place])))


def test_the_best_is_corrected_for_all_pairs_and_a_named_one_for_its_own():
    values = np.random.default_rng(3).normal(size=(5, 12)) + np.arange(5)[:, None] / 2
    own = contest(values)
    pairs = [(i, j) for i in range(5) for j in range(i)]
    raw = {(i, j): scipy_stats.ttest_rel(values[i], values[j]).pvalue for i, j in pairs}
    ordered = sorted(raw, key=raw.get)
    largest, stepped = 0.0, {}
    for place, pair in enumerate(ordered):
        largest = max(largest, min(1.0, raw[pair] * (10 - place)))
        stepped[pair] = largest
    best = own.labels.index(own.best)
    for each in own.differences():
        other = own.labels.index(each.label)
        assert each.adjusted == pytest.approx(stepped[max(best, other), min(best, other)])
    named = own.differences("c")
    smallest = min(named, key=lambda each: each.p)
    assert smallest.adjusted == pytest.approx(4 * smallest.p)


def test_few_permutations_are_no_reward():
    values = [[0.2, 0.3] * 3, [0.21, 0.2901] * 3, [0.2, 0.3] * 3]
    assert contest(np.array(values)[:, :4]).bold() == {"a", "c"}
    assert contest(np.array(values)[:, :4], overlap=0.1).bold() == {"a", "b", "c"}
    assert contest(values).bold() == {"a", "b", "c"}


def test_an_undefined_mean_is_not_the_best():
    values = [[0.1, np.nan, 0.1], [0.2, 0.25, 0.3]]
    own = contest(values, means=np.array([np.nan, 0.25]))
    assert own.best == "b"


def test_no_variation_is_certain():
    own = contest([[0.1] * 4, [0.1] * 4, [0.2] * 4])
    same, other = own.differences("a")
    assert (same.p, same.mean, same.ties) == (1.0, 0.0, 4)
    assert (other.p, other.losses) == (0.0, 4)


def test_a_class_of_fewer_than_five_rows_has_no_interval():
    sums = np.random.default_rng(0).normal(size=(2, 50))
    own = contest(np.random.default_rng(1).random((2, 9)), influence=sums, rows=500)
    assert not math.isnan(own.differences("a")[0].p)
    few = TrialContest(**{**vars(own), "rarer": 4}).differences("a")[0]
    assert math.isnan(few.p)
    assert math.isnan(few.low)


def test_practically_equal_is_a_matter_of_the_whole_interval():
    random = np.random.default_rng(0)
    base = 0.25 + 0.001 * random.normal(size=30)
    own = contest([base, base + 1e-4 + 1e-6 * random.normal(size=30), base + 0.01])
    near, far = own.differences("a")
    assert near.equal
    assert near.p < 1e-6
    assert not far.equal
    assert TrialContest(**{**vars(own), "negligible": 0.02}).differences("a")[1].equal


def simulate(random, rows, orders, effect, groups=100):
    """Draw losses of two algorithms that depend on the row and on the order."""
    chance = random.beta(1, 3, rows)
    shift = random.normal(0, 0.02, (2, orders, 1))
    losses = random.random((2, orders, rows)) < np.clip(
        chance + shift + np.array([0, effect])[:, None, None], 0, 1
    )
    group = random.permutation(np.arange(rows) % groups)
    rates = losses.mean(axis=2)
    centred = (losses - rates[..., None]).mean(axis=1)
    sums = np.stack([np.bincount(group, each, groups) for each in centred])
    return contest(rates, influence=sums, rows=rows)


def test_the_interval_covers_the_difference_on_new_rows():
    random = np.random.default_rng(0)
    truth = np.mean([np.diff(simulate(random, 20000, 20, 0.02).means)[0] for _ in range(50)])
    inside = 0
    for _ in range(400):
        found: Difference = simulate(random, 400, 8, 0.02).differences("a")[0]
        inside += found.low <= truth <= found.high
    assert 0.92 <= inside / 400 <= 0.985


def test_equal_algorithms_are_rarely_called_worse_than_the_best():
    random = np.random.default_rng(4)
    called = sum(
        any(each.significant for each in contest(random.normal(size=(8, 20))).differences())
        for _ in range(400)
    )
    assert called / 400 <= 0.075
