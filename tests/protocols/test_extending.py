"""Tuning beyond the grid, tuning each permutation, and searching options, as a plain loop does it."""

import json
import math
import shutil
import signal
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import olbench
from olbench import load_dataset, make_algorithm, online_pass
from olbench.algorithms import get_definition
from olbench.algorithms.definition import OPTIONS, Parameter
from olbench.algorithms.spec import AlgorithmSpec
from olbench.analysis.choices import list_edges
from olbench.data.source import find_sources
from olbench.protocols import cells_of
from olbench.protocols.online import MOST_WORK, choose_tuning
from olbench.protocols.reading import parse_config, read_config
from olbench.protocols.tuning import SMALLEST, Edge, count_candidates, find_edges, most_frequent, search
from olbench.records import seeds
from olbench.structs import from_plain
from tests.cases import for_each

pytestmark = pytest.mark.usefixtures("own_folder")

FREE = Parameter("C", 1.0, "any positive number")
ETA = Parameter("eta", 0.7, "a share", low=0.5, high=1.0, closed="left")


def tried(values, parameter, losses, ties="last", kind="grid"):
    """Return what a search of one parameter tries and chooses, by the losses of its values."""
    name = parameter.name
    grid = {name: tuple(values), "other": (1.0, 2.0)}

    def score(choice):
        return losses(choice[name]) + (choice["other"] != 1.0)

    step = search(kind, grid, {name: values[0], "other": 1.0}, score, ties, {name: parameter})
    assert count_candidates(kind, step.grid, {name: values[0], "other": 1.0}) == len(
        {tuple(sorted(choice.items())) for choice in step.asked}
    )
    return list(step.grid[name]), step.chosen[name]


@for_each(
    ("values", "parameter", "losses", "searched", "chosen"),
    [
        # By the ratio of the grid, until a value is no better.
        ([1.0, 2.0, 4.0], FREE, lambda c: abs(c - 16.0), [1, 2, 4, 8, 16, 32], 16),
        ([1.0, 2.0, 4.0], FREE, lambda c: abs(c - 0.25), [0.125, 0.25, 0.5, 1, 2, 4], 0.25),
        # At most six steps a side.
        ([1.0, 2.0], FREE, lambda c: -c, [2.0**k for k in range(8)], 128),
        ([0.01, 0.1], FREE, lambda c: c, [10.0**k for k in range(-8, 0)], 1e-8),
        # A value on the edge that is only as good as another does not lead on.
        ([1.0, 2.0, 4.0], FREE, lambda c: max(c, 2.0), [1, 2, 4], 2),
        ([1.0, 2.0, 4.0], FREE, lambda c: 0.0, [1, 2, 4], 4),
        # By the step of an even grid, and within the bounds.
        ([0.6, 0.65, 0.7], ETA, lambda eta: eta, [0.5, 0.55, 0.6, 0.65, 0.7], 0.5),
        ([0.8, 0.85, 0.9], ETA, lambda eta: -eta, [0.8, 0.85, 0.9, 0.95], 0.95),
        ([0.75, 0.9], ETA, lambda eta: eta, [0.6, 0.75, 0.9], 0.6),
        ([1.0, 2.0, 3.0], FREE, lambda c: abs(c - 5.0), [1, 2, 3, 4, 5, 6], 5),
        # By the ratio at the edge of an uneven grid; a grid that descends goes on at its other end.
        ([0.3, 0.9, 3.0, 30.0], FREE, lambda c: abs(c - 0.1), [0.1 / 3, 0.1, 0.3, 0.9, 3, 30], 0.1),
        ([4.0, 2.0, 1.0], FREE, lambda c: abs(c - 0.5), [4, 2, 1, 0.5, 0.25], 0.5),
    ],
)  # fmt: skip
def test_a_grid_goes_on_while_its_edge_is_strictly_best(values, parameter, losses, searched, chosen):
    for kind in ("grid", "coordinate"):
        found, best = tried(values, parameter, losses, kind=kind)
        assert np.allclose(found, searched, rtol=1e-12), found
        assert math.isclose(best, chosen, rel_tol=1e-12)


