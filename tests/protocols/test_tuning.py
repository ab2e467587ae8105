"""Tuning chooses as each search says, and its whole table stays in the ledger."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from olbench.protocols import make_protocol, read_experiment
from olbench.protocols.reading import parse_config, read_config
from olbench.protocols.tuning import UNDEFINED, best, count_candidates, search
from olbench.structs import from_plain
from tests import ROOT
from tests.examples import make_source

pytestmark = pytest.mark.usefixtures("own_folder")

GRID = {"C": (1.0, 2.0, 4.0), "eta": (0.6, 0.9)}


def scored(table):
    return lambda params: table.get((params["C"], params["eta"]))


def test_coordinate_searches_the_first_at_the_default_of_the_second_then_the_second():
    start = {"C": 1.0, "eta": 0.7}
    first = {(1.0, 0.7): 5, (2.0, 0.7): 3, (4.0, 0.7): 4}
    asked = search("coordinate", GRID, start, scored({}), "last").asked
    assert [(p["C"], p["eta"]) for p in asked] == list(first)
    step = search("coordinate", GRID, start, scored(first), "last")
    assert [(p["C"], p["eta"]) for p in step.asked[3:]] == [(2.0, 0.6), (2.0, 0.9)]
    assert step.chosen is None
    step = search("coordinate", GRID, start, scored({**first, (2.0, 0.6): 9, (2.0, 0.9): 8}), "last")
    assert step.chosen == {"C": 2.0, "eta": 0.9}
    assert len(step.asked) == 5 == count_candidates("coordinate", GRID, start)


def test_a_failed_candidate_cannot_win_and_if_all_fail_none_does():
    candidates = ({"C": 1.0}, {"C": 2.0})
    assert best(candidates, lambda p: math.inf if p["C"] == 1 else 7, "last") == {"C": 2.0}
    assert best(candidates, lambda p: math.inf, "last") is None
    assert best(candidates, lambda p: math.inf if p["C"] == 2 else UNDEFINED, "last") == {"C": 1.0}
    assert best(candidates, lambda p: UNDEFINED if p["C"] == 2 else 7, "last") == {"C": 1.0}
    content = {"datasets": ["usps"], "algorithms": [{"id": "pa1", "grid": {"C": [1, 2]}}]}
    experiment = parse_config(from_plain({**content, "tuning": {"search": "grid"}}, "x"), Path())
    [cell] = make_protocol(experiment).cells([make_source("usps", np.eye(2), np.array([1.0, -1.0]))])
    failed = {trial.key: {"status": "failed"} for trial in cell.tuning_trials({"C": 1.0})}
    assert cell.score({"C": 1.0}, failed) == math.inf


def test_a_single_candidate_needs_no_pass():
    step = search("grid", {"C": (2.0,)}, {"C": 1.0}, lambda params: None, "last")
    assert (step.asked, step.chosen) == ((), {"C": 2.0})
    assert count_candidates("grid", {}, {}) == 0


@pytest.mark.parametrize(("kind", "tuned"), [("grid", 90), ("coordinate", 18), ("holdout", 90), ("none", 0)])
def test_every_search_runs_once_a_candidate_and_keeps_its_table(kind, tuned, here, config, records):
    text = f"datasets: [digits-1-vs-7]\nalgorithms: [scw1]\npermutations: 2\ntuning: {{search: {kind}}}\n"
    here.out("run", config(text), "--out", "out", "--quiet")
    tune = [record for record in records("out") if record["role"] == "tune"]
    report = [record for record in records("out") if record["role"] == "report"]
    assert (len(tune), len(report)) == (tuned, 2)
    assert {r["n"] for r in report} == {181 if kind == "holdout" else 361}
    [cell] = json.loads(Path("out/run.json").read_text())["cells"]
    assert cell["tuning_passes"] == tuned
    assert cell["params"] == report[0]["params"]
    if kind in ("grid", "holdout"):
        fewest = min(record["mistakes"] for record in tune)
        assert cell["params"] in [record["params"] for record in tune if record["mistakes"] == fewest]
        assert {record["n"] for record in tune} == {180 if kind == "holdout" else 361}


def test_where_no_candidate_has_a_score_ties_choose_and_the_run_and_its_report_say_so(here, config, records):
    rows = [f"{'+1' if i > 20 and i % 3 == 0 else '-1'} 1:{i % 7} 2:1" for i in range(100)]
    Path("rare.libsvm").write_text("\n".join(rows))
    text = "protocol: stream\ndatasets: [rare.libsvm]\nmeasures: [auc]\ntuning: {search: grid, ties: first}\n"
    code, out, err = here(
        "run", config(text + "algorithms: [{id: pa1, grid: {C: [1, 2]}}]\n"), "--out", "out"
    )
    assert (code, [r["auc"] for r in records("out") if r["role"] == "tune"]) == (0, [None, None]), err
    said = "AUC is undefined in every tuning trial of pa1 on rare.libsvm, so `ties: first` decided."
    assert said in out
    assert [r["params"] for r in records("out") if r["algorithm"] == "pa1"][-1] == {"C": 1}
    assert said in here("report", "out", "--full")[1]


def test_params_fix_and_the_papers_grid_fills_the_rest():
    def read(content):
        return parse_config(from_plain(content, "x"), Path())

    content = {"datasets": ["synthetic"], "algorithms": [{"id": "scw1", "params": {"C": 1}}]}
    [spec] = read({**content, "tuning": {"search": "grid"}}).algorithms
    assert list(spec.grid) == ["eta"]
    [spec] = read(content).algorithms
    assert spec.grid == {}


def test_a_config_survives_being_written_down():
    for path in (ROOT / "configs").glob("*.yaml"):
        written = json.loads(json.dumps(read_config(path).plain()))
        again = read_experiment(from_plain(written, "config"), "config").plain()
        assert json.loads(json.dumps(again)) == written
