"""Batch contestants fit all rows at once, and have no online pass."""

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import LinearSVC

from olbench import make_algorithm, online_pass
from olbench.algorithms import get_definition
from olbench.learners.contestants import BatchLearner
from olbench.learners.examples import as_examples
from olbench.learners.passes import predict_signs, train
from tests.cases import for_each
from tests.examples import noisy
from tests.refusals import find_wrong

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


@for_each("id", IDS)
def test_sparse_examples_stay_sparse(id):
    seen, y = [], np.where(np.arange(200) % 2, 1.0, -1.0)
    learner = BatchLearner(make_algorithm(id))
    fit = learner.model.fit
    learner.model.fit = lambda X, y: seen.append(X) or fit(X, y)
    learner.fit(as_examples(sp.random(200, 10**6, 1e-5, "csr", random_state=0)).rows(), y, np.arange(100))
    assert sp.issparse(seen[0])


def test_batch_and_online_learners_are_not_mixed_up():
    batch = "maxent learns from all examples at once and has no online pass; run it in a cross-validation"
    cases = [
        (online_pass, "maxent", *counts(), batch),
        (train, make_algorithm("maxent"), *counts(), [None], batch),
        (BatchLearner, make_algorithm("arow"), "arow learns online"),
        (fit_naive_bayes, "multinomial", "naive-bayes cannot fit these examples: Negative values"),
    ]
    assert find_wrong(cases, lambda act, *inputs: act(*inputs)) == []
    X, y = noisy()
    assert np.mean(fit_naive_bayes("bernoulli").predict(as_examples(X).rows()) == y) > 0.6


def fit_naive_bayes(model):
    X, y = noisy()
    return BatchLearner(make_algorithm("naive-bayes", model=model)).fit(as_examples(X).rows(), y)


SETTINGS = [
    ("maxent", {"C": 0.5}, LogisticRegression, {"C": 0.5, "solver": "liblinear", "max_iter": 1000}),
    ("svm", {"C": 0.5}, LinearSVC, {"C": 0.5, "loss": "hinge", "dual": "auto", "max_iter": 10_000}),
    ("naive-bayes", {"alpha": 0.1}, MultinomialNB, {"alpha": 0.1, "fit_prior": True}),
]


@for_each(("id", "given", "kind", "settings"), SETTINGS)
def test_they_are_scikit_learns_with_their_settings(id, given, kind, settings):
    model = BatchLearner(make_algorithm(id, **given)).model
    assert type(model) is kind
    assert settings.items() <= model.get_params().items()


@for_each(("labels", "majority"), [([1, 1, -1], 1.0), ([-1, -1, 1], -1.0), ([1, -1], -1.0), ([1], 1.0)])
def test_the_constant_contestants_predict_one_label_for_every_row(labels, majority):
    """The more frequent one, or -1 if both are as frequent; or always -1."""
    for id, expected in (("majority", majority), ("always-no", -1.0)):
        learner = BatchLearner(make_algorithm(id))
        learner.fit(as_examples(np.ones((len(labels), 2))).rows(), np.array(labels, float))
        assert predict_signs(learner, np.zeros((5, 2))).tolist() == [expected] * 5
