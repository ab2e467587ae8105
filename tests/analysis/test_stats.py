"""The statistics are what their definitions say, by other formulas and by scipy's."""

import math
from itertools import combinations, product

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


@given(chances)
def test_holms_procedure_is_closed_testing(p):
    assert stats.holm(p) == pytest.approx(correct_by_closed_testing(p))


def enumerate_signs(apart):
    """Return Wilcoxon's p: the share of all signs whose smaller rank sum is at most the one seen."""
    apart = np.array([each for each in apart if each])
    if not apart.size:
        return 1.0
    ranks = reference.rankdata(np.abs(apart))
    seen = min(ranks[apart > 0].sum(), ranks[apart < 0].sum())
    sums = [ranks[np.array(signs) > 0].sum() for signs in product((-1, 1), repeat=apart.size)]
    return min(1.0, 2 * sum(total <= seen for total in sums) / len(sums))


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
def test_wilcoxon_is_exact_with_ties_and_zeros(differences):
    p, untied = stats.wilcoxon(np.array(differences, float), np.zeros(len(differences)))
    assert untied == np.count_nonzero(differences)
    assert p == pytest.approx(enumerate_signs(differences))


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
    pairs = stats.pairwise(table_of(np.full((5, 3), 0.2)))
    assert [(each.p, each.wins, each.ties, each.losses) for each in pairs] == [(1, 0, 5, 0)] * 3
    found = stats.across(table_of(np.array([[0.1 + 0.2, 0.3, 0.4]] * 4)))
    assert found.ranks == {"a0": 1.5, "a1": 1.5, "a2": 3.0}


def test_a_data_set_with_huge_losses_makes_no_ties_on_the_others():
    rates = np.array([[0.1, 0.2, 0.3, 0.4]] * 5 + [[7e17, 7.1e17, 7.2e17, 7.3e17]])
    found = stats.across(table_of(rates))
    assert found.ranks == {"a0": 1, "a1": 2, "a2": 3, "a3": 4}
    assert found.statistic == pytest.approx(18)


def test_wilcoxon_stays_in_the_range_of_doubles_on_many_data_sets():
    signed = np.arange(1.0, 1501.0) * np.where(np.arange(1500) % 20 < 11, 1, -1)
    expected = reference.wilcoxon(signed, method="asymptotic").pvalue
    assert stats.wilcoxon(signed, np.zeros(1500))[0] == pytest.approx(expected, rel=0.01)


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
        text = (
            "a comparison over data sets with one algorithm needs 5 data sets that have all 4 algorithms; "
            f"this run has {n}"
        )
        assert stats.against(table_of(C45[:n])) == text


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


tables = hnp.arrays(np.int64, st.tuples(st.integers(5, 8), st.integers(3, 4)), elements=st.integers(0, 9))


@given(tables, st.sampled_from(["lower", "higher"]))
@settings(max_examples=40, deadline=None)
def test_against_the_best_holm_counts_all_pairs_and_against_a_named_one_its_own(table, better):
    names = [f"a{i}" for i in range(table.shape[1])]
    losses = table if better == "lower" else -table
    ranks = reference.rankdata(losses, axis=1).mean(axis=0)
    pairs = list(combinations(range(len(names)), 2))
    p = {frozenset(each): enumerate_signs(losses[:, each[0]] - losses[:, each[1]]) for each in pairs}
    for control in (None, *names):
        found = stats.against(table_of(table), better, control)
        assert (found.label, found.selected) == (control or names[int(ranks.argmin())], control is None)
        own = names.index(found.label)
        assert {each.label for each in found.rivals} == {*names} - {found.label}
        tested = [frozenset(each) for each in pairs if control is None or own in each]
        adjusted = dict(zip(tested, correct_by_closed_testing([p[each] for each in tested]), strict=True))
        for each in found.rivals:
            other = names.index(each.label)
            apart = table[:, other] - table[:, own]
            signs = np.sign(losses[:, other] - losses[:, own])
            assert each.mean == pytest.approx(apart.mean(), abs=1e-12)
            assert [each.wins, each.ties, each.losses] == [
                np.count_nonzero(signs == sign) for sign in (-1, 0, 1)
            ]
            assert each.p == pytest.approx(p[frozenset((own, other))])
            assert each.adjusted == pytest.approx(adjusted[frozenset((own, other))])
            assert each.significant == (each.adjusted <= 0.05)


def test_a_control_without_results_leaves_the_best():
    assert stats.against(table_of(C45), control="absent") == stats.against(table_of(C45))


@given(tables)
@settings(max_examples=30, deadline=None)
def test_a_pair_does_not_depend_on_the_other_algorithms(table):
    whole = {(each.first, each.second): each for each in stats.pairwise(table_of(table / 7))}
    for left_out in range(table.shape[1]):
        means = {
            dataset: {label: mean for label, mean in row.items() if label != f"a{left_out}"}
            for dataset, row in table_of(table / 7).items()
        }
        found = stats.pairwise(means)
        assert found == [each for names, each in whole.items() if f"a{left_out}" not in names]
    # Nor on data sets that one of the two does not have.
    means = table_of(table / 7) | {"other": {"a0": 0.3, "new": 0.1}}
    assert [each for each in stats.pairwise(means) if each.second != "new"] == [*whole.values()]


def test_pairs_are_by_the_data_sets_that_both_have():
    means = {"d": {"a": 0.2, "b": 0.1}, "e": {"a": 0.1, "b": math.nan}, "f": {"a": 0.1, "c": 0.3}}
    assert stats.pairwise(means, "higher") == [
        stats.Pair("a", "b", pytest.approx(0.1), 1, 0, 0, 1.0),
        stats.Pair("a", "c", pytest.approx(-0.2), 0, 0, 1, 1.0),
    ]


