"""The protocol stream: given order, late labels, windows, baselines, drifts."""

import numpy as np
from river import evaluate, linear_model, metrics, optim

from olbench import load_dataset, load_results, make_algorithm, online_pass, run
from olbench.learners.schedules import make_schedule
from olbench.protocols.stream import find_drifts, measure_drifts
from olbench.records import ledger
from olbench.records.arrays import read_array
from tests.refusals import find_wrong

BASE = {"protocol": "stream", "datasets": ["breast-cancer"], "algorithms": ["perceptron", "arow"]}
DATA = load_dataset("breast-cancer")
N = len(DATA.y)


def play(folder, **changes):
    run({**BASE, **changes}, folder, jobs=1)
    records = [r for r in ledger.current(folder).values() if r["role"] == "report"]
    return {(r["algorithm"], r["number"]): r for r in records}


def late(delay, n=N):
    return make_schedule(np.arange(n) + 1 + delay)


def test_learners_of_river_count_the_same_to_the_example_however_late_labels_are():
    """River shows a label before the prediction `delay` rows on: its 10 is 9 here. At margin 0 it says no.

    Its perceptron also learns at a margin of zero, as a margin perceptron with margin 0 does.
    """
    data = load_dataset("sea")
    X, y = np.asarray(data.X)[:3000], data.y[:3000]
    hinge = optim.losses.Hinge(threshold=0.0)
    perceptron = linear_model.LogisticRegression(optimizer=optim.SGD(1.0), loss=hinge, intercept_lr=0.0)
    cases = [("margin-perceptron", {"margin": 0.0}, perceptron, 0)]
    for mode, delay in ((1, 0), (1, 9), (2, 0), (2, 1)):
        model = linear_model.PAClassifier(C=1.0, mode=mode, learn_intercept=False)
        cases.append((f"pa{mode}", {"C": 1.0}, model, delay))
    for id, params, model, delay in cases:
        result = online_pass(make_algorithm(id, **params), X, y, order=late(delay, y.size), keep="margins")
        rows = ((dict(enumerate(row)), bool(label > 0)) for row, label in zip(X.tolist(), y, strict=True))
        steps = evaluate.iter_progressive_val_score(
            rows, model, metrics.Accuracy(), delay=delay + 1, step=1, yield_predictions=True
        )
        theirs, decided = np.array([step["Prediction"] for step in steps]), result.margins != 0
        assert not theirs[~decided].any()
        assert np.array_equal((result.margins >= 0)[decided], theirs[decided])
        assert np.count_nonzero(~decided) == delay + 1  # before the first label


def test_no_change_has_its_published_accuracy_on_electricity(mirror):
    data = load_dataset("elec2", mirror=str(mirror))
    assert round(1 - online_pass("no-change", data.X, data.y).mistake_rate, 4) == 0.8533


def test_drifts_of_a_generator_are_measured(tmp_path):
    forgetful = {"id": "arow", "forgetting": 0.99, "name": "forgetful"}
    play(tmp_path, datasets=["sea"], algorithms=["arow", forgetful])
    records = [r for r in ledger.current(tmp_path).values() if r["algorithm"] == "arow"]
    plain, other = sorted(records, key=lambda record: "forgetting" in record["options"])
    assert plain["drifts"]["row"] == other["drifts"]["row"] == [10_000, 20_000, 30_000]
    assert all(depth > 0.02 for depth in plain["drifts"]["depth"])
    assert sum(other["drifts"]["lost"]) < sum(plain["drifts"]["lost"])


def test_the_effects_of_a_drift():
    right = np.array([True, False] * 100 + [False] * 40 + [True] * 160)
    effects = measure_drifts(right, [200], 100)
    assert (effects["before"], effects["depth"]) == ([0.5], [0.5])
    assert effects["recovery"] == [40]
    assert effects["lost"] == [0.5 * 40]
    never = measure_drifts(np.array([True] * 100 + [False] * 50), [100], 100)
    assert (never["recovery"], never["lost"]) == ([None], [50.0])
    assert measure_drifts(right, [], 100)["row"] == []


def test_chance_is_hardly_ever_taken_for_a_fall(rng):
    """Without a drift, next to nothing is lost; a fall by 20 points for 1000 examples is found as such."""
    lost = [measure_drifts(rng.random(10_000) < 0.8, [5000], 1000)["lost"][0] for _ in range(200)]
    assert np.median(lost) < 10
    falls = np.repeat([0.8, 0.6, 0.8], [5000, 1000, 4000])
    effects = [measure_drifts(rng.random(10_000) < falls, [5000], 1000) for _ in range(200)]
    assert abs(np.median([each["recovery"][0] for each in effects]) - 1000) < 100
    assert abs(np.median([each["lost"][0] for each in effects]) - 200) < 25
    marked = find_drifts(rng.random(4000) < np.repeat([0.95, 0.4], 2000))
    assert any(2000 < row < 2300 for row in marked)
    assert not any(row < 2000 for row in marked)


def test_pairs_add_up_to_the_auc(tmp_path):
    record = play(tmp_path, measures=["auc"])["arow", 0]
    pairs = read_array(tmp_path, record["arrays"]["pairs"])
    total = pairs[-2].sum() * pairs[-1].sum()
    np.testing.assert_allclose(0.5 * pairs[:-2].sum() / total, record["auc"], rtol=1e-12)


def test_a_measure_can_be_added_later_and_only_its_trials_run_again(tmp_path):
    play(tmp_path)
    before = (tmp_path / "trials.jsonl").read_bytes()
    play(tmp_path, measures=["balanced_accuracy", "f1"])
    assert (tmp_path / "trials.jsonl").read_bytes() == before  # counts are there already
    records = play(tmp_path, measures=["auc"])
    assert (tmp_path / "trials.jsonl").read_bytes().startswith(before)
    assert all("auc" in record for record in records.values())
    frame = load_results(tmp_path).to_frame()
    assert frame["auc"].between(0, 1).all()


def test_a_wrong_setting_is_one_sentence(tmp_path):
    (tmp_path / "one.libsvm").write_text("+1 1:1\n+1 1:2\n")
    (tmp_path / "four.libsvm").write_text("+1 1:1\n-1 1:2\n" * 2)
    four = {"datasets": [str(tmp_path / "four.libsvm")], "tuning": {"search": "grid"}, "algorithms": ["pa1"]}
    prefix = {"tuning": {"search": "grid", "prefix": 0.1}, "warm": 100, "algorithms": ["pa1"]}
    cases = [
        ({"delay": N}, "so no label would arrive with a delay of 569"),
        ({"window": 0}, "window must be a whole number from 1"),
        ({"warm": N}, "none is left to score after the first 569"),
        ({"drifts": [5, 3]}, "ascending"),
        ({"drifts": [10_000]}, "569 rows; drifts must be between 1 and 568"),
        ({"measures": ["aucc"]}, "measures must be"),
        ({"measures": ["macro_f1"]}, "use f1 instead of macro_f1"),
        (prefix, "no rows are left for tuning: the prefix of tuning has 57 of 569 rows, and warm is 100; "),
        (four, "no rows are left for tuning: the prefix of tuning has 0 of 4 rows; raise it"),
        ({"permutations": 3}, "permutations does not apply to protocol: stream"),
        ({"datasets": [str(tmp_path / "one.libsvm")]}, "two distinct labels"),
    ]
    out = tmp_path / "out"
    assert find_wrong(cases, lambda changes: run({**BASE, **changes}, out, jobs=1)) == []
    assert not (out / "trials.jsonl").exists()
