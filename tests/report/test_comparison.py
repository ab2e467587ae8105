"""Runs are compared in pairs only where both saw the same orders, and their configs side by side."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from olbench import run
from olbench.analysis.comparison import ALIKE, BETTER, CHANGED, UNTESTED, WORSE, Change, ComparedRuns
from olbench.analysis.difference import TrialContest
from olbench.analysis.results import Results, load_results
from olbench.records.quantities import MISTAKE_RATE, UPDATES, Quantity
from olbench.report.comparison import comparison_document, config_differences, describe_left_out, flatten
from olbench.report.table import Table
from olbench.report.tables import curves
from tests.report import made

SMALL = Path(__file__).with_name("small")


@pytest.fixture
def before() -> Results:
    return load_results(SMALL)


def changed(folder: Path, **config) -> Results:
    after = Path(shutil.copytree(SMALL, folder / "after"))
    info = json.loads((after / "run.json").read_text())
    info["config"]["tuning"].update({"search": config.pop("search")} if "search" in config else {})
    info["config"].update(config)
    (after / "run.json").write_text(json.dumps(info))
    return load_results(after)


def tables(*runs: Results) -> list[Table]:
    return [part for part in comparison_document(runs).parts() if isinstance(part, Table)]


def sentences(*runs: Results) -> str:
    return "\n".join(part for part in comparison_document(runs).parts() if not isinstance(part, Table))


def test_runs_that_are_equal_in_every_count_are_called_identical(before: Results, tmp_path: Path):
    same = changed(tmp_path)
    said = "after is identical to small: all counts of all trials are the same."
    assert said in sentences(before, same)
    assert all(part.caption.startswith("What differs") for part in tables(before, same))
    for name in ("mistakes", "updates"):
        first, *others = same.entries
        other = {**first.columns, name: first.columns[name] + (first.columns["number"] == 0)}
        assert "identical" not in sentences(
            before, replace(same, entries=(replace(first, columns=other), *others))
        )
    assert "identical" not in sentences(before, replace(same, entries=same.entries[1:]))


def test_a_change_is_measured_over_the_permutations_that_it_is_tested_on():
    updates = np.array([400, 401, 402, 404] + [300] * 16)
    long, short = (made.entry("splice", "pa", np.full(n, 0.2), updates[:n]) for n in (20, 4))
    short = replace(short, columns={**short.columns, "updates": short.columns["updates"] - [6, 6, 7, 6]})
    compared = ComparedRuns([made.results([long]), made.results([short])])
    [[change]] = compared.changes["updates"].values()
    assert (change.mean, change.outcome(UPDATES)) == (-6.25, BETTER)


def test_runs_that_differ_in_a_measure_only_are_not_identical(tmp_path: Path):
    config = {"datasets": ["breast-cancer"], "permutations": 2, "measures": ["log_loss"]}
    runs = []
    for scale in (1.0, 4.0):
        arow = {"id": "arow", "a": scale, "params": {"r": scale}, "name": "arow"}
        runs.append(run({**config, "algorithms": [arow]}, tmp_path / str(scale), jobs=1))
    assert runs[0].entries[0].columns["mistakes"].tolist() == runs[1].entries[0].columns["mistakes"].tolist()
    assert not ComparedRuns(runs).is_identical(1)
    (entry,) = runs[0].entries
    for factor, alike in ((1 + 1e-12, True), (1 + 1e-7, False)):
        other = replace(entry, columns={**entry.columns, "log_loss": factor * entry.columns["log_loss"]})
        assert ComparedRuns([runs[0], replace(runs[0], entries=(other,))]).is_identical(1) == alike


def test_runs_with_other_orders_are_not_tested_and_the_reason_is_given(before: Results, tmp_path: Path):
    for number, (config, reason) in enumerate(
        (
            ({"seed": 7}, "the seeds differ (2012 and 7)"),
            ({"search": "holdout"}, "the part of the rows differs (all and reported half)"),
            ({"order": "windows"}, "order differs (exact and windows)"),
            *(({key: value}, "") for key, value in (("curve", 9), ("permutations", 20), ("order", "exact"))),
        )
    ):
        after = changed(tmp_path / str(number), **config)
        compared = ComparedRuns([before, after])
        said = f"after: {reason}, so the orders are not shared and no change is tested on any data set"
        assert describe_left_out(compared) == ([said] if reason else [])
        outcomes = {change.outcome(MISTAKE_RATE) for [change] in compared.changes["mistake_rate"].values()}
        assert outcomes == {UNTESTED if reason else ALIKE}


def test_the_difference_of_two_configs_names_each_key(before: Results, tmp_path: Path):
    after = changed(tmp_path, seed=7, covariance="diag", datasets=[{"name": "splice"}, {"name": "usps"}])
    assert dict(config_differences([before, after])) == {
        "data set svmguide3": ["listed", "–"],
        "data set synthetic": ["listed", "–"],
        "data set usps": ["–", "listed"],
        "seed": ["2012", "7"],
        "covariance": ["full", "diag"],
    }


def test_of_an_algorithm_that_only_one_config_lists_the_grid_is_not_a_difference(before: Results):
    flat = flatten(before.config.plain())
    assert flat["algorithm cw: grid.eta"].startswith("0.5, 0.55, ")
    config = replace(before.config, algorithms=before.config.algorithms[:1])
    after = replace(before, run=replace(before.run, config=config.plain()))
    found = dict(config_differences([before, after]))
    assert set(found) == {f"algorithm {id}" for id in ("cw", "arow", "scw1", "scw2")}


def test_a_change_is_judged_by_the_direction_of_its_quantity():
    higher = Quantity("accuracy", "accuracy", 2, better="higher")
    neither = Quantity("size", "size", 2, better="neither")
    steps = np.array([0.0, 0.1, -0.1, 0.05])
    for tested, expected in ((steps - 0.5, (BETTER, WORSE, CHANGED)), (steps - 0.01, (ALIKE,) * 3)):
        for quantity, outcome in zip((MISTAKE_RATE, higher, neither), expected, strict=True):
            labels, values = ("after", "before"), np.stack([tested, np.zeros(4)])
            contest = TrialContest(labels, values.mean(axis=1), quantity.better, None, values)
            [found] = contest.differences("before")
            assert Change(found.mean, found).outcome(quantity) == outcome
    assert Change(-0.1, None).outcome(MISTAKE_RATE) == UNTESTED


def test_the_rates_within_windows_average_to_the_rate_of_the_whole_pass(before: Results):
    for entry in before.entries:
        rates = curves.window_rates(entry, "mistakes", 3)
        ends = entry.points[curves.thin(entry.points.size, 3)]
        widths = [end - start for start, end in zip([0, *ends[:-1]], ends, strict=True)]
        assert rates @ widths / ends[-1] == pytest.approx(entry.values(MISTAKE_RATE))