def test_both_ends_of_two_parameters_go_on_together():
    grid = {"C": (1.0, 2.0), "r": (1.0, 10.0)}
    step = search(
        "grid",
        grid,
        {"C": 1.0, "r": 1.0},
        lambda c: abs(c["C"] - 8.0) + abs(math.log10(c["r"]) + 2),
        "last",
        {"C": FREE, "r": FREE},
    )
    assert step.chosen == {"C": 8.0, "r": 0.01}
    assert step.grid == {"C": (1.0, 2.0, 4.0, 8.0, 16.0), "r": (0.001, 0.01, 0.1, 1.0, 10.0)}


def test_an_unknown_score_asks_and_a_single_value_is_neither_tuned_nor_extended():
    step = search("grid", {"C": (1.0, 2.0)}, {"C": 1.0}, lambda c: None, "last", {"C": FREE})
    assert (len(step.asked), step.chosen) == (2, None)
    assert search("grid", {"C": (1.0,)}, {"C": 2.0}, lambda c: 0.0, "last", {"C": FREE}).chosen == {"C": 1.0}


def test_edges_are_ends_of_a_grid_that_are_not_bounds():
    grid = {"C": (1.0, 2.0), "eta": (0.5, 0.6, 0.7), "kernel": ("linear", "rbf"), "r": (1.0,)}
    choice = {"C": 1.0, "eta": 0.5, "kernel": "linear", "r": 1.0}
    assert find_edges(choice, grid, {"C": FREE, "eta": ETA}) == [Edge("C", 1.0, SMALLEST)]
    assert [each.name for each in find_edges({**choice, "eta": 0.7}, grid, {"eta": ETA})] == ["C", "eta"]
    assert find_edges({}, grid, {}) == []
    assert most_frequent([{"C": 2.0}, {"C": 1.0}, None, {"C": 1.0}, {"C": 2.0}]) == {"C": 2.0}


TUNED = """\
protocol: online
seed: 4
permutations: 4
curve: 5
datasets: [breast-cancer]
algorithms:
  - perceptron
  - {id: pa1, grid: {C: [0.5, 1]}}
  - {id: scw1, grid: {C: [0.5, 1], eta: [0.7, 0.8, 0.9]}}
  - {id: arow, grid: {r: [1, 2], forgetting: [0.999, 1], covariance: [full, diag]}}
tuning: {search: SEARCH, permutations: ORDERS, ties: last, extend: true, per: permutation}
"""


def count_mistakes(data, id, options, part, role, number):
    order = seeds.order(4, data.name, role, number, part, data.X.shape[0])
    return online_pass(make_algorithm(id, **options), data.X, data.y, order=order).mistakes


def tune_plainly(data, id, grid, kind, part, orders):
    """Tune by a loop of its own: C and r go on by a ratio of 2, the others by their step."""
    losses = {}

    def loss(options):
        place = tuple(options.items())
        if place not in losses:
            losses[place] = sum(count_mistakes(data, id, options, part, "tune", number) for number in orders)
        return losses[place]

    def go_on(name, given, values, best):
        step = given[1] - given[0]
        below, above = (
            (values[0] / 2, values[-1] * 2) if name in ("C", "r") else (values[0] - step, values[-1] + step)
        )
        is_valid = {"eta": lambda value: 0.5 <= value < 1, "forgetting": lambda value: 0 < value <= 1}
        new = round(below if best == values[0] else above, 9)
        made = sum(value < given[0] if best == values[0] else value > given[-1] for value in values)
        if best not in (values[0], values[-1]) or made == 6 or not is_valid.get(name, bool)(new):
            return values
        return sorted([*values, new])

    def search_all(given, fixed):
        grid = given
        while True:
            every = [{**fixed, **dict(zip(grid, values, strict=True))} for values in product(*grid.values())]
            best = min(reversed(every), key=loss)
            longer = dict(grid)
            for name, values in grid.items():
                others = [loss(options) for options in every if options[name] != best[name]]
                if not isinstance(values[0], str) and min(others) > loss(best):
                    longer[name] = go_on(name, given[name], values, best[name])
            if longer == grid:
                return best, grid
            grid = longer

    if kind != "coordinate":
        return search_all(grid, {})
    searched, current = {}, {}
    defaults = {each.name: each.default for each in get_definition(id).parameters}
    current = {name: defaults.get(name, values[0]) for name, values in grid.items()}
    for name, values in grid.items():
        current, own = search_all({name: values}, current)
        searched |= own
    return {name: current[name] for name in grid}, searched


