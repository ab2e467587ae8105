"""Whole journeys of a new user, in an empty folder and at 80 columns."""

import csv
import datetime
import os
import re

import numpy as np
import pytest

RULE = """
from olbench import Parameter, second_order

@second_order("timid", title="Timid AROW", parameters=(Parameter("gamma", 1.0, "regularisation"),))
def timid(m, v, mistake, t, p):
    '''Learn as AROW does, but only from mistakes.'''
    return (1.0 - m, (1.0 - m) / (v + p[0]), 1.0 / p[0]) if mistake else (0.0, 0.0, 0.0)
"""


GUARD = "datasets: [breast-cancer]\nalgorithms: [{id: arow, params: {r: 1}}]\npermutations: 2\n"


@pytest.fixture
def walk(here, tmp_path, monkeypatch):
    """Return a function that runs a command and returns its output, or its error if it ends with `code`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OLBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "80")

    def run(*words, code=0):
        found, out, err = here(*words)
        assert found == code, err
        assert "Traceback" not in err
        return out if code == 0 else err

    return run


def write_orders(path, rows=300):
    random = np.random.default_rng(7)
    sizes = ["small", "medium", "large"]
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", "day", "size", "amount", "returned"])
        for number in range(rows):
            day = datetime.date(2025, 1, 1) + datetime.timedelta(days=int(random.integers(365)))
            size, amount = int(random.integers(3)), float(random.normal())
            returned = "yes" if amount + size - 1.0 + 0.5 * random.normal() > 0.0 else "no"
            table.writerow([f"A{number:04}", day, sizes[size], f"{amount:.3f}", returned])


def test_own_data_from_a_table_to_a_report(walk, tmp_path):
    write_orders(tmp_path / "orders.csv")
    walk("init", "orders.csv", "--label", "returned")
    config = (tmp_path / "orders.yaml").read_text()
    assert '"day": {encode: date' in config
    assert '"id": drop' in config
    ordinal = '"size": {encode: ordinal, order: [small, medium, large]}\n      "id": drop'
    (tmp_path / "orders.yaml").write_text(config.replace('"id": drop', ordinal))
    walk("run", "orders.yaml", "--set", "permutations=2")
    assert "orders" in walk("report", "orders")


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


def test_a_regression_check_from_a_baseline_to_a_change(walk, tmp_path):
    (tmp_path / "guard.yaml").write_text(GUARD)
    walk("check", "guard.yaml", "--update", "--against", "guard.json")
    walk("check", "guard.yaml", "--against", "guard.json")
    (tmp_path / "guard.yaml").write_text(f"{GUARD}seed: 7\n")
    assert "--update writes the new counts" in walk("check", "guard.yaml", "--against", "guard.json", code=4)


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (("run", "quik"), "did you mean 'quick'"),
        (("run", "breast-cancer", "--algorithms", "arw"), "did you mean 'arow'"),
        (("report", "quick", "--highlight", "arw"), "olbench run quick"),
        (("run", "book.xlsx"), "save the sheet as CSV"),
    ],
)
def test_a_slip_gets_one_sentence_with_its_remedy(walk, tmp_path, words, remedy):
    (tmp_path / "book.xlsx").write_bytes(b"PK\x03\x04")
    error = walk(*words, code=2)
    assert remedy in error
    assert len(error.strip().splitlines()) <= 2
    assert sorted(path.name for path in tmp_path.iterdir()) in (["book.xlsx"], ["book.xlsx", "cache"])


@pytest.mark.parametrize("words", [(), ("data",)])
def test_a_group_without_a_verb_shows_its_help(walk, words):
    out = walk(*words)
    assert out.startswith("Usage: ")
    assert len(out.splitlines()) > 5


def test_a_check_on_a_terminal_can_say_that_it_compiles(walk, tmp_path, monkeypatch):
    """The progress bars appear only after the kernels are compiled."""
    missing = {("olbench.kernels.rows", "score_rows")}
    monkeypatch.setattr("olbench.engine.compiling.find_missing", lambda cells: missing)
    monkeypatch.setattr("olbench.engine.compiling._compile", lambda place: place)
    monkeypatch.setattr("olbench.engine.progress.can_redraw", lambda: True)
    (tmp_path / "guard.yaml").write_text(GUARD)
    walk("check", "guard.yaml", "--update", "--against", "guard.json")


def test_an_error_in_a_pipe_names_the_pipe(walk, tmp_path, monkeypatch):
    file = tmp_path / "gaps.csv"
    file.write_text("age,churn\n1,yes\n,no\n")
    with file.open() as pipe:
        monkeypatch.setattr("sys.stdin", pipe)
        saved = os.dup(0)
        os.dup2(pipe.fileno(), 0)
        try:
            error = walk("run", "-", "--label", "churn", code=2)
        finally:
            os.dup2(saved, 0)
            os.close(saved)
    assert "stdin:3: column 'age' has no value" in error
