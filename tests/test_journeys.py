"""Whole journeys of a new user, in an empty folder and at 80 columns."""

import re

import pytest

from olbench.plugins import forget_file, load_file

RULE = """
from olbench import Parameter, second_order

@second_order("timid", title="Timid AROW", parameters=(Parameter("gamma", 1.0, "regularisation"),))
def timid(m, v, mistake, t, p):
    '''Learn as AROW does, but only from mistakes.'''
    return (1.0 - m, (1.0 - m) / (v + p[0]), 1.0 / p[0]) if mistake else (0.0, 0.0, 0.0)
"""
PAPER = """\
id: mine2026
title: Shy steps
citation: Nobody, 2026
tables:
  - where: Table 1
    quantities: [updates]
    numbers: {breast-cancer: {shy: "30 ± 4", arow: "1 ± 1"}, brest-cancer: {arow: "1 ± 1"}}
"""
GUARD = "datasets: [breast-cancer]\nalgorithms: [{id: arow, params: {r: 1}}]\npermutations: 2\n"


@pytest.fixture
def walk(here, own_folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    return here.out


def test_own_learner_from_a_file_to_a_paper(walk, tmp_path):
    (tmp_path / "timid.py").write_text(RULE)
    assert "Timid AROW" in walk("algorithms", "--plugin", "timid.py", "timid")
    walk("run", "breast-cancer", "--algorithms", "arow,timid", "--plugin", "timid.py", "--out", "mine")
    text = walk("report", "mine", "--algorithms", "arow,timid", "--highlight", "Timid AROW")
    assert re.search(r"^\S*\s*> timid", text, re.MULTILINE), text
    latex = walk("report", "mine", "--format", "latex")
    assert "Timid AROW" in latex
    assert latex.count("{") == latex.count("}")
    walk("report", "mine", "--figures", "figures")
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix != ".py") == ["figures", "mine"]


@pytest.mark.filterwarnings("always::olbench.errors.InputWarning")
def test_the_paper_of_an_own_learner_is_read_without_its_file_and_a_lost_one_stops_nothing(
    walk, here, tmp_path
):
    (tmp_path / "shy.py").write_text(RULE.replace("timid", "shy"))
    (tmp_path / "paper.yaml").write_text(PAPER)
    config = "plugins: [shy.py]\npaper: paper.yaml\npermutations: 2\n"
    config += "datasets: [breast-cancer]\nalgorithms: [shy, arow]\n"
    (tmp_path / "mine.yaml").write_text(config)
    assert "numbers of 'brest-cancer' (did you mean 'breast-cancer'?)" in here.err("run", "mine.yaml", code=0)
    walk("bundle", "results/mine")
    forget_file(load_file("shy.py"))
    for run in ("results/mine", "mine.olb"):
        assert "of 3 update counts reproduced" in walk("report", run)
    assert re.search(r"shy +Timid AROW +– +– +–", walk("report", "results/mine", "--table", "algorithms"))
    assert '"mine2026"' in walk("summary", "--format", "json")
    needs = PAPER.replace("id: mine2026", "id: mine2026\nrequires: {grid: declared}", 1)
    (tmp_path / "paper.yaml").write_text(needs)
    walk("bundle", "results/mine", "--output", "needs.olb")
    forget_file(load_file("shy.py"))
    reason = "Not comparable: its own grid is unknown; add its file with --plugin"
    assert reason in " ".join(walk("report", "needs.olb").split())
    walk("summary", "results/mine", "--plugin", "shy.py")
    assert reason not in " ".join(walk("report", "results/mine").split())
    forget_file(load_file("shy.py"))
    assert reason not in " ".join(walk("report", "needs.olb", "--trust-plugins").split())
    (tmp_path / "paper.yaml").unlink()
    for words in (("summary", "--format", "json"), ("site", "results/mine", "--output", "site")):
        code, out, err = here(*words)
        assert (code, "mine2026" in out) == (0, False), err
        assert err.startswith("olbench: results/mine is not compared with its paper: cannot read"), err


def test_a_check_on_a_terminal_can_say_that_it_compiles(walk, tmp_path, monkeypatch):
    """The progress bars appear only after the kernels are compiled."""
    missing = {("olbench.kernels.rows", "score_rows")}
    monkeypatch.setattr("olbench.engine.compiling.find_missing", lambda cells: missing)
    monkeypatch.setattr("olbench.engine.compiling._compile", lambda place: place)
    monkeypatch.setattr("olbench.engine.progress.can_redraw", lambda: True)
    (tmp_path / "guard.yaml").write_text(GUARD)
    walk("check", "guard.yaml", "--update", "--against", "guard.json")
