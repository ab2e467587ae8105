"""The statistics are what their definitions say, by other formulas and by scipy's."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats as reference

from olbench.analysis import stats
from tests.cases import correct_by_closed_testing, for_each

#: Demšar, JMLR 7 (2006), Table 5a: critical values of the two-tailed Nemenyi test at 5%.
DEMSAR = {2: 1.960, 3: 2.343, 4: 2.569, 5: 2.728, 6: 2.850, 7: 2.949, 8: 3.031, 9: 3.102, 10: 3.164}

counts = hnp.arrays(np.int64, st.tuples(st.integers(2, 5), st.integers(2, 25)), elements=st.integers(0, 60))
chances = st.lists(st.floats(0, 1), min_size=1, max_size=6)


def rates(table: np.ndarray, n: int = 1243) -> dict[str, np.ndarray]:
    return {f"a{i}": row / n for i, row in enumerate(table)}


@given(counts)
def test_bold_are_the_best_and_those_whose_t_statistic_stays_below_the_quantile(table):
    best = int(np.argmin(table.mean(axis=1)))
    bound = reference.t.ppf(0.975, table.shape[1] - 1)
    expected = set()
    for i, row in enumerate(table):
        apart = (row - table[best]).astype(float)
        spread = apart.std(ddof=1)
        t = apart.mean() * math.sqrt(apart.size) / spread if spread else math.inf * (apart.mean() > 0 or 0)
        if i == best or math.isnan(t) or not t > bound:
            expected.add(f"a{i}")
    assert stats.not_worse(rates(table)) == expected


def test_only_shared_permutations_are_compared_and_one_says_nothing_but_exact_ties():
    one = {"best": np.array([0.1]), "tie": np.array([0.1]), "near": np.array([0.1001])}
    assert stats.not_worse(one) == {"best", "tie"}
    best, [tie, near] = stats.within(one)
    assert (best, tie.ties, near.losses) == ("best", 1, 1)
    assert all(math.isnan(each) for each in (near.p, near.low, near.high))
    best = np.array([0.1, 0.2, 0.1, 0.2, np.nan])
    other = np.array([np.nan, 0.21, 0.12, 0.24, 0.9])
    _, [found] = stats.within({"best": best, "other": other, "absent": np.full(5, np.nan)})
    assert (found.label, found.wins, found.ties, found.losses) == ("other", 0, 0, 3)
    assert found.p == pytest.approx(reference.ttest_rel([0.21, 0.12, 0.24], [0.2, 0.1, 0.2]).pvalue)


def test_shared_permutations_decide_who_is_not_worse_than_the_best():
    """The best by its own mean can lose on the permutations that another has too."""
    apart = {"best": np.array([0.1, 0.1, np.nan]), "other": np.array([np.nan, np.nan, 0.2])}
    assert stats.not_worse(apart) == {"best"}
    best = np.array([0.30, 0.31, 0.32, 0.0, 0.0, 0.0])
    other = np.array([0.20, 0.211, 0.222, np.nan, np.nan, np.nan])
    assert stats.not_worse({"best": best, "other": other}) == {"best", "other"}


@given(counts)
@settings(max_examples=30)
def test_wins_ties_and_losses_add_up_and_the_interval_holds_the_mean(table):
    _, found = stats.within(rates(table), resamples=500)
    for each in found:
        assert each.wins + each.ties + each.losses == table.shape[1]
        assert each.low - 1e-12 <= each.mean <= each.high + 1e-12
        assert each.mean >= -1e-12


def test_comparisons_with_the_best_are_corrected_for_their_number():
    random = np.random.default_rng(7)
    rates = {f"a{shift}": random.normal(0.2 + shift / 500, 0.01, 12) for shift in range(7)}
    # One shared permutation allows no test, and is not counted.
    rates["once"] = np.append(np.full(11, np.nan), 0.9)
    best, found = stats.within(rates)
    *tested, once = found
    p = [reference.ttest_rel(rates[each.label], rates[best]).pvalue for each in tested]
    assert [each.p for each in tested] == pytest.approx(p)
    assert [each.adjusted for each in tested] == pytest.approx(correct_by_closed_testing(p))
    assert any(each.p < stats.LEVEL <= each.adjusted for each in tested)
    assert once.label == "once"
    assert math.isnan(once.adjusted)


def test_the_bootstrap_interval_covers_the_true_mean_about_as_often_as_it_says():
    generator = np.random.default_rng(2012)
    covered = 0
    for _ in range(400):
        noise = generator.normal(0.01, 0.02, 20)
        # A third of the draws has the other one in front; the difference to the best changes its sign then.
        best, [found] = stats.within({"a": np.full(20, 0.5), "b": 0.5 + noise}, resamples=1000)
        truth = 0.01 if best == "a" else -0.01
        covered += found.low <= truth <= found.high
    assert 0.90 < covered / 400 < 0.97


@given(counts, st.sampled_from([0.0, 1 / 9, 0.25, 1.0]))
def test_the_corrected_test_is_that_of_nadeau_and_bengio(table, overlap):
    apart = (table[0] - table[1]) / 1243
    k = apart.size
    if np.ptp(apart) < 1e-9:
        return
    error = math.sqrt((1 / k + overlap) * apart.var(ddof=1))
    found = stats.resampled_t(table[0] / 1243, table[1] / 1243, overlap)
    assert found.mean == pytest.approx(apart.mean(), abs=1e-12)
    student = reference.t(k - 1, apart.mean(), error)
    assert (found.low, found.high) == pytest.approx(student.interval(0.95), rel=1e-6, abs=1e-9)
    assert found.p == pytest.approx(2 * reference.t.sf(abs(apart.mean()) / error, k - 1), rel=1e-6, abs=1e-9)


def test_the_corrected_test_without_variance_is_as_the_paired_one():
    values = np.array([0.1, 0.2, 0.3, 0.7])
    assert stats.resampled_t(values, values, 1 / 9) == stats.PairedTest(0, 0, 0, 1, 0)
    apart = stats.resampled_t(values + 0.01, values, 1 / 9)
    assert (apart.mean, apart.low, apart.high) == pytest.approx((0.01, 0.01, 0.01))
    assert apart.p == 0
    one = stats.resampled_t(np.array([0.2, np.nan]), np.array([0.1, 0.3]), 1 / 9)
    assert one.mean == pytest.approx(0.1)
    assert all(math.isnan(each) for each in (one.low, one.high, one.p, one.detectable))
    assert math.isnan(stats.resampled_t(np.array([np.nan]), np.array([0.3]), 1 / 9).mean)


def test_overlap_widens_intervals_and_lets_more_join_the_best():
    generator = np.random.default_rng(5)
    base = generator.normal(0.2, 0.01, 50)
    table = {"best": base, "near": base + generator.normal(0.0012, 0.003, 50)}
    assert stats.not_worse(table) == {"best"}
    assert stats.not_worse(table, overlap=1 / 9) == {"best", "near"}
    _, [corrected] = stats.within(table, overlap=1 / 9)
    test = stats.resampled_t(table["near"], base, 1 / 9)
    assert (corrected.low, corrected.high, corrected.p) == (test.low, test.high, test.p)


@for_each("count", [2, 3, 5, 20, 50, 1000])
@for_each("overlap", [0.0, 1 / 9])
def test_the_smallest_detectable_difference_is_detected_with_its_power(count, overlap):
    error = 0.3 * math.sqrt(1 / count + overlap)
    shift = stats.smallest_detectable(count, 0.3, overlap) / error
    bound = reference.t.ppf(0.975, count - 1)
    assert reference.nct.sf(bound, count - 1, shift) == pytest.approx(stats.POWER, abs=1e-4)


@given(chances)
def test_holms_procedure_is_closed_testing(p):
    assert stats.holm(p) == pytest.approx(correct_by_closed_testing(p))


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
def test_wilcoxon_is_exact_with_ties_and_zeros(differences):
    """By definition: the share of all signs whose smaller rank sum is at most the one seen."""
    apart = np.array([each for each in differences if each], float)
    p, untied = stats.wilcoxon(np.array(differences, float), np.zeros(len(differences)))
    assert untied == apart.size
    if not apart.size:
        assert p == 1
        return
    ranks = reference.rankdata(np.abs(apart))
    seen = min(ranks[apart > 0].sum(), ranks[apart < 0].sum())
    sums = [ranks[np.array(signs) > 0].sum() for signs in product((-1, 1), repeat=apart.size)]
    below = sum(total <= seen for total in sums) / len(sums)
    assert p == pytest.approx(min(1, 2 * below))


def table_of(values: np.ndarray) -> dict[str, dict[str, float]]:
    return {f"d{i}": {f"a{j}": float(value) for j, value in enumerate(row)} for i, row in enumerate(values)}


@given(st.lists(st.permutations(range(4)), min_size=3, max_size=12))
@settings(max_examples=40, deadline=None)
def test_friedman_without_ties_is_the_formula_of_the_textbook(orders):
    ranks = np.array(orders) + 1.0
    n, k = ranks.shape
    found = stats.across(table_of(ranks / 7))
    chi2 = 12 * n / (k * (k + 1)) * (np.sum(ranks.mean(axis=0) ** 2) - k * (k + 1) ** 2 / 4)
    assert found.statistic == pytest.approx(chi2, abs=1e-9)
    assert found.p == pytest.approx(reference.chi2.sf(chi2, k - 1), abs=1e-9)
    assert list(found.ranks.values()) == pytest.approx(list(ranks.mean(axis=0)))
    if n * (k - 1) - chi2 > 1e-6:
        assert found.iman_davenport == pytest.approx((n - 1) * chi2 / (n * (k - 1) - chi2), abs=1e-6)
    else:
        assert (found.iman_davenport, found.iman_davenport_p) == (math.inf, 0)


@for_each(("k", "q"), DEMSAR.items())
def test_critical_values_are_those_of_demsar(k, q):
    """Demšar 2006, 3.2.2: four algorithms on 14 data sets have CD = 1.25 at 5%, 1.12 at 10%."""
    assert stats.nemenyi_q(k) == pytest.approx(q, abs=0.0011)  # the table rounds k = 3 down
    for level, difference in ((0.05, 1.25), (0.1, 1.12)):
        assert stats.critical_difference(4, 14, level) == pytest.approx(difference, abs=0.005)


def test_groups_are_the_largest_sets_within_the_critical_difference():
    values = np.array([[1, 2, 3, 4, 5, 6]] * 12)
    found = stats.across(table_of(values))
    assert 2 < found.critical_difference < 3
    assert found.groups == (("a0", "a1", "a2"), ("a1", "a2", "a3"), ("a2", "a3", "a4"), ("a3", "a4", "a5"))


def test_equal_algorithms_and_those_equal_but_for_rounding_are_tied():
    found = stats.across(table_of(np.full((5, 3), 0.2)))
    assert (found.statistic, found.p, found.iman_davenport_p) == (0, 1, 1)
    assert found.groups == (("a0", "a1", "a2"),)
    assert all((pair.p, pair.adjusted, pair.untied) == (1, 1, 0) for pair in found.pairs)
    found = stats.across(table_of(np.array([[0.1 + 0.2, 0.3, 0.4]] * 4)))
    assert found.ranks == {"a0": 1.5, "a1": 1.5, "a2": 3.0}


def test_a_data_set_with_huge_losses_makes_no_ties_on_the_others():
    rates = np.array([[0.1, 0.2, 0.3, 0.4]] * 5 + [[7e17, 7.1e17, 7.2e17, 7.3e17]])
    found = stats.across(table_of(rates))
    assert found.ranks == {"a0": 1, "a1": 2, "a2": 3, "a3": 4}
    assert found.statistic == pytest.approx(18)


def test_whole_percents_tie_across_data_sets():
    """0.30 - 0.25 and 0.15 - 0.10 are not the same double, but the same difference."""
    rates = np.array([[0.30, 0.25, 0], [0.15, 0.10, 0], [0.93, 0.98, 0], [0.07, 0.02, 0], [0.5, 0.4, 0]])
    [pair, *_] = stats.across(table_of(rates)).pairs
    assert pair.p == 2 * 5 / 32  # the rank of the only negative difference is 2.5, as of three others


def test_a_difference_on_the_border_of_the_rope_is_half_in_it():
    percents = np.array([[15, 16, 29], [7, 8, 23], [5, 6, 24], [35, 36, 45], [17, 18, 27], [13, 14, 32.0]])
    rates, exact = (
        stats.against_control(table_of(values), control="a0", rope=rope).tests[0].posterior
        for values, rope in ((percents / 100, 0.01), (percents, 1))
    )
    assert rates == exact


def test_wilcoxon_stays_in_the_range_of_doubles_on_many_data_sets():
    signed = np.arange(1.0, 1501.0) * np.where(np.arange(1500) % 20 < 11, 1, -1)
    expected = reference.wilcoxon(signed, method="asymptotic").pvalue
    assert stats.wilcoxon(signed, np.zeros(1500))[0] == pytest.approx(expected, rel=0.01)


def test_wilcoxon_across_data_sets_ranks_the_plain_differences():
    values = np.random.default_rng(5).random((9, 3))
    found = stats.across(table_of(values))
    for pair, (i, j) in zip(found.pairs, ((0, 1), (0, 2), (1, 2)), strict=True):
        expected = reference.wilcoxon(values[:, i], values[:, j], method="exact").pvalue
        assert pair.p == pytest.approx(expected)
        assert pair.significant == (pair.adjusted <= 0.05)


def test_power_says_what_cannot_be_seen():
    """Wilcoxon's smallest p over n data sets is 2^(1-n); times 15 pairs it is below 5% from n = 10 on."""
    values = np.array([[1.0, 2, 3, 4, 5, 6]] * 9)
    found = stats.across(table_of(values))
    assert not any(pair.significant for pair in found.pairs)
    assert found.power == (
        "With 6 algorithms and 9 data sets, a difference below 2.51 average ranks cannot be detected at the "
        "5% level, and Wilcoxon's test with Holm's correction over 15 pairs detects nothing with fewer than "
        "10 data sets."
    )
    more = stats.across(table_of(np.vstack([values + i / 100 for i in range(2)])))
    assert any(pair.significant for pair in more.pairs)


