"""A report on cross-validation, from a small run and a paper made up for it: tests, tunings and marks."""

import dataclasses
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats as scipy_stats

from olbench.analysis.contests import align
from olbench.analysis.published import load_paper
from olbench.analysis.results import load_results
from olbench.analysis.verdicts import Attempt, count_tested, judge_tuning
from olbench.papers.cw2012.significance import contrasts, find_mark, significance, stored_errors
from olbench.protocols import get_protocol
from olbench.protocols.crossval import CrossvalTuning
from olbench.protocols.online import OnlineTuning
from olbench.report import words
from olbench.report.model import Report
from olbench.report.tables.statistics import against, statistics_data
from olbench.report.tables.tuning import means
from tests import ROOT
from tests.report.pages import render

FOLDS = Path(__file__).with_name("folds")
SHIPPED = ROOT / "results"
NAMES = ["var-KL", "var-Exact", "perceptron", "pa", "naive-bayes"]


@pytest.fixture(scope="module")
def report():
    return Report(load_results(FOLDS), load_paper(str(FOLDS / "paper.yaml")))


def text_rows(table):
    return {first: texts for first, *texts in table.texts()}


def select(results, wanted):
    return dataclasses.replace(results, entries=tuple(filter(wanted, results.entries)))


def test_a_label_says_how_an_entry_is_tuned(report):
    assert CrossvalTuning("nested", also=("paper",)).suffixes == {"nested": "", "paper": " [paper]"}
    assert OnlineTuning().suffixes == {"none": ""}
    entry = report.rows[0]
    named = [dataclasses.replace(entry, label=label) for label in ("pa", "pa [paper]", "mine [nested]")]
    renamed = dataclasses.replace(report.results, entries=tuple(named))
    parts = [(renamed.name_of(each), renamed.tuning_of(each)) for each in named]
    assert parts == [("pa", "nested"), ("pa", "paper"), ("mine [nested]", "nested")]


def test_folds_overlap_by_what_they_test_over_what_they_train_on_and_a_given_split_does_not(report):
    def overlap(protocol, setting):
        known = get_protocol(protocol)
        return dataclasses.replace(report.rows[0], protocol=known, recorded_setting=setting).overlap

    assert overlap("crossval", {"folds": 10}) == pytest.approx(1 / 9)
    assert overlap("crossval", {"folds": 2}) == 1
    assert overlap("crossval", {"folds": 1}) == overlap("crossval", {}) == 0
    assert overlap("advice", {"folds": 5}) == overlap("online", {}) == 0


def test_bold_and_the_statistics_of_folds_are_by_the_corrected_test(report):
    results, headline = report.results, report.headline
    assert "corrected resampled t-test over the shared folds" in words.name_test(results)
    assert "With fewer than" not in words.describe_bold(results)
    for dataset in results.datasets:
        [folds] = {entry.recorded_setting["folds"] for entry in results.of(dataset)}
        entries = results.contestants(dataset)
        values = dict(zip([each.label for each in entries], align(entries, headline), strict=True))
        found = results.within[dataset]
        for each in found.differences:
            apart = values[each.label] - values[found.best]
            apart = apart[~np.isnan(apart)]
            if np.ptp(apart) > 1e-12:
                error = apart.std(ddof=1) * math.sqrt(1 / apart.size + 1 / (folds - 1))
                p = 2 * scipy_stats.t.sf(abs(apart.mean()) / error, apart.size - 1)
                assert each.p == pytest.approx(p)
            assert (each.label in results.best[dataset]) == (not each.significant)
    assert "paired t-test" not in render(report).lower()
    # Only entries of the first tuning are compared.
    assert (results.names, len(results.labels)) == (NAMES, 15)
    assert all([entry.label for entry in results.contestants(name)] == NAMES for name in results.datasets)
    assert {entry.label for entry in report.rows if results.is_best(entry)} <= set(NAMES)


def test_with_five_data_sets_all_are_compared_with_the_best_or_with_a_named_one():
    results = load_results(SHIPPED / "cw-usps" / "reference")
    for own in (results, results.against("perceptron")):
        report = Report(own, None)
        found = statistics_data(report)["across"]["against"]
        assert found["selected"] == (own is results)
        title = "which has the best mean rank" if own is results else "the named algorithm"
        table = against(report)
        assert table.caption == f"Across data sets: against {found['label']}, {title}"
        for each, texts in zip(found["rivals"], text_rows(table).values(), strict=True):
            signs = f"{each['wins']}/{each['ties']}/{each['losses']}"
            shares = [f"{each['posterior'][side]:.2f}" for side in ("left", "rope", "right")]
            assert texts[1:] == [signs, f"{each['p']:.3g}", f"{each['adjusted']:.3g}", *shares]


