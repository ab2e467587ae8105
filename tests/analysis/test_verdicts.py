"""A verdict says of each reported number whether this run agrees with it, by a rule that is written down."""

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest

from olbench.analysis.claims import check_claims, compare_expected, expected_text, read_expected
from olbench.analysis.contests import align
from olbench.analysis.published import load_paper
from olbench.analysis.results import load_results
from olbench.analysis.verdicts import DIFFERS, NOT_COMPARABLE, Attempt, judge, taus, time_ratios, verdict
from olbench.records.quantities import CLOSE, MISTAKE_RATE, REPRODUCED, UPDATES
from olbench.records.run_file import DataFacts
from olbench.records.shipped import find_folder
from olbench.report import words
from olbench.report.model import make_report
from olbench.report.words import describe_exceptions, describe_meanings, summary
from tests import ROOT
from tests.cases import for_each
from tests.refusals import refusal
from tests.report.made import as_printed, entry, number, results, spec, spread
from tests.report.pages import render

PAPER = load_paper("scw2012")
SMALL = ROOT / "tests/report/small"


CELL = number(0.294, 0.011, 0.0005)
RATE = spread(0.294, 0.005)


def only(found, algorithm="cw", quantity="mistake_rate", dataset="svmguide3"):
    key = f"{dataset}, {algorithm}, {quantity}"
    [one] = [each for each in judge(Attempt(found, PAPER)) if each.key == key]
    return one


def test_the_bounds_are_two_and_four_deviations_and_half_a_digit():
    for side in (-1, 1):
        for deviations, beyond, expected in (
            (0, 0, REPRODUCED), (2, 0, REPRODUCED), (2, 1e-6, CLOSE), (4, 0, CLOSE), (4, 1e-6, DIFFERS),
        ):  # fmt: skip
            distance = deviations * CELL.deviation + CELL.half_unit + beyond if deviations else 0
            assert verdict(CELL, CELL.mean + side * distance, 0.001) == expected


@for_each(
    ("reported", "mean", "deviation", "expected"),
    [
        (CELL, 0.294 + 0.05, 0.025, REPRODUCED),  # the larger deviation counts
        (number(0.002, 0.0, 0.0005), 0.0025, 0.0, REPRODUCED),
        (number(0.002, 0.0, 0.0005), 0.002501, 0.0, DIFFERS),
        (number(0.12, 0.02, 0.0005), 0.061, 0.01, DIFFERS),  # by a factor, however large the deviation
        (number(0.12, 0.015, 0.0005), 0.0797, 0.015, CLOSE),
        # Only the printed number is rounded: 0.018 is at most 0.0185, and a factor of 1.5 makes that 0.02775.
        (number(0.018, 0.001, 0.0005), 0.02775, 0.003, CLOSE),
        (number(0.018, 0.001, 0.0005), 0.02776, 0.003, DIFFERS),
    ],
)
def test_print_hides_half_a_digit_and_the_larger_deviation_counts_but_no_factor(
    reported, mean, deviation, expected
):
    assert verdict(reported, mean, deviation) == expected


def test_every_reported_number_is_judged_and_those_of_the_table_reproduce_themselves():
    found = judge(Attempt(as_printed(), PAPER))
    assert len(found) == 144
    assert {each.verdict for each in found} == {REPRODUCED}
    assert max(abs(each.z or 0) for each in found) < 1e-6
    assert all(each.where == f"Table 3, {each.dataset}, {each.algorithm}" for each in found)
    for quantity, name in ((MISTAKE_RATE, "mistake rates"), (UPDATES, "update counts")):
        counts = f"72 of 72 {name} reproduced (66 on data of another size), 0 close, 0 differ"
        assert summary(found, quantity) == counts


def test_ours_stands_beside_the_reported_number():
    found = results([entry("svmguide3", "cw", spread(0.31, 0.005), spread(702.6, 2), np.full(20, 0.0019))])
    assert time_ratios(Attempt(found, PAPER)) == {("svmguide3", "cw"): pytest.approx(20)}
    one = only(found)
    assert (one.mean, one.deviation) == (pytest.approx(0.31), pytest.approx(0.005))
    assert one.difference == pytest.approx(0.016)
    error = math.sqrt(0.011**2 / 20 + 0.005**2 / 20 + 0.0005**2 / 3)
    assert one.z == pytest.approx(0.016 / error)
    assert (one.verdict, one.reason) == (REPRODUCED, "")


