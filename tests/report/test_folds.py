"""A report on cross-validation: one table for all, ranks, McNemar's test and the tunings side by side.

`folds` has the results of a small run, and a paper made up for them.
"""

import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from olbench.config.specs import Config, Tuning
from olbench.papers import read_paper
from olbench.protocols import get_protocol
from olbench.quantities import TEST_ERROR
from olbench.report.comparable import Attempt
from olbench.report.model import Report, make_report
from olbench.report.renderers import text
from olbench.report.results import aligned, load_results
from olbench.report.sections import overview, ranks, sections_of, significance, statistics, tunings
from olbench.report.sections.significance import compare, contrasts, find_mark, stored_errors
from olbench.report.verdicts import NOT_COMPARABLE, count, judge_tuning, summary
from olbench.stats import mean_ranks, not_worse, resampled_t
from tests.report.pages import render
from tests.report.test_formats import check_latex

FOLDS = Path(__file__).with_name("folds")
SHIPPED = Path(__file__).parents[2] / "results"
CROSSVAL = get_protocol("crossval")
NAMES = ["var-KL", "var-Exact", "perceptron", "pa", "naive-bayes"]


@pytest.fixture(scope="module")
def report():
    return Report(load_results(FOLDS), read_paper(FOLDS / "paper.yaml"))


def grid_rows(grid):
    """Return the texts of a table by the text of the first column."""
    return {row[0].text: [box.text for box in row[1:]] for row in grid.rows}


# Tunings and what is compared.


def config(search="nested", also=("paper", "oracle")) -> Config:
    return Config((), (), protocol="crossval", tuning=Tuning(search, settings={"also": also}))


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("pa", ("pa", "nested")),
        ("pa [paper]", ("pa", "paper")),
        ("mine [oracle]", ("mine", "oracle")),
        ("mine [nested]", ("mine [nested]", "nested")),
        ("mine [other]", ("mine [other]", "nested")),
    ],
)
def test_a_label_says_how_an_entry_is_tuned(label, expected):
    assert CROSSVAL.read_label(config(), label) == expected
    assert get_protocol("online").read_label(Config((), ()), label) == (label, Config((), ()).tuning.search)


def test_the_first_tuning_is_the_one_without_a_bracket():
    other = config("oracle", ("nested", "oracle"))
    assert CROSSVAL.tunings(other) == ("oracle", "nested")
    assert CROSSVAL.read_label(other, "pa") == ("pa", "oracle")
    assert CROSSVAL.read_label(other, "pa [nested]") == ("pa", "nested")


def test_only_entries_of_the_first_tuning_are_compared(report):
    results = report.results
    assert results.names == NAMES
    assert len(results.labels) == 15
    for dataset in results.datasets:
        assert [entry.label for entry in results.contestants(dataset)] == NAMES
        assert {each.label for each in report.results.within[dataset][1]} | {
            report.results.within[dataset][0]
        } == set(NAMES)
    assert {entry.label for entry in report.rows if results.is_best(entry)} <= set(NAMES)


def test_folds_overlap_by_what_they_test_over_what_they_train_on_and_a_given_split_does_not():
    assert CROSSVAL.overlap({"folds": 10}) == pytest.approx(1 / 9)
    assert CROSSVAL.overlap({"folds": 2}) == 1
    assert CROSSVAL.overlap({"folds": 1}) == CROSSVAL.overlap({}) == 0
    assert get_protocol("online").overlap({}) == 0


def test_bold_and_the_statistics_of_folds_are_by_the_corrected_test(report):
    results, headline = report.results, report.headline
    note = "(corrected resampled t-test of Nadeau and Bengio over the shared folds, 95%)."
    assert results.best_note.endswith(note)
    for dataset in results.datasets:
        [folds] = {entry.recorded_setting["folds"] for entry in results.of(dataset)}
        values = aligned(results.contestants(dataset), headline)
        assert results.best[dataset] == not_worse(values, overlap=1 / (folds - 1))
        best, differences = report.results.within[dataset]
        for each in differences:
            test = resampled_t(values[each.label], values[best], 1 / (folds - 1))
            assert (each.low, each.high, each.p) == (test.low, test.high, test.p)
        headings = [column.heading for column in statistics.within(report, dataset).columns]
        assert headings[2::2] == ["95% corrected t", "p (corrected t)"]
    page = render(report)
    assert note.lstrip("(").rstrip(").") in page
    assert "Paired t-test" not in page


