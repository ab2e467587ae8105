"""olbench report on some algorithms and data sets of a run, and with some of them highlighted."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from olbench.analysis.results import load_results
from olbench.errors import find_names
from olbench.report.figures.palette import HIGHLIGHTS, STYLES, THICK
from olbench.report.figures.run import curves_figure, find_looks
from olbench.report.model import make_report, select_rows
from tests import ROOT
from tests.report.pages import render

SMALL = ROOT / "tests/report/small"
SELECTED = ("--algorithms", "AROW,SCW-I,perceptron", "--datasets", "splice,svmguide3")


@pytest.fixture(autouse=True)
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(SMALL, Path("results") / "small"))


def test_a_report_shows_the_rows_that_are_asked_for_by_id_or_title(here, run):
    rows = json.loads(here.out("report", run, *SELECTED, "--format", "json"))["rows"]
    assert {row["dataset"] for row in rows} == {"splice", "svmguide3"}
    assert {row["label"] for row in rows} == {"perceptron", "arow", "scw1"}
    _, out, _ = here("report", run, *SELECTED, "--full")
    assert out.startswith("small: 2 of 3 data sets, 3 of 5 algorithms, 5 permutations")
    assert not re.search(r"\b(cw|scw2|synthetic)\b", re.sub(r"configs?/\S+|made here.*", "", out))


def test_verdicts_of_the_rows_are_those_of_the_whole_run(here, run):
    whole, some = make_report(run), select_rows(make_report(run), ["scw1"], ["svmguide3"])
    assert some.judgements == [each for each in whole.judgements if each.place[:2] == ("svmguide3", "scw1")]
    assert some.judgements
    assert (some.claims, some.printed_cells) == ([], [])
    assert select_rows(make_report(run), ["perceptron"]).paper is None


def test_the_best_and_the_ranks_are_among_the_rows_that_are_shown(run):
    some = select_rows(make_report(run), ["perceptron", "cw"])
    assert set(some.ranks) == {"perceptron", "cw"}
    assert {label for labels in some.results.best.values() for label in labels} <= {"perceptron", "cw"}


def test_a_label_selects_its_entry_and_an_id_selects_all_of_its_entries():
    known = {"arow (r=1, a=2)": ("arow", "AROW"), "arow (r=2)": ("arow", "AROW"), "cw": ("cw", "CW")}
    assert find_names("Arow", known, "algorithm", "it") == ["arow (r=1, a=2)", "arow (r=2)"]
    assert find_names("arow (r=2)", known, "algorithm", "it") == ["arow (r=2)"]
    assert find_names("arow", {"arow": ("arow",), "arow (r=2)": ("arow",)}, "algorithm", "it") == ["arow"]


def test_commas_in_the_brackets_of_a_label_do_not_divide_it(here, run):
    info = (run / "run.json").read_text().replace('"label": "arow"', '"label": "arow (r=1, a=2)"')
    (run / "run.json").write_text(info)
    out = here.out("report", run, "--algorithms", "arow (r=1, a=2),cw", "--format", "csv")
    assert "cw" in out
    assert "scw1" not in out


def test_tables_point_at_what_is_highlighted_in_every_format(here, run):
    _, out, _ = here("report", run, "--highlight", "SCW-I")
    assert "Highlighted: scw1" in out
    assert "> scw1 " in out
    report = make_report(run)
    marked = replace(report, results=report.results.highlight(["scw1"]))
    assert "| **scw1** |" in render(marked, "md")
    assert r"\textbf{scw1}" in render(marked, "latex")
    for form, best in (("text", r"\d\*"), ("md", r"\*\*\d"), ("latex", r"textbf\{\d")):
        counts = [len(re.findall(best, render(each, form))) for each in (report, marked)]
        assert counts[0] == counts[1] > 0, "a highlighted name makes no number look like the best"
    rows = re.findall(r'<tr class="[^"]*highlighted">.*?</tr>', render(marked, "html"), re.DOTALL)
    assert rows
    assert all(">scw1<" in row for row in rows)


def test_figures_draw_it_solid_on_top_and_in_a_colour_of_its_own(run):
    results = load_results(run).select(["perceptron", "arow"]).highlight(["Perceptron"])
    lines = {line.get_label(): line for line in curves_figure(results, "splice").axes[0].get_lines()}
    assert set(lines) == {"AROW", "Perceptron"}
    highlighted, other = lines["Perceptron"], lines["AROW"]
    assert (highlighted.get_color(), highlighted.get_linestyle()) == (HIGHLIGHTS[0], "-")
    assert highlighted.get_linewidth() == pytest.approx(THICK * other.get_linewidth())
    assert highlighted.get_zorder() > other.get_zorder()
    assert other.get_color() == STYLES["arow"].colour


def test_many_others_turn_grey_and_no_two_look_alike():
    results = load_results("scw").highlight(["arow", "cw"])
    looks = find_looks(results)
    assert (looks["cw"].colour, looks["arow"].colour) == HIGHLIGHTS[:2]
    assert len({(each.colour, each.marker, each.filled) for each in looks.values()}) == len(looks)
    for label in set(looks) - {"arow", "cw"}:
        channels = [int(looks[label].colour[place : place + 2], 16) for place in (1, 3, 5)]
        assert max(channels) - min(channels) < 70, label
    few = find_looks(results.select(["arow", "cw", "pa", "scw1"]))
    assert few["pa"] == STYLES["pa"]
