"""In the feature space of a kernel, learners do what they do on explicit features (cw2008, Theorem 2)."""

from unittest import mock

import numpy as np
import pytest

from olbench import UserError, make_algorithm, online_pass
from olbench.learners import learners
from olbench.learners.examples import as_examples
from olbench.learners.passes import predict_signs
from olbench.learners.start import start
from tests.cases import for_each
from tests.examples import built_in, counts, noisy
from tests.reference.learners import SECOND as RULES
from tests.refusals import refusal

L = np.longdouble
# ONS has its own parameter gamma, so it takes no kernel.
SECOND = [each.id for each in built_in() if each.order == "second" and each.id != "ons"]
every_kernel = for_each(
    "kernel",
    [{"kernel": "linear"}, {"kernel": "rbf", "gamma": 0.3}, {"kernel": "poly", "gamma": 0.2, "degree": 3},
     {"kernel": "poly", "gamma": 0.5, "degree": 2, "coef0": 1.0}],
)  # fmt: skip


def gram(X, Z, kernel, gamma=1.0, degree=3, coef0=0.0):
    X, Z = X.astype(L), Z.astype(L)
    if kernel == "linear":
        return X @ Z.T
    if kernel == "rbf":
        return np.exp(-L(gamma) * ((X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2))
    return (L(gamma) * (X @ Z.T) + L(coef0)) ** degree


@for_each("noise", [0.0, 0.1])
@for_each("id", SECOND)
def test_a_linear_kernel_equals_the_primal_run_count_for_count(id, noise):
    X, y = noisy(n=400, d=12, noise=noise, density=0.7)
    order = np.random.default_rng(1).permutation(len(y))
    primal = online_pass(make_algorithm(id), X, y, order)
    dual = online_pass(make_algorithm(id, kernel="linear"), X, y, order)
    assert counts(dual) == counts(primal)
    exponent = primal.learner.scale_exponent
    expected = np.ldexp(primal.weights, -exponent)
    np.testing.assert_allclose(dual.weights, expected, atol=1e-8 * np.abs(expected).max())
    sigma = np.ldexp(primal.learner.covariance, -2 * exponent)
    np.testing.assert_allclose(dual.learner.covariance, sigma, atol=1e-9)
    np.testing.assert_allclose(
        dual.learner.margin_variance(X), np.einsum("ij,jk,ik->i", X, sigma, X), atol=1e-8
    )


def representer(id, params, X, y, kernel, a):
    """Run cw2008's Theorem 2 with its proof put right, in long double; return mistakes, updates, nu and pi.

    mu = sum nu_p x_p and Sigma = sum pi_pq x_p x_q' + a I. With k the inner products of x and the rows before
    it, the coefficients of Sigma x are b = (pi k, a): nu += alpha y b, pi -= beta b b'. The printed (20)
    omits alpha y in the new entry, and (21) omits x_i x_i' between x_r and x_s.
    """
    K, n = gram(X, X, **kernel), len(y)
    nu, pi = np.zeros(n, dtype=L), np.zeros((n, n), dtype=L)
    mistakes = updates = 0
    for i in range(n):
        k = K[:, i]
        f, b = nu @ k, pi @ k
        b[i] = L(a)
        v, mistake = b @ k, (f >= 0) != (y[i] > 0)
        mistakes += int(mistake)
        _, alpha, c = RULES[id](params, L(y[i]) * f, v, mistake, i + 1)
        if alpha > 0:
            updates += 1
            nu, pi = nu + alpha * y[i] * b, pi - c / (1 + c * v) * np.outer(b, b)
    return mistakes, updates, nu, pi


CONFIDENT = {"eta": 0.8, "C": 0.5}


@every_kernel
@for_each(
    ("id", "params"), [("cw", {"eta": 0.8}), ("scw1", CONFIDENT), ("scw2", CONFIDENT), ("arow", {"r": 2.0})]
)
def test_the_representer_theorem_holds(id, params, kernel):
    X, y = noisy(n=120, d=4, noise=0.05)
    mistakes, updates, nu, pi = representer(id, params, X, y, kernel, a=0.7)
    ours = online_pass(make_algorithm(id, a=0.7, **params, **kernel), X, y)
    assert counts(ours) == (mistakes, updates, updates, 0)
    expected = nu[nu != 0].astype(float)
    np.testing.assert_allclose(ours.learner.coefficients, expected, atol=1e-8 * np.abs(expected).max())
    Z = np.random.default_rng(5).normal(size=(20, 4))
    cross = gram(X, Z, **kernel)
    variances = 0.7 * np.diag(gram(Z, Z, **kernel)) + np.einsum("ij,ik,kj->j", cross, pi, cross)
    np.testing.assert_allclose(ours.learner.margin_variance(Z), variances.astype(float), atol=1e-8)
    scores, found = (nu @ cross).astype(float), ours.learner.scores(as_examples(Z).rows(), np.arange(20))
    np.testing.assert_allclose(found, scores, atol=1e-8 * np.abs(scores).max())


@for_each("chunk", [1, 7, 512])
def test_the_support_grows_as_needed(chunk):
    """Neither the curve nor any count depends on how many rows are run at a time."""
    X, y = noisy(n=230, d=6)
    algorithm = make_algorithm("scw1", kernel="rbf", gamma=0.2)
    whole = online_pass(algorithm, X, y, curve=13)
    with mock.patch.object(learners, "CHUNK", chunk):
        cut = online_pass(algorithm, X, y, curve=13)
    assert counts(cut) == counts(whole)
    np.testing.assert_array_equal(cut.curve.mistakes, whole.curve.mistakes)
    np.testing.assert_array_equal(cut.curve.updates, whole.curve.updates)
    np.testing.assert_array_equal(cut.weights, whole.weights)
    assert online_pass(algorithm, X, y, order=[]).n == 0


def test_a_learner_goes_on_with_another_matrix():
    """The support is a copy, so the matrix of the next rows does not matter."""
    X, y = noisy(n=200, d=6, density=0.5)
    algorithm = make_algorithm("arow", kernel="rbf", gamma=0.2)
    whole, learner = online_pass(algorithm, X, y).learner, start(algorithm, 6)
    for part in (slice(0, 50), slice(50, 120), slice(120, 200)):
        learner.run(as_examples(X[part].copy()).rows(), y[part], np.arange(part.stop - part.start))
    np.testing.assert_array_equal(learner.coefficients, whole.coefficients)


def test_an_rbf_kernel_learns_from_an_empty_row():
    """The origin is a point like any other in its feature space."""
    result = online_pass(make_algorithm("arow", kernel="rbf"), np.zeros((1, 3)), [-1])
    assert counts(result) == (1, 1, 1, 0)
    assert predict_signs(result.learner, np.zeros((1, 3)))[0] == -1.0


def test_a_support_too_large_and_a_covariance_without_features_are_refused(monkeypatch):
    learner = online_pass(make_algorithm("arow", kernel="rbf"), *noisy(n=20)).learner
    no_matrix = "only a linear kernel has a covariance matrix over the features"
    assert no_matrix in refusal(lambda: learner.covariance)
    monkeypatch.setattr(learners, "available_memory", lambda: 10**6)
    with pytest.raises(UserError, match=r"a kernel with 512 support examples needs .* use fewer examples"):
        online_pass(make_algorithm("arow", kernel="rbf"), *noisy(n=600, d=3))
