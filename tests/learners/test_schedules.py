"""Schedules: every kernel may predict an example in one round and learn it in a later one."""

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.metrics import confusion_matrix

from olbench import make_algorithm, online_pass
from olbench.kernels.counters import ONLY_LEARN, ONLY_PREDICT, ROW
from olbench.kernels.rows import score_rows
from olbench.learners.examples import as_examples
from olbench.learners.schedules import count_predictions, make_schedule
from olbench.learners.start import start
from tests.cases import for_each
from tests.examples import noisy
from tests.refusals import refusal

N, D, WIDE = 300, 6, 140
#: One learner of every kernel; "wide" has enough features for the kernel of large matrices.
KERNELS = [
    ("perceptron", {}), ("ogd", {}), ("romma", {}), ("averaged-pa1", {}), ("arow", {}), ("scw1", {}),
    ("cw", {}), ("arow", {"form": "root"}), ("scw1", {"covariance": "diag"}),
    ("nherd", {"covariance": "diag", "projection": "l2"}), ("sop", {"covariance": "diag"}),
    ("cw", {"covariance": "diag", "projection": "exact"}), ("arow", {"kernel": "rbf", "gamma": 0.1}),
    ("adviceptron", {}), ("wide", {}),
]  # fmt: skip
FORGETFUL = [
    ("arow", {"forgetting": 0.97}), ("cw", {"forgetting": 0.97}),
    ("scw1", {"covariance": "diag", "forgetting": 0.97}),
    ("cw", {"covariance": "diag", "forgetting": 0.97, "projection": "exact"}),
    *((id, {}) for id in ("adagrad", "adagrad-da", "ftrl", "tg", "fobos", "rda", "adam")),
]  # fmt: skip


def data(id):
    return noisy(n=N, d=WIDE if id == "wide" else D, density=0.8)


def make(id, settings):
    return make_algorithm("arow" if id == "wide" else id, **settings)


def play(id, settings, X, y, schedule):
    """Follow a schedule entry by entry: return the margins of the predictions, and the learner."""
    learner = start(make(id, settings), X.shape[1])
    learner.warm_up()
    rows, margins = as_examples(X).rows(), []
    for entry in schedule.tolist():
        row = np.array([entry & ROW])
        if entry < ONLY_LEARN:
            margins.append(last_scores(learner, rows, row)[0])
        if not ONLY_PREDICT <= entry < ONLY_LEARN:
            learner.run(rows, y, row)
    return np.array(margins), learner


def last_scores(learner, rows, row):
    """Return the score that a pass predicts with: averaged learners predict with their last weights."""
    if learner.algorithm.definition.averaged:
        scores = np.empty(1)
        score_rows(rows, row, learner.last_weights, scores)
        return scores
    return np.ldexp(learner.scores(rows, row), -learner.scale_exponent)


@for_each("storage", [np.asarray, sp.csr_matrix])
@for_each(("id", "settings"), KERNELS)
def test_predictions_and_lessons_apart_are_those_of_single_rounds(id, settings, storage):
    X, y = data(id)
    schedule = make_schedule(np.arange(N) + 1 + np.random.default_rng(1).integers(0, 9, N))
    expected, single = play(id, settings, X, y, schedule)
    found = online_pass(make(id, settings), storage(X), y, order=schedule, keep="margins")
    np.testing.assert_allclose(found.margins, expected, rtol=1e-12, atol=1e-14)
    assert found.n == N
    assert found.mistakes == np.count_nonzero((expected >= 0) != (y > 0))
    assert (found.updates, found.effective_updates) == (single.updates, single.effective_updates)


@for_each(("id", "settings"), KERNELS)
def test_slices_of_a_schedule_have_the_same_bits(id, settings):
    X, y = data(id)
    ask = {"order": make_schedule(np.arange(N) + 4), "keep": "margins"}
    whole = online_pass(make(id, settings), X, y, **ask)
    sliced = online_pass(make(id, settings), X, y, **ask, stopped=lambda: False, curve=37)
    np.testing.assert_array_equal(whole.margins, sliced.margins)
    np.testing.assert_array_equal(whole.learner.counters, sliced.learner.counters)


