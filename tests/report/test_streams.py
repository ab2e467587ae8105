"""The report of a stream: one trial, intervals from its rounds, drifts, and measures that are asked for."""

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest

import olbench
from olbench.analysis.comparison import ComparedRuns
from olbench.analysis.results import load_results
from olbench.records.quantities import BALANCED_ACCURACY
from olbench.records.shipped import find_run
from olbench.report.comparison import comparison_document, side_by_side
from olbench.report.figures.run import curves_figure
from olbench.report.model import make_report
from olbench.report.tables.curves import curve_data
from olbench.report.tables.facts import changed_settings
from olbench.report.text import write_text
from tests.report.pages import render


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One run on a stream with known drifts and on one without."""
    folder = tmp_path_factory.mktemp("runs") / "stream"
    config = {
        "protocol": "stream", "window": 500, "delay": 10, "measures": ["balanced_accuracy", "auc"],
        "datasets": ["sea", "breast-cancer"],
        "algorithms": ["perceptron", "arow", {"id": "arow", "forgetting": 0.99, "name": "forgetful"}],
    }  # fmt: skip
    olbench.run(config, folder, jobs=1)
    return folder


@pytest.fixture(scope="module")
def document(folder):
    return json.loads(render(make_report(folder), "json"))


def test_two_streams_are_compared_by_their_measures(folder):
    twin = Path(shutil.copytree(folder, folder.parent / "twin"))
    compared = comparison_document([load_results(folder), load_results(twin)])
    [parts] = [section.parts for section in compared.sections() if section.title == "Side by side"]
    titles = [part.caption for part in parts]
    assert titles == [f"Side by side: {title}" for title in ("balanced accuracy (%)", "AUC", "updates")]
    assert "±" not in write_text(parts)
    assert [part.note == "No test: there is one trial only." for part in parts] == [False, False, True]
    [first, *_] = json.loads(render(compared, "json"))
    assert first["twin: auc_mean"] == first["stream: auc_mean"]
    assert first["twin: auc_std"] is None


def test_two_streams_are_compared_over_blocks_of_their_own_rounds(folder):
    """The arrays of a run are below its own folder."""
    config = load_results(folder).config.plain()
    config["algorithms"] = [{"id": "perceptron"}, {"id": "arow", "params": {"r": 1000.0}}]
    other = folder.parent / "changed"
    olbench.run(config, other, jobs=1)
    before, after = load_results(folder), load_results(other)
    changes = ComparedRuns([before, after]).changes["balanced_accuracy"]
    [same], [changed] = changes["sea", "perceptron"], changes["sea", "arow"]
    assert (same.mean, same.tested.p) == (0.0, 1.0)
    [one], [two] = ([e for e in run.of("sea") if e.label == "arow"] for run in (before, after))
    assert changed.mean == two.mean(BALANCED_ACCURACY) - one.mean(BALANCED_ACCURACY) != 0.0
    assert changed.tested.over == "blocks"
    assert changed.tested.p < 0.05
    notes = {part.caption: part.note for part in side_by_side(ComparedRuns([before, after]))}
    assert "over blocks of the stream" in notes["Side by side: balanced accuracy (%)"]
    assert notes["Side by side: updates"] == "No test: there is one trial only."


def test_rows_have_the_measures_and_no_deviation(folder, document):
    assert len(document["rows"]) == 10
    for row in document["rows"]:
        assert 0 < row["balanced_accuracy"]["mean"] < 1
        assert 0 < row["auc"]["mean"] < 1
        assert row["auc"]["std"] is None
    text = render(make_report(folder), "text")
    assert "±" not in text
    assert "moving-block bootstrap" in text
    assert "paired" not in text


@pytest.mark.parametrize("measure", ["balanced_accuracy", "auc", "mistake_rate", "accuracy"])
def test_differences_come_from_blocks_of_rounds(folder, measure):
    report = make_report(folder, [measure])
    best, against, differences = report.results.within["sea"]
    assert against == best
    means = report.means["sea"]
    assert means[best] == (min if measure == "mistake_rate" else max)(means.values())
    for each in differences:
        assert each.mean == pytest.approx(means[each.label] - means[best], abs=1e-12)
        assert each.low <= each.mean <= each.high
        assert each.wins + each.ties + each.losses == 20
    assert not any("…" in each.get_title("left") for each in curves_figure(report.results, "sea").axes)
    # The pairs without the best are not tested, and count as equal.
    p = sorted(each.p for each in differences)
    stepped = np.maximum.accumulate([min(1, each * (10 - place)) for place, each in enumerate(p)])
    assert sorted(each.adjusted for each in differences) == pytest.approx(stepped)
    found = {each.label: each for each in differences}
    assert found["no-change"].p < 0.01
    assert not report.results.is_best(next(e for e in report.rows if e.label == "no-change"))


def test_a_measure_without_counts_has_no_interval(folder):
    report = make_report(folder, ["kappa_temporal"])
    assert report.results.overs == ("orders",)
    assert all(math.isnan(each.p) for each in report.results.within["sea"].differences)


def test_drifts_are_shown_and_exported(folder, document):
    drifts = document["drifts"]
    assert set(drifts) == {"sea"}
    (trial,) = drifts["sea"]["forgetful"]
    assert trial["row"] == [10_000, 20_000, 30_000]
    assert set(trial) == {"row", "before", "depth", "recovery", "lost"}
    text = render(make_report(folder), "text")
    assert "Drifts of sea at rows 10,000, 20,000, 30,000" in text
    assert curve_data(make_report(folder))["curves"]["sea"]["marks"] == [10_000, 20_000, 30_000]


def test_other_measures_of_the_same_record(folder, monkeypatch, here):
    """Measures of counts come from any record; others are named with the command that adds them."""
    monkeypatch.chdir(folder.parent)
    out = here.out("report", "stream", "--measures", "kappa,log_loss")
    assert "kappa" in out
    command = 'olbench run CONFIG --out stream --set "measures=[log_loss]"'
    assert f"no log_loss; `{command}` runs the trials again" in " ".join(out.split())
    err = here.err("report", "stream", "--measures", "log_loss")
    assert "the algorithms cannot be ranked: the record of this run has no log_loss" in err
    code, _, err = here("report", "stream", "--measures", "kapa")
    assert (code, err) == (2, "olbench: there is no measure 'kapa' (did you mean 'kappa'?)\n")
    err = here.err("report", "advice", "--measures", "kappa")
    assert err == "olbench: the protocol advice has no measures to choose from\n"
    err = here.err("report", "scw", "--measures", "kappa")
    assert 'no kappa; `olbench run CONFIG --out results/scw --set "measures=[kappa]"`' in err


def test_settings_that_differ_from_the_defaults_are_in_every_report(folder):
    for form in ("text", "md", "latex", "html"):
        assert "stream, window: 500, delay: 10, measures: " in render(make_report(folder), form)
    assert changed_settings(make_report(find_run("scw"))) == ""
