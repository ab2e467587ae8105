"""Forgetting: variances grow between examples, up to where they started; nothing else changes."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from olbench import Parameter, make_algorithm, online_pass, second_order
from olbench.algorithms.definition import REGISTRY
from olbench.errors import UserError
from olbench.learners.schedules import make_schedule
from tests.cases import for_each

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


class Gaussian:
    """Forgetting with a full or a diagonal covariance, written down as it is defined."""

    def __init__(self, id, params, f, a=1.0, diag=False, d=D):
        made = make_algorithm(id, **params)
        self.rule, self.p = made.definition.rule, made.definition.rule_constants(made.params)
        self.f, self.a, self.diag = f, a, diag
        self.mu, self.sigma, self.t = np.zeros(d), a * np.eye(d), 0

    def learn(self, x, y):
        if self.t:
            variances = np.diag(self.sigma)
            growth = np.sqrt(np.minimum(1.0 / self.f, self.a / variances))
            self.sigma = self.sigma * np.outer(growth, growth)
        self.t += 1
        m, v = y * float(self.mu @ x), float(x @ self.sigma @ x)
        loss, alpha, c = self.rule(m, v, m < 0, self.t, self.p)
        z = self.sigma @ x
        if v > 0:
            self.mu = self.mu + alpha * y * z
            self.sigma = self.sigma - c / (1 + c * v) * np.outer(z, z)
            if self.diag:
                before = (z / np.where(x == 0, 1, x))[x != 0]
                kept = np.diag(self.sigma).copy()
                kept[x != 0] = 1.0 / (1.0 / before + c * x[x != 0] ** 2)
                self.sigma = np.diag(kept)
        return m, loss > 0


@for_each("diag", [False, True])
@for_each("f", [0.9, 0.99, 0.999])
@for_each(("id", "params"), RULES)
def test_a_learner_forgets_as_defined(data, id, params, f, diag):
    X, y = data
    options = DIAGONAL if diag else {}
    result = online_pass(make_algorithm(id, forgetting=f, a=2.0, **options, **params), X, y, keep="margins")
    reference = Gaussian(id, params, f, 2.0, diag)
    rounds = [reference.learn(x, label) for x, label in zip(X, y, strict=True)]
    np.testing.assert_allclose(y * result.margins, [m for m, _ in rounds], rtol=1e-6, atol=1e-8)
    assert result.updates == sum(update for _, update in rounds)
    learner = result.learner
    scale = 2.0**learner.scale_exponent
    covariance = np.diag(learner.covariance) if diag else learner.covariance
    np.testing.assert_allclose(covariance / scale**2, reference.sigma, rtol=1e-6, atol=1e-9)


@for_each("options", [{"form": "root"}, DIAGONAL])
@for_each(("id", "params"), RULES)
def test_a_factor_of_one_is_no_forgetting(data, id, params, options):
    X, y = data
    plain = online_pass(make_algorithm(id, **options, **params), X, y)
    same = online_pass(make_algorithm(id, forgetting=1.0, **options, **params), X, y)
    np.testing.assert_array_equal(plain.weights, same.weights)


@pytest.mark.parametrize("options", [{}, DIAGONAL, {"covariance": "diag", "projection": "exact"}])
def test_storage_and_slices_leave_the_bits_alone(data, options):
    X, y = data
    algorithm = make_algorithm("cw", eta=0.8, forgetting=0.95, **options)
    whole = online_pass(algorithm, X, y)
    for other in (
        online_pass(algorithm, sp.csr_matrix(X), y),
        online_pass(algorithm, X, y, stopped=lambda: False, curve=13),
    ):
        np.testing.assert_array_equal(whole.weights, other.weights)
        np.testing.assert_array_equal(whole.learner.counters, other.learner.counters)


def test_full_and_diagonal_covariances_agree_on_single_features(rng):
    X = np.zeros((300, 4))
    X[np.arange(300), rng.integers(0, 4, 300)] = rng.standard_normal(300)
    y = np.where(rng.random(300) < 0.5, 1.0, -1.0)
    full = online_pass(make_algorithm("arow", forgetting=0.97), X, y)
    diag = online_pass(make_algorithm("arow", forgetting=0.97, covariance="diag"), X, y)
    assert (full.mistakes, full.updates) == (diag.mistakes, diag.updates)
    np.testing.assert_allclose(full.weights, diag.weights, rtol=1e-9)


def test_only_examples_that_are_learnt_make_a_learner_forget(data):
    """A learner that is taught some of the examples is one that never saw the others."""
    X, y = data
    taught = np.arange(N) % 3 == 0
    schedule = make_schedule(np.where(taught, np.arange(N) + 1, N + 1))
    for options in ({}, DIAGONAL):
        algorithm = make_algorithm("scw1", forgetting=0.98, **options)
        thinned = online_pass(algorithm, X[taught], y[taught])
        np.testing.assert_array_equal(online_pass(algorithm, X, y, order=schedule).weights, thinned.weights)


def test_a_squared_loss_gives_least_squares_with_weights_that_decay(rng):
    """Recursive least squares with a forgetting factor: while no variance is back at its start."""

    @second_order("squared", parameters=(Parameter("r", 1.0, "noise"),))
    def squared(m, v, mistake, t, p):
        return 1.0, (1.0 - m) / (v + p[0]), 1.0 / p[0]

    try:
        X, f, r = rng.standard_normal((200, 3)), 0.95, 0.7
        y = np.where(X @ [1.0, -2.0, 0.5] + rng.standard_normal(200) >= 0, 1.0, -1.0)
        mu = online_pass(make_algorithm("squared", r=r, forgetting=f, a=1e6), X, y).weights
    finally:
        del REGISTRY["squared"]
    weights = f ** np.arange(199, -1, -1) / r
    precision = np.eye(3) * 1e-6 * f**199 + (X * weights[:, None]).T @ X
    np.testing.assert_allclose(mu, np.linalg.solve(precision, (X * weights[:, None]).T @ y), rtol=1e-6)


def test_a_gaussian_over_f_is_the_best_memory_of_a_share_f():
    """N(mu, Sigma / f) minimises f E[-log p] - entropy: a share f of the past counts (Peterka 1981)."""
    f, sigma = 0.8, np.array([[1.0, 0.6], [0.6, 2.0]])
    inverse = np.linalg.inv(sigma)

    def objective(z):
        factor = np.array([[math.exp(z[0]), 0.0], [z[1], math.exp(z[2])]])
        shift = z[3:]
        expected = 0.5 * (np.trace(inverse @ factor @ factor.T) + shift @ inverse @ shift)
        return f * expected - (z[0] + z[2])

    z = minimize(objective, np.zeros(5), method="BFGS", options={"gtol": 1e-10}).x
    factor = np.array([[math.exp(z[0]), 0.0], [z[1], math.exp(z[2])]])
    np.testing.assert_allclose(factor @ factor.T, sigma / f, rtol=1e-5)
    np.testing.assert_allclose(z[3:], 0.0, atol=1e-5)


def test_the_step_after_forgetting_is_the_optimum_for_the_grown_gaussian(data):
    """AROW minimises KL(q | grown) + (squared hinge loss + variance) / (2 r)."""
    X, y = data
    r, f, n = 0.5, 0.9, 60
    reference = Gaussian("arow", {"r": r}, f)
    for x, label in zip(X[:n], y[:n], strict=True):
        reference.learn(x, label)
    growth = np.sqrt(np.minimum(1 / f, 1.0 / np.diag(reference.sigma)))
    mu, grown = reference.mu, reference.sigma * np.outer(growth, growth)
    learner = online_pass(make_algorithm("arow", r=r, forgetting=f), X, y, order=np.arange(n + 1)).learner
    x, label, seen = X[n], y[n], slice(0, D - 1)
    inverse = np.linalg.inv(grown)

    def objective(mean):
        shift = mean - mu
        return 0.5 * shift @ inverse @ shift + max(0.0, 1.0 - label * mean @ x) ** 2 / (2 * r)

    best = minimize(objective, mu, method="BFGS", options={"gtol": 1e-12}).x
    np.testing.assert_allclose(learner.weights, best, rtol=1e-4, atol=1e-6)
    if label * mu @ x < 1:
        expected = np.linalg.inv(inverse + np.outer(x, x) / r)
        np.testing.assert_allclose(learner.covariance[seen, seen], expected[seen, seen], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("options", [{}, DIAGONAL])
def test_a_long_stream_neither_over_nor_underflows(options, rng):
    X = rng.standard_normal((30_000, 3)) * [1.0, 1.0, 0.0]
    X[0, 2] = 1.0  # seen once, then forgotten up to its start
    y = np.where(rng.random(30_000) < 0.5, 1.0, -1.0)
    for id in ("cw", "arow"):
        learner = online_pass(make_algorithm(id, forgetting=0.5, a=3.0, **options), X, y).learner
        variances = learner.covariance if options else np.diag(learner.covariance)
        assert learner.breakdowns == 0
        assert np.isfinite(learner.weights).all()
        np.testing.assert_allclose(variances[2] / 4.0**learner.scale_exponent, 3.0, rtol=1e-9)


@for_each(
    ("id", "settings", "words"),
    [
        ("arow", {"forgetting": 0.0}, "forgetting must lie in"),
        ("arow", {"forgetting": 1.5}, "forgetting must lie in"),
        ("arow", {"forgetting": "much"}, "forgetting must be a number"),
        ("arow", {"forgetting": 0.9, "form": "covariance"}, "stored as a root; leave form out"),
        ("arow", {"forgetting": 0.9, "kernel": "rbf"}, "which a kernel does not keep"),
        ("iellip", {"forgetting": 0.9}, "iellip cannot forget"),
        ("sop", {"forgetting": 0.9}, "sop cannot forget"),
        ("narow2010", {"forgetting": 0.9}, "narow2010 cannot forget"),
        ("pa", {"forgetting": 0.9}, "unknown parameter 'forgetting'"),
    ],
)
def test_what_cannot_forget_says_why(id, settings, words):
    with pytest.raises(UserError, match=words):
        make_algorithm(id, **settings)


def test_the_moments_of_some_features_have_grown_too(data):
    X, y = data
    lacking = np.flatnonzero(X[:, 0] == 0.0)[-1]
    learner = online_pass("arow", X[: lacking + 1], y[: lacking + 1], forgetting=0.9, **DIAGONAL).learner
    some = np.array([4, 0, 2])
    means, variances = learner.moments_at(some)
    np.testing.assert_array_equal(means, learner.weights[some])
    np.testing.assert_array_equal(variances, learner.covariance[some])