@for_each(("id", "settings"), KERNELS)
def test_no_delay_is_the_pass_itself(id, settings):
    X, y = data(id)
    plain = online_pass(make(id, settings), X, y)
    split = np.column_stack([np.arange(N) | ONLY_PREDICT, np.arange(N) | ONLY_LEARN]).ravel()
    for order in (make_schedule(np.arange(N) + 1), split):
        other = online_pass(make(id, settings), X, y, order=order)
        np.testing.assert_array_equal(other.learner.counters[:8], plain.learner.counters[:8])
        np.testing.assert_array_equal(other.curve.false_alarms, plain.curve.false_alarms)


@for_each(
    ("id", "settings", "delay"),
    [*((*each, 0) for each in KERNELS), *((*each, 10) for each in KERNELS + FORGETFUL)],
)
def test_a_kept_variance_is_that_of_the_prediction_however_late_its_label(id, settings, delay):
    X, y = data(id)
    algorithm, schedule = make(id, settings), make_schedule(np.arange(N) + 1 + delay)
    if not start(algorithm, X.shape[1]).has_variances:
        assert "has no variances" in refusal(online_pass, algorithm, X, y, keep="variances")
        return
    plain = online_pass(algorithm, X, y, order=schedule)
    kept = online_pass(algorithm, X, y, order=schedule, keep="variances")
    np.testing.assert_array_equal(kept.learner.counters[:8], plain.learner.counters[:8])
    np.testing.assert_array_equal(kept.weights, plain.weights)
    for row in (0, 1, 9, 10, 11, 50, N - 1):
        before = online_pass(algorithm, X, y, order=np.arange(max(0, row - delay))).learner
        v = np.ldexp(before.margin_variance(X[row : row + 1]), -2 * before.scale_exponent)[0]
        np.testing.assert_allclose(kept.variances[row], v, rtol=1e-9)


@for_each(("id", "settings"), KERNELS)
def test_a_round_that_only_predicts_never_breaks_down(id, settings):
    X, y = data(id)
    X[7] = 1e300
    late = online_pass(make(id, settings), X, y, order=make_schedule(np.arange(N) + 11))
    assert late.breakdowns == online_pass(make(id, settings), X, y).breakdowns


def test_the_label_of_a_row_is_learnt_when_enough_rows_are_predicted():
    schedule = make_schedule(np.array([1, 9, 3, 3, 5]))
    words = [("p" if e < ONLY_LEARN else "l") + str(e & ROW) for e in schedule]
    assert words == ["p0", "l0", "p1", "p2", "l2", "l3", "p3", "p4", "l4"]
    assert make_schedule(np.array([9, 9, 9])).tolist() == (np.arange(3) | ONLY_PREDICT).tolist()
    assert make_schedule(np.arange(3) + 1).tolist() == [0, 1, 2]
    assert count_predictions(make_schedule(np.array([2, 3, 9]))) == 3


def test_an_order_with_a_role_that_does_not_exist_is_refused():
    X, y = np.eye(3), np.array([1, -1, 1])
    for bad in (3 | ONLY_PREDICT, 0 | ONLY_PREDICT | ONLY_LEARN, 2**62):
        assert "order names row" in refusal(online_pass, "pa", X, y, order=[0, bad])


@for_each("name", ["digits", "wide"])
def test_one_learner_per_class_follows_a_schedule(name):
    X, y = load_digits(return_X_y=True) if name == "digits" else (data("wide")[0], np.arange(N) % 3)
    X, y = X[:N] / 16, y[:N]
    order = make_schedule(np.arange(N) + 6)
    late = online_pass("arow", X, y, order=order, labels="all", keep="margins")
    learners = [start(make_algorithm("arow"), X.shape[1]) for _ in range(y.max() + 1)]
    rows, predicted = as_examples(X).rows(), []
    for t in range(N):
        predicted.append(int(np.argmax([each.scores(rows, np.array([t]))[0] for each in learners])))
        for k, each in enumerate(learners if t >= 5 else ()):
            each.run(rows, np.where(y == k, 1.0, -1.0), np.array([t - 5]))
    assert late.margins.tolist() == predicted
    np.testing.assert_array_equal(late.learner.confusion, confusion_matrix(y, predicted))
    assert late.mistakes == np.count_nonzero(np.array(predicted) != y)
