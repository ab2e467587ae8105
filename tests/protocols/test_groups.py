"""What rows contributed to a reported trial, by group: counts, and the influence on other measures."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn import metrics
from sklearn.datasets import load_breast_cancer, load_digits

import olbench
from olbench import load_results
from olbench.data.source import find_source
from olbench.data.spec import DatasetSpec
from olbench.protocols import measures
from olbench.protocols.measuring import round_sums
from olbench.records import ledger, packed, seeds
from olbench.records.arrays import with_arrays
from olbench.records.compare import compare_records
from olbench.records.quantities import MISTAKES
from olbench.records.record import write_line
from tests.cases import for_each

pytestmark = pytest.mark.usefixtures("own_folder")
MARGINS = ["auc", "hinge_loss", "squared_loss", "log_loss"]
ONLINE = {
    "seed": 3, "permutations": 3, "datasets": [{"path": "cancer.csv", "label": "label"}],
    "algorithms": ["arow", {"id": "pa1", "grid": {"C": [0.5, 1.0]}}], "tuning": {"search": "grid"},
}  # fmt: skip
CROSSVAL = {
    "protocol": "crossval", "seed": 3, "folds": 3, "repeats": 2, "epochs": 2, "duplicates": "remove",
    "datasets": ["breast-cancer"], "algorithms": ["arow", {"id": "perceptron", "positives": 0.5}],
}  # fmt: skip


def differentiate(measure, n, step=1e-4):
    """Return n times the derivative of a measure by the weight of each row, all of which are one."""
    found = []
    for row in range(n):
        ends = []
        for sign in (1, -1):
            weights = np.ones(n)
            weights[row] += sign * step
            ends.append(measure(weights))
        found.append(n * (ends[0] - ends[1]) / (2 * step))
    return np.array(found)


def draw_margins(n=60):
    rng = np.random.default_rng(4)
    y = np.where(rng.random(n) < 0.3, 1.0, -1.0)
    # Rounded, so that margins are tied within a label and across.
    return y, np.round(rng.normal(size=n) + 0.7 * y, 1)


OF_SKLEARN = {
    "auc": lambda y, f, w: metrics.roc_auc_score(y, f, sample_weight=w),
    "hinge_loss": lambda y, f, w: metrics.hinge_loss(y, f, sample_weight=w),
    "squared_loss": lambda y, f, w: metrics.mean_squared_error(y, f, sample_weight=w),
    "log_loss": lambda y, p, w: metrics.log_loss(y > 0, p, sample_weight=w),
}


@for_each("name", MARGINS)
def test_an_influence_is_the_derivative_by_the_weight_of_a_row(name):
    y, f = draw_margins()
    scores = 1 / (1 + np.exp(-f)) if name == "log_loss" else f
    expected = differentiate(lambda w: OF_SKLEARN[name](y, scores, w), y.size)
    found = measures.influence(name, y, scores)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert abs(found.mean()) < 1e-12 < found.std()


def macro_f1(truth, predicted, w):
    return metrics.f1_score(truth, predicted, average="macro", sample_weight=w)


OF_CLASSES = {
    "balanced_accuracy": lambda t, p, w: metrics.balanced_accuracy_score(t, p, sample_weight=w),
    "kappa": lambda t, p, w: metrics.cohen_kappa_score(t, p, sample_weight=w),
    "macro_f1": macro_f1,
}


@for_each("name", OF_CLASSES)
def test_sums_of_influences_of_classes_are_those_of_their_rows(name):
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 4, 80)
    predicted = np.where(rng.random(80) < 0.6, truth, rng.integers(0, 4, 80))
    groups = rng.integers(0, 9, 80)
    rows = differentiate(lambda w: OF_CLASSES[name](truth, predicted, w), 80)
    sizes, missed = np.zeros((9, 4), int), np.zeros((9, 8), int)
    np.add.at(sizes, (groups, truth), 1)
    wrong = truth != predicted
    np.add.at(missed, (groups[wrong], truth[wrong]), 1)
    np.add.at(missed, (groups[wrong], 4 + predicted[wrong]), 1)
    found = measures.class_influence(name, sizes, missed)
    np.testing.assert_allclose(found, np.bincount(groups, rows), rtol=1e-5, atol=1e-6)


def test_a_class_that_does_not_occur_has_no_influence():
    sizes, missed = np.array([[5, 5, 0], [5, 5, 0]]), np.zeros((2, 6), int)
    missed[0, [0, 4]] = 1
    for name in OF_CLASSES:
        found = measures.class_influence(name, sizes, missed)
        assert np.isfinite(found).all()
        assert abs(found.sum()) < 1e-12
        assert found[0] < 0 < found[1]


def test_what_is_undefined_has_no_influence():
    f = np.array([1.0, -2.0, 3.0])
    assert np.isnan(measures.influence("auc", np.ones(3), f)).all()
    huge = measures.influence("squared_loss", np.ones(3), np.array([1e160, 1.0, -1.0]))
    assert not np.isfinite(huge).all()
    one = measures.class_influence("kappa", np.array([[3, 0], [3, 0]]), np.zeros((2, 4), int))
    assert np.isnan(one).all()


def run(config, folder, **more):
    X, y = load_breast_cancer(return_X_y=True)
    table = np.column_stack([2 * y - 1, (X - X.mean(axis=0)) / X.std(axis=0)])
    save("cancer.csv", table)
    return olbench.run({**config, **more}, folder, jobs=1, quiet=True)


def reported(folder):
    records = (each for each in ledger.current(Path(folder)).values() if each["role"] == "report")
    return [with_arrays(Path(folder), each) for each in records]


def count(groups, chosen, number=100):
    return np.bincount(groups[chosen], minlength=number).tolist()


def count_bytes(record, *names):
    own = {**record, "arrays": {}, "groups": {name: record["groups"][name] for name in names}}
    without = {name: value for name, value in own.items() if name != "groups"}
    return len(write_line(own)) - len(write_line(without))


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr("olbench.protocols.online.BLOCK_BYTES", 2000)


@for_each("order", ["exact", "windows"])
def test_a_reported_trial_has_its_counts_and_influences_by_group(order, small_blocks):
    results = run(ONLINE, order, measures=MARGINS, keep="predictions", order=order)
    source = find_source(results.config.datasets[0])
    y, groups = source.open().labels, seeds.groups(3, source.name, source.n)
    assert all(
        "groups" not in each for each in ledger.current(Path(order)).values() if each["role"] == "tune"
    )
    for record in reported(order):
        rows = oracle_order(record, source.n)
        f, own, labels = record["arrays"]["margins"], groups[rows], y[rows]
        wrong = (f >= 0) != (labels > 0)
        found = dict(record["groups"])
        assert found.pop("mistakes") == count(own, wrong)
        assert found.pop("false_alarms") == count(own, wrong & (labels < 0))
        assert record["mistakes"] == wrong.sum() > 0
        names = MARGINS if record["algorithm"] == "arow" else MARGINS[:3]
        assert list(found) == names
        for name in names[:3]:
            sums = np.bincount(own, measures.influence(name, labels, f), 100)
            np.testing.assert_allclose(found[name], sums, atol=1e-3 * np.abs(sums).max())
        assert count_bytes(record, "mistakes", "false_alarms") <= 600
        for name in names:
            both = count_bytes(record, "mistakes", name) - count_bytes(record, "mistakes")
            assert both <= 800, (name, both)
    [facts] = results.run.data.values()
    assert facts.groups == {"sizes": tuple(count(groups, y != 0)), "positives": tuple(count(groups, y > 0))}


def oracle_order(record, n):
    setting = record["setting"]
    own = record["seed"], record["dataset"], "report", record["number"], setting["part"], n
    if "block" not in setting:
        return seeds.order(*own)
    rows = []
    for places, order in seeds.windows(*own, setting["block"], setting["window"]):
        rows += np.concatenate([np.arange(n)[place] for place in places])[order].tolist()
    return np.array(rows)


def test_a_holdout_counts_the_rows_of_the_reported_half():
    results = run(ONLINE, "out", tuning={"search": "holdout"})
    source = find_source(results.config.datasets[0])
    rows = seeds.rows_of(seeds.REPORTED_HALF, 3, source.name, source.n)
    groups, y = seeds.groups(3, source.name, source.n), source.open().labels
    [facts] = results.run.data.values()
    assert list(facts.groups["sizes"]) == count(groups, rows)
    assert list(facts.groups["positives"]) == count(groups[rows], y[rows] > 0)
    for record in reported("out"):
        assert sum(record["groups"]["mistakes"]) == record["mistakes"] > 0
        assert all(np.array(record["groups"]["mistakes"]) <= facts.groups["sizes"])


def save(path, table):
    names = ",".join(["label", *(f"x{k}" for k in range(table.shape[1] - 1))])
    np.savetxt(path, table, delimiter=",", header=names, comments="", fmt="%g")


def write_digits():
    X, y = load_digits(return_X_y=True)
    save("digits.csv", np.column_stack([y[:600], X[:600] / 16]))
    return {"name": "digits", "path": "digits.csv", "label": "label", "labels": "all"}


@for_each("order", ["exact", "windows"])
def test_several_classes_have_mistakes_and_the_measures_that_were_asked_for(order, small_blocks):
    algorithms = ["pa1", {"id": "arow", "multiclass": "native", "covariance": "diag"}]
    asked = {"measures": ["kappa", "mistake_rate", "macro_f1"], "keep": "predictions", "order": order}
    config = {"seed": 3, "permutations": 2, "datasets": [write_digits()], "algorithms": algorithms}
    results = run(config, order, **asked)
    source = find_source(results.config.datasets[0])
    y, groups = source.open().labels, seeds.groups(3, source.name, source.n)
    for record in reported(order):
        rows = oracle_order(record, source.n)
        predicted, own = record["arrays"]["predictions"], groups[rows]
        assert list(record["groups"]) == ["mistakes", "kappa", "macro_f1"]
        assert record["groups"]["mistakes"] == count(own, predicted != y[rows])
        for name in ("kappa", "macro_f1"):
            moved = differentiate(partial(OF_CLASSES[name], y[rows], predicted), rows.size)
            expected = np.bincount(own, moved)
            np.testing.assert_allclose(record["groups"][name], expected, atol=2e-3 * np.abs(expected).max())
            assert count_bytes(record, "mistakes", name) - count_bytes(record, "mistakes") <= 800
    [facts] = results.run.data.values()
    assert facts.groups == {"sizes": tuple(count(groups, y >= 0))}


def test_folds_count_the_tested_rows_of_the_file():
    results = run(CROSSVAL, "out")
    source = find_source(DatasetSpec("breast-cancer"))
    groups, y = seeds.groups(3, "breast-cancer", source.n), source.open().labels
    for record in reported("out"):
        own = record["groups"]
        assert sum(own["mistakes"]) == record["errors"] >= sum(own["false_alarms"])
        assert ("n" in own) == ("positives" in own) == (record["algorithm"] == "perceptron")
        if "n" in own:
            assert sum(own["n"]) == record["n"] > sum(own["positives"])
    [facts] = results.run.data.values()
    assert list(facts.groups["sizes"]) == count(groups, y != 0)
    arow = next(each for each in results.entries if each.label == "arow")
    # A division tests every row once.
    wrong = np.concatenate([results.array(arow, fold, "wrong") for fold in range(3)])
    assert arow.groups["mistakes"][:3].sum() == wrong.sum() > 0
    assert arow.groups["mistakes"].shape == (6, 100)
    assert (arow.groups["mistakes"][:3].sum(axis=0) <= facts.groups["sizes"]).all()


def test_results_have_the_groups_that_all_trials_have(monkeypatch):
    results = run(ONLINE, "out")
    for entry in results.entries:
        assert sorted(entry.groups) == ["false_alarms", "mistakes"]
        assert entry.groups["mistakes"].shape == (3, 100)
        for name in entry.groups:
            np.testing.assert_array_equal(entry.groups[name].sum(axis=1), entry.columns[name])
    path = Path("out", ledger.NAME)
    records = list(ledger.each(Path("out")))
    first = next(each for each in records if each["role"] == "report")
    for each in (first,):
        del each["groups"]
    path.write_bytes(b"".join(map(write_line, records)))
    entry = next(each for each in load_results("out").entries if first["key"] in each.keys)
    assert entry.groups == {}
    first["groups"] = {"mistakes": [0] * 99 + ["x"]}
    path.write_bytes(b"".join(map(write_line, records)))
    with pytest.raises(olbench.UserError, match="its groups are not numbers"):
        load_results("out")


def test_older_records_are_reused_and_new_ones_get_groups(here):
    results = run(ONLINE, "out")
    path, old = Path("out", ledger.NAME), Path("out/run.json")
    whole = [{k: v for k, v in each.items() if k != "groups"} for each in ledger.each(Path("out"))]
    path.write_bytes(b"".join(map(write_line, whole)))
    facts = json.loads(old.read_text())
    del facts["data"]["cancer"]["groups"]
    old.write_text(json.dumps(facts))
    before = path.read_bytes()
    again = run(ONLINE, "out")
    assert path.read_bytes() == before
    assert again.entries[0].groups == {}
    assert olbench.verify("out", trials=3, jobs=1).passed
    path.write_bytes(b"".join(map(write_line, whole[:-1])))
    run(ONLINE, "out")
    assert ["groups" in each for each in ledger.each(Path("out"))] == [False] * (len(whole) - 1) + [True]
    assert list(ledger.current(Path("out"))) == [each["key"] for each in whole]
    assert olbench.verify("out", trials=3, jobs=1).passed
    del results


def test_verify_compares_the_groups():
    run(ONLINE, "out", measures=["hinge_loss"])
    path = Path("out", ledger.NAME)
    whole = list(ledger.each(Path("out")))
    victim = next(each for each in whole if each["role"] == "report")
    mistakes = victim["groups"]["mistakes"]
    place, other = mistakes.index(max(mistakes)), mistakes.index(0)
    mistakes[place], mistakes[other] = mistakes[place] - 1, 1
    path.write_bytes(b"".join(map(write_line, whole)))
    found = olbench.verify("out", trials=len(whole), jobs=1)
    assert [each.name for each in found.mismatches] == ["groups.mistakes"]
    mistakes[place] += 5
    path.write_bytes(b"".join(map(write_line, whole)))
    found = olbench.verify("out", trials=len(whole), jobs=1)
    assert any("but those of its groups are" in each for each in found.wrong)


def test_influences_are_compared_with_a_tolerance_and_counts_exactly():
    record = {"key": "k", "groups": {"mistakes": [3, 0], "auc": [1.5, -1.0]}}
    cases = {
        (3, 0, 1.501, -1.0): [],
        (3, 0, 1.51, -1.0): ["groups.auc"],
        (2, 1, 1.5, -1): ["groups.mistakes"],
    }
    for (a, b, c, d), names in cases.items():
        other = {"key": "k", "groups": {"mistakes": [a, b], "auc": [c, d]}}
        assert [each.name for each in compare_records([MISTAKES], record, other)] == names
    assert not list(compare_records([MISTAKES], {"key": "k"}, record))


def test_packed_records_keep_their_groups_and_memory_does_not():
    run(ONLINE, "out", measures=["auc"])
    records = list(ledger.each(Path("out")))
    assert list(packed.unpack(packed.pack(records))) == records
    with ledger.open_ledger(Path("out")) as book:
        assert all(each.get("groups") is None for each in book.records.values())


def test_sums_are_rounded_to_the_bytes_of_a_record():
    rng = np.random.default_rng(7)
    for scale in (1e-3, 1.0, 1e3, 1e6):
        sums = scale * rng.normal(size=100)
        rounded = round_sums(sums)
        assert np.abs(rounded - sums).max() <= 5e-3 * np.abs(sums).max()
        if scale >= 1:
            assert len(json.dumps(rounded, separators=(",", ":"))) <= 782
    assert round_sums(np.zeros(3)) == [0, 0, 0]
    assert round_sums(np.array([1.0, -2.5])) == [1, -2.5]
