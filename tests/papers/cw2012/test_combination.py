"""Gaussians combine as cw2012, section 7.10, says: checked against a minimiser of the paper's objective."""

from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from olbench import make_algorithm
from olbench.learners.examples import as_examples
from olbench.learners.start import start
from olbench.papers.cw2012.combination import Sums
from olbench.protocols.definition import fold

FEATURES = 12


def model(random, size=5, a=1.0, variances=True):
    columns = np.sort(random.choice(FEATURES, size, replace=False)).astype(np.uint32)
    means = random.standard_normal(size)
    spread = a * random.uniform(0.05, 1.0, size) if variances else np.full(size, a)
    counts = random.integers(1, 9, size)
    mu, sigma = np.zeros(FEATURES), np.full(FEATURES, a)
    mu[columns], sigma[columns] = means, spread
    return Sums.of(columns, means, spread if variances else None, counts, a), mu, sigma


def full(sums, way):
    return sums.weights(way, np.arange(FEATURES, dtype=np.uint32))


def divergence(mu, sigma, others):
    return sum(
        0.5 * np.sum(sigma / variances + (mu - means) ** 2 / variances - 1 - np.log(sigma / variances))
        for means, variances in others
    )


@pytest.mark.parametrize("a", [1.0, 0.3])
def test_the_kl_combination_minimises_the_total_divergence(a, rng):
    """Over all features: those that a model never saw count with mean 0 and variance a."""
    models = [model(rng, a=a) for _ in range(4)]
    others = [(mu, sigma) for _, mu, sigma in models]
    found = minimize(
        lambda z: divergence(z[:FEATURES], np.exp(z[FEATURES:]), others),
        np.zeros(2 * FEATURES), method="L-BFGS-B", options={"maxiter": 10_000, "ftol": 1e-15, "gtol": 1e-9},
    )  # fmt: skip
    sums = fold((each for each, _, _ in models), add)
    np.testing.assert_allclose(full(sums, "kl"), found.x[:FEATURES], atol=1e-5)


def test_features_that_no_model_saw_are_zero(rng):
    sums = fold((model(rng)[0] for _ in range(2)), add)
    untouched = np.setdiff1d(np.arange(FEATURES), sums.columns)
    assert untouched.size
    assert (full(sums, "kl")[untouched] == 0).all()


@given(st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_the_order_of_combination_does_not_matter_beyond_rounding(count, seed):
    random = np.random.default_rng(seed)
    models = [model(random)[0] for _ in range(count)]
    tree = fold(models, add)
    chain = reduce(lambda total, each: each + total, models)
    shuffled = fold([models[k] for k in random.permutation(count)], add)
    assert tree.n == chain.n == shuffled.n == count
    for other in (chain, shuffled):
        assert (other.columns == tree.columns).all()
        for way in ("l2", "kl", "counts"):
            np.testing.assert_allclose(other.means(way), tree.means(way), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("id", "settings"),
    [
        ("cw-var", {"covariance": "diag", "phi": 0.3}),
        ("cw", {"covariance": "diag", "projection": "exact", "eta": 0.8}),
        ("arow", {"covariance": "diag", "projection": "l2", "a": 0.5}),
        ("pa1", {"C": 0.1}),
        ("averaged-pa", {}),
        ("romma", {}),
    ],
)
def test_a_learner_that_forgets_its_features_is_as_new(id, settings, rng):
    X = rng.standard_normal((60, 9)) * (rng.random((60, 9)) < 0.4)
    X[:30, 5:] = 0.0
    y = np.where(rng.random(60) < 0.5, 1.0, -1.0)
    rows, columns = as_examples(X).rows(), np.arange(9, dtype=np.uint32)
    used, fresh = (start(make_algorithm(id, **settings), 9) for _ in range(2))
    used.run(rows, y, np.arange(30))
    np.testing.assert_allclose(used.moments_at(columns)[0], used.weights, rtol=1e-15)
    used.reset(np.arange(5, dtype=np.uint32))
    for learner in (used, fresh):
        learner.run(rows, y, np.arange(30, 60))
    assert (used.counters == fresh.counters).all()
    assert (used.weights == fresh.weights).all()
    for one, other in zip(used.moments_at(columns), fresh.moments_at(columns), strict=True):
        assert (one is None) == (other is None)
        assert one is None or (one == other).all()