def test_a_verdict_that_rests_on_our_larger_deviation_is_marked():
    # The made-up data have another size than the paper's, which is marked as well.
    # The paper has 0.294 ± 0.011: 0.330 is more than two of its deviations away, and less than two of ours.
    wide, narrow = (only(results([entry("svmguide3", "cw", spread(0.33, sd))])) for sd in (0.02, 0.005))
    assert (wide.verdict, wide.leans, words.letter(wide)) == (REPRODUCED, True, "R°#")
    assert (narrow.verdict, narrow.leans, words.letter(narrow)) == (CLOSE, False, "c#")
    differs, absent = (dataclasses.replace(narrow, verdict=each) for each in (DIFFERS, NOT_COMPARABLE))
    assert summary([wide, narrow, narrow, differs, absent], MISTAKE_RATE) == (
        "1 of 5 mistake rates reproduced (1 only because our standard deviation is larger, "
        "1 on data of another size), 2 close, 1 differs, 1 not comparable"
    )


def test_a_report_states_the_criterion_that_it_used_and_whose_numbers_it_leaves_out():
    judgements = []
    for name, said, unsaid in (
        ("cw-usps", "within 2 standard errors (binomial", "deviations ("),
        ("scw", "within 2 standard deviations (", "binomial"),
    ):
        report = make_report(find_folder("results") / name / "reference")
        text = " ".join(render(report, "text").split())
        assert (said in text, unsaid in text) == (True, False)
        left_out = "166 numbers are on other data sets: `olbench summary`"
        assert (left_out in report.verdict_lines) == (name == "cw-usps")
        judgements += report.judgements
    assert describe_meanings(judgements)[REPRODUCED].startswith("within 2 standard deviations (the larger")
    assert "binomial" in describe_exceptions(judgements)
    assert describe_exceptions(judgements[:1]) == describe_exceptions(judgements[-1:]) == ""


def test_what_was_not_run_on_the_papers_data_and_as_it_tuned_is_not_judged():
    found = results([entry("svmguide3", "cw", RATE)], datasets=("usps",))
    one = only(found, "arow")
    assert (one.verdict, one.reason, one.mean, one.z) == (NOT_COMPARABLE, "not run", None, None)
    assert only(found, dataset="splice").reason == "the data set is not in this run"
    assert only(found, dataset="usps").reason == "the data set was skipped"
    unlike = {"svmguide3": DataFacts("0" * 32, 1243, 21)}
    for data, reason in (
        (unlike, "the data differs from the catalogue's data set of this name"),
        ({}, "the fingerprint of the data is unknown"),
    ):
        other = dataclasses.replace(found, run=dataclasses.replace(found.run, data=data))
        assert only(other).reason == reason
    other = results(list(found.entries), search="holdout")
    assert only(other).reason == "its tuning is holdout; only coordinate or grid or none is compared"


def test_an_entry_that_is_not_the_papers_is_not_judged():
    full, once, none = (entry("svmguide3", "cw", rates).columns for rates in (RATE, [0.3], []))
    broken = {**full, "breakdowns": np.array([0, 7] + [0] * 18)}
    diagonal, wide = {"covariance": "diag", "projection": "kl", "a": 1.0}, {"covariance": "full", "a": 2.0}
    narrow, fixed = spec("cw", grid={"eta": [0.9, 0.95]}), spec("cw", grid={}, params={"eta": 0.9})
    wrong = []
    for change, reason in (
        ({"params": None, "columns": none}, "its tuning is not finished"),
        ({"failures": ("ValueError: no",)}, "1 of 20 trials failed"),
        ({"columns": once}, "fewer than 2 permutations are done"),
        ({"columns": broken}, "1 of 20 trials break down numerically"),
        ({"options": diagonal}, "its covariance is diag, the paper's is full"),
        ({"options": {**wide, "form": "root"}}, "its a is 2, the paper's is 1"),
        ({"spec": narrow}, "it is tuned over a different grid from the paper's"),
        ({"spec": fixed}, "its parameters are not tuned, the paper's are"),
    ):
        one = only(results([entry("svmguide3", "cw", RATE, **change)]))
        if (one.verdict, one.reason) != (NOT_COMPARABLE, reason):
            wrong.append((reason, one))
    assert wrong == []
    paper, both = load_paper("scw2012"), [entry("svmguide3", "cw", RATE, options=o) for o in (diagonal, {})]
    any_grid = dataclasses.replace(paper, requires=dataclasses.replace(paper.requires, grid=""))
    assert Attempt(results(both), any_grid).choose("svmguide3", "cw").reason == ""


