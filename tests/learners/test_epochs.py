"""Several epochs on one learner, predictions for unseen rows, and the mean of the weights."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.linear_model import SGDClassifier

from olbench import make_algorithm, online_pass, wrap
from olbench.learners.passes import RING, StoppedError, predict_signs, train
from olbench.learners.start import start
from tests.cases import for_each
from tests.examples import built_in, noisy

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
    epochs = [(vars(epoch), epoch.weights) for epoch in train(make_algorithm(id), X, y, given, curve=10)]
    whole = online_pass(make_algorithm(id), X, y, order=np.concatenate(given))
    for count in COUNTS:
        assert sum(epoch[count] for epoch, _ in epochs) == getattr(whole, count)
    np.testing.assert_array_equal(epochs[-1][1], whole.weights)
    first = online_pass(make_algorithm(id), X, y, order=given[0])
    np.testing.assert_array_equal(epochs[0][1], first.weights)
    for epoch, _ in epochs:  # the curve of an epoch starts anew
        assert (epoch["curve"].mistakes[-1], len(epoch["curve"].t)) == (epoch["mistakes"], 10)


def test_a_pass_longer_than_the_ring_of_its_learner_keeps_every_margin():
    X, y = noisy(n=RING + 100, d=2)
    kept = online_pass("perceptron", X, y, keep="margins")
    first = online_pass("perceptron", X[:100], y[:100], keep="margins")
    np.testing.assert_array_equal(kept.margins[:100], first.margins)
    assert np.count_nonzero(kept.positive != (y > 0)) == kept.mistakes


def test_training_stops_when_asked():
    asked = iter([False] * 5 + [True])
    epochs = train(make_algorithm("arow"), *noisy(), orders(300, 1000), stopped=lambda: next(asked))
    with pytest.raises(StoppedError):
        list(epochs)
    assert not list(asked)


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


def test_sgd_minimises_its_objective():
    """Many epochs come close to the minimum that a general solver finds."""
    X, y = noisy(n=200, d=4)
    lam = 0.05

    def objective(w):
        m = y * (X @ w)
        loss = np.where(m < -1, -4 * m, np.maximum(0, 1 - m) ** 2)
        return loss.mean() + lam / 2 * w @ w

    *_, last = train(make_algorithm("sgd", lam=lam, step="inverse"), X, y, orders(len(y), 300))
    assert objective(last.weights) <= minimize(objective, np.zeros(4), method="BFGS").fun + 2e-3


def test_objects_are_trained_and_predict_too():
    X, y = noisy(density=0.5)
    algorithm = wrap(SGDClassifier(random_state=0))
    assert (predict_signs(start(algorithm, X.shape[1]), X) == 1.0).all()
    _, second = train(algorithm, sp.csr_matrix(X), y, orders(len(y), 2))
    predicted = predict_signs(second.learner, sp.csr_matrix(X))
    np.testing.assert_array_equal(predicted, second.learner.model.predict(X))
    assert np.mean(predicted == y) > 0.7
