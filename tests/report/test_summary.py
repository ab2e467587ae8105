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
    assert (paper, found["folder"]) == ("scw2012", "results/scw/reference")
    assert found["numbers"]["mistake_rate"] == {"reproduced": 5, "close": 1, "not comparable": 66}
    assert sum(found["claims"].values()) == 24


def test_ones_own_newest_run_comes_before_the_one_that_ships(here, run):
    shutil.copytree(run, "results/mine")
    old = Path(shutil.copytree(run, "results/old"))
    content = json.loads((old / "run.json").read_text()) | {"start": "2001-01-01T00:00:00+00:00"}
    (old / "run.json").write_text(json.dumps(content))
    assert json.loads(here("summary", "--format", "json")[1])["scw2012"]["folder"] == "results/mine"


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
