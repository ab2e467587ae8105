"""More than two classes: one learner per class, multi-class mistakes, from a pass to a report."""

import json
from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import load_digits

from olbench import UserError, load_dataset, load_results, make_algorithm, online_pass, run
from olbench.learners.classes import RING, choose_class
from olbench.learners.examples import as_examples
from olbench.learners.passes import predict_signs, windowed_pass
from olbench.learners.start import start
from tests.cases import for_each

ROWS = 300


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:ROWS], y[:ROWS], np.random.default_rng(7).permutation(ROWS)


class Perceptron:
    def __init__(self, d):
        self.w, self.updates = np.zeros(d), 0

    def learn(self, x, y):
        f = self.w @ x
        if (f >= 0) != (y > 0):
            self.w, self.updates = self.w + y * x, self.updates + 1
        return f


class Arow:
    """AROW with r = 1 and a full covariance, by the formulas of its paper."""

    def __init__(self, d):
        self.w, self.sigma, self.updates = np.zeros(d), np.eye(d), 0

    def learn(self, x, y):
        f, z = self.w @ x, self.sigma @ x
        if y * f < 1:
            beta = 1 / (x @ z + 1)
            self.w = self.w + (1 - y * f) * beta * y * z
            self.sigma = self.sigma - beta * np.outer(z, z)
            self.updates += 1
        return f


@pytest.mark.parametrize(("id", "learner"), [("perceptron", Perceptron), ("arow", Arow)])
def test_a_pass_counts_what_a_plain_loop_over_learners_counts(digits, id, learner):
    X, y, order = digits
    learners = [learner(X.shape[1]) for _ in range(10)]
    mistakes = []
    for i in order:
        margins = [each.learn(X[i], 1 if y[i] == k else -1) for k, each in enumerate(learners)]
        mistakes.append(int(np.argmax(margins)) != y[i])
    result = online_pass(id, X, y, order, curve=ROWS, labels="all")
    assert result.curve.mistakes.tolist() == np.cumsum(mistakes).tolist()
    assert result.updates == sum(each.updates for each in learners)
    np.testing.assert_allclose(result.weights, [each.w for each in learners], rtol=1e-6, atol=1e-9)


@for_each(
    ("id", "settings"),
    [
        ("averaged-pa1", {}),
        ("cw", {}),
        ("sop", {"covariance": "diag"}),
        ("scw1", {"covariance": "diag"}),
        ("cw", {"covariance": "diag", "projection": "exact"}),
        ("arow", {"kernel": "rbf", "gamma": 0.001}),
        ("adviceptron", {}),
    ],
)
def test_every_kernel_keeps_the_margins_of_its_learner(digits, id, settings):
    """The binary mistakes of each class follow from the margins that its learner kept."""
    X, y, order = digits
    algorithm, rows = make_algorithm(id, **settings), as_examples(X).rows()
    learner = start(algorithm, X.shape[1])
    learner.keep_margins(np.full((512, 2), np.nan))
    signs = np.where(y == 3, 1.0, -1.0)
    learner.run(rows, signs, order[:100])
    learner.run(rows, signs, order[100:])
    margins = learner.margins[: order.size, 0]
    assert np.isfinite(margins).all()
    assert np.isnan(learner.margins[order.size :]).all()
    assert np.count_nonzero((margins >= 0) != (signs[order] > 0)) == learner.mistakes > 0
    bare = start(algorithm, X.shape[1])
    bare.run(rows, signs, order)
    np.testing.assert_array_equal(bare.weights, learner.weights)


def test_a_wide_covariance_keeps_its_margins(rng):
    X, y = rng.standard_normal((60, 140)), rng.integers(0, 3, 60)
    result = online_pass("arow", X, y, curve=60, labels="all")
    learners, mistakes = [Arow(140) for _ in range(3)], []
    for x, label in zip(X, y, strict=True):
        margins = [each.learn(x, 1 if label == k else -1) for k, each in enumerate(learners)]
        mistakes.append(int(np.argmax(margins)) != label)
    assert result.curve.mistakes.tolist() == np.cumsum(mistakes).tolist()