def test_a_parameter_that_the_row_names_is_not_tuned():
    for said, reason in (
        ({"grid": {}, "params": {"C": 1.0}}, ""),
        ({"grid": {}, "params": {"C": 4.0}}, "C is fixed at 4.0"),
        ({}, "it is tuned over a different grid from the paper's"),
    ):
        found = results([entry("svmguide3", "ogd", spread(0.237, 0.003), spec=spec("ogd", **said))])
        assert Attempt(found, load_paper("libol2013")).choose("svmguide3", "ogd").reason == reason


def test_the_plain_entry_is_judged_and_its_variants_are_not():
    pair = [entry("svmguide3", "cw", RATE), entry("svmguide3", "arow", RATE)]
    assert only(results(pair * 2)).verdict == REPRODUCED  # a file that is read twice
    diagonal = {"covariance": "diag", "projection": "kl", "a": 1.0}
    fixed = spec("cw", grid={}, params={"eta": 0.9})
    entries = [
        entry("svmguide3", "cw", RATE + 0.1, label="diag", options=diagonal, spec=spec("cw", **diagonal)),
        entry("svmguide3", "cw", RATE + 0.2, label="cw (eta=0.9)", spec=fixed),
        entry("svmguide3", "cw", RATE, label="cw (tuned)"),
    ]
    one = only(results(entries))
    assert (one.label, one.verdict) == ("cw (tuned)", REPRODUCED)


def test_of_two_forms_the_usual_one_is_judged():
    """CW is kept as a root of its covariance by default, AROW as the covariance."""
    for id, usual in (("cw", "root"), ("arow", "covariance")):
        forms = {form: {"covariance": "full", "form": form, "a": 1.0} for form in ("covariance", "root")}
        entries = [
            entry("svmguide3", id, RATE, label=form, options=options, spec=spec(id, form=form))
            for form, options in forms.items()
        ]
        assert only(results(entries), id).label == usual


def test_entries_are_aligned_by_permutation():
    late = entry("svmguide3", "cw", [0.2, 0.3], planned=3)
    late.columns["number"] = np.array([1, 2])
    found = align([late, entry("svmguide3", "pa", [0.4, 0.5])], MISTAKE_RATE)
    np.testing.assert_array_equal(found, [[np.nan, 0.2, 0.3], [0.4, 0.5, np.nan]])


def test_tau_compares_our_order_with_the_papers_where_print_has_one():
    """Table 3 has CW above AROW above SCW-I on svmguide3, and one number for all on mushrooms."""
    found = taus(Attempt(as_printed(), PAPER))
    assert found == dict.fromkeys(set(PAPER.datasets) - {"mushrooms"}, pytest.approx(1))
    rates = {"cw": 0.1, "arow": 0.2, "scw1": 0.3}
    entries = [entry("svmguide3", id, spread(rate, 0.01)) for id, rate in rates.items()]
    for count, expected in ((3, {"svmguide3": -1.0}), (2, {"svmguide3": -1.0}), (1, {})):
        assert taus(Attempt(results(entries[:count]), PAPER)) == expected
    assert taus(Attempt(results(entries, search="holdout"), PAPER)) == {}


def test_expected_verdicts_are_read_back_as_they_are_written_and_a_changed_one_is_named(tmp_path: Path):
    path, attempt = tmp_path / "expected.yaml", Attempt(load_results(SMALL), PAPER)
    judged, claims = judge(attempt), check_claims(attempt)
    path.write_text(expected_text(judged, claims))
    assert len(read_expected(path)) == 144 + len(PAPER.claims)
    assert compare_expected(read_expected(path), judged, claims) == []
    lines = ("svmguide3, cw, mistake_rate: close", "usps, pa, updates: close", "claim scw1-beats-cw: holds")
    path.write_text("\n".join(lines))
    attempt = Attempt(results([entry("svmguide3", "cw", RATE)]), PAPER)
    assert compare_expected(read_expected(path), judge(attempt), check_claims(attempt)) == [
        "svmguide3, cw, mistake_rate: expected close, found reproduced",
        "usps, pa, updates: expected close, but the paper reports no such number",
        "claim scw1-beats-cw: expected holds, found not decided",
    ]

    for text, sentence in (
        ("a: close\nb: reproducd\n", "expected.yaml:2: the verdict on 'b' must be"),
        ("a: reproducd\n", "not 'reproducd' (did you mean 'reproduced'?)"),
        ("- close\n", "lines like `usps, cw, updates: reproduced`"),
    ):
        path.write_text(text)
        assert sentence in refusal(read_expected, path)
