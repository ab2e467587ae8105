"""A claim holds, holds partly or fails on a run, and on the very numbers it was drawn from."""

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import f, ttest_ind_from_stats, ttest_rel

from olbench.analysis.claims import chances, check_claims, printed_test
from olbench.analysis.published import Claim, Statement, load_paper
from olbench.analysis.verdicts import Attempt
from olbench.records.quantities import MISTAKE_RATE
from olbench.records.run_file import DataFacts
from tests.cases import for_each
from tests.report.made import as_printed, entry, number, results, spread

PAPER = load_paper("scw2012")
DATASETS = ("splice", "usps", "w7a", "ijcnn1", "covtype", "cod-rna")
NOISE = np.random.default_rng(3).normal(0, 0.004, 20).round(5)


def with_other_data(run, dataset):
    data = {**run.run.data, dataset: DataFacts("0" * 32, 1, 1)}
    return dataclasses.replace(run, run=dataclasses.replace(run.run, data=data))


def made(*rows: dict, datasets=DATASETS):
    """Return a run: per data set the rate of each algorithm, with a noise that all share and its own."""
    found = []
    for name, row in zip(datasets, rows, strict=False):
        for i, (id, rate) in enumerate(row.items()):
            values = rate + NOISE + 0.1 * np.roll(NOISE, i)
            found.append(entry(name, id, values, values * 10_000, values))
    return results(found)


def check(run, kind="better", algorithms=("scw1",), than=("arow",), on="every", n=None, **more):
    says = Statement(
        kind, more.pop("quantity", "mistake_rate"), algorithms, than, on, DATASETS[: n or len(run.datasets)],
        **more,
    )  # fmt: skip
    paper = dataclasses.replace(PAPER, claims=(Claim("id", "text", "where", (says,)),))
    [found] = check_claims(Attempt(run, paper))
    return found


GOOD, BAD = {"scw1": 0.2, "arow": 0.3}, {"scw1": 0.3, "arow": 0.2}


def test_words_for_how_many_have_one_meaning():
    expected = {
        "every": {6: "holds", 5: "holds partly", 4: "holds partly", 3: "holds partly"},
        "most": {4: "holds", 3: "holds partly", 2: "reversed", 1: "reversed"},
        "many": {2: "holds", 1: "reversed", 0: "reversed"},
        "some": {1: "holds", 0: "reversed"},
        "5 of 6": {5: "holds", 4: "holds partly", 3: "holds partly"},
        "10 of 12": {5: "holds"},
        "11 of 12": {5: "holds partly"},
        "2 of 6": {2: "holds"},
        "3 of 6": {2: "reversed", 1: "reversed"},
    }
    runs = {good: made(*[GOOD] * good, *[BAD] * (6 - good)) for good in range(7)}
    found = {on: {good: check(runs[good], on=on).verdict for good in own} for on, own in expected.items()}
    assert found == expected


def test_evidence_names_the_data_sets_where_it_is_not_so():
    found = check(made(GOOD, BAD, GOOD), on="most")
    assert found.verdict == "holds"
    low, high = (f"{rate + 1.1 * NOISE.mean():.4f}" for rate in (0.2, 0.3))
    counted = "on 2 of 3 data sets, reversed on 1, median ratio of the means 0.67"
    assert found.evidence == f"{counted}; not on usps (scw1 {high}, arow {low})"
    assert "true on usps (scw1" in check(made(BAD, GOOD, BAD), on="some").evidence
    found = check(made(GOOD), quantity="updates", n=2)
    assert (found.verdict, found.own_verdict) == ("holds", "holds")
    found = check(made(GOOD), n=2)  # equal digits are a tie
    assert found.own_verdict == "holds partly"
    assert found.own_table.endswith("not on usps (scw1 0.012, arow 0.012)")


