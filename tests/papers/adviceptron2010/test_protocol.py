"""The protocol `advice` learns and tunes only on training rows, and gives rules to those that take them."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from olbench import load_results
from olbench.algorithms.spec import AlgorithmSpec
from olbench.data.spec import DatasetSpec
from olbench.errors import UserError
from olbench.papers.adviceptron2010.protocol import AdviceExperiment, AdviceProtocol, AdviceTuning, _Work
from olbench.protocols import get_protocol
from olbench.protocols.measuring import Scores
from olbench.records.quantities import BALANCED_ACCURACY
from tests.examples import make_source
from tests.report.editing import read_records, write_records

pytestmark = pytest.mark.usefixtures("own_folder")
SMALL = """\
protocol: advice
seed: 3
datasets: [advice-synthetic]
splits: 3
train: 40
algorithms:
  - {id: adviceptron, grid: {lam: [0.1, 1], mu: [0.1, 1]}}
  - {id: pa2, grid: {C: [0.1, 1]}}
  - {id: kbsvm, grid: {lam: [0.1, 1]}}
  - rules-alone
  - majority
  - always-no
tuning: {search: nested, folds: 2}
"""
RULES = {
    "*": {"rules": ["x1 >= 1 => 1"], "missing": "refuse", "domain": False, "features": [], "classes": {}}
}


def examples(n=120, seed=0, positives=None):
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, 3))
    y = np.where(X[:, 0] + 0.3 * random.standard_normal(n) > 0, 1.0, -1.0)
    if positives is not None:
        y[:] = -1.0
        y[:positives] = 1.0
    return X, y


def cell_of(source, id="adviceptron", settings=(), tuning=None, **grid):
    spec = AlgorithmSpec(id, grid={name: tuple(values) for name, values in grid.items()})
    given = {"splits": 2, "train": 30, "advice": RULES, **dict(settings)}
    tuning = tuning or AdviceTuning("nested", "middle")
    plan = AdviceExperiment((DatasetSpec(source.name),), (spec,), tuning=tuning, **given)
    [cell] = AdviceProtocol(plan).cells([source])
    return cell


def run(cell):
    return get_protocol("advice").run(cell.report_trials(cell.start)[0], cell.source, lambda: False)


def work_of(cell):
    return _Work(cell.report_trials(cell.start)[0], cell.source, lambda: False)


def test_a_data_set_that_a_setting_does_not_name_has_its_default():
    source = make_source("made", *examples(300))
    cell = cell_of(source, settings={name: {"pima": 3} for name in ("splits", "train", "early")})
    setting = cell.trial_setting({}, "report")
    assert (cell.repeats, setting["train"], setting["early"]) == (20, 200, 10)


def test_a_run_has_every_row_and_is_not_repeated_and_its_report_has_rules_and_claims(here):
    Path("small.yaml").write_text(f"paper: adviceptron2010\n{SMALL}")
    here.out("run", "small.yaml", "--quiet", "--jobs", "1")
    first = load_results("results/small")
    labels = ["adviceptron", "pa2", "kbsvm", "rules-alone", "majority", "always-no"]
    assert list(first.labels) == labels
    entry = {each.label: each for each in first.entries}
    assert entry["adviceptron"].points.tolist() == list(range(41))
    assert entry["kbsvm"].points.tolist() == [40]
    assert np.array_equal(entry["always-no"].values(BALANCED_ACCURACY), [0.5] * 3)
    assert set(entry["adviceptron"].columns["choice"][0]) == {"lam", "mu"}
    here.out("run", "small.yaml", "--quiet", "--jobs", "1")
    assert len(Path("results/small/trials.jsonl").read_text().splitlines()) == 18
    report = here.out("report", "results/small", "--format", "md")
    assert "made here after adviceptron2010, Figure 1" in report
    assert "Learning improves on the accuracy that advice alone gives." in report
    assert "contradict each other" in report
    records = read_records(first.folder)
    write_records(first.folder, [{**each, "curve": {name: [] for name in each["curve"]}} for each in records])
    with pytest.raises(UserError, match="its curve is empty"):
        load_results(first.folder)


def test_test_rows_take_no_part_in_learning_and_tuning():
    X, y = examples()
    source = make_source("made", X, y)
    cell = cell_of(source, lam=[0.1, 1.0], mu=[0.1, 1.0])
    work = work_of(cell)
    test = work.order[work.train.size :]
    changed, flipped = X.copy(), y.copy()
    changed[test] = 1e3 * np.random.default_rng(1).standard_normal(changed[test].shape)
    flipped[test] = -y[test]
    other = make_source("made", changed, flipped)
    outcomes = [run(cell), run(cell_of(other, lam=[0.1, 1.0], mu=[0.1, 1.0]))]
    assert outcomes[0].choice == outcomes[1].choice
    np.testing.assert_array_equal(*(each.arrays["plane"] for each in outcomes))
    assert outcomes[0].measured["right"] != outcomes[1].measured["right"]


def test_a_tuning_that_leaves_out_folds_finds_every_candidate_with_the_least_loss(monkeypatch):
    cell = cell_of(make_source("made", *examples()), lam=[1.0])
    work = work_of(cell)
    monkeypatch.setattr(_Work, "_score", lambda self, candidate, fold: fold.scores[candidate])
    random, left_out = np.random.default_rng(5), 0
    for _ in range(200):
        totals = random.integers(1, 4, size=(4, 2))
        right = np.minimum(random.integers(0, 5, size=(8, 4, 2)), totals)
        labels = [np.repeat([-1.0, 1.0], total) for total in totals]
        folds = [
            SimpleNamespace(tested=(None, y), scores=[Scores(each, total) for each in own])
            for y, own, total in zip(labels, right.swapaxes(0, 1), totals, strict=True)
        ]
        losses = np.array(work._losses(range(8), folds))
        whole = -right.sum(axis=(1, 2)) / totals.sum()
        np.testing.assert_array_equal(losses == losses.min(), whole == whole.min())
        left_out += np.isinf(losses).sum()
    assert 0 < left_out < 1600


def test_a_lack_of_one_class_leaves_the_defaults():
    source = make_source("rare", *examples(positives=1))
    outcome = run(cell_of(source, lam=[0.1, 10.0], mu=[0.1, 10.0]))
    assert (outcome.choice, outcome.measured["tuned"]) == ({"lam": 1.0, "mu": 1.0}, 0)


def test_the_plane_is_in_the_units_of_the_data():
    X, y = examples()
    source = make_source("made", 50.0 + 7.0 * X, y)
    cell = cell_of(source, "pa2", tuning=AdviceTuning("none"))
    outcome = run(cell)
    *w, b = outcome.arrays["plane"]
    test = work_of(cell).order[30:]
    right = np.where((50.0 + 7.0 * X[test]) @ np.array(w) + b >= 0, 1, -1) == y[test]
    assert int(right.sum()) == outcome.measured["right"]


def test_bad_advice_is_part_of_a_trial_and_no_advice_is_not():
    source = make_source("made", *examples())
    other = {"*": {**RULES["*"], "rules": ["x1 >= 1 => -1"]}}
    keys = {
        (id, place): cell_of(source, id, {"advice": advice}, AdviceTuning("none")).report_trials({})[0].key
        for id in ("adviceptron", "pa2")
        for place, advice in enumerate((RULES, other))
    }
    assert keys["adviceptron", 0] != keys["adviceptron", 1]
    assert keys["pa2", 0] == keys["pa2", 1]


def test_mistakes_in_a_config(here):
    wrong = []
    for lines, message in (
        ("advice: [x9 >= 1 => +]", "the data has no feature 'x9'"),
        ("advice: [x1 >= 1 or x2 >= 1 => +]", "a rule cannot say 'or'"),
        ("advice: nowhere.yaml", "there is no rule file 'nowhere.yaml'"),
        ("advice: {pima: [bmi >= 30 => diabetes]}", None),
        ("scaling: maybe", "scaling must be one of standardise, none"),
        ("domain: 3", "domain must be true or false"),
        ("splits: {}", "splits must not be empty"),
        ("early: {advice-sinthetic: 5}", "small.yaml:14: there is no data set 'advice-sinthetic' (did you"),
        ("early: {tb-*: 5, advice-synthetic: 3}", None),
        ("train: 1000", "leaves none for testing"),
    ):
        key = lines.partition(":")[0]
        others = (each for each in SMALL.splitlines(True) if not each.startswith(key))
        Path("small.yaml").write_text("".join(others) + f"{lines}\n")
        code, _, err = here("run", "small.yaml", "--quiet", "--dry-run")
        if code != (0 if message is None else 2) or (message or "") not in " ".join(err.split()):
            wrong.append((lines, code, err))
    assert wrong == []
    with pytest.raises(UserError, match="adviceptron takes advice, and there are no rules for made"):
        cell_of(make_source("made", *examples()), settings={"advice": None})


def test_a_rule_file_is_found_beside_the_config(here):
    Path("rules").mkdir()
    Path("rules/mine.yaml").write_text("rules:\n  - x1 + 3*x2 <= 0 => -\n")
    Path("small.yaml").write_text(f"{SMALL}advice: rules/mine.yaml\n")
    here.out("run", "small.yaml", "--quiet", "--set", "algorithms=[rules-alone]", "--jobs", "1")
    [line, *_] = Path("results/small/trials.jsonl").read_text().splitlines()
    assert json.loads(line)["setting"]["rules"]["rules"] == ["x1 + 3*x2 <= 0 => -"]