def test_with_five_data_sets_all_are_compared_with_the_best():
    report = make_report(SHIPPED / "cw-usps" / "reference")
    grid = list(statistics.parts(report))[-1]
    found = statistics.data(report)["against_best"]
    assert grid.title == f"Across data sets: against {found['label']}, which has the best average rank"
    assert found["rope"] == 0.01
    assert "where equal is a difference of at most 1.00 of the test error (%)" in grid.note
    for test, (z, p, adjusted, *shares) in zip(found["tests"], grid_rows(grid).values(), strict=True):
        assert (z, p, adjusted) == (f"{test['z']:.2f}", f"{test['p']:.3g}", f"{test['adjusted']:.3g}")
        assert shares == [f"{test['posterior'][side]:.2f}" for side in ("left", "rope", "right")]
    fewer = statistics.data(Report(load_results(FOLDS), None))["against_best"]
    assert fewer.startswith("a comparison")


def test_the_entry_with_the_required_tuning_stands_for_a_row(report):
    results, paper = report.results, report.paper
    assert Attempt(results, paper).choose("breast-cancer", "var-exact").entry.label == "var-Exact"
    only = dataclasses.replace(
        results, entries=tuple(e for e in results.entries if results.tuning_of(e) == "oracle")
    )
    entry, reason, _ = Attempt(only, paper).choose("breast-cancer", "var-kl")
    assert (entry.label, reason) == ("var-KL [oracle]", "its tuning is oracle; only nested is compared")
    for way in results.tunings:
        found = judge_tuning(Attempt(results, paper), way)
        labels = {each.label for each in found if each.mean is not None}
        assert {results.tuning_of(e) for e in results.entries if e.label in labels} == {way}


def test_rows_whose_parameters_the_paper_tunes_must_be_tuned(report):
    results = report.results
    fixed = tuple(
        dataclasses.replace(e, spec=dataclasses.replace(e.spec, params={"phi": 1.0}, grid={}))
        for e in results.entries
    )
    untuned = dataclasses.replace(results, entries=fixed)
    assert Attempt(untuned, report.paper).choose("breast-cancer", "var-kl").reason == (
        "its parameters are not tuned, the paper's are"
    )
    assert Attempt(untuned, report.paper).choose("breast-cancer", "naive-bayes").reason == ""


def test_one_trial_is_enough_where_no_more_are_planned_and_no_deviation_is_printed(report):
    results = report.results

    def first(entry):
        return {name: column[:1] for name, column in entry.columns.items()}

    def with_one(planned):
        entries = (dataclasses.replace(e, columns=first(e), planned=planned) for e in results.entries)
        return dataclasses.replace(results, entries=tuple(entries))

    assert (
        Attempt(with_one(6), report.paper).choose("breast-cancer", "pa").reason
        == "fewer than 2 folds are done"
    )
    assert Attempt(with_one(1), report.paper).choose("breast-cancer", "pa").reason == ""
    once = Report(with_one(1), report.paper)
    judged = next(
        each for each in once.judgements if (each.dataset, each.algorithm) == ("breast-cancer", "pa")
    )
    assert judged.deviation is None
    assert judged.z is not None


def test_a_row_is_counted_once_however_often_it_is_tested():
    trials = pd.DataFrame(
        {"number": [0, 1, 2, 3], "n": [50, 51, 50, 51], "arrays": [{"wrong": {}}] * 2 + [{}, 0]}
    )
    assert CROSSVAL.sample_size(trials, config()) == 101
    given = pd.DataFrame({"number": [0, 1], "n": [313, 313], "arrays": [{"wrong": {}}, {}]})
    assert CROSSVAL.sample_size(given, config()) == 313


# Unexplained numbers.


def test_what_nothing_explains_has_a_verdict_and_is_counted_apart(report):
    line = summary(report.judgements, TEST_ERROR)
    assert re.fullmatch(
        r"\d of 13 test errors reproduced, \d close, \d differs?, 4 not comparable; "
        r"unexplained: 0 of 1 reproduced, 0 close, 1 differs",
        line,
    )
    assert count(report.judgements, TEST_ERROR).total() == 13
    shown = render(report, "text")
    [table] = re.findall(r"Unexplained printed numbers.*?\n\n", shown, re.DOTALL)
    assert "naive-bayes on digits-1-vs-7: the share of one class." in table
    [others] = re.findall(r"\nNot reproduced\n.*?\n\n", shown, re.DOTALL)
    assert "40.00" not in others