def test_significantly_lower_needs_the_paired_test():
    noisy = np.resize([0.02, -0.0199], 20)
    clear = results([entry("splice", "scw1", 0.2 + NOISE), entry("splice", "arow", 0.201 + NOISE * 1.01)])
    chance = results([entry("splice", "scw1", 0.2 + NOISE), entry("splice", "arow", 0.2001 + NOISE + noisy)])
    assert check(clear, "significantly_better").verdict == "holds"
    assert check(chance, "better").verdict == "holds"
    assert check(chance, "significantly_better").verdict == "not significant"
    reverse = {"algorithms": ("arow",), "than": ("scw1",)}
    assert check(clear, "not_significantly_worse", **reverse).verdict == "reversed"
    equal = check(chance, "not_significantly_worse", **reverse)
    assert equal.verdict == "holds"
    low, high = ttest_rel(0.2001 + NOISE + noisy, 0.2 + NOISE).confidence_interval()
    assert low < 0
    assert f", up to {high / (0.2 + NOISE).mean():.0%} worse is not excluded (median)" in equal.evidence


ROW = {"cw": 0.2, "pa": 0.3, "perceptron": 0.25}
NEAR = {"scw1": 0.2, "scw2": 0.4, "arow": 0.2}
GROUPS = {"cw": 0.1, "scw1": 0.2, "pa": 0.15, "perceptron": 0.3}


@for_each(
    ("kind", "row", "algorithms", "than", "verdict", "shown"),
    [
        ("better", ROW | {"arow": 0.28}, "perceptron", "pa cw", "reversed", r"\(perceptron \S+, cw \S+\)$"),
        ("not_better", {"cw": 0.2, "pa": 0.2}, "cw", "pa", "holds", ""),
        ("not_better", {"cw": 0.2, "pa": 0.20005}, "cw", "pa", "not significant", ""),
        ("best_is_better", {"cw": 0.2, "pa": 0.2}, "cw", "pa", "not significant", ""),
        ("not_better", ROW, "cw", "pa perceptron", "reversed", ""),
        ("not_better", ROW | {"pa": 0.19}, "cw", "pa perceptron", "holds", ""),
        ("mostly_better", GROUPS, "cw scw1", "pa perceptron", "holds", r"\(3 of 4 pairs\)"),
        ("mostly_better", GROUPS | {"perceptron": 0.18}, "cw scw1", "pa perceptron", "reversed", "2 of 4"),
        ("best_or_joint", NEAR, "scw1 scw2", "scw1 scw2 arow", "holds", ""),
        ("best_or_joint", NEAR | {"arow": 0.1}, "scw1 scw2", "scw1 scw2 arow", "reversed", ""),
        ("best_is_better", GROUPS, "cw scw1", "pa perceptron", "holds", r"\(cw \S+, pa \S+\)$"),
        ("best_is_better", GROUPS | {"pa": 0.05}, "cw scw1", "pa perceptron", "reversed", ""),
    ],
)
def test_claims_about_groups(kind, row, algorithms, than, verdict, shown):
    found = check(made(row), kind, tuple(algorithms.split()), tuple(than.split()))
    assert found.verdict == verdict
    assert re.search(shown, found.evidence)


def test_only_comparable_results_are_evidence():
    run = with_other_data(made(GOOD, GOOD), "usps")
    assert check(run).evidence.startswith("on 1 of 1 data set (1 more could not be checked)")
    found = check(with_other_data(run, "splice"))
    assert (found.verdict, found.evidence) == ("not decided", "no comparable number for scw1, arow")


def test_times_are_judged_if_every_trial_ran_alone():
    found = check(made(GOOD), quantity="seconds")
    assert found.verdict == "holds"
    assert found.evidence.endswith("the authors' may differ in what is slow.")
    shared = entry("splice", "scw1", 0.2 + NOISE)
    shared.columns["timing"] = np.full(shared.done, "shared")
    found = check(results([shared, entry("splice", "arow", 0.3 + NOISE)]), quantity="seconds")
    reason = "times are judged only if every trial ran alone"
    assert (found.verdict, found.evidence) == ("not decided", reason)


def test_trials_that_break_down_are_left_out_and_named():
    broken = entry("splice", "arow", np.r_[0.9, 0.9, 0.3 + NOISE[2:]])
    columns = {**broken.columns, "breakdowns": np.r_[1, 1, np.zeros(broken.done - 2)]}
    broken = dataclasses.replace(broken, columns=columns, keys=("a", "b"))
    assert broken.first_flagged == "a"
    found = check(results([entry("splice", "scw1", 0.2 + NOISE), broken]), "significantly_better")
    assert found.verdict == "holds"
    assert found.evidence.endswith(
        f"of arow on splice, 2 of {broken.done} trials break down numerically and are left out"
    )


