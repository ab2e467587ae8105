"""olbench summary: one page for all papers, from the runs that speak for them."""

import json
import shutil
from pathlib import Path

import pytest

from olbench.records.shipped import find_folder
from olbench.report import summary
from olbench.report.summary import find_runs

SMALL = Path(__file__).with_name("small")
RUN = Path("results/scw/reference")
SHIPPED = find_folder("results")


@pytest.fixture(autouse=True)
def run(tmp_path, monkeypatch):
    """Work in a folder where results/scw/reference is a run, and no other one ships."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(summary, "runs", lambda: {"scw": RUN})
    return Path(shutil.copytree(SMALL, RUN))


def make_run(name: str, permutations: int = 20, cells: int | None = None, **changes: object) -> Path:
    folder = Path(shutil.copytree(SMALL, name, dirs_exist_ok=True))
    facts = json.loads((folder / "run.json").read_text())
    kept = [cell | {"planned": permutations} for cell in facts["cells"][:cells]]
    (folder / "run.json").write_text(json.dumps(facts | {"cells": kept} | changes))
    return folder


def test_quick_looks_never_speak_and_of_two_runs_of_a_name_the_more_complete_one():
    """The paper has 20 permutations; a run of five is a first impression."""
    assert find_runs(Path("results")) == []
    make_run("results/quick", permutations=5)
    assert find_runs(Path("results")) == []
    make_run(str(RUN))
    assert find_runs(Path("results")) == [RUN]
    own = make_run("results/scw", cells=3)
    assert find_runs(Path("results")) == [RUN]
    make_run("results/scw")
    assert find_runs(Path("results")) == [own]
    other = make_run("results/other", cells=3)
    assert set(find_runs(Path("results"))) == {own, other}


def test_several_runs_speak_for_one_paper(here, run):
    """A number that one run lacks counts as the other run has it."""

    def count(*folders):
        found = json.loads(here.out("summary", "--format", "json", *folders))["scw2012"]
        return found["numbers"]["mistake_rate"]

    whole = count(RUN)
    assert whole == {"reproduced": 5, "close": 1, "not comparable": 66}
    facts = json.loads((run / "run.json").read_text())
    names = sorted({cell["dataset"] for cell in facts["cells"]})
    for number, kept in enumerate((names[:1], names[1:])):
        part = Path(shutil.copytree(run, f"results/part{number}"))
        cells = [cell for cell in facts["cells"] if cell["dataset"] in kept]
        (part / "run.json").write_text(json.dumps(facts | {"cells": cells}))
    assert count("results/part0") != whole
    assert count("results/part0", "results/part1") == whole


def test_a_run_that_is_not_finished_does_not_count(here):
    make_run(str(RUN), end=None)
    assert here.err("summary", code=4) == "olbench: there is no finished run of a paper below results/\n"


def test_runs_without_a_paper_are_named_as_such(here, run):
    facts = json.loads((run / "run.json").read_text())
    del facts["config"]["paper"]
    (run / "run.json").write_text(json.dumps(facts))
    assert here.err("summary", run, code=4) == "olbench: there is no run of a paper among these\n"


def test_a_run_of_two_algorithms_changes_no_verdict_of_the_main_run():
    main, grid = (SHIPPED / "scw" / name for name in ("reference", "grid"))
    [alone] = summary.reproductions([main])
    [both] = summary.reproductions([grid, main])
    assert [report.results.folder for report in both.reports] == [main, grid]
    assert (both.judgements, both.claims) == (alone.judgements, alone.claims)
