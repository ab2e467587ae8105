"""Batch contestants fit all rows at once, and have no online pass."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer

from olbench import UserError, make_algorithm, online_pass
from olbench.algorithms import get_definition
from olbench.learners.contestants import BatchLearner
from olbench.learners.examples import as_examples
from olbench.learners.passes import predict_signs, train
from tests.cases import for_each
from tests.examples import noisy
from tests.refusals import refusal

IDS = ["naive-bayes", "maxent", "svm"]


def counts(n=200, d=30, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], n)
    rates = np.where(y[:, None] > 0, np.linspace(0.05, 0.6, d), np.linspace(0.6, 0.05, d))
    return rng.poisson(rates).astype(float), y


@for_each("storage", [np.asarray, sp.csr_matrix])
@for_each("id", IDS)
def test_they_fit_some_rows_and_predict_others(id, storage):
    assert get_definition(id).grid
    X, y = counts()
    examples = as_examples(storage(X))
    learner = BatchLearner(make_algorithm(id)).fit(examples.rows(), y, np.arange(150))
    predicted = learner.predict(examples.rows(), np.arange(150, 200))
    assert np.mean(predicted == y[150:]) > 0.8
    np.testing.assert_array_equal(predict_signs(learner, examples, np.arange(150, 200)), predicted)
    np.testing.assert_array_equal(learner.predict(examples.rows())[150:], predicted)
    assert learner.converged


@pytest.mark.parametrize("id", IDS)
def test_sparse_examples_stay_sparse(id, monkeypatch):
    """A dense copy of these rows would take 1.6 GB."""
    rng = np.random.default_rng(0)
    entries = (np.ones(2000), (rng.integers(200, size=2000), rng.integers(10**6, size=2000)))
    X = sp.csr_matrix(entries, shape=(200, 10**6))
    y = np.where(np.arange(X.shape[0]) % 2, 1.0, -1.0)
    examples = as_examples(X)
    seen = []
    learner = BatchLearner(make_algorithm(id))
    fit = learner.model.fit
    monkeypatch.setattr(learner.model, "fit", lambda X, y: seen.append(X) or fit(X, y))
    learner.fit(examples.rows(), y, np.arange(100))
    assert sp.issparse(seen[0])


def test_batch_and_online_learners_are_not_mixed_up():
    X, y = counts()
    for id in IDS:
        message = (
            f"{id} learns from all examples at once and has no online pass; run it in a cross-validation"
        )
        assert refusal(online_pass, make_algorithm(id), X, y).startswith(message)
        assert refusal(train, make_algorithm(id), X, y, [None]).startswith(message)
    assert refusal(BatchLearner, make_algorithm("arow")).startswith("arow learns online")


def test_maxent_minimises_the_logistic_loss():
    """C is the variance of the prior: minimise sum log(1 + exp(-m)) + ||w||^2 / (2 C), w with the bias."""
    X, y = noisy(n=150, d=4)
    learner = BatchLearner(make_algorithm("maxent", C=0.5)).fit(as_examples(X).rows(), y)

    def objective(w):
        return np.logaddexp(0.0, -y * (X @ w[:4] + w[4])).sum() + w @ w

    ours = np.append(learner.model.coef_.ravel(), learner.model.intercept_)
    assert objective(ours) <= minimize(objective, np.zeros(5)).fun + 1e-4


def test_svm_minimises_the_hinge_loss():
    X, y = noisy(n=150, d=4)
    learner = BatchLearner(make_algorithm("svm", C=0.5)).fit(as_examples(X).rows(), y)
    rng = np.random.default_rng(0)

    def objective(w):
        return 0.5 * np.maximum(0, 1 - y * (X @ w[:4] + w[4])).sum() + w @ w / 2

    ours = np.append(learner.model.coef_.ravel(), learner.model.intercept_)
    for scale in (1e-3, 1e-2, 0.1, 1.0):
        assert all(objective(ours) <= objective(ours + scale * rng.normal(size=5)) + 1e-4 for _ in range(100))


def test_naive_bayes_is_the_ratio_of_smoothed_counts():
    X, y = counts()
    learner = BatchLearner(make_algorithm("naive-bayes", alpha=0.1)).fit(as_examples(X).rows(), y)
    totals = [X[y == label].sum(axis=0) + 0.1 for label in (-1, 1)]
    ratios = np.log(totals[1] / totals[1].sum()) - np.log(totals[0] / totals[0].sum())
    prior = np.log(np.mean(y > 0) / np.mean(y < 0))
    expected = np.where(X @ ratios + prior > 0, 1, -1)
    np.testing.assert_array_equal(learner.predict(as_examples(X).rows()), expected)


def test_negative_values_are_not_counts():
    X, y = noisy()
    with pytest.raises(UserError, match="naive-bayes cannot fit these examples: Negative values"):
        BatchLearner(make_algorithm("naive-bayes")).fit(as_examples(X).rows(), y)
    learner = BatchLearner(make_algorithm("naive-bayes", model="bernoulli")).fit(as_examples(X).rows(), y)
    assert np.mean(learner.predict(as_examples(X).rows()) == y) > 0.6


def test_a_solver_that_gives_up_says_so():
    X, y = load_breast_cancer(return_X_y=True)
    labels = np.where(y > 0, 1.0, -1.0)
    learner = BatchLearner(make_algorithm("maxent", iterations=2)).fit(as_examples(X).rows(), labels)
    assert not learner.converged


@pytest.mark.parametrize(
    ("labels", "majority"), [([1, 1, -1], 1.0), ([-1, -1, 1], -1.0), ([1, -1], -1.0), ([1], 1.0)]
)
def test_the_constant_contestants_predict_one_label_for_every_row(labels, majority):
    """The more frequent one, or -1 if both are as frequent; or always -1."""
    X, unseen = np.ones((len(labels), 2)), np.zeros((5, 2))
    for id, expected in (("majority", majority), ("always-no", -1.0)):
        learner = BatchLearner(make_algorithm(id))
        learner.fit(as_examples(X).rows(), np.array(labels, float))
        np.testing.assert_array_equal(predict_signs(learner, unseen), np.full(5, expected))
