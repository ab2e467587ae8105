"""The protocol `shards`: parts are disjoint, tuning rows stay apart, one trial serves all combinations."""

from pathlib import Path

import numpy as np
import pytest

from olbench import load_results, make_algorithm, online_pass
from olbench.algorithms.spec import AlgorithmSpec
from olbench.data.dataset import join_blocks
from olbench.data.spec import DatasetSpec
from olbench.errors import UserError
from olbench.papers.cw2012.corpus import Corpus
from olbench.papers.cw2012.protocol import Shards, ShardsExperiment, ShardsTuning, _Work
from olbench.protocols import get_protocol
from tests.examples import make_source

pytestmark = pytest.mark.usefixtures("own_folder")
SMALL = """\
protocol: shards
seed: 3
datasets: [digits-1-vs-7, breast-cancer]
splits: 2
test: 60
shards: [2, 5]
combinations: [average, l2, kl, counts]
every: 50
covariance: diag
algorithms:
  - {id: cw-var, name: var-KL, grid: {phi: [0.1, 1]}}
  - pa
tuning: {search: grid, rows: 40, folds: 2}
"""
PROTOCOL = get_protocol("shards")
DIAGONAL = {"covariance": "diag", "projection": "kl", "a": 1.0}
CW = AlgorithmSpec("cw-var", {"phi": 0.3}, options=DIAGONAL)


@pytest.fixture(scope="module")
def source():
    return make_source("made", *join_blocks(Corpus(words=4000, length=30, seed=1).blocks(1500)))


def cells_of(source, *specs, search="none", rows=200, **settings):
    given = {"splits": 2, "test": 300, "shards": (2, 4), "every": 400, **settings}
    given["tuning"] = ShardsTuning(search, "last", rows=rows, folds=4)
    return Shards(ShardsExperiment((DatasetSpec(source.name),), specs, **given)).cells([source])


def trial_of(cell, number=0):
    return cell.report_trials(cell.step({}).chosen)[number]


def run(cell):
    return PROTOCOL.run(trial_of(cell), cell.source, lambda: False)


def work_of(cell, number=0):
    return _Work(trial_of(cell, number), cell.source, lambda: False)


def test_tuning_training_and_test_rows_are_disjoint_and_all_rows(source):
    cell = cells_of(source, CW)[0]
    tuning = work_of(cell)._rows()[0]
    splits = [work_of(cell, number).split for number in (0, 1)]
    for train, test in splits:
        assert test.size == 300
        assert sorted([*tuning, *train, *test]) == list(range(source.n))
    assert (splits[0][1] != splits[1][1]).any()
    other = work_of(cells_of(source, AlgorithmSpec("pa"))[0]).split
    assert all((one == two).all() for one, two in zip(splits[0], other, strict=True))


def test_one_trial_serves_all_combinations_of_its_shards(source):
    cells = cells_of(source, CW, combinations=("average", "l2", "kl", "counts"))
    keys = {cell.label: [trial.key for trial in cell.report_trials(cell.step({}).chosen)] for cell in cells}
    assert len(keys) == 9
    assert keys["cw-var (2 shards, L2)"] == keys["cw-var (2 shards, KL)"] != keys["cw-var (4 shards, L2)"]
    assert sum(cell.stage({}).planned for cell in cells) == len(
        {key for each in keys.values() for key in each}
    )


def test_the_single_model_is_one_pass_over_the_training_rows(source):
    cell = cells_of(source, CW)[0]
    outcome = run(cell)
    train, test = work_of(cell).split
    data = source.open()
    result = online_pass(make_algorithm("cw-var", phi=0.3, **DIAGONAL), data.examples, data.labels, train, 1)
    right = result.learner.predict(data.examples.rows(), test) == data.labels[test]
    assert outcome.measured["right"] == right.sum()
    assert outcome.series["curve"]["t"] == [400, 800, 1000]
    assert outcome.series["curve"]["accuracy"][-1] == pytest.approx(right.mean(), abs=1e-6)
    classes = [right[data.labels[test] == sign].mean() for sign in (-1, 1)]
    assert outcome.measured["balanced_accuracy"] == pytest.approx(np.mean(classes))