@for_each("n", [3, 53, 71, 106, 500])
def test_one_order_on_all_data_sets_makes_f_infinite_however_many_there_are(n):
    """Rounding leaves 1e-13 of a denominator that is zero; the F of such a quotient would be 1e15."""
    found = stats.across(table_of(np.tile([0.1, 0.2, 0.3, 0.4], (n, 1))))
    assert (found.iman_davenport, found.iman_davenport_p) == (math.inf, 0.0)


def test_where_more_is_better_the_largest_number_has_the_first_rank():
    values = np.random.default_rng(6).random((9, 3)) + np.array([0.0, 0.5, 1.0])
    higher, lower = stats.across(table_of(values), "higher"), stats.across(table_of(-values))
    assert min(higher.ranks, key=higher.ranks.get) == "a2"
    assert higher == lower


def test_too_little_to_compare_is_said():
    assert stats.across(table_of(np.ones((5, 2)))) == (
        "a comparison over data sets needs 3 algorithms; this run has 2"
    )
    assert stats.across(table_of(np.ones((2, 4)))) == (
        "a comparison over data sets needs 3 data sets that have all 4 algorithms; this run has 2"
    )
    assert isinstance(stats.across({}), str)
    for n in (1, 4):
        text = f"a comparison with a control needs 5 data sets that have all 4 algorithms; this run has {n}"
        assert stats.against_control(table_of(C45[:n])) == text