# The sections.


def test_the_overview_has_ours_beside_the_papers(report):
    [grid] = overview.parts(report)
    assert [column.heading for column in grid.columns] == ["data set", *NAMES]
    rows = grid_rows(grid)
    assert list(rows) == ["breast-cancer", "digits-1-vs-7"]
    for dataset, cells in rows.items():
        for name, cell in zip(NAMES, cells, strict=True):
            [entry] = [e for e in report.results.of(dataset) if e.label == name]
            number = 100 * entry.mean(TEST_ERROR)
            assert cell.startswith(f"{number:.2f} / ")
    assert rows["digits-1-vs-7"][-1].endswith(" / 40.00 D?")
    assert "Question mark: the printed number is unexplained" in grid.note


def test_without_a_paper_the_overview_has_ours_alone(report):
    [grid] = overview.parts(Report(report.results, None))
    assert grid.title == "Test error (%)"
    assert all(re.fullmatch(r"\d+\.\d\d", cell) for cells in grid_rows(grid).values() for cell in cells)
    assert [section.id for section in sections_of(Report(report.results, None))][:3] == [
        "headline",
        "overview",
        "ranks",
    ]


def test_ranks_are_ours_and_those_of_the_papers_numbers(report):
    first, second = ranks.parts(report)
    means = {
        dataset: {e.label: e.mean(TEST_ERROR) for e in report.results.contestants(dataset)}
        for dataset in report.results.datasets
    }
    expected = mean_ranks(means)
    assert grid_rows(first) == {
        label: [f"{expected[label]:.2f}"] for label in sorted(expected, key=expected.get)
    }
    rows = grid_rows(second)
    assert [column.heading for column in second.columns[1:]] == [
        "ours (2)",
        "paper (2)",
        "paper (3)",
        "printed",
    ]
    # On the two data sets: 2 and 1, 1 and 1, 4 and 4, 2 and 1.
    assert [cells[1] for cells in rows.values()] == ["1.50", "1.00", "4.00", "1.50"]
    assert all(cells[2] == cells[3] for cells in rows.values())
    four = {name: {label: row[label] for label in NAMES[:4]} for name, row in means.items()}
    assert [cells[0] for cells in rows.values()] == [f"{rank:.2f}" for rank in mean_ranks(four).values()]


def test_mcnemars_test_is_on_the_rows_of_the_first_division(report):
    results, found = report.results, contrasts(report.attempt)
    assert len(found) == 2 * 2 * 2
    for contrast in found:
        entries = [Attempt(results, report.paper).choose(contrast.dataset, row).entry
                   for row in (contrast.row, contrast.baseline)]  # fmt: skip
        ours, theirs = (stored_errors(results, entry) for entry in entries)
        assert list(ours) == list(theirs) == [0, 1, 2]
        alone = [0, 0]
        for fold in ours:
            for first, second in zip(ours[fold], theirs[fold], strict=True):
                alone[0] += int(first and not second)
                alone[1] += int(second and not first)
        assert alone == [contrast.test.first_alone, contrast.test.second_alone]
        rows = report.results.run.data[contrast.dataset].rows
        assert sum(map(len, ours.values())) == rows
        total = entries[0].trials["errors"][:3].sum() - entries[1].trials["errors"][:3].sum()
        assert alone[0] - alone[1] == total
        assert contrast.is_better == (total < 0)


def test_only_the_same_trials_are_compared():
    one = {0: np.array([True, False]), 1: np.array([True])}
    assert compare(one, one).p == 1
    assert compare(one, {0: one[0]}) is None
    assert compare({}, {}) is None


def test_a_mark_is_that_of_the_strictest_level(report):
    marks = [find_mark(p, report.paper) for p in (0.5, 0.05, 0.049, 0.01, 0.009, 0.001, 0.0009, 0.0)]
    assert marks == ["", "", "⋆", "⋆", "∗", "∗", "†", "†"]


def test_our_mark_needs_a_difference_from_each_baseline(report):
    found = contrasts(report.attempt)
    _, grid, counts = significance.parts(report)
    rows = grid_rows(grid)
    assert [column.heading for column in grid.columns] == ["data set", "var-kl", "var-exact"]
    for dataset, (marked, also) in rows.items():
        own = {
            row: [c for c in found if (c.dataset, c.row) == (dataset, row)] for row in ("var-kl", "var-exact")
        }
        expected = find_mark(max(c.test.p for c in own["var-kl"]), report.paper) or "·"
        assert marked == f"{expected} / {'†' if dataset == 'breast-cancer' else '·'}"
        assert " / " not in also
    better = [
        c.dataset for c in found if c.row == "var-kl" and c.baseline == "perceptron" and c.test.p < 0.05
    ]
    assert grid_rows(counts)["var-kl"][0] == f"{len(better)}+ 0− of 2"


