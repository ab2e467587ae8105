"""Further looks at the same data, and at a run that goes on."""

import json
import os
import re
from pathlib import Path

import pytest

from olbench.engine.resources import refuse_excess
from olbench.errors import UserError

pytestmark = pytest.mark.usefixtures("own_folder")

LOOK = ("--set", "permutations=2", "--set", "curve=3", "--quiet", "--jobs", "1")


@pytest.fixture
def data():
    lines = ["+1 1:0.5 2:1", "-1 1:-0.5 2:3", "+1 1:1 2:0.1", "-1 2:4"]
    Path("my.libsvm").write_text("\n".join(lines * 3) + "\n")
    return "my.libsvm"


@pytest.fixture
def look(here, data):
    def run(algorithms, *more):
        here.out("run", data, "--algorithms", algorithms, *LOOK, *more)
        return Path("results") / data

    return run


def labels(folder):
    return [cell["label"] for cell in json.loads((folder / "run.json").read_text())["cells"]]


def test_looks_with_other_algorithms_add_up(look, records):
    look("perceptron")
    folder = look("pa1")
    assert labels(folder) == ["perceptron", "pa1"]
    before = (folder / "trials.jsonl").read_bytes()
    assert labels(look("pa1,perceptron")) == ["pa1", "perceptron"]
    assert ((folder / "trials.jsonl").read_bytes(), len(records(folder))) == (before, 4)


def test_a_look_with_other_settings_stands_alone_and_says_so(look, here, data):
    look("perceptron")
    err = here.err("run", data, "--algorithms", "pa1", *LOOK, "--set", "seed=7", code=0)
    assert "had perceptron with other settings (seed); this run leaves them out" in err
    assert labels(Path("results") / data) == ["pa1"]


def stop_halfway(folder):
    """Make a finished run look as if it were still going on, with one trial done."""
    info = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**info, "end": None}))
    ledger = folder / "trials.jsonl"
    lines = ledger.read_text().splitlines(keepends=True)
    ledger.write_text(lines[0] + lines[1][:20])


def test_an_unfinished_run_is_reported_as_far_as_it_is(look, here):
    folder = look("perceptron,pa1")
    stop_halfway(folder)
    assert "INCOMPLETE: 2 of 2 rows not finished" in here.out("report", folder)
    code, out, _ = here("report", folder, "--format", "json")
    rows = {row["algorithm"]: row for row in json.loads(out)["rows"]}
    assert (code, rows["perceptron"]["permutations"]) == (0, 1)
    assert "pa1" not in rows
    (folder / "trials.jsonl").unlink()
    assert here("report", folder)[0] == 4


def test_shared_times_are_in_brackets_and_exclusive_ones_are_not(here, data):
    words = ("run", data, "--algorithms", "perceptron", *LOOK[:4])
    shared = here(*words)[1]
    assert re.search(r"mistake rate +updates +time", shared)
    assert re.search(r"\(.* µs\)", shared)
    assert not re.search(r"\(.* µs\)", here(*words, "--timing", "exclusive")[1])


def test_a_finished_run_needs_no_memory(here, data, monkeypatch):
    words = ("run", data, "--algorithms", "arow", *LOOK)
    assert here(*words)[0] == 0
    monkeypatch.setattr("olbench.engine.resources.memory_limit", lambda: 1)
    code, out, _ = here(*[word for word in words if word != "--quiet"])
    assert (code, out) == (0, f"nothing to do: all 2 trials are in {Path('results') / data}\n")
    assert "needs" in here.err(*words, "--set", "permutations=3")


def test_refusal_knows_what_is_left(here, data, monkeypatch):
    from olbench.data.source import find_sources
    from olbench.protocols import cells_of
    from olbench.protocols.reading import data_config

    plan = data_config(data, "arow", (), ("permutations=2", "curve=3"))
    cells = cells_of(plan, find_sources(plan.datasets, skip_missing=False)[0])
    monkeypatch.setattr("olbench.engine.resources.memory_limit", lambda: 1)
    os.makedirs("empty")
    for folders in ([], [Path("nowhere")], [Path("empty")]):
        with pytest.raises(UserError, match="of memory"):
            refuse_excess(cells, 1, folders)


def test_the_record_says_how_large_the_larger_class_is(look):
    folder = look("perceptron")
    info = json.loads((folder / "run.json").read_text())
    assert info["data"]["my.libsvm"]["majority"] == 6
