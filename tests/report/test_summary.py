"""olbench summary: one page for all papers, from the runs that speak for them."""

import json
import shutil
from pathlib import Path

import pytest

SMALL = Path(__file__).with_name("small")


@pytest.fixture(autouse=True)
def run(tmp_path, monkeypatch):
    """Work in a folder where results/scw/reference is the only run."""
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(SMALL, Path("results") / "scw" / "reference"))


def test_it_counts_the_verdicts_and_claims_of_each_paper(here):
    code, out, _ = here("summary", "--format", "json")
    assert code == 0
    [(paper, found)] = json.loads(out).items()
    assert (paper, found["folders"]) == ("scw2012", ["results/scw/reference"])
    assert found["numbers"]["mistake_rate"] == {"reproduced": 5, "close": 1, "not comparable": 66}
    assert sum(found["claims"].values()) == 24


def test_ones_own_run_comes_before_those_that_ship_and_replaces_the_one_of_its_name(here, run):
    shutil.copytree(run, "results/variants/reference")
    for path in run.iterdir():
        shutil.copy(path, "results/scw")
    content = json.loads(here("summary", "--format", "json")[1])["scw2012"]
    assert content["folders"] == ["results/scw", "results/variants/reference"]
    assert sum(content["claims"].values()) == 24
    assert sum(content["numbers"]["mistake_rate"].values()) == 72


def test_several_runs_speak_for_one_paper(here, run):
    """A number that one run lacks counts as the other run has it."""
    whole = json.loads(here("summary", "--format", "json")[1])["scw2012"]["numbers"]["mistake_rate"]
    facts = json.loads((run / "run.json").read_text())
    names = sorted({cell["dataset"] for cell in facts["cells"]})
    for number, kept in enumerate((names[:1], names[1:])):
        part = Path(shutil.copytree(run, f"results/part{number}"))
        cells = [cell for cell in facts["cells"] if cell["dataset"] in kept]
        (part / "run.json").write_text(json.dumps(facts | {"cells": cells}))
    found = [
        json.loads(here("summary", "--format", "json", *names)[1])["scw2012"]["numbers"]["mistake_rate"]
        for names in (["results/part0"], ["results/part0", "results/part1"])
    ]
    assert found[0] != whole
    assert found[1] == whole


def test_a_run_that_is_not_finished_does_not_count(here, run):
    content = json.loads((run / "run.json").read_text()) | {"end": None}
    (run / "run.json").write_text(json.dumps(content))
    code, _, err = here("summary")
    assert (code, err) == (4, "olbench: there is no finished run of a paper below results/\n")


@pytest.mark.parametrize("form", ["text", "md", "html"])
def test_every_format_names_the_paper_and_its_counts(here, form):
    code, out, _ = here("summary", "--format", form)
    assert code == 0
    assert "scw2012" in out
    assert "mistake rates" in out
    assert "olbench report results/scw/reference" in out