@given(st.permutations(range(4)))
def test_kendalls_tau_counts_pairs_in_the_same_order_and_needs_more_than_ties(order):
    agree = sum(math.copysign(1, order[i] - order[j]) for i in range(4) for j in range(i))
    assert stats.kendall_tau([0, 1, 2, 3], order) == pytest.approx(agree / 6)
    assert math.isnan(stats.kendall_tau([1, 2, 3], [0.002, 0.002, 0.002]))


#: Demšar 2006, Table 6: the ranks of C4.5 as it is, with m, with cf and with both tuned, on 14 data sets.
C45 = np.array([
    [4, 3, 2, 1], [1, 2, 3, 4], [4, 1, 2, 3], [4, 1, 3, 2], [4, 2, 3, 1], [1, 2.5, 4, 2.5], [3, 2, 4, 1],
    [2.5, 2.5, 4, 1], [4, 3, 2, 1], [2.5] * 4, [4, 2.5, 1, 2.5], [3, 2, 4, 1], [4, 1, 2, 3], [3, 1, 4, 2],
])  # fmt: skip


def test_demsars_example_of_a_control():
    """Demšar 2006, 3.2.2: against C4.5, with z and p as printed; Holm's procedure rejects two of three."""
    found = stats.against_control(table_of(C45), control="a0")
    assert [test.label for test in found.tests] == ["a3", "a1", "a2"]
    assert [-test.z for test in found.tests] == pytest.approx([2.416, 2.342, 0.512], abs=0.001)
    assert [test.p for test in found.tests] == pytest.approx([0.016, 0.019, 0.607], abs=0.002)
    assert [test.adjusted for test in found.tests] == stats.holm([test.p for test in found.tests])
    assert [test.significant for test in found.tests] == [True, True, False]
    assert (found.rope, found.tests[0].posterior) == (None, None)