def test_a_mark_for_being_worse_says_so():
    assert significance.mark_text("†", "∗", True) == "†− / ∗"
    assert significance.mark_text("·", "∗", True) == "· / ∗"
    assert significance.mark_text("⋆", "", False) == "⋆"
    assert significance.mark_text("", "∗", True) == ""


def test_a_row_that_lacks_a_baseline_has_no_mark(report):
    results = report.results
    some = tuple(e for e in results.entries if e.label != "pa" or e.dataset != "digits-1-vs-7")
    _, grid, counts = significance.parts(Report(dataclasses.replace(results, entries=some), report.paper))
    assert list(grid_rows(grid)) == ["breast-cancer"]
    assert [cells[1][-4:] for cells in grid_rows(counts).values()] == ["of 1", "of 1"]


def test_tunings_are_side_by_side(report):
    means_grid, counts_grid = tunings.parts(report)
    frame = report.results.to_frame()
    rows = grid_rows(means_grid)
    assert list(rows) == [*NAMES, "mean"]
    for name in NAMES:
        means = []
        for way in ("", " [paper]", " [oracle]"):
            own = frame[frame["label"] == f"{name}{way}"]
            means.append(100 * own.groupby("dataset")["test_error"].mean().mean())
        expected = [*(f"{mean:.2f}" for mean in means), *(f"{means[0] - mean:+.2f}" for mean in means[1:])]
        assert rows[name] == ["2", *expected]
    for way, cells in grid_rows(counts_grid).items():
        found = count(judge_tuning(report.attempt, way), TEST_ERROR)
        assert [int(cell) for cell in cells[:4]] == [
            found[verdict] for verdict in ("reproduced", "close", "differs", NOT_COMPARABLE)
        ]
    assert "1 unexplained number" in counts_grid.note


def test_an_algorithm_that_lacks_a_tuning_is_left_out_of_the_means(report):
    results = report.results
    some = tuple(e for e in results.entries if e.label != "pa [oracle]" or e.dataset == "breast-cancer")
    found = tunings.means(Report(dataclasses.replace(results, entries=some), None))
    assert found["pa"][0] == 1
    assert found["var-KL"][0] == 2


def test_claims_about_epochs_are_read_from_the_curves(report):
    found = {claim.id: claim for claim in report.claims}
    for claim in found.values():
        assert claim.verdict != "not decided"
    [entry] = [e for e in report.results.of("breast-cancer") if e.label == "pa"]
    after = entry.curves["test_error"].mean(axis=0)
    evidence = found["epochs-help"].evidence
    assert entry.points.tolist() == [1, 2, 3]
    if after[2] >= after[0]:
        assert f"breast-cancer (pa@3 {100 * after[2]:.2f}, pa@1 {100 * after[0]:.2f})" in evidence
    assert found["epochs-help"].own_verdict == "not decided"
    assert found["variants-win"].own_table.startswith("on 2 of 3 data sets")


# The formats.


@pytest.mark.parametrize("width", [80, 140])
def test_text_fits_the_terminal(report, width):
    from olbench.report.document import all_parts

    for line in text.render(all_parts(report), width).splitlines():
        assert len(line) <= width


def test_every_format_has_the_sections(report):
    check_latex(render(report, "latex"))
    assert r"$\dagger$" in render(report, "latex")
    markdown = render(report, "md")
    page = render(report, "html")
    content = json.loads(render(report, "json"))
    for id, title in (
        ("overview", "Test error (%), ours / the paper's"),
        ("ranks", "Table 1: mean ranks"),
        ("significance", "Table 1: significantly different from each of perceptron, pa"),
        ("tunings", "Tunings side by side"),
    ):
        assert f"**{title}" in markdown
        assert f'<section id="{id}"' in page
    assert "Unexplained: 0 of" in page
    assert len(content["mcnemar"]) == 8
    assert content["tunings"]["means"]["pa"]["datasets"] == 2
    assert content["printed_ranks"][0]["paper_on_all"]["var-kl"] == pytest.approx(4 / 3)
