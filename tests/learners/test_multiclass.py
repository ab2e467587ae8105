"""One learner per class, from a pass to a report."""

import json
from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import load_digits

from olbench import make_algorithm, online_pass, run
from olbench.learners.classes import RING, choose_class
from olbench.learners.passes import predict_signs, windowed_pass
from tests.refusals import find_wrong

ROWS = 300


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:ROWS], y[:ROWS], np.random.default_rng(7).permutation(ROWS)


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
    for other in (sliced, read):
        assert (np.diff([0.0, *other.curve.seconds, other.seconds]) >= 0.0).all()


def test_labels_can_be_words_and_the_learner_predicts_their_numbers(digits):
    X, y, order = digits
    words = np.array([f"digit {label}" for label in y])
    numbers = online_pass("pa1", X, y, order, labels="all")
    result = online_pass("pa1", X, words, order, labels="all")
    assert result.mistakes == numbers.mistakes
    predicted = predict_signs(result.learner, X)
    assert np.mean(predicted == y) > 0.9
    assert "examples 300, classes 10, mistakes" in repr(result)


def test_equal_margins_go_to_the_first_class_and_nan_is_the_lowest():
    assert online_pass("pa", np.eye(3), [2, 1, 0], labels="all").mistakes == 2
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


def test_a_config_runs_resumes_checks_and_reports_all_classes(tmp_path, here):
    X, y = load_digits(n_class=3, return_X_y=True)
    table, path, out = tmp_path / "three.csv", tmp_path / "three.yaml", tmp_path / "out"
    np.savetxt(table, np.column_stack([X, y + 4])[:120], fmt="%g", delimiter=",")
    path.write_text(
        f"datasets: [{{path: {table}, labels: all}}, {{name: digits-1-vs-7, labels: all}}]\n"
        "algorithms: [pa1, {id: arow, covariance: diag}]\npermutations: 2\ncurve: 5\n"
        "measures: [accuracy, balanced_accuracy, kappa, macro_f1]\n"
    )
    results = run(path, out, jobs=1)
    assert results.datasets == ["three", "digits-1-vs-7[all]"]
    frame = results.to_frame()
    assert (frame[["accuracy", "balanced_accuracy", "kappa", "macro_f1"]] > 0.0).all(axis=None)
    np.testing.assert_array_equal(frame.accuracy, (frame.n - frame.mistakes) / frame.n)
    records = [json.loads(line) for line in (out / "trials.jsonl").read_text().splitlines()]
    assert {(each["dataset"], each["setting"]["classes"]) for each in records} == {
        ("three", 3), ("digits-1-vs-7[all]", 10),
    }  # fmt: skip
    # More updates than examples: one learner per class.
    assert any(each["updates"] > each["n"] for each in records)
    run(path, out, jobs=1)
    assert len((out / "trials.jsonl").read_text().splitlines()) == len(records) == 8
    assert "digits-1-vs-7[all]" in here.out("report", out)
    here.out("check", path, "--against", tmp_path / "base.json", "--update")
    here.out("check", path, "--against", tmp_path / "base.json")


def test_labels_and_configs_without_a_meaning_are_refused(tmp_path):
    given = [
        ([1, 1, 1], "all", "same label"),
        ([0, 1], "all", "X has 3 rows"),
        ([0.0, np.nan, 1.0], "all", "NaN"),
        ([[0], [1], [2]], "all", "one dimension"),
        ([0, 1, 2], "some", "labels must be one of two, all"),
        ([0, 1, 2], "two", "only -1 and"),
    ]
    data = "datasets: [{{name: digits-1-vs-7, labels: {}}}]".format
    configs = [
        (data("all, positive: 1"), "positive and negative cannot be combined"),
        (data("some"), "labels must be"),
        ("protocol: crossval\n" + data("all"), "protocol crossval"),
    ]

    def run_config(line):
        (tmp_path / "wrong.yaml").write_text(f"{line}\nalgorithms: [pa1]\n")
        run(tmp_path / "wrong.yaml", tmp_path / "out")

    assert find_wrong(given, lambda y, labels: online_pass("pa", np.eye(3), y, labels=labels)) == []
    assert find_wrong(configs, run_config) == []