def test_slices_and_windows_and_points_change_nothing(digits):
    X, y, _ = digits
    order = np.random.default_rng(1).integers(0, ROWS, 2 * RING + 77)  # rows come again
    whole = online_pass("scw1", X, y, order, curve=1, labels="all")
    sliced = online_pass("scw1", X, y, order, curve=50, stopped=lambda: False, labels="all")
    parts = [order[:1000], order[1000:]]
    windows = ((X, y.astype(float), part) for part in parts)
    read = windowed_pass(make_algorithm("scw1"), windows, X.shape[1], order.size, 50, classes=10)
    for other in (sliced, read):
        assert (other.mistakes, other.updates, other.n) == (whole.mistakes, whole.updates, order.size)
        np.testing.assert_array_equal(other.weights, whole.weights)
    assert read.curve.mistakes.tolist() == sliced.curve.mistakes.tolist()
    assert sliced.curve.mistakes[-1] == whole.mistakes


def test_labels_can_be_words_and_the_learner_predicts_their_numbers(digits):
    X, y, order = digits
    words = np.array([f"digit {label}" for label in y])
    numbers = online_pass("pa1", X, y, order, labels="all")
    result = online_pass("pa1", X, words, order, labels="all")
    assert result.mistakes == numbers.mistakes
    predicted = predict_signs(result.learner, X)
    assert np.mean(predicted == y) > 0.9
    assert "examples 300, classes 10, mistakes" in repr(result)


def test_who_knows_nothing_predicts_the_first_class():
    result = online_pass("pa", np.eye(3), [2, 1, 0], labels="all")
    assert result.mistakes == 2


def test_equal_margins_go_to_the_first_class_and_no_number_is_the_lowest():
    margins = np.array([[1.0, np.nan, np.nan, -5.0], [1.0, -9.0, np.inf, np.nan], [0.0, -9.0, -1.0, -4.0]])
    assert choose_class(margins, np.zeros(margins.shape)).tolist() == [0, 1, 2, 2]


def test_margins_of_different_scales_are_compared_exactly(rng):
    margins = rng.standard_normal((4, 300)) * 2.0 ** rng.integers(-30, 30, (4, 300))
    margins[rng.random(margins.shape) < 0.1] = 0.0
    exponents = 256.0 * rng.integers(0, 20, margins.shape)
    exact = [
        max(range(4), key=lambda k: (Fraction(margins[k, t]) / 2 ** int(exponents[k, t]), -k))
        for t in range(300)
    ]
    assert choose_class(margins, exponents).tolist() == exact


@for_each(
    ("y", "labels", "message"),
    [
        ([1, 1, 1], "all", "same label"),
        ([0, 1], "all", "X has 3 rows"),
        ([0.0, np.nan, 1.0], "all", "NaN"),
        ([[0], [1], [2]], "all", "one dimension"),
        ([0, 1, 2], "some", "labels must be one of two, all"),
        ([0, 1, 2], "two", "only -1 and"),
    ],
)
def test_wrong_labels_are_refused(y, labels, message):
    with pytest.raises(UserError, match=message):
        online_pass("pa", np.eye(3), y, labels=labels)


