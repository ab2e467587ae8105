"""The batch solution: optimal in both forms, and the limit in which examples or rules do not count."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.svm import SVC, LinearSVC

from olbench import UserError
from olbench.papers.adviceptron2010.compile import compile_texts
from olbench.papers.adviceptron2010.kbsvm import solve_advice, solve_kbsvm
from olbench.papers.adviceptron2010.names import Names
from olbench.papers.adviceptron2010.sets import Advice
from tests.examples import noisy
from tests.papers.adviceptron2010.problems import random_advice


def objective(w, b, u, X, y, advice, lam, mu):
    """Return the quadratic objective of eq. (4) with the slacks at their best."""
    xi = np.maximum(0.0, 1.0 - y * (X @ w - b))
    total = 0.5 * w @ w + 0.5 * lam * xi @ xi
    for each, part in zip(advice, u, strict=True):
        eta = each.D.T @ part + each.z * w
        zeta = max(0.0, 1.0 + each.d @ part + each.z * b)
        total += 0.5 * mu * (eta @ eta + zeta**2)
    return total


def linear_objective(w, b, u, X, y, advice, lam, mu):
    """Return the objective of the linear form, likewise."""
    total = np.abs(w).sum() + lam * np.maximum(0.0, 1.0 - y * (X @ w - b)).sum()
    for each, part in zip(advice, u, strict=True):
        total += mu * np.abs(each.D.T @ part + each.z * w).sum()
        total += mu * max(0.0, 1.0 + each.d @ part + each.z * b)
    return total


def hinge_objective(w, b, u, X, y, advice, lam, mu):
    """Return the objective of the hinge form, likewise."""
    return 0.5 * w @ w - np.abs(w).sum() + linear_objective(w, b, u, X, y, advice, lam, mu)


OBJECTIVES = {"quadratic": objective, "linear": linear_objective, "hinge": hinge_objective}


def neighbours(rng, solution, size):
    """Yield points near a solution that respect u >= 0."""
    for _ in range(300):
        step = size * 10.0 ** rng.uniform(-4, 0)
        w = solution.w + step * rng.normal(size=solution.w.size)
        u = [np.maximum(0.0, part + step * rng.normal(size=part.size)) for part in solution.u]
        yield w, solution.b + step * rng.normal(), u


@pytest.mark.parametrize("loss", OBJECTIVES)
def test_nothing_nearby_is_better_and_the_objective_is_what_it_says(loss):
    """All forms are convex, so a point with no better neighbour is the optimum."""
    rng = np.random.default_rng(4)
    value = OBJECTIVES[loss]
    for _ in range(12):
        X, y = noisy(n=30, d=4, seed=int(rng.integers(1000)))
        advice, lam, mu = random_advice(rng, 4, 3), *(10.0 ** rng.uniform(-1, 1, size=2))
        solution = solve_kbsvm(X, y, advice, lam, mu, loss)
        best = value(solution.w, solution.b, solution.u, X, y, advice, lam, mu)
        assert best == pytest.approx(solution.objective, rel=1e-6)
        assert all((part >= 0).all() for part in solution.u)
        for point in neighbours(rng, solution, 1.0):
            assert value(*point, X, y, advice, lam, mu) >= best * (1 - 1e-7)


def test_a_general_optimiser_finds_the_same_plane():
    rng = np.random.default_rng(5)
    X, y = noisy(n=40, d=3, seed=1)
    advice = random_advice(rng, 3, 2)
    solution = solve_kbsvm(X, y, advice, 0.7, 1.3)
    sizes = [each.d.size for each in advice]

    def value(x):
        u = np.split(x[4:], np.cumsum(sizes)[:-1])
        return objective(x[:3], x[3], u, X, y, advice, 0.7, 1.3)

    bounds = [(None, None)] * 4 + [(0, None)] * sum(sizes)
    found = minimize(
        value,
        np.zeros(4 + sum(sizes)),
        bounds=bounds,
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 50_000},
    )
    assert solution.objective <= found.fun * (1 + 1e-9)
    np.testing.assert_allclose(found.x[:3], solution.w, atol=1e-4)


def test_without_advice_it_is_the_squared_hinge_svm():
    X, y = noisy(n=200, d=5, noise=0.1)
    lam = 0.5
    svm = LinearSVC(C=lam / 2, loss="squared_hinge", intercept_scaling=1e3, tol=1e-10, max_iter=200_000)
    svm.fit(X, y)
    ours = solve_kbsvm(X, y, Advice((), 5), lam)
    np.testing.assert_allclose(ours.w, svm.coef_[0], atol=1e-4)
    assert ours.b == pytest.approx(-svm.intercept_[0], abs=1e-3)


def test_without_advice_the_hinge_form_is_the_usual_svm():
    X, y = noisy(n=200, d=5, noise=0.1)
    svm = SVC(C=0.5, kernel="linear", tol=1e-10).fit(X, y)
    ours = solve_kbsvm(X, y, Advice((), 5), 0.5, loss="hinge")
    np.testing.assert_allclose(ours.w, svm.coef_[0], atol=1e-5)
    assert ours.b == pytest.approx(-svm.intercept_[0], abs=1e-5)


@pytest.mark.parametrize("loss", OBJECTIVES)
def test_dear_advice_is_followed_by_every_point_that_it_covers(loss):
    names = Names(("a", "b"))
    advice = compile_texts(["a >= 1 and b <= 2 => 1", "a <= -1 => -1"], names)
    X, y = np.array([[0.2, 0.0], [-0.2, 0.0]]), np.array([-1.0, 1.0])
    solution = solve_kbsvm(X, y, advice, lam=1e-3, mu=1e4, loss=loss)
    points = np.random.default_rng(6).uniform(-5, 5, size=(500, 2))
    for each in advice:
        assert (each.z * solution.decide(points[each.covers(points)]) > 0.9).all()


def test_advice_alone_is_the_limit_of_examples_that_cost_nothing():
    advice = random_advice(np.random.default_rng(7), 3, 2).with_constant()
    X, y = noisy(n=20, d=4)
    alone = solve_advice(advice, 0.8)
    cheap = solve_kbsvm(X, y, advice, lam=1e-9, mu=0.8)
    np.testing.assert_allclose(alone.w, cheap.w, atol=1e-4)
    assert alone.b == cheap.b == 0.0


def test_what_cannot_be_solved_is_refused():
    for change, message in (
        ({"lam": 0.0}, "lam must lie in"),
        ({"mu": -1.0}, "mu must lie in"),
        ({"loss": "cubic"}, "loss must be quadratic, linear or hinge"),
        ({"X": np.ones((2, 3))}, "2 features, as the advice has"),
    ):
        arguments = {"X": np.eye(2), "y": [1.0, -1.0], "advice": Advice((), 2), **change}
        with pytest.raises(UserError, match=message):
            solve_kbsvm(**arguments)
