"""Compiled learners: two functions over declared arrays, in one loop."""

import itertools
import json
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import olbench
from olbench import UserError, load_plugin, make_algorithm, online_pass
from olbench.algorithms.definition import REGISTRY
from olbench.estimators import OnlineClassifier, estimator
from olbench.learners.breakdowns import find_breakdown
from olbench.learners.passes import predict_signs
from olbench.learners.start import start
from tests import ROOT
from tests.examples import noisy
from tests.refusals import find_wrong, refusal

PLUGIN = ROOT / "docs/examples/my_learners.py"
CONTESTANTS = ROOT / "docs/examples/my_contestants.py"


@pytest.fixture(scope="module")
def data():
    load_plugin(PLUGIN)
    X, y = noisy(n=400, d=7, density=0.7)
    X[::41] = 0.0
    return X, y


def test_an_own_arow_is_the_built_in_one(data):
    X, y = data
    arow = online_pass("arow", X, y, keep="margins")
    mine = online_pass("weighted-arow", X, y, weight=1.0, keep="margins")
    assert (mine.mistakes, mine.updates) == (arow.mistakes, arow.updates)
    np.testing.assert_allclose(mine.margins, arow.margins, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(mine.learner.state.sigma, arow.learner.covariance, rtol=1e-10, atol=1e-13)
    np.testing.assert_array_equal(mine.learner.state.sigma, mine.learner.state.sigma.T)
    assert mine.effective_updates == mine.updates - int((~X.any(axis=1)).sum())
    sparse = online_pass("weighted-arow", sp.csr_matrix(X), y, weight=1.0, stopped=lambda: False, curve=13)
    np.testing.assert_array_equal(sparse.learner.state.sigma, mine.learner.state.sigma)

    @estimator("weighted-arow")
    class WeightedArow(OnlineClassifier):
        r: float = 1.0
        weight: float = 2.0

    model = WeightedArow(weight=1.0, shuffle=False).fit(X, y)
    np.testing.assert_array_equal(model.coef_[0], mine.weights)
    assert model.__doc__.startswith("AROW with class weights\n\nParameters")


def test_a_trace_shows_margins_and_weights_of_every_round(data):
    kept = online_pass("fobos", *data, keep="margins")
    rounds = olbench.trace("fobos", *data)
    np.testing.assert_array_equal([each.margin * each.label for each in rounds], kept.margins)
    np.testing.assert_array_equal(rounds[-1].after.weights, kept.weights)
    quiet = next(each for each in rounds[100:] if not each.updated)
    assert quiet.loss is None
    assert np.abs(quiet.after.weights).sum() < np.abs(quiet.before.weights).sum()


def test_a_row_or_a_learner_that_is_too_large_has_a_reason(data):
    X, y = data[0].copy(), data[1]
    X[7] = 1e200
    result = online_pass("adagrad", X, y)
    assert result.breakdowns == 1
    assert np.isfinite(result.weights).all()
    assert "is not finite; scale the data" in find_breakdown("adagrad", X, y).reason
    with pytest.raises(UserError, match=r"weighted-arow needs .* GiB for 3,000,000 features"):
        start(make_algorithm("weighted-arow"), 3_000_000)


TEXT = """\
import math, numpy
from olbench import compiled_learner, dot

STEP = 1.0

@compiled_learner("mine", arrays={{"w": {shape}}})
class Mine:
    def score(arrays, columns, values, {score}
    def learn(arrays, columns, values, y, t, p):
        for k in range(columns.size):
            {learn}
        return {found}
"""
GOOD = {
    "shape": '"d"',
    "score": "t, p): return dot(arrays.w, columns, values)",
    "learn": "arrays.w[columns[k]] += STEP * y * values[k]",
    "found": "2",
}


@pytest.fixture
def write(tmp_path):
    folders = (tmp_path / str(number) for number in itertools.count())

    def write(**parts):
        folder = next(folders)
        folder.mkdir()
        (folder / "mine.py").write_text(TEXT.format(**{**GOOD, **parts}))
        return folder / "mine.py"

    yield write
    REGISTRY.pop("mine", None)


def test_an_edit_of_the_file_is_noticed(write):
    path = write()
    for step in (1.0, 2.0):
        path.write_text(TEXT.format(**GOOD).replace("STEP = 1.0", f"STEP = {step}"))
        REGISTRY.pop("mine", None)
        for name in [each for each in sys.modules if each.startswith("olbench_plugin_")]:
            del sys.modules[name]
        load_plugin(path)
        assert online_pass("mine", np.eye(3), [1, -1, 1]).weights.tolist() == [step, -step, step]


def test_learners_of_one_file_with_the_same_arrays_are_kept_apart(write):
    path = write()
    text = path.read_text()
    path.write_text(text + text.replace('"mine"', '"double"').replace("STEP * y", "2.0 * y"))
    load_plugin(path)
    weights = [online_pass(id, np.eye(2), [1, -1]).weights.tolist() for id in ("mine", "double")]
    REGISTRY.pop("double")
    assert weights == [[1.0, -1.0], [2.0, -2.0]]


BROKEN = [
    ({"learn": "arrays.w[columns[k] + 1] = 1.0"}, "mine.py:11: 'mine' fails: IndexError: index 4 is"),
    ({"learn": "arrays.u[0] = 1.0"}, "mine.py:11: 'mine' fails: AttributeError: "),
    (
        {"learn": "values[k] = 1.0"},
        "mine.py:11: 'mine' fails: ValueError: assignment destination is read-only",
    ),
    ({"found": "3"}, "learn of 'mine' returns 3; it must return 0 (no loss), 1"),
    ({"found": "None"}, "learn of 'mine' returns None"),
    ({"score": "t, p): arrays.w[0] = 1.0; return 0.0"}, "score of 'mine' changes its arrays"),
    ({"score": "t, p): return 'high'"}, "score of 'mine' returns 'high'; it must return a number"),
    ({"score": "p): return 0.0"}, "score of 'mine' takes (arrays, columns, values, p); it must take"),
    ({"learn": "z = {}"}, ": the rule of 'mine' does not compile"),
    ({"learn": "z = numpy.zeros(k)"}, "zeros(int64); a learner cannot allocate arrays: declare those that"),
    ({"learn": "z = numpy.zeros(k)"}, "mine.py:11: the rule of 'mine' does not compile: No implement"),
    ({"shape": '"n"'}, "the array w must have one of the shapes 'd', 'd x d', '1', or a shape"),
    ({"shape": '"d"}, parameters={"x": 1'}, "mine.py:9: 'mine' has a parameter 'x'; use Parameter("),
]


def test_a_learner_that_cannot_work_is_refused_with_its_line(write):
    def use(parts):
        REGISTRY.pop("mine", None)
        load_plugin(write(**parts))
        online_pass("mine", np.eye(2), [1, -1])

    assert find_wrong(BROKEN, use) == []


LATE = [
    {"learn": "arrays.w[columns[k] + (t > 60) * 1000000] = y"},
    {"score": "t, p): return arrays.w[0 if t <= 60 else t]"},
]
OUT_OF_BOUNDS = "mine.py:9: the rule of 'mine' fails during a pass: IndexError: index is out of bounds"


def test_a_wrong_index_is_noticed_after_the_rows_that_were_tried(write):
    """Without bounds checks it would read or write stray memory, and count what it found there."""
    X, y = noisy(300, 3)
    for parts in LATE:
        REGISTRY.pop("mine", None)
        load_plugin(write(**parts))
        assert online_pass("mine", X[:60], y[:60]).n == 60
        assert OUT_OF_BOUNDS in refusal(online_pass, "mine", X, y)


def test_a_wrong_index_is_noticed_in_a_prediction(write):
    load_plugin(write(score="t, p): return arrays.w[0 if columns.size < 8 else columns.size]"))
    learner = online_pass("mine", np.ones((20, 8))[:, :4] @ np.eye(4, 8), np.ones(20)).learner
    assert OUT_OF_BOUNDS in refusal(predict_signs, learner, np.ones((1, 8)))


def test_a_score_that_is_nan_is_told_apart_from_weights(write):
    load_plugin(write(score="t, p): return numpy.nan if t > 60 else 0.0"))
    reason = find_breakdown("mine", np.ones((90, 2)), np.ones(90)).reason
    assert reason == "`score` is not finite for a row with a single 1"


def test_a_run_resumes_and_counts_nonzeros(tmp_path, monkeypatch, here):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text(
        "datasets: [breast-cancer]\npermutations: 2\nmeasures: [mistake_rate, nonzeros, auc]\n"
        "algorithms: [my-adagrad, {id: rda, grid: {lam: [0, 1]}}, {id: weighted-arow, grid: {r: [1, 4]}}]\n"
        f"tuning: {{search: grid}}\nplugins: ['{PLUGIN}']\n"
    )
    here.out("run", "mine.yaml", "--out", "out", "--quiet")
    trials = (tmp_path / "out/trials.jsonl").read_text()
    here.out("run", "mine.yaml", "--out", "out", "--quiet")
    assert (tmp_path / "out/trials.jsonl").read_text() == trials
    here.out("check", "mine.yaml", "--against", "out", "--quiet")
    rows = json.loads(here.out("report", "out", "--format", "json"))["rows"]
    assert all(0 < row["nonzeros"]["mean"] <= 30 for row in rows)
    for protocol in ("stream\ndelay: 3\nmeasures: [accuracy, nonzeros]", "crossval\nfolds: 3"):
        text = f"protocol: {protocol}\ndatasets: [breast-cancer]\nalgorithms: [ftrl, my-sgd-logistic]\n"
        (tmp_path / "other.yaml").write_text(f"{text}plugins: ['{PLUGIN}', '{CONTESTANTS}']\n")
        here.out("run", "other.yaml", "--out", protocol[:6], "--quiet")
    # An object does not tell its weights.
    rows = json.loads(here.out("report", "stream", "--format", "json"))["rows"]
    found = {row["algorithm"]: row["nonzeros"]["mean"] for row in rows}
    assert found["ftrl"] > 0
    assert found["my-sgd-logistic"] is None
    assert "mu (d), sigma (d x d), z (d)" in here.out("algorithms", "--plugin", PLUGIN, "weighted-arow")
