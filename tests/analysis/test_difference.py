"""A difference speaks of new rows: compared with SciPy, and with draws whose truth is known."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats as scipy_stats
from scipy.signal import lfilter
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
    found = {each.label: each for each in contest(values).compare(0)}
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
    assert contest(np.array(values)[:, :4], in_folds=True).bold() == {"a", "b", "c"}
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
    few = replace(own, rarer=4).differences("a")[0]
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
    assert replace(own, negligible=0.02).differences("a")[1].equal


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


counts = hnp.arrays(np.int64, st.tuples(st.integers(2, 5), st.integers(2, 25)), elements=st.integers(0, 60))


@given(counts, st.sampled_from([0.0, 1 / 9, 0.25, 1.0]))
def test_folds_have_the_corrected_test_of_nadeau_and_bengio(table, overlap):
    found = contest(table / 1243, overlap=overlap).compare(0)
    k = table.shape[1]
    for row, each in zip(table[1:], found, strict=True):
        apart = (row - table[0]) / 1243
        assert (each.wins, each.ties, each.losses) == tuple(
            np.count_nonzero(np.sign(row - table[0]) == sign) for sign in (-1, 0, 1)
        )
        assert each.mean == pytest.approx(apart.mean(), abs=1e-12)
        if np.ptp(row - table[0]):
            error = math.sqrt((1 / k + overlap) * apart.var(ddof=1))
            student = scipy_stats.t(k - 1, apart.mean(), error)
            assert (each.low, each.high) == pytest.approx(student.interval(0.95), rel=1e-6, abs=1e-9)
            p = 2 * scipy_stats.t.sf(abs(apart.mean()) / error, k - 1)
            assert each.p == pytest.approx(p, rel=1e-6, abs=1e-9)
            assert each.error_orders == pytest.approx(error)


def test_overlap_widens_intervals_and_lets_more_join_the_best():
    random = np.random.default_rng(5)
    base = random.normal(0.2, 0.01, 50)
    values = [base, base + random.normal(0.0012, 0.003, 50)]
    assert contest(values).bold() == {"a"}
    assert contest(values, overlap=1 / 9).bold() == {"a", "b"}


def test_only_shared_permutations_are_compared_and_one_says_nothing_but_exact_ties():
    one = contest([[0.1], [0.1], [0.1001]])
    assert one.bold() == {"a", "b"}
    tie, near = one.differences()
    assert (tie.ties, near.losses) == (1, 1)
    assert all(math.isnan(each) for each in (near.p, near.low, near.high, near.adjusted))
    values = [[0.1, 0.2, 0.1, 0.2, np.nan], [np.nan, 0.21, 0.12, 0.24, 0.9], [np.nan] * 5]
    found, absent = contest(values, means=np.array([0.15, 0.37, np.nan])).differences()
    assert (found.wins, found.ties, found.losses) == (0, 0, 3)
    assert found.p == pytest.approx(scipy_stats.ttest_rel([0.21, 0.12, 0.24], [0.2, 0.1, 0.2]).pvalue)
    assert math.isnan(absent.mean)
    # What was not tested does not count.
    assert found.adjusted == found.p


def test_an_algorithm_that_beats_the_best_where_both_have_values_is_bold():
    """The best by its own mean can lose on the permutations that another has too."""
    best = [0.30, 0.31, 0.32, 0.33, 0.34, 0.0, 0.0, 0.0, 0.0, 0.0]
    other = [0.20, 0.211, 0.222, 0.23, 0.241, *[np.nan] * 5]
    own = contest([best, other], means=np.array([np.mean(best), np.nanmean(other)]))
    [found] = own.differences()
    assert found.significant
    assert own.bold() == {"a", "b"}
    scores = replace(own, values=-own.values, means=-own.means, better="higher")
    assert scores.bold() == {"a", "b"}


def test_few_shared_permutations_are_no_reward_either():
    values = np.random.default_rng(0).normal(0.3, 0.05, (2, 20))
    values[1, 4:] = np.nan
    means = np.nanmean(values, axis=1)
    assert contest(values, means=np.sort(means)).bold() == {"a"}
    values[1, 4] = 0.3
    assert contest(values, means=np.sort(means)).bold() == {"a", "b"}


def test_what_is_worse_than_a_named_algorithm_is_not_bold():
    """Comparisons with a named one need less correction, even if it is the best."""
    random = np.random.default_rng(9)
    own = contest(random.normal(0.2, 0.01, (6, 12)) + np.arange(6)[:, None] / 300)
    named = {each.label for each in own.differences(own.best) if each.significant}
    assert named & own.bold()
    assert own.bold(own.best) == own.bold() - named


def test_what_a_difference_speaks_of():
    values = np.random.default_rng(0).random((2, 9))
    assert contest(values).over == "orders"
    assert contest(values, is_fresh=True).over == "draws"
    groups = contest(values, influence=np.zeros((2, 50)), rows=500)
    assert (groups.over, groups.differences()[0].over) == ("rows", "rows")


def test_an_interval_excludes_0_where_the_two_differ_significantly_and_only_there():
    random = np.random.default_rng(5)
    excluded = 0
    for _ in range(60):
        own = contest(random.normal(size=(6, 10)) + random.normal(size=(6, 1)) / 3)
        for against in (None, "c"):
            for each in own.differences(against):
                assert (each.low > 0 or each.high < 0) == each.significant
                assert each.high - each.low >= np.ptp(scipy_reach(own, each)) * (1 - 1e-9)
                excluded += each.significant
    assert excluded > 15


def scipy_reach(own, each):
    """Return the uncorrected interval."""
    one, other = (own.values[own.labels.index(label)] for label in (each.label, each.against))
    return tuple(scipy_stats.ttest_rel(one, other).confidence_interval())


def simulate_learning(random, rows=500, orders=10, groups=100):
    """Draw losses of rows that act where they are predicted, and on the rows after them."""
    own = random.normal(size=rows)
    group = random.permutation(np.arange(rows) % groups)
    taken = np.stack([random.permutation(rows) for _ in range(orders)])
    lost = 0.2 * own[taken] + lfilter([0.0, 1.0], [1.0, -0.8], 0.3 * own[taken], axis=1)
    influences = lost - lost.mean(axis=1, keepdims=True)
    sums = np.mean(
        [np.bincount(group[at], each, groups) for at, each in zip(taken, influences, strict=True)], axis=0
    )
    fifths = influences.reshape(orders, 5, -1).sum(axis=2)
    none = np.zeros(orders)
    return contest(
        [none, lost.mean(axis=1)],
        influence=np.stack([0 * sums, sums]),
        rows=rows,
        fifths=np.stack([0 * fifths, fifths]),
    )


def test_what_is_learnt_from_the_rows_widens_the_interval():
    random = np.random.default_rng(6)
    drawn = [simulate_learning(random) for _ in range(300)]
    shares = []
    for each in (drawn, [TrialContest(**{**vars(own), "fifths": None}) for own in drawn]):
        ends = [own.compare(0)[0] for own in each]
        shares.append(np.mean([found.low <= 0 <= found.high for found in ends]))
    assert 0.92 <= shares[0] <= 0.99
    assert shares[1] < 0.6
