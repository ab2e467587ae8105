"""Forgetting: variances grow between examples, up to their initial value."""

import numpy as np
import pytest

from olbench import make_algorithm, online_pass, second_order
from tests.cases import for_each
from tests.kernels.test_rounds import defined
from tests.reference import learners
from tests.refusals import find_wrong

RULES = [("arow", {"r": 0.5}), ("cw", {"eta": 0.55}), ("cw-var", {"eta": 0.8}), ("scw1", {}), ("scw2", {}),
         ("nherd", {}), ("narow", {"b": 4.0})]  # fmt: skip
N, D = 400, 5
DIAGONAL = {"covariance": "diag"}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((N, D)) * (rng.random((N, D)) < 0.7)
    X[:, -1] = 0.0  # a feature that is never seen
    w = np.where(np.arange(N) < N // 2, 1.0, -1.0)[:, None] * np.arange(1, D + 1)
    return X, np.where((X * w).sum(axis=1) + rng.standard_normal(N) >= 0, 1.0, -1.0)


@for_each("diag", [False, True])
@for_each("f", [0.9, 0.99, 0.999])
@for_each(("id", "params"), RULES)
def test_a_learner_forgets_as_defined(data, id, params, f, diag):
    X, y = data
    options = {"forgetting": f, "a": 2.0, **(DIAGONAL if diag else {})}
    algorithm = make_algorithm(id, **options, **params)
    result = online_pass(algorithm, X, y, keep="margins")
    reference, margins = learners.start(id, D, algorithm.params, {"covariance": "full", **options}), []
    for x, label in zip(X.astype(learners.L), y, strict=True):
        margins.append(float(reference.look(x)[1]))
        reference.learn(x, label)
    np.testing.assert_allclose(result.margins, margins, rtol=1e-6, atol=1e-8)
    assert result.updates == reference.updates
    sigma = np.ldexp(result.learner.covariance, -2 * result.learner.scale_exponent)
    np.testing.assert_allclose(sigma, reference.sigma.astype(float), rtol=1e-6, atol=1e-9)


def squared(m, v, mistake, t, p):
    return 1.0, (1.0 - m) / (v + 1.0), 1.0


def test_a_squared_loss_gives_least_squares_with_weights_that_decay(rng):
    """Recursive least squares with a forgetting factor: while no variance is back at its start."""
    X, f = rng.standard_normal((200, 3)), 0.95
    y = np.where(X @ [1.0, -2.0, 0.5] + rng.standard_normal(200) >= 0, 1.0, -1.0)
    with defined(second_order("squared"), squared) as id:
        mu = online_pass(id, X, y, forgetting=f, a=1e6).weights
    weighted = X.T * f ** np.arange(199, -1, -1)
    precision = np.eye(3) * 1e-6 * f**199 + weighted @ X
    np.testing.assert_allclose(mu, np.linalg.solve(precision, weighted @ y), rtol=1e-6)


@for_each("options", [{}, DIAGONAL])
@for_each("id", ["cw", "arow"])
def test_a_long_stream_neither_over_nor_underflows(options, id, rng):
    X = rng.standard_normal((30_000, 3)) * [1.0, 1.0, 0.0]
    X[0, 2] = 1.0  # seen once, then forgotten up to its start
    y = np.where(rng.random(30_000) < 0.5, 1.0, -1.0)
    learner = online_pass(make_algorithm(id, forgetting=0.5, a=3.0, **options), X, y).learner
    variances = learner.covariance if options else np.diag(learner.covariance)
    assert learner.breakdowns == 0
    assert np.isfinite(learner.weights).all()
    np.testing.assert_allclose(variances[2] / 4.0**learner.scale_exponent, 3.0, rtol=1e-9)


def test_an_algorithm_that_cannot_forget_says_why():
    cases = [
        ("arow", {"forgetting": 0.0}, "forgetting must lie in"),
        ("arow", {"forgetting": 1.5}, "forgetting must lie in"),
        ("arow", {"forgetting": "much"}, "forgetting must be a number"),
        ("arow", {"forgetting": 0.9, "form": "covariance"}, "stored as a root; leave form out"),
        ("arow", {"forgetting": 0.9, "kernel": "rbf"}, "which a kernel does not keep"),
        *((id, {"forgetting": 0.9}, f"{id} cannot forget") for id in ("iellip", "sop", "narow2010")),
        ("pa", {"forgetting": 0.9}, "unknown parameter 'forgetting'"),
    ]
    assert find_wrong(cases, lambda id, settings: make_algorithm(id, **settings)) == []
