"""Label budgets: only labels that are asked for are learnt."""

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier

from olbench import make_algorithm, online_pass, wrap
from olbench.errors import UserError
from olbench.kernels.counters import UNLEARNED
from olbench.learn.examples import as_examples
from olbench.learn.passes import run_learner
from olbench.learn.querying import QueryingLearner

N, D = 600, 5
LEARNERS = [("perceptron", {}), ("pa1", {}), ("arow", {}), ("cw", {}), ("arow", {"covariance": "diag"}),
            ("cw", {"covariance": "diag", "projection": "exact"}), ("arow", {"kernel": "linear"}),
            ("arow", {"forgetting": 0.99})]  # fmt: skip


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(8)
    X = rng.standard_normal((N, D))
    return X, np.where(X @ [2.0, -1.0, 0.5, 0.0, 0.0] + 0.5 * rng.standard_normal(N) >= 0, 1.0, -1.0)


def query(algorithm, X, y, budget, by="margin", delay=0, **how):
    learner = QueryingLearner(algorithm.start(X.shape[1]), budget, by, delay)
    return run_learner(learner, as_examples(X), y, np.arange(len(y)), **how)


def reference(algorithm, X, y, budget, by, delay):
    """The strategy as it is written down in the paper, with a learner that learns one example at a time."""
    learner, rows = algorithm.start(X.shape[1]), as_examples(X).rows()
    learner.warm_up()
    spent, threshold, asked, margins = 0.0, 1.0, [], []
    for t in range(len(y)):
        scale = 2.0 ** getattr(learner, "scale_exponent", 0)
        f = learner.scores(rows, np.array([t]))[0] / scale
        certainty = abs(f)
        if by == "confidence" and f != 0:
            certainty /= np.sqrt(learner.margin_variance(X[t : t + 1])[0]) / scale
        ask = False
        if spent / 100 < budget:
            ask = certainty < threshold
            threshold *= 0.99 if ask else 1.01
        spent = spent * 0.99 + ask
        asked.append(ask)
        margins.append(f)
        if t >= delay and asked[t - delay]:
            learner.run(rows, y, np.array([t - delay]))
    return np.array(margins), np.array(asked), learner


@pytest.mark.parametrize("delay", [0, 3])
@pytest.mark.parametrize("by", ["margin", "confidence"])
@pytest.mark.parametrize(("id", "settings"), LEARNERS)
def test_labels_are_asked_for_as_the_paper_says(data, id, settings, by, delay):
    X, y = data
    algorithm = make_algorithm(id, **settings)
    if by == "confidence" and not algorithm.start(D).has_variances:
        with pytest.raises(UserError, match="cannot ask by confidence; use query: margin"):
            query(algorithm, X, y, 0.1, by)
        return
    # Units of a learner that is rescaled do not matter to a confidence, but they do to a margin.
    expected, asked, learner = reference(algorithm, X, y, 0.1, by, delay)
    found = query(algorithm, X, y, 0.1, by, delay, keep="margins")
    np.testing.assert_allclose(found.margins, expected, rtol=1e-9, atol=1e-12)
    assert found.learner.learnt == learner.learnt
    assert found.updates == learner.updates
    assert 0.05 * N < np.count_nonzero(asked) < 0.15 * N
    sliced = query(algorithm, X, y, 0.1, by, delay, keep="margins", stopped=lambda: False, curve=23)
    np.testing.assert_array_equal(sliced.margins, found.margins)
    assert sliced.curve.unlearned[-1] == found.learner.counters[UNLEARNED]


@pytest.mark.parametrize("by", ["margin", "confidence"])
@pytest.mark.parametrize(("id", "settings"), LEARNERS)
def test_a_budget_of_one_is_no_budget(data, id, settings, by):
    X, y = data
    algorithm = make_algorithm(id, **settings)
    if by == "confidence" and not algorithm.start(D).has_variances:
        return
    plain, paid = online_pass(algorithm, X, y), query(algorithm, X, y, 1.0, by)
    np.testing.assert_array_equal(plain.learner.counters, paid.learner.counters)
    np.testing.assert_array_equal(plain.weights, paid.weights)


def test_a_contestant_asks_as_a_kernel_does(data):
    X, y = data
    model = SGDClassifier(loss="log_loss", random_state=0)
    result = query(wrap(model), X[:300], y[:300], 0.2, delay=2, keep="margins")
    assert result.n == 300
    assert 20 < result.learner.learnt < 90
    assert result.mistakes == np.count_nonzero((result.margins >= 0) != (y[:300] > 0))
