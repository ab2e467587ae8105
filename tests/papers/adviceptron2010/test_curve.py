"""Curves on a test set: the same for every way to compute them."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, balanced_accuracy_score

from olbench import make_algorithm, online_pass
from olbench.learners.examples import as_examples
from olbench.learners.start import start
from olbench.papers.adviceptron2010.protocol import follow
from tests.cases import for_each
from tests.examples import noisy
from tests.papers.adviceptron2010.problems import random_advice

#: One algorithm of each way to keep weights.
LINEAR = ("perceptron", "averaged-pa1", "romma", "sgd", "adviceptron", "adviceptron-exact", "arow", "cw")


def data(d=5, density=1.0):
    X, y = noisy(n=160, d=d, density=density, seed=3)
    return X[:40], y[:40], X[40:], y[40:]


def follow_all(algorithm, X, y, X_test, y_test):
    tested = as_examples(X_test), y_test
    return follow(algorithm, (as_examples(X), y), tested, range(y.size + 1))


@for_each("id", LINEAR)
def test_each_point_is_the_accuracy_of_the_weights_so_far(id):
    X, y, X_test, y_test = data()
    order = np.random.default_rng(0).permutation(40)
    algorithm = make_algorithm(id)
    curve, _ = follow_all(algorithm, X[order], y[order], X_test, y_test)
    assert curve.accuracy.shape == (41,)
    for t in range(1, 41, 3):
        weights = online_pass(algorithm, X, y, order=order[:t]).weights
        predicted = np.where(X_test @ weights >= 0, 1.0, -1.0)
        assert curve.accuracy[t] == pytest.approx(accuracy_score(y_test, predicted))
        assert curve.balanced[t] == pytest.approx(balanced_accuracy_score(y_test, predicted))
    assert curve.accuracy[0] == np.mean(y_test > 0), "before the first example everything is positive"


@for_each(("id", "options"), [("no-change", {}), ("majority-so-far", {}), ("sop", {"covariance": "diag"})])
def test_what_does_not_predict_with_weights_is_scored_by_its_predictions(id, options):
    X, y, X_test, y_test = data()
    curve, _ = follow_all(make_algorithm(id, **options), X, y, X_test, y_test)
    learner = start(make_algorithm(id, **options), 5)
    learner.run(as_examples(X).rows(), y, np.arange(40))
    predicted = learner.predict(as_examples(X_test).rows(), np.arange(y_test.size))
    assert curve.accuracy[40] == np.mean((predicted > 0) == (y_test > 0))


def test_the_curve_of_a_start_by_advice_begins_with_what_the_advice_alone_gives():
    X, y, X_test, y_test = data()
    advice = random_advice(np.random.default_rng(1), 5, 2)
    algorithm = make_algorithm("adviceptron-exact", advice=advice, start="advice")
    alone = start(algorithm, 5).weights
    curve, weights = follow_all(algorithm, X, y, X_test, y_test)
    assert curve.accuracy[0] == np.mean((X_test @ alone >= 0) == (y_test > 0))
    np.testing.assert_array_equal(weights, online_pass(algorithm, X, y).weights)
