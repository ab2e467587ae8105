"""Gaussians combine as cw2012, section 7.10, says: checked against a minimiser of the paper's objective."""

from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

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