@pytest.mark.parametrize("id", ["cw-var", "arow", "pa", "averaged-pa"])
def test_combinations_are_those_of_models_trained_by_themselves(source, id):
    """Each model is trained afresh over all features here; nothing is sparse or reused."""
    second = id in ("cw-var", "arow")
    spec = AlgorithmSpec(id, options=DIAGONAL if second else {})
    cell = cells_of(source, spec, combinations=("average", "l2", "kl", "counts"))[-1]
    assert cell.setting["shards"] == 4
    outcome = run(cell)
    train, test = work_of(cell).split
    data, X = source.open(), source.open().examples.matrix()
    means, precisions, counts, rights = [], [], [], []
    for part in np.array_split(train, 4):
        learner = online_pass(make_algorithm(id, **spec.options), data.examples, data.labels, part, 1).learner
        means.append(learner.weights)
        precisions.append(1 / learner.covariance if second else np.ones(source.d))
        counts.append(np.bincount(X[part].indices, minlength=source.d))
        rights.append((learner.predict(data.examples.rows(), test) == data.labels[test]).sum())
    means, precisions, counts = (np.array(each) for each in (means, precisions, counts))
    expected = {
        "l2": means.mean(axis=0),
        "kl": (precisions * means).sum(axis=0) / precisions.sum(axis=0),
        "counts": (counts * means).sum(axis=0) / np.maximum(1, counts.sum(axis=0)),
    }
    assert outcome.measured["right_average"] == pytest.approx(np.mean(rights))
    for way, weights in expected.items():
        if second or way != "kl":
            scores = X[test] @ weights
            # A score of zero is a tie that rounding may break.
            assert np.abs(scores).min() > 1e-12
            assert outcome.measured[f"right_{way}"] == ((scores >= 0) == (data.labels[test] > 0)).sum()


def test_the_tuning_scores_every_tuning_row_once_and_no_other(source):
    spec = AlgorithmSpec("pa1", grid={"C": (0.01, 1.0)})
    cell = cells_of(source, spec, search="grid")[0]
    assert cell.tuning_passes == 2
    [trial] = cell.tuning_trials({"C": 1.0})
    outcome = PROTOCOL.run(trial, source, lambda: False)
    assert outcome.measured["n"] == 200
    rows = _Work(trial, source, lambda: False)._rows()[0]
    data, right = source.open(), 0
    for held in np.array_split(rows, 4):
        others = rows[~np.isin(rows, held)]
        learner = online_pass(make_algorithm("pa1", C=1.0), data.examples, data.labels, others, 1).learner
        right += (learner.predict(data.examples.rows(), held) == data.labels[held]).sum()
    assert outcome.measured["right"] == right


def test_what_cannot_be_combined_is_refused(source, here):
    for id in ("maxent", "sop", "kbsvm"):
        Path("a.yaml").write_text(SMALL.replace("  - pa\n", f"  - {id}\n"))
        assert "weight vector" in here.err("run", "a.yaml")
    with pytest.raises(UserError, match="arow: protocol: shards combines models by feature, which needs"):
        cells_of(source, AlgorithmSpec("arow", options={"covariance": "full"}))
    with pytest.raises(UserError, match="made has 1,500 rows: 300 for testing and 200 for tuning leave none"):
        cells_of(source, CW, shards=(2000,))


def test_a_run_goes_on_where_it_stopped_and_reports_every_combination(here, records):
    Path("small.yaml").write_text(SMALL)
    assert "var-KL (5 shards, KL)" in here.out("run", "small.yaml", "--out", "one", "--jobs", 2)
    lines = Path("one/trials.jsonl").read_text().splitlines(keepends=True)
    # Two candidates of one algorithm; two algorithms, three numbers of shards and two splits; two data sets.
    assert len(lines) == 2 * (2 + 2 * 3 * 2)
    Path("two").mkdir()
    Path("two/trials.jsonl").write_text("".join(lines[:9]) + lines[9][:40])
    assert here("run", "small.yaml", "--out", "two", "--jobs", 1)[0] == 0
    counts = ("right", "n", "balanced_accuracy", "training_n")
    one, two = ({r["key"]: [r[each] for each in counts] for r in records(name)} for name in ("one", "two"))
    assert one == two
    entries = {entry.label: entry for entry in load_results("one").of("breast-cancer")}
    assert len(entries) == (1 + 2 * 4) + (1 + 2 * 3)
    for record in records("one"):
        place = record["dataset"], record["algorithm"], record["setting"].get("shards")
        if place == ("breast-cancer", "cw-var", 5):
            values = entries["var-KL (5 shards, average)"].values(PROTOCOL.quantities[0])
            assert values[record["number"]] == pytest.approx(record["right_average"] / record["n"])
    assert "Accuracy (%) of shards" in here.out("report", "one", "--full", "--figures", "figures")
    stems = {path.stem for path in Path("figures").glob("*.png")}
    assert stems >= {"shards-var-KL", "shards-pa", "examples"}
