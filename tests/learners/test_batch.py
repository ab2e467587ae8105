"""Batch contestants fit all rows at once, and have no online pass."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import LinearSVC

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


SETTINGS = [
    ("maxent", {"C": 0.5}, {"C": 0.5, "solver": "liblinear", "max_iter": 1000}),
    ("svm", {"C": 0.5}, {"C": 0.5, "loss": "hinge", "dual": "auto", "max_iter": 10_000}),
    ("naive-bayes", {"alpha": 0.1}, {"alpha": 0.1, "fit_prior": True}),
]


@for_each(("id", "given", "settings"), SETTINGS)
def test_they_are_scikit_learns_with_their_settings(id, given, settings):
    model = BatchLearner(make_algorithm(id, **given)).model
    kinds = {"maxent": LogisticRegression, "svm": LinearSVC, "naive-bayes": MultinomialNB}
    assert type(model) is kinds[id]
    assert settings.items() <= model.get_params().items()


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