@pytest.mark.parametrize(("kind", "orders"), [("grid", 1), ("coordinate", 2), ("holdout", 1)])
def test_each_permutation_is_tuned_as_a_plain_loop_tunes_it(kind, orders, here, config, records):
    here.out(
        "run", config(TUNED.replace("SEARCH", kind).replace("ORDERS", str(orders))), "--out", "out", "-q"
    )
    cells = {cell["algorithm"]: cell for cell in json.loads(Path("out/run.json").read_text())["cells"]}
    assert "choices" not in cells["perceptron"]
    grids = {
        "pa1": {"C": [0.5, 1.0]},
        "scw1": {"C": [0.5, 1.0], "eta": [0.7, 0.8, 0.9]},
        "arow": {"r": [1.0, 2.0], "forgetting": [0.999, 1.0], "covariance": ["full", "diag"]},
    }
    found = records("out")
    halves = (seeds.TUNING_HALF, seeds.REPORTED_HALF) if kind == "holdout" else (seeds.ALL, seeds.ALL)
    data = load_dataset("breast-cancer")
    for id, grid in grids.items():
        choices, passes = [], 0
        for number in range(4):
            own = range(number * orders, (number + 1) * orders)
            choice, searched = tune_plainly(data, id, grid, kind, halves[0], own)
            choices.append(choice)
            [report] = [
                r for r in found if (r["algorithm"], r["role"], r["number"]) == (id, "report", number)
            ]
            assert report["mistakes"] == count_mistakes(data, id, choice, halves[1], "report", number)
            assert report["params"] == {name: choice[name] for name in report["params"]}
            passes += orders * count_candidates(
                kind, searched, {**{name: values[0] for name, values in grid.items()}, **get_defaults(id)}
            )
        assert cells[id]["choices"] == choices
        assert cells[id]["tuning_passes"] == passes
        assert [r["role"] for r in found if r["algorithm"] == id].count("tune") == passes
    assert any(len(cells[id].get("grid", {})) for id in cells), "a grid went on"


def get_defaults(id):
    return {each.name: each.default for each in get_definition(id).parameters}


def test_the_orders_that_tune_are_no_reported_ones_and_those_of_the_first_permutation_are_as_before():
    content = {"datasets": ["breast-cancer"], "algorithms": [{"id": "pa1", "grid": {"C": [1, 2]}}]}

    def cell(**tuning):
        given = {**content, "permutations": 3, "tuning": {"search": "grid", "permutations": 2, **tuning}}
        experiment = parse_config(from_plain(given, "x"), Path())
        return cells_of(experiment, find_sources(experiment.datasets, False)[0])[0]

    plain, apart = cell(), cell(per="permutation", extend=True)
    before, now = ([trial.key for trial in each.stage({}).trials] for each in (plain, apart))
    assert before == now[: len(before)]
    assert (plain.tuning_passes, apart.tuning_passes, len(now)) == (4, 12, 12)
    orders = {
        (trial.role, trial.number) for each in range(3) for trial in apart.tuning_trials({"C": 1.0}, each)
    }
    assert orders == {("tune", number) for number in range(6)}
    assert [trial.number for trial in apart.report_trials({"C": 1.0}, 2)] == [2]


EXPENSIVE = """\
protocol: online
seed: 1
permutations: 3
curve: 5
datasets: [synthetic]
algorithms: [{id: pa1, grid: {C: [0.5, 1]}}, {id: scw1, grid: {C: [0.5, 1], eta: [0.75, 0.9]}}]
tuning: {search: grid, extend: true, per: permutation}
"""