def test_the_entry_with_the_required_tuning_stands_for_a_row(report):
    results, paper = report.results, report.paper
    assert Attempt(results, paper).choose("breast-cancer", "var-exact").entry.label == "var-Exact"
    only = select(results, lambda e: results.tuning_of(e) == "oracle")
    entry, reason, _ = Attempt(only, paper).choose("breast-cancer", "var-kl")
    assert (entry.label, reason) == ("var-KL [oracle]", "its tuning is oracle; only nested is compared")
    for way in results.tunings:
        found = judge_tuning(Attempt(results, paper), way)
        labels = {each.label for each in found if each.mean is not None}
        assert {results.tuning_of(e) for e in results.entries if e.label in labels} == {way}


def test_one_trial_is_enough_where_no_more_are_planned_and_no_deviation_is_printed(report):
    def with_one(planned):
        def cut(e):
            columns = {name: column[:1] for name, column in e.columns.items()}
            return dataclasses.replace(e, columns=columns, planned=planned)

        return dataclasses.replace(report.results, entries=tuple(map(cut, report.results.entries)))

    reasons = [Attempt(with_one(n), report.paper).choose("breast-cancer", "pa").reason for n in (6, 1)]
    assert reasons == ["fewer than 2 folds are done", ""]
    judged = Report(with_one(1), report.paper).judgements
    [one] = [each for each in judged if (each.dataset, each.algorithm) == ("breast-cancer", "pa")]
    assert one.deviation is None
    assert one.z is not None


def test_a_row_is_counted_once_however_often_it_is_tested():
    def tested(n, arrays):
        return count_tested(SimpleNamespace(columns={"n": np.array(n), "arrays": arrays}))

    assert tested([50, 51, 50, 51], [{"wrong": {}}] * 2 + [{}, 0]) == 101
    assert tested([313, 313], [{"wrong": {}}, {}]) == 313
    assert tested([50, 51], [0, {"margins": {}}]) == 101


def test_mcnemars_test_is_on_the_rows_of_the_first_division(report):
    results, found = report.results, contrasts(report.attempt)
    assert len(found) == 2 * 2 * 2
    for contrast in found:
        rows = (contrast.row, contrast.baseline)
        entries = [report.attempt.choose(contrast.dataset, row).entry for row in rows]
        ours, theirs = (stored_errors(results, entry) for entry in entries)
        assert list(ours) == list(theirs) == [0, 1, 2]
        first, second = (np.concatenate([own[fold] for fold in range(3)]) for own in (ours, theirs))
        assert len(first) == results.run.data[contrast.dataset].rows
        assert contrast.test.first_alone == (first & ~second).sum()
        assert contrast.test.second_alone == (second & ~first).sum()
        total = entries[0].columns["errors"][:3].sum() - entries[1].columns["errors"][:3].sum()
        assert contrast.test.first_alone - contrast.test.second_alone == total
        assert contrast.is_better == (total < 0)


def test_a_mark_is_that_of_the_strictest_level(report):
    marks = [find_mark(p, report.paper) for p in (0.5, 0.05, 0.049, 0.01, 0.009, 0.001, 0.0009, 0.0)]
    assert marks == ["", "", "⋆", "⋆", "∗", "∗", "†", "†"]


def test_a_row_without_its_baseline_has_no_mark(report):
    some = select(report.results, lambda e: e.label != "pa" or e.dataset != "digits-1-vs-7")
    _, grid, counts = significance(Report(some, report.paper))
    assert list(text_rows(grid)) == ["breast-cancer"]
    assert [cells[1][-4:] for cells in text_rows(counts).values()] == ["of 1", "of 1"]


def test_an_algorithm_without_one_of_the_tunings_is_left_out_of_the_means(report):
    some = select(report.results, lambda e: e.label != "pa [oracle]" or e.dataset == "breast-cancer")
    found = means(Report(some, None))
    assert (found["pa"][0], found["var-KL"][0]) == (1, 2)