def test_the_control_is_the_best_by_default_and_those_compared_with_it_are_worse_or_equal():
    values = np.array([[0.1, 0.1 + 1e-4 * i, 0.15] for i in range(1, 7)])
    for better in ("lower", "higher"):
        found = stats.against_control(table_of(values if better == "lower" else -values), better, rope=0.01)
        near, far = found.tests
        assert (found.label, found.rope, near.label, far.label) == ("a0", 0.01, "a1", "a2")
        assert near.z > 0
        assert near.posterior == stats.Posterior(0, 1, 0)
        assert far.posterior is not None
        assert far.posterior.right > 0.99


FEW = [-0.00612, 0.00487, 0.01731, -0.00109, -0.00214]
LEFT = [-0.02913, -0.02271, -0.02834, -0.01207, -0.02318, -0.00693, -0.00841, -0.01187]
SOME = [
    0.00031, 0.00517, 0.00729, 0.00683, -0.00614, 0.02041, 0.01987, -0.00923, 0.01511, 0.00707, 0.0,
    0.02613, 0.01409,
]  # fmt: skip
BORDERS = [0.125, -0.125, 0.25, 0.0, 0.0625, 0.1875, 0.125]
#: Differences over data sets, half the width of the rope, and P(left), P(rope) and P(right) as baycomp 1.0.3
#: has them: SignedRankTest.probs(zeros, differences, rope, nsamples=1_000_000, random_state=1).
BAYCOMP = [
    (FEW, 0.01, (0.0, 0.982818, 0.017182)),
    (FEW, 0.0, (0.475273, 0.0, 0.524727)),
    (LEFT, 0.01, (0.972426, 0.027574, 0.0)),
    (LEFT, 0.0, (1.0, 0.0, 0.0)),
    (SOME, 0.01, (0.0, 0.729675, 0.270325)),
    (SOME, 0.0, (0.003562, 0.0, 0.996438)),
    (BORDERS, 0.125, (0.0, 0.813591, 0.186409)),
]