def outcome(folder):
    """Return what a run reports: its cells, with every key, and the counts of the reported trials."""
    cells = json.loads(Path(folder, "run.json").read_text())["cells"]
    lines = Path(folder, "trials.jsonl").read_text().splitlines()
    counts = {record["key"]: record["mistakes"] for record in map(json.loads, lines)}
    return cells, [[counts[key] for key in cell["keys"]] for cell in cells], sorted(counts)


@pytest.fixture
def finished(here, config):
    here.out("run", config(EXPENSIVE), "--out", "out", "-q")
    return outcome("out")


def test_a_run_goes_on_after_a_kill_at_any_line(here, finished):
    lines = Path("out/trials.jsonl").read_text().splitlines(keepends=True)
    for kept in (1, len(lines) // 3, len(lines) // 2, len(lines) - 4, len(lines) - 1):
        shutil.copytree("out", "again", dirs_exist_ok=True)
        Path("again/trials.jsonl").write_text("".join(lines[:kept]))
        plan = here.out("run", "small.yaml", "--out", "again", "--dry-run")
        assert f"{kept} trials reused" in plan or f"{kept} trial reused" in plan
        assert ", 0 would run" not in plan
        here.out("run", "small.yaml", "--out", "again", "-q")
        assert outcome("again") == finished
    assert ", 0 would run" in here.out("run", "small.yaml", "--out", "again", "--dry-run")


def test_a_killed_process_is_continued(olbench, here, config, finished):
    command = [sys.executable, "-m", "olbench", "run", config(EXPENSIVE), "--out", "killed", "-q"]
    ledger = Path("killed/trials.jsonl")
    with subprocess.Popen(command) as process:
        while process.poll() is None and not (ledger.exists() and ledger.read_text().count("\n") > 5):
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    assert here("report", "killed", "--full")[0] in (0, 4), "a report, or no reported trial yet"
    here.out("run", "small.yaml", "--out", "killed", "-q")
    assert outcome("killed") == finished


def test_a_run_of_which_some_permutations_are_tuned_is_reported(here, finished):
    content = json.loads(Path("out/run.json").read_text())
    for cell in content["cells"]:
        cell["choices"][1] = None
        del cell["keys"][1]
    Path("out/run.json").write_text(json.dumps(content))
    results = olbench.load_results("out")
    assert results.missing == [f"{id} on synthetic: 2 of 3 trials done" for id in ("pa1", "scw1")]
    assert [len(each.params_of_trials) for each in results.entries] == [2, 2]
    here.out("report", "out", "--full")
    here.out("run", "small.yaml", "--out", "out", "-q")
    assert outcome("out") == finished


def test_other_runs_lend_their_trials(here, config, finished):
    here.out("run", "small.yaml", "--out", "lent", "--reuse", "out", "-q")
    assert outcome("lent") == finished
    assert json.loads(Path("lent/run.json").read_text())["reused"]
    # A run with one tuning lends the trials of the first permutation, and borrows them.
    single = config(EXPENSIVE.replace(", per: permutation", ""), "single.yaml")
    plan = here.out("run", single, "--out", "single", "--reuse", "out", "--dry-run")
    here.out("run", single, "--out", "single", "--reuse", "out", "-q")
    tuned = [key for key in outcome("single")[2] if key in finished[2]]
    assert f"{len(tuned)} trials reused" in plan or len(tuned) > 6
    assert all("choices" not in cell for cell in outcome("single")[0])


def test_a_cluster_tunes_alike(olbench, config, finished):
    pytest.importorskip("distributed", reason="a cluster needs dask.distributed")
    done = olbench("run", "small.yaml", "--out", "cluster", "--cluster", "local:2", "-q")
    assert done.returncode == 0, done.stderr
    assert outcome("cluster") == finished


def test_it_is_verified_bundled_and_checked(here, finished):
    assert "all matched" in here.out("verify", "out")
    here.out("bundle", "out", "-o", "out.olb")
    assert "all matched" in here.out("verify", "out.olb")
    first, second = (json.loads(here.out("report", run, "--format", "json")) for run in ("out", "out.olb"))
    assert first["rows"] == second["rows"]
    here.out("check", "small.yaml", "--against", "out")
    here.out("check", "small.yaml", "--against", "baseline.json", "--update")
    here.out("check", "small.yaml", "--against", "baseline.json")
    content = json.loads(Path("out/run.json").read_text())
    choices = next(cell["choices"] for cell in content["cells"])
    choices[1]["C"] *= 2
    Path("out/run.json").write_text(json.dumps(content))
    assert "states choices" in here.out("verify", "out", code=1)


def test_reports_show_the_most_frequent_choice_its_range_and_edges(here, config, records):
    text = EXPENSIVE.replace("permutations: 3", "permutations: 5")
    here.out("run", config(text), "--out", "out", "-q")
    results = olbench.load_results("out")
    rows = json.loads(here.out("report", "out", "--format", "json"))["rows"]
    shown = here.out("report", "out", "--full")
    for entry, row in zip(results.entries, rows, strict=True):
        joint = [tuple(each.values()) for each in entry.choices]
        assert tuple(entry.params.values()) == max(joint, key=joint.count)
        values = {name: sorted({each[name] for each in entry.choices}) for name in entry.params}
        assert row["ranges"] == {name: own for name, own in values.items() if len(own) > 1}
        assert row["edges"] == [edge._asdict() for edge in list_edges(entry)]
        scores = [
            record["mistakes"] / record["n"]
            for number, choice in enumerate(entry.choices)
            for record in records("out")
            if (record["algorithm"], record["role"], record["number"]) == (entry.algorithm, "tune", number)
            and record["params"] == choice
        ]
        assert (len(scores), entry.tuned) == (5, pytest.approx(sum(scores) / 5))
        for name, own in row["ranges"].items():
            assert f"{name}={entry.params[name]:g}" in shown
            assert f"[{own[0]:g} to {own[-1]:g}]" in shown
    frame = results.to_frame()
    assert list(frame["params"]) == [dict(each) for entry in results.entries for each in entry.choices]
    assert any(row["ranges"] for row in rows)


EDGES = """\
seed: 3
permutations: 3
datasets: [breast-cancer]
algorithms: [{id: arow, grid: {r: [64, 128, 256]}}, perceptron]
tuning: {search: grid}
measures: [mistake_rate, balanced_accuracy, auc, f1, mcc, kappa]
"""


def test_an_edge_is_named_in_every_format_and_extended_on_demand(here, config, monkeypatch):
    here.out("run", config(EDGES), "--out", "out", "-q")
    content = json.loads(here.out("report", "out", "--format", "json"))
    rows = {row["algorithm"]: row for row in content["rows"]}
    assert rows["arow"]["edges"] == [{"name": "r", "value": 64.0, "side": "smallest"}]
    assert (rows["perceptron"]["edges"], rows["perceptron"]["ranges"]) == ([], {})
    monkeypatch.setenv("COLUMNS", "80")
    for words in ([], ["--full"], ["--format", "md"], ["--format", "html"], ["--format", "latex"]):
        text = here.out("report", "out", *words)
        assert "r=64 (min)" in text, words
        assert "smallest in its grid: try smaller" in " ".join(text.split()), words
    full = " ".join(here.out("report", "out", "--full").split())
    assert "make_algorithm(\"arow\", covariance='full'" in full
    assert "r=64.0)" in full
    assert "params" in here.out("report", "out", "--format", "csv").splitlines()[0]
    assert "(min)" not in here.out("report", "out", "--format", "csv")
    here.out("run", "small.yaml", "--out", "beyond", "-q", "--set", "tuning.extend=true")
    [row, _] = json.loads(here.out("report", "beyond", "--format", "json"))["rows"]
    assert row["params"]["r"] < 64
    assert row["edges"] == []


FAILING = """\
from olbench import Parameter, second_order

R = Parameter("r", 1.0, "as in AROW")

@second_order("fragile", parameters=(R,), constants=lambda r: (r, 1 / (r != 2)))
def fragile(m, v, mistake, t, p):
    if m >= 1.0:
        return 0.0, 0.0, 0.0
    return 1.0 - m, (1.0 - m) / (v + p[0]), 1.0 / p[0]
"""


def test_a_value_that_fails_is_beyond_no_other_and_a_tuning_that_fails_says_so(here, config):
    Path("fragile.py").write_text(FAILING)
    text = """\
seed: 1
permutations: 2
plugins: [fragile.py]
datasets: [breast-cancer]
algorithms: [{id: fragile, grid: GRID}, perceptron]
tuning: {search: grid, extend: true, per: permutation}
"""
    code, _, err = here("run", config(text.replace("GRID", "{r: [8, 4]}")), "--out", "out", "-q")
    assert code in (0, 3), err
    choices = json.loads(Path("out/run.json").read_text())["cells"][0]["choices"]
    assert all(choice["r"] > 2 for choice in choices)
    whole = text.replace("GRID", "{r: [2], covariance: [full, diag]}")
    assert here("run", config(whole), "--out", "failed", "-q")[0] == 3
    cell = json.loads(Path("failed/run.json").read_text())["cells"][0]
    assert (cell["params"], cell["choices"]) == (None, [None, None])
    shown = " ".join(here.out("report", "failed", "--full").split())
    assert "fragile on breast-cancer: its tuning failed (" in shown


def test_a_paper_is_not_compared_with_what_is_tuned_otherwise(here):
    few = ["--set", "datasets=[synthetic]", "--set", "algorithms=[arow]", "--set", "permutations=5", "-q"]
    reasons = {
        "tuning.per=permutation": "each of its trials is tuned separately, the paper's are tuned together",
        "tuning.extend=true": "",
    }
    for changed, reason in reasons.items():
        here.out("run", "scw", "--out", changed, "--set", changed, *few)
        rows = json.loads(here.out("report", changed, "--format", "json"))["rows"]
        assert rows[0]["verdict"] == ("not comparable" if reason else "reproduced")
        assert reason in here.out("report", changed, "--full")


@for_each(
    ("entry", "reason"),
    [
        (
            "pa1, grid: {covariance: [full, diag]}",
            "pa1: unknown parameter 'covariance'; its parameters are C",
        ),
        ("arow, grid: {form: [root, square]}", "arow: form must be one of covariance, root, not 'square'"),
        ("arow, a: 2, grid: {a: [1, 2]}", "a is both fixed and searched in grid"),
        (
            "arow, grid: {covariance: [full, diag], kernel: [rbf]}",
            "arow: a kernel has no diagonal covariance; use covariance='full'",
        ),
        ("arow, grid: {multiclass: [native]}", "arow: unknown parameter 'multiclass'; its parameters are r"),
        ("arow, params: {forgetting: 0.9}", "arow: unknown parameter 'forgetting'; its parameters are r"),
        ("arow, grid: {forgetting: [0.9, 1.5]}", "arow: forgetting must lie in (0, 1], not 1.5"),
    ],
)
def test_options_that_cannot_be_searched_are_refused(entry, reason, here, config):
    text = f"datasets: [breast-cancer]\ntuning: {{search: grid}}\nalgorithms:\n  - {{id: {entry}}}\n"
    assert here.err("run", config(text), "--out", "out") == f"olbench: small.yaml:4: {reason}\n"
    assert not Path("out").exists()


def test_a_config_that_searches_options_survives_being_written_down():
    content = {
        "datasets": ["breast-cancer"],
        "algorithms": [{"id": "arow", "grid": {"forgetting": [0.9, 1], "covariance": ["full", "diag"]}}],
        "tuning": {"search": "grid", "extend": True, "per": "permutation"},
    }
    first = parse_config(from_plain(content, "x"), Path())
    written = json.loads(json.dumps(first.plain()))
    again = parse_config(from_plain(written, "x"), Path())
    assert again == first
    usual = {"search": "grid", "ties": "last", "permutations": 1}
    assert written["tuning"] == {**usual, "extend": True, "per": "permutation"}
    plain = parse_config(from_plain({**content, "tuning": {"search": "grid"}}, "x"), Path())
    assert plain.plain()["tuning"] == usual


def test_kernels_and_crossval_search_options(here, config, records):
    text = """\
seed: 1
permutations: 2
datasets: [breast-cancer]
algorithms: [{id: arow, grid: {kernel: [linear, rbf], gamma: [0.01, 0.1]}}]
tuning: {search: grid}
"""
    here.out("run", config(text), "--out", "out", "-q")
    tuned = [record["options"] for record in records("out") if record["role"] == "tune"]
    assert len(tuned) == 3, "a linear kernel has no gamma"
    here.out("run", "small.yaml", "--out", "out", "--set", "permutations=3")
    plan = here.out("run", "small.yaml", "--out", "out", "--dry-run", "--set", "permutations=3")
    assert ", 0 would run" in plan
    assert "all matched" in here.out("verify", "out")
    text = """\
protocol: crossval
folds: 3
repeats: 1
epochs: 2
duplicates: remove
datasets: [breast-cancer]
algorithms: [{id: arow, grid: {r: [0.1, 1], covariance: [full, diag]}}]
tuning: {search: nested, also: [paper], ties: middle}
"""
    here.out("run", config(text, "folds.yaml"), "--out", "folds", "-q")
    chosen = [record["choice"] for record in records("folds") if record["setting"].get("tuning") == "nested"]
    assert all({"r", "covariance", "epochs"} == choice.keys() for choice in chosen)
    assert "covariance=" in here.out("report", "folds", "--full")
    assert "all matched" in here.out("verify", "folds")


def test_a_stream_is_tuned_beyond_its_grid(here, config):
    text = """\
protocol: stream
datasets: [synthetic]
algorithms: [{id: pa1, grid: {C: [1, 2, 4]}}]
tuning: {search: grid, prefix: 0.2, extend: true}
"""
    here.out("run", config(text), "--out", "out", "-q")
    cell = json.loads(Path("out/run.json").read_text())["cells"][0]
    data, n = load_dataset("synthetic"), 1000
    losses = {
        C: online_pass(make_algorithm("pa1", C=C), data.X[:n], data.y[:n]).mistakes
        for C in (2.0**k for k in range(-6, 9))
    }
    low = 1.0
    while losses[low] < min(losses[C] for C in losses if low < C <= 4) and low > 2**-6:
        low /= 2
    assert cell["params"]["C"] == min((C for C in losses if low <= C <= 4), key=lambda C: (losses[C], -C))
    assert "all matched" in here.out("verify", "out")
    assert "per" in here.err("run", "small.yaml", "--out", "no", "--set", "tuning.per=permutation")


def test_compare_and_init_tune_every_permutation_where_that_is_little_work(here):
    import pandas as pd

    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    found = olbench.compare(
        X, X[:, 0] > 0.3 * X[:, 1], algorithms=["pa1", "perceptron"], permutations=3, jobs=1
    )
    tuning = found.config.tuning
    assert (tuning.extend, tuning.per, tuning.permutations) == (True, "permutation", 1)
    assert len(found.entries[0].choices) == 3
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["label"] = np.where(X[:, 0] > 0.3 * X[:, 1], "yes", "no")
    frame.to_csv("mine.csv", index=False)
    here.out("init", "mine.csv")
    tuning = read_config(Path("mine.yaml")).tuning
    assert (tuning.extend, tuning.per, tuning.permutations) == (True, "permutation", 1)
    # The plan follows from the sizes alone.
    specs = [AlgorithmSpec("scw1", grid={"C": (1.0,) * 10}, options={"covariance": "full"})]
    rows = int(MOST_WORK / (20 * 10 * 100**2))
    assert choose_tuning(specs, rows, 100, 20).per == "permutation"
    many = choose_tuning(specs, rows + 1, 100, 20)
    assert (many.per, many.permutations, many.extend) == (None, 3, True)
    diagonal = [AlgorithmSpec("scw1", grid={"C": (1.0,) * 10}, options={"covariance": "diag"})]
    assert choose_tuning(diagonal, rows + 1, 100, 20).per == "permutation"
    assert set(OPTIONS) >= get_definition("scw1").searched_options.keys()