def test_objects_of_other_libraries_are_compared_by_their_decision_function(digits):
    from sklearn.linear_model import SGDClassifier

    from olbench import wrap

    X, y, order = digits
    order = order[:40]
    models = [SGDClassifier(loss="hinge", random_state=0) for _ in range(10)]
    mistakes = 0
    for t, i in enumerate(order):
        margins = [model.decision_function(X[i : i + 1])[0] if t else 0.0 for model in models]
        mistakes += int(np.argmax(margins)) != y[i]
        for k, model in enumerate(models):
            model.partial_fit(X[i : i + 1], [1.0 if y[i] == k else -1.0], classes=[-1.0, 1.0])
    contestant = wrap(SGDClassifier(loss="hinge", random_state=0))
    result = online_pass(contestant, X, y, order, labels="all")
    assert (result.mistakes, result.updates) == (mistakes, 400)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with three classes of digits as CSV and as LIBSVM text."""
    folder = tmp_path_factory.mktemp("classes")
    X, y = load_digits(n_class=3, return_X_y=True)
    X, y = X[:120], y[:120] + 4
    np.savetxt(folder / "three.csv", np.column_stack([X, y]), fmt="%g", delimiter=",")
    lines = [
        f"{label} " + " ".join(f"{j + 1}:{x:g}" for j, x in enumerate(row) if x or j == 63)
        for row, label in zip(X, y, strict=True)
    ]
    (folder / "three.libsvm").write_text("\n".join(lines) + "\n")
    return folder


def test_both_formats_have_the_same_classes(folder):
    table, text = (load_dataset(folder / name, labels="all") for name in ("three.csv", "three.libsvm"))
    assert sorted(set(table.y.tolist())) == [0.0, 1.0, 2.0]
    assert table.fingerprint == text.fingerprint
    swapped = load_dataset(folder / "three.csv", positive=[5, 6]).fingerprint
    assert swapped != table.fingerprint
    with pytest.raises(UserError, match="positive and negative cannot be combined"):
        load_dataset(folder / "three.csv", positive=4, labels="all")


def test_a_config_runs_resumes_checks_and_reports_all_classes(folder, tmp_path, here):
    path = tmp_path / "three.yaml"
    path.write_text(
        f"datasets: [{{path: {folder / 'three.csv'}, labels: all}}, {{name: digits-1-vs-7, labels: all}}]\n"
        "algorithms: [pa1, {id: arow, covariance: diag}]\npermutations: 2\ncurve: 5\n"
    )
    out = tmp_path / "out"
    results = run(path, out, jobs=1)
    assert results.datasets == ["three", "digits-1-vs-7[all]"]
    records = [json.loads(line) for line in (out / "trials.jsonl").read_text().splitlines()]
    assert len(records) == 8
    assert {(each["dataset"], each["setting"]["classes"]) for each in records} == {
        ("three", 3), ("digits-1-vs-7[all]", 10),
    }  # fmt: skip
    # More updates than examples: one learner per class.
    assert any(each["updates"] > each["n"] for each in records)
    run(path, out, jobs=1)
    assert len((out / "trials.jsonl").read_text().splitlines()) == 8
    frame = load_results(out).to_frame()
    X, y = load_digits(return_X_y=True)
    from olbench.records import seeds

    order = seeds.order(0, "digits-1-vs-7[all]", "report", 1, seeds.ALL, y.size)
    expected = online_pass("pa1", X, y, order, labels="all")
    row = frame[(frame.dataset == "digits-1-vs-7[all]") & (frame.algorithm == "pa1") & (frame.number == 1)]
    assert (row.mistakes.item(), row.updates.item()) == (expected.mistakes, expected.updates)
    assert "digits-1-vs-7[all]" in here.out("report", out)
    baseline = tmp_path / "base.json"
    assert here("check", path, "--against", baseline, "--update")[0] == 0
    assert here("check", path, "--against", baseline)[0] == 0


@for_each("measure", ["accuracy", "balanced_accuracy", "kappa", "macro_f1"])
def test_a_measure_of_several_classes_is_reported_and_its_trials_are_reused(folder, tmp_path, measure):
    path, out = tmp_path / "three.yaml", tmp_path / measure
    path.write_text(
        f"datasets: [{{path: {folder / 'three.csv'}, labels: all}}]\nalgorithms: [pa1]\npermutations: 2\n"
        f"measures: [{measure}]\n"
    )
    frame = run(path, out, jobs=1).to_frame()
    assert (frame[measure] > 0.0).all()
    if measure == "accuracy":
        np.testing.assert_array_equal(frame.accuracy, (frame.n - frame.mistakes) / frame.n)
    run(path, out, jobs=1)
    assert len((out / "trials.jsonl").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "datasets: [{name: digits-1-vs-7, labels: all, positive: 1}]",
            "positive and negative cannot be combined",
        ),
        ("datasets: [{name: digits-1-vs-7, labels: some}]", "labels must be"),
        ("protocol: crossval\ndatasets: [{name: digits-1-vs-7, labels: all}]", "protocol crossval"),
    ],
)
def test_a_config_refuses_what_has_no_meaning(tmp_path, line, message):
    path = tmp_path / "wrong.yaml"
    path.write_text(f"{line}\nalgorithms: [pa1]\n")
    with pytest.raises(UserError, match=message):
        run(path, tmp_path / "out")


def test_ten_classes_of_the_real_usps_digits(mirror, monkeypatch, tmp_path):
    data = load_dataset("usps", labels="all")
    assert data.X.shape[1] == 256
    assert np.unique(data.y).tolist() == list(range(10))
    order = np.random.default_rng(0).permutation(data.y.size)
    rates = {id: online_pass(id, data.X, data.y, order, labels="all").mistake_rate for id in ("pa1", "arow")}
    assert rates["arow"] < rates["pa1"] < 0.2