@for_each(("differences", "rope", "expected"), BAYCOMP)
def test_the_posterior_of_the_signed_rank_test_is_baycomps(differences, rope, expected):
    [found] = stats.bayesian_signed_rank(np.array([differences]), np.zeros(len(differences)), rope, 100_000)
    assert (found.left, found.rope, found.right) == pytest.approx(expected, abs=0.004)
    [none] = stats.bayesian_signed_rank(np.zeros((1, 5)), np.zeros(5), rope)
    assert none == (stats.Posterior(0, 1, 0) if rope else stats.Posterior(0.5, 0, 0.5))


@given(counts)
def test_equals_share_the_average_of_their_ranks_or_the_smallest(table):
    means = {f"d{j}": {f"a{i}": float(table[i, j]) for i in range(len(table))} for j in range(table.shape[1])}
    for ties in ("average", "min"):
        found = stats.mean_ranks(means, ties=ties)
        expected = reference.rankdata(table, method=ties, axis=0).mean(axis=1)
        assert list(found.values()) == pytest.approx(expected.tolist())
    found = stats.mean_ranks(means)
    higher = stats.mean_ranks({d: {a: -x for a, x in row.items()} for d, row in means.items()}, "higher")
    assert higher == found


def test_only_data_sets_with_every_label_are_ranked():
    means = {"d": {"a": 0.2, "b": 0.1}, "e": {"a": 0.1, "b": math.nan}, "f": {"a": 0.1}}
    assert stats.mean_ranks(means) == {"a": 2.0, "b": 1.0}
    for none in ({"f": {"a": 0.1}, "g": {"b": 0.1}}, {"a": {}, "b": {}}, {}):
        assert stats.mean_ranks(none) == {}
    means = table_of(np.random.default_rng(0).random((5, 3)))
    del means["d1"]["a2"]
    means["d3"]["a0"] = math.nan
    assert stats.across(means).datasets == ("d0", "d2", "d4")


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 5))
def test_mcnemar_is_a_sign_test_on_what_one_alone_gets_wrong(b, c, rest):
    one = np.repeat([True, True, False, False], [rest, b, c, rest])
    other = np.repeat([True, False, True, False], [rest, b, c, rest])
    found = stats.mcnemar(one, other)
    assert found.p == stats.mcnemar(other, one).p
    assert (found.first_alone, found.second_alone, found.exact) == (b, c, b + c < stats.FEW_DISCORDANT)
    if not b + c:
        assert found.p == 1
    elif found.exact:
        assert found.p == pytest.approx(reference.binomtest(b, b + c).pvalue, rel=1e-12)
    else:
        assert found.p == pytest.approx(reference.chi2.sf(max(abs(b - c) - 1, 0) ** 2 / (b + c), 1), rel=1e-9)