def test_a_claim_with_parts_has_one_verdict():
    says = [
        Statement("better", "mistake_rate", ("scw1",), ("arow",), "every", ("splice",), text="first"),
        Statement("better", "mistake_rate", ("arow",), ("scw1",), "every", ("splice",), text="second"),
    ]
    for order, verdict in (((0, 0), "holds"), ((0, 1), "holds partly"), ((1, 1), "reversed")):
        claim = Claim("id", "text", "where", tuple(says[place] for place in order))
        [found] = check_claims(Attempt(made(GOOD), dataclasses.replace(PAPER, claims=(claim,))))
        assert (found.verdict, len(found.parts)) == (verdict, 2)


def test_what_any_data_would_satisfy_holds_by_chance():
    row = {"cw": 0.3, "arow": 0.25, "nherd": 0.2, "scw1": 0.1}
    claims = tuple(
        Claim(id, "text", "where", (Statement(kind, "mistake_rate", (best,), than, on, DATASETS[:2]),))
        for id, kind, best, than, on in (
            ("easy", "not_better", "cw", ("arow", "nherd", "scw1"), "some"),
            ("hard", "significantly_better", "scw1", ("cw", "arow", "nherd"), "every"),
        )
    )
    found = chances(Attempt(made(row, row), dataclasses.replace(PAPER, claims=claims)))
    shares = {id: outcomes["holds"] / outcomes.total() for id, outcomes in found.items()}
    # Of nine derangements none leaves SCW-I its own results, and three give CW the best ones.
    assert shares["hard"] == 0
    assert shares["easy"] == pytest.approx(6 / 9)


def test_print_can_only_show_what_rounding_cannot_undo():
    """0.011 and 0.012 may both be 0.0115; 0.011 and 0.013 are at least 0.001 apart."""
    first, second, third = (number(mean, 0.0, 0.0005) for mean in (0.011, 0.012, 0.013))
    assert printed_test(first, second) == 1
    assert printed_test(first, third) < 0.001
    assert printed_test(number(0.2, 0.1, 0.0005), number(0.25, 0.1, 0.0005)) > 0.1


@given(st.floats(0.1, 0.4), st.floats(0.001, 0.1), st.floats(0.1, 0.4), st.floats(0.001, 0.1))
def test_the_test_on_print_is_welchs_where_print_is_fine(a, sd_a, b, sd_b):
    expected = ttest_ind_from_stats(a, sd_a, 20, b, sd_b, 20, equal_var=False).pvalue
    fine = [number(a, sd_a, 1e-12), number(b, sd_b, 1e-12)]
    assert printed_test(*fine) == pytest.approx(expected, abs=1e-6)


def test_the_paper_claims_more_than_its_table_shows():
    """SCW beats CW 'significantly', but not on the separable synthetic data, and mushrooms is a tie."""
    found = {claim.id: claim for claim in check_claims(Attempt(as_printed(), PAPER))}
    for id in ("scw1-beats-cw", "scw2-beats-cw"):
        assert found[id].own_verdict == "holds partly"
        assert "synthetic (" in found[id].own_table
        assert "mushrooms (" in found[id].own_table
    for id in ("scw1-updates-less-than-the-soft-rivals", "scw2-updates-less-than-the-soft-rivals"):
        assert found[id].own_verdict == found[id].verdict == "holds"
        assert found[id].own_table.startswith("on 12 of 12 data sets")
    assert found["second-order-beats-first-order"].own_verdict == "not decided"


def test_means_are_compared_with_a_value():
    run = results([entry("splice", "cw", [0.2, 0.2]), entry("splice", "pa", [0.25, 0.15])])
    # PA may be on either side, so that nothing is reversed.
    for value, kind, verdict in (
        (0.25, "below", "holds"), (0.25, "at_least", "not significant"),
        (0.2, "below", "not significant"), (0.2, "at_least", "holds"),
    ):  # fmt: skip
        found = check(run, kind, ("cw", "pa"), (), value=value)
        assert found.verdict == verdict
    assert check(run, "below", ("cw", "pa"), (), value=0.25).evidence.endswith("(cw 0.2000, pa 0.2000)")


