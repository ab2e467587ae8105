"""The summary on one screen, and the contestants that are no better than guessing."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from olbench.analysis.claims import ClaimVerdict
from olbench.records.quantities import ACCURACY, BALANCED_ACCURACY, MISTAKE_RATE, UPDATES
from olbench.report.document import brief_parts, few_winners
from olbench.report.model import make_report
from olbench.report.text import write_text
from olbench.report.words import describe_guesses
from tests.report.editing import reseal
from tests.report.pages import render

SMALL = Path(__file__).with_name("small")


@pytest.fixture(scope="module")
def report():
    return make_report(SMALL)


@pytest.fixture
def run(tmp_path):
    return Path(shutil.copytree(SMALL, tmp_path / "small"))


def give_majority(run, share):
    """Record how large the more frequent class of every data set is."""
    content = json.loads((run / "run.json").read_text())
    for facts in content["data"].values():
        facts["majority"] = round(share * facts["rows"])
    (run / "run.json").write_text(json.dumps(content))


def test_by_default_a_report_is_a_summary_and_in_full_on_request(here, run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("LINES", "50")
    out = here.out("report", run)
    assert "Results, best first" in out
    assert "Within each data set" not in out
    assert f"olbench report {run} --full" in out
    selection = "--algorithms arow,scw1 --datasets splice --highlight scw1"
    out = " ".join(here("report", run, *selection.split())[1].split())
    assert f"olbench report {run} {selection} --all" in out
    for words in (("--full",), ("--format", "text")):
        assert "Within each data set" in here("report", run, *words)[1]
    here("report", run, "--output", run / "r.txt")
    assert "Within each data set" in (run / "r.txt").read_text()
    assert "leave out --format" in here.err("report", run, "--all", "--full")


def test_it_fits_a_terminal_and_keeps_its_names(report):
    for columns, lines in ((60, 24), (80, 24), (100, 40), (140, 40)):
        shown = write_text(brief_parts(report, "olbench report small", columns, lines), columns).splitlines()
        assert max(map(len, shown)) <= columns
        assert "…" not in "".join(shown)
        assert len(shown) <= max(lines, 38)
        rows = [line for line in shown if re.match(r"(svmguide3|synthetic|splice) ", line)]
        assert rows
        assert all(re.search(r" (perceptron|cw|arow|scw1|scw2) ", row) for row in rows)


def test_many_rows_become_the_best_of_each_data_set(report):
    again = "olbench report small"
    assert f"1 more data set in `{again} --full`." in few_winners(report, 2, again).note
    [table] = [part for part in brief_parts(report, again, 80, 20) if not isinstance(part, str)]
    assert table.caption == "Best on each data set: lowest mistake rate"
    for row in table.rows:
        entries = report.results.of(row[0])
        lowest = min(entries, key=lambda entry: entry.mean(MISTAKE_RATE))
        assert row[1] == lowest.label


def test_claims_are_counted_by_their_outcomes(report):
    own = replace(report)
    outcomes = ("holds", "holds partly", "holds partly", "reversed")
    vars(own)["claims"] = [ClaimVerdict("claim", "text", "where", each, "", "", "") for each in outcomes]
    shown = brief_parts(own, "olbench report small")[0]
    assert shown.endswith("Claims of the paper: 1 holds, 2 hold partly, 1 reversed")


def test_what_to_run_next_depends_on_what_is_there(here, run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    assert "olbench run" not in here("report", run)[1]
    lines = (run / "trials.jsonl").read_text().splitlines(keepends=True)
    shared = [line.replace('"timing":"exclusive"', '"timing":"shared"') for line in lines]
    (run / "trials.jsonl").write_text("".join(shared))
    reseal(run)
    assert "olbench run ... --timing exclusive" in here("report", run)[1]
    (run / "trials.jsonl").write_text("".join(lines[:-1]))
    assert re.search(r"olbench run \.\.\. +the same command again finishes it", here("report", run)[1])


def test_a_contestant_no_better_than_guessing_is_named_in_text_and_page(run):
    assert MISTAKE_RATE.guess(0.9) == pytest.approx(0.1)
    assert (ACCURACY.guess(0.9), BALANCED_ACCURACY.guess(0.9), UPDATES.guess(0.9)) == (0.9, 0.5, None)
    give_majority(run, 0.75)
    report = make_report(run)
    rows = [each for each in report.results.entries if each.done and each.mean(MISTAKE_RATE) >= 0.25]
    worse = {(each.dataset, each.label) for each in rows}
    guessed = {(each.dataset, each.label) for _, entries in report.guesses.values() for each in entries}
    assert guessed == worse != set()
    sentence = describe_guesses(report.guesses, MISTAKE_RATE, report.unlearnt)
    assert sentence.startswith("No better than always predicting the more frequent class (mistake rate in")
    assert sentence in render(report, "html")
    shown = " ".join(write_text(brief_parts(report, "olbench report small", 80, 60), 80).split())
    assert "No better than always predicting the more frequent class" in shown
    give_majority(run, 0.5)
    assert not any(entries for _, entries in make_report(run).guesses.values())