@given(hnp.arrays(np.int64, (6, 3), elements=st.integers(0, 3)))
@settings(max_examples=60, deadline=None)
def test_without_names_each_data_set_that_changes_who_leads(table):
    names = ["a0", "a1", "a2"]
    found = stats.across(table_of(table))
    ranks = reference.rankdata(table, axis=1)
    leader = int(ranks.sum(axis=0).argmin())
    expected = {}
    for place in range(6):
        sums = np.delete(ranks, place, axis=0).sum(axis=0)
        if sums[leader] > sums.min():
            expected[f"d{place}"] = names[int(sums.argmin())]
    assert found.without == expected
    assert stats.against(table_of(table)).label == names[leader]


def test_of_several_leaders_one_is_compared_and_followed():
    """Two lead together; the first by name is the control, and falls behind without its best data sets."""
    values = np.array([[1, 2, 3], [2, 1, 3]] * 3 + [[1, 1, 3]])
    means = {name: {"z": a, "m": b, "q": c} for name, (a, b, c) in zip("abcdefg", values, strict=True)}
    assert stats.against(means).label == "m"
    assert stats.across(means).without == {"b": "z", "d": "z", "f": "z"}


def test_by_default_a_difference_of_one_percent_of_the_smaller_error_is_negligible():
    for better, turn in (("lower", lambda e: e), ("higher", lambda e: 1 - e)):
        errors = np.array([[0.2, 0.2 * (1 + share), 0.4] for share in np.linspace(0.001, 0.009, 7)])
        means = table_of(turn(errors))
        near, far = stats.against(means, better, "a0").rivals
        assert near.posterior == stats.Posterior(0, 1, 0)
        assert far.posterior.right > 0.99
        # A share of 1% of the smaller error, not of the larger one.
        border = stats.against(table_of(turn(errors * [1, 0, 1] + [0, 0.2021, 0])), better, "a0").rivals[0]
        assert border.posterior.right > 0.9
        # What a config calls negligible is the difference itself.
        wide = stats.against(means, better, "a0", negligible=0.3).rivals
        assert [each.posterior for each in wide] == [stats.Posterior(0, 1, 0)] * 2


def test_a_relative_region_is_the_plain_one_in_units_of_the_smaller_error():
    random = np.random.default_rng(3)
    errors = random.uniform(0.05, 0.5, (8, 1)) * (1 + random.normal(0, 0.02, (8, 3)))
    found = {each.label: each.posterior for each in stats.against(table_of(errors), control="a1").rivals}
    for other, label in ((0, "a0"), (2, "a2")):
        shares = (errors[:, other] - errors[:, 1]) / np.minimum(errors[:, other], errors[:, 1])
        [expected] = stats.bayesian_signed_rank(shares[None], np.zeros(8), 0.01)
        assert vars(found[label]) == pytest.approx(vars(expected), abs=1e-12)
    # No error at all on a data set is not divided by.
    errors[0] = [0.0, 0.1, 0.1]
    assert all(0 <= each.posterior.rope <= 1 for each in stats.against(table_of(errors)).rivals)


def test_a_difference_on_the_border_of_the_rope_is_half_in_it():
    percents = np.array([[15, 16, 29], [7, 8, 23], [5, 6, 24], [35, 36, 45], [17, 18, 27], [13, 14, 32.0]])
    rates, exact = (
        [each.posterior for each in stats.against(table_of(values), control="a0", negligible=rope).rivals]
        for values, rope in ((percents / 100, 0.01), (percents, 1))
    )
    assert rates == exact


def test_whole_percents_tie_across_data_sets():
    """0.30 - 0.25 and 0.15 - 0.10 are not the same double, but the same difference."""
    rates = np.array([[0.30, 0.25, 0], [0.15, 0.10, 0], [0.93, 0.98, 0], [0.07, 0.02, 0], [0.5, 0.4, 0]])
    [pair, *_] = stats.pairwise(table_of(rates))
    assert pair.p == 2 * 5 / 32  # the rank of the only negative difference is 2.5, as of three others


def test_few_data_sets_decide_nothing():
    """Wilcoxon's smallest p over n data sets is 2^(1-n); times 15 pairs it is below 5% from n = 10 on."""
    values = np.array([[1.0, 2, 3, 4, 5, 6]] * 9)
    assert not any(each.significant for each in stats.against(table_of(values)).rivals)
    assert any(each.significant for each in stats.against(table_of(np.vstack([values, values + 1]))).rivals)


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
    [found] = stats.bayesian_signed_rank(
        np.array([differences]), np.zeros(len(differences)), rope, samples=100_000
    )
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


@given(st.integers(0, 2**32), st.integers(3, 30), st.floats(0.2, 5), st.floats(-2, 2))
def test_pitman_and_morgan_correlate_sums_with_differences(seed, n, scale, shared):
    one, other = np.random.default_rng(seed).normal(size=(2, n)) * [[scale], [1.0]]
    other += shared * one
    expected = reference.pearsonr(one + other, one - other).pvalue
    assert stats.pitman_morgan(one, other) == pytest.approx(expected, rel=1e-6, abs=1e-12)
    gaps = np.insert(one, 1, np.nan), np.insert(other, 1, 0.0)
    assert stats.pitman_morgan(*gaps) == stats.pitman_morgan(one, other) == stats.pitman_morgan(other, one)


def test_equal_spreads_are_never_different_by_rounding():
    one = np.array([0.1, 0.2, 0.4, 0.3])
    assert stats.pitman_morgan(one, one + 0.1) == stats.pitman_morgan(one, 0.7 - one) == 1.0
    assert stats.pitman_morgan(one, np.full(4, 0.3)) == pytest.approx(0.0, abs=1e-6)


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
