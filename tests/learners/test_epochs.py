"""Several epochs on one learner, predictions for unseen rows, and the mean of the weights."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier

from olbench import make_algorithm, online_pass, wrap
from olbench.learners.passes import RING, StoppedError, predict_signs, train
from olbench.learners.start import start
from tests.cases import for_each
from tests.examples import built_in, noisy
from tests.refusals import refusal

ALL = [definition.id for definition in built_in()]
AVERAGED = ["averaged-perceptron", "averaged-pa", "averaged-pa1"]
COUNTS = ("mistakes", "updates", "effective_updates", "breakdowns")


def orders(n, epochs, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.permutation(n) for _ in range(epochs)]


@for_each("id", ALL)
def test_epochs_are_one_long_pass_in_parts(id):
    X, y = noisy(n=120, d=6, density=0.6)
    given = orders(len(y), 4)
    epochs = [(vars(epoch), epoch.weights) for epoch in train(make_algorithm(id), X, y, given)]
    whole = online_pass(make_algorithm(id), X, y, order=np.concatenate(given))
    for count in COUNTS:
        assert sum(epoch[count] for epoch, _ in epochs) == getattr(whole, count)
    np.testing.assert_array_equal(epochs[-1][1], whole.weights)
    first = online_pass(make_algorithm(id), X, y, order=given[0])
    assert epochs[0][0]["mistakes"] == first.mistakes
    np.testing.assert_array_equal(epochs[0][1], first.weights)


def test_the_curve_of_an_epoch_starts_anew():
    X, y = noisy()
    first, second = train(make_algorithm("perceptron"), X, y, orders(len(y), 2), curve=10)
    assert second.curve.mistakes[-1] == second.mistakes < first.mistakes
    assert (second.curve.updates[-1], len(second.curve.t)) == (second.updates, 10)
    assert second.learner is first.learner


def test_a_pass_longer_than_the_ring_of_its_learner_keeps_every_margin():
    X, y = noisy(n=RING + 100, d=2)
    kept = online_pass("perceptron", X, y, keep="margins")
    first = online_pass("perceptron", X[:100], y[:100], keep="margins")
    np.testing.assert_array_equal(kept.margins[:100], first.margins)
    assert np.count_nonzero(kept.positive != (y > 0)) == kept.mistakes


def test_training_stops_when_asked():
    X, y = noisy()
    asked = []

    def stopped():
        asked.append(True)
        return len(asked) > 5

    epochs = train(make_algorithm("arow"), X, y, orders(len(y), 1000), stopped=stopped)
    with pytest.raises(StoppedError):
        list(epochs)
    assert len(asked) == 6


def test_bad_input_is_refused_before_the_first_epoch():
    X, y = noisy()
    assert "X has 300 rows but y has 299 labels" in refusal(train, make_algorithm("arow"), X, y[1:], [None])
    assert "order names row 300" in refusal(list, train(make_algorithm("arow"), X, y, [[300]]))


@for_each("storage", [np.asarray, sp.csr_matrix])
@for_each(
    ("id", "options"),
    [*[(id, {}) for id in ALL], ("sop", {"covariance": "diag"}), ("cw", {"covariance": "diag"})],
)
def test_the_prediction_for_unseen_rows_is_that_of_a_pass(id, options, storage):
    """A learner predicts as it would online; a row of zeros is +1."""
    X, y = noisy(n=200, d=7, density=0.5)
    X[150::10] = 0.0
    algorithm = make_algorithm(id, **options)
    learner = online_pass(algorithm, storage(X[:150]), y[:150]).learner
    predicted = predict_signs(learner, storage(X), np.arange(150, 200))
    assert set(predicted) <= {-1.0, 1.0}
    assert (predicted[::10] == 1.0).all()
    if id not in AVERAGED:
        scores = np.array([online_pass(algorithm, [*X[:150], x], [*y[:150], 1.0]).mistakes for x in X[150:]])
        np.testing.assert_array_equal(predicted, np.where(scores == learner.mistakes, 1.0, -1.0))


@pytest.mark.parametrize("id", AVERAGED)
def test_averaging_changes_no_count_of_the_pass(id):
    assert not start(make_algorithm(id), 3).weights.any()
    X, y = noisy()
    plain, mean = (online_pass(make_algorithm(each), X, y) for each in (id.removeprefix("averaged-"), id))
    assert all(getattr(plain, count) == getattr(mean, count) for count in COUNTS)
    np.testing.assert_array_equal(mean.learner.last_weights, plain.weights)


def test_sgd_minimises_its_objective():
    """Many epochs come close to the minimum that a general solver finds."""
    from scipy.optimize import minimize

    X, y = noisy(n=200, d=4)
    lam = 0.05

    def objective(w):
        m = y * (X @ w)
        loss = np.where(m < -1, -4 * m, np.maximum(0, 1 - m) ** 2)
        return loss.mean() + lam / 2 * w @ w

    best = minimize(objective, np.zeros(4), method="BFGS").fun
    algorithm = make_algorithm("sgd", lam=lam, step="inverse")
    *_, last = train(algorithm, X, y, orders(len(y), 300))
    assert objective(last.weights) <= best + 2e-3


def test_objects_are_trained_and_predict_too():
    X, y = noisy(density=0.5)
    algorithm = wrap(SGDClassifier(random_state=0))
    assert (predict_signs(start(algorithm, X.shape[1]), X) == 1.0).all()
    _, second = train(algorithm, sp.csr_matrix(X), y, orders(len(y), 2))
    predicted = predict_signs(second.learner, sp.csr_matrix(X))
    np.testing.assert_array_equal(predicted, second.learner.model.predict(X))
    assert np.mean(predicted == y) > 0.7


def test_rivers_learners_predict_unseen_rows():
    river = pytest.importorskip("river.linear_model", reason="River is not installed")
    X, y = noisy()
    learner = online_pass(wrap(river.PAClassifier(C=1.0, mode=1, learn_intercept=False)), X, y).learner
    ours = online_pass(make_algorithm("pa1"), X, y).learner
    np.testing.assert_array_equal(predict_signs(learner, X), predict_signs(ours, X))