def test_a_claim_may_say_by_how_much_the_others_are_worse():
    run = results([entry("splice", "scw1", [0.2, 0.2]), entry("splice", "arow", [0.216, 0.216])])
    assert [check(run, by=by).verdict for by in (0.075, 0.0800001)] == ["holds", "holds partly"]
    assert check(run, by=0.075).evidence.endswith("(scw1 0.2000, arow 0.2160, +8.0%)")
    twice = results([entry("splice", "scw1", [0.25, 0.25]), entry("splice", "arow", [0.5, 0.5])])
    assert check(twice, by=1.0).verdict == "holds"


def test_steadier_is_the_smaller_deviation():
    run = results([entry("splice", "scw1", spread(0.3, 0.01)), entry("splice", "arow", spread(0.2, 0.02))])
    found = check(run, "steadier")
    assert (found.verdict, found.own_verdict) == ("holds", "not significant")
    assert found.evidence.endswith("(scw1 ± 0.0100, arow ± 0.0200)")
    assert found.own_table.endswith("(scw1 ± 0.006, arow ± 0.006)")
    once = results([entry("splice", "scw1", [0.3]), entry("splice", "arow", [0.3])])
    assert check(once, "steadier").verdict == "not decided"


def test_steadier_is_reversed_by_the_test_of_paired_trials():
    """Both move together: on unpaired trials, a variance larger by half would be chance."""
    wild = 0.3 + 1.25 * NOISE + 0.1 * np.roll(NOISE, 1)
    calm = 0.2 + NOISE
    assert 2 * f.sf((wild.std() / calm.std()) ** 2, 19, 19) > 0.1
    run = results([entry("splice", "scw1", wild), entry("splice", "arow", calm)])
    assert check(run, "steadier").verdict == "reversed"
    shuffled = results([entry("splice", "scw1", wild[::-1]), entry("splice", "arow", calm)])
    assert check(shuffled, "steadier").verdict == "not significant"


def test_overall_is_by_mean_ranks_over_the_data_sets():
    """arow is better on two of three data sets, and still loses by rank among all four."""
    near, far = {"arow": 0.1, "scw1": 0.2}, {"scw1": 0.1, "pa": 0.2, "cw": 0.3, "arow": 0.4}
    run = made(near | {"pa": 0.3, "cw": 0.4}, near | {"pa": 0.3, "cw": 0.4}, far)
    alone = check(run, on="overall")
    assert alone.verdict == "not significant"
    assert alone.evidence == "mean ranks over 3 data sets: scw1 1.67, arow 1.33"
    among = check(run, on="overall", ranked=("scw1", "arow", "pa", "cw"))
    assert among.verdict == "holds"
    assert among.evidence == "mean ranks over 3 data sets: scw1 1.67, arow 2.00, pa 2.67, cw 3.67"
    assert check(made(near, BAD), than=("pa",), on="overall").verdict == "not decided"


def test_a_row_after_some_steps_is_read_from_its_curve():
    values = np.array([[10, 30], [20, 50]], float)
    late = dataclasses.replace(
        entry("splice", "scw1", [0.3, 0.5]), points=np.array([100, 200]), curves={"mistakes": values}
    )
    plain = entry("splice", "arow", [0.2, 0.2])
    assert late.values_at(MISTAKE_RATE, "100").tolist() == [0.1, 0.2]
    assert late.values_at(MISTAKE_RATE, "150") is None
    found = check(results([late, plain]), algorithms=("scw1@100",))
    assert (found.verdict, found.own_verdict) == ("holds", "not decided")
    assert found.evidence.endswith("(scw1@100 0.1500, arow 0.2000)")
    assert check(results([late, plain]), algorithms=("scw1@200",)).verdict == "not significant"
    none = check(results([late, plain]), algorithms=("scw1@300",))
    assert (none.verdict, none.evidence) == ("not decided", "no comparable number for scw1@300")
