"""The batch solution: optimal, and the limit in which examples or rules do not count."""

import numpy as np

from olbench.papers.adviceptron2010.kbsvm import solve_advice, solve_kbsvm
from olbench.papers.adviceptron2010.sets import Advice
from tests.examples import noisy
from tests.papers.adviceptron2010.problems import random_advice
from tests.refusals import refusal


def objective(w, b, u, X, y, advice, lam, mu):
    """Return the quadratic objective of eq. (4) with the slacks at their best."""
    total = 0.5 * w @ w + 0.5 * lam * (np.maximum(0.0, 1.0 - y * (X @ w - b)) ** 2).sum()
    for each, part in zip(advice, u, strict=True):
        zeta = max(0.0, 1.0 + each.d @ part + each.z * b)
        total += 0.5 * mu * (((each.D.T @ part + each.z * w) ** 2).sum() + zeta**2)
    return total


def neighbours(rng, solution, size):
    """Yield points near a solution that respect u >= 0."""
    for _ in range(300):
        step = size * 10.0 ** rng.uniform(-4, 0)
        w = solution.w + step * rng.normal(size=solution.w.size)
        u = [np.maximum(0.0, part + step * rng.normal(size=part.size)) for part in solution.u]
        yield w, solution.b + step * rng.normal(), u


def test_nothing_nearby_is_better():
    """The problem is convex, so a point with no better neighbour is the optimum."""
    rng = np.random.default_rng(4)
    for _ in range(12):
        X, y = noisy(n=30, d=4, seed=int(rng.integers(1000)))
        advice, lam, mu = random_advice(rng, 4, 3), *(10.0 ** rng.uniform(-1, 1, size=2))
        solution = solve_kbsvm(X, y, advice, lam, mu)
        best = objective(solution.w, solution.b, solution.u, X, y, advice, lam, mu)
        assert all((part >= 0).all() for part in solution.u)
        for point in neighbours(rng, solution, 1.0):
            assert objective(*point, X, y, advice, lam, mu) >= best * (1 - 1e-7)


def test_advice_alone_is_the_limit_of_examples_that_cost_nothing():
    advice = random_advice(np.random.default_rng(7), 3, 2).with_constant()
    X, y = noisy(n=20, d=4)
    alone = solve_advice(advice, 0.8)
    cheap = solve_kbsvm(X, y, advice, lam=1e-9, mu=0.8)
    np.testing.assert_allclose(alone.w, cheap.w, atol=1e-4)
    assert alone.b == cheap.b == 0.0


def test_examples_with_other_features_than_the_advice_are_refused():
    assert "2 features, as the advice has" in refusal(solve_kbsvm, np.ones((2, 3)), [1, -1], Advice((), 2))
