"""Several classes in one learner: counts of long-double references, K = 2, storage, slices, odd labels."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from olbench import make_algorithm, online_pass
from tests.reference.classes import run_classes

FIRST_ORDER = [
    ("perceptron", {}),
    ("perceptron", {"allocation": "uniform"}),
    ("perceptron", {"allocation": "prop"}),
    ("pa", {}),
    ("pa1", {"C": 0.05}),
    ("pa2", {"C": 0.05}),
    ("ogd", {"C": 0.5}),
    ("romma", {}),
    ("aromma", {}),
]
SECOND_ORDER = [
    (id, {**params, "covariance": covariance})
    for covariance in ("block", "shared")
    for id, params in (
        ("arow", {"r": 0.5}),
        ("cw", {"eta": 0.8}),
        ("scw1", {"C": 0.1, "eta": 0.8}),
        ("scw2", {"C": 0.5, "eta": 0.8}),
    )
]
DIAGONAL = [
    (id, {**params, "covariance": "diag", "projection": projection})
    for id, params, projections in (
        ("arow", {"r": 0.5}, ("kl", "l2")),
        ("cw", {"eta": 0.8}, ("kl", "l2", "exact")),
        ("scw1", {"C": 0.1, "eta": 0.8}, ("kl", "l2")),
        ("scw2", {"C": 0.5, "eta": 0.8}, ("kl", "l2")),
    )
    for projection in projections
]
LEARNERS = [*FIRST_ORDER, *SECOND_ORDER, *DIAGONAL]
every_learner = pytest.mark.parametrize(("id", "settings"), LEARNERS, ids=str)


@pytest.fixture(scope="module")
def digits():
    """Return the digits of scikit-learn, ten classes, in a random order."""
    X, y = load_digits(return_X_y=True)
    return X / 16.0, y, np.random.default_rng(5).permutation(y.size)


def noisy_classes(n=400, d=8, classes=4, seed=0):
    """Return examples of random linear classes, a fifth of the labels drawn at random, some entries zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    y = (X @ rng.normal(size=(d, classes))).argmax(axis=1)
    flipped = rng.random(n) < 0.2
    y[flipped] = rng.integers(0, classes, flipped.sum())
    return X, y


def native(id, X, y, order=None, **settings):
    return online_pass(make_algorithm(id, multiclass="native", **settings), X, y, order, labels="all")


def counts(result):
    return result.n, result.mistakes, result.updates, result.effective_updates, result.breakdowns


@every_learner
def test_counts_are_those_of_a_long_double_reference(digits, id, settings):
    X, y, order = digits
    result = native(id, X, y, order, **settings)
    name = f"{id} diag" if settings.get("covariance") == "diag" else id
    expected, learner = run_classes(name, X, y, order, 10, **settings)
    assert (result.mistakes, result.updates) == (expected.mistakes, expected.updates)
    assert result.breakdowns == 0
    np.testing.assert_array_equal(result.learner.confusion, expected.confusion)
    np.testing.assert_allclose(result.weights, learner.mu.astype(float), rtol=1e-6, atol=1e-8)
