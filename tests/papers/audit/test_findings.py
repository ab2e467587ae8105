"""What the audit says about the papers, seen again with plain arithmetic."""

import math

import numpy as np
import pytest

from olbench import make_algorithm, online_pass
from olbench.papers.audit import checks
from olbench.papers.audit.runs import (
    NotSeparableError,
    confident,
    replay,
    satisfies_conditions,
    separable,
    tightest_comparator,
)
from olbench.papers.scw2012 import audit as scw2012


@pytest.fixture(scope="module")
def results():
    return {(each.paper, each.id): each.run(trials=2) for each in checks()}


def test_every_result_is_as_expected_and_wrong_statements_come_with_plain_numbers(results):
    assert [name for name, result in results.items() if not result.as_expected] == []
    for result in results.values():
        example = result.printed.example
        assert example or not result.check.correction
        assert all(isinstance(value, int | float | str | list) for value in example.values())


#: 2 alpha^2 - 6 alpha + 3 = 0 at m = -2, v = phi = 1: both roots are positive.
ROOTS = {"m": -2, "v": 1, "phi": 1, "smaller root": (6 - 12**0.5) / 4, "larger root": (6 + 12**0.5) / 4}
GAMMA = 1 / math.sqrt(1.5)
EXAMPLES = [
    # At margin zero, (13) misses by gamma - sqrt(u), with u of eq. (12).
    ("cw2008", "equation-13", {"m": 0, "v": 1, "phi": 1, "gamma": GAMMA}),
    ("cw2008", "equation-13", {"missed by": GAMMA - (-GAMMA + math.sqrt(GAMMA**2 + 4)) / 2}),
    # phi^2 / (1 + phi^2) at margin 0
    ("cw2008", "theorem-4", {"mistakes": 1, "sum alpha^2 v": 0.5}),
    ("cw2008", "smaller-root", ROOTS),
    ("cw2012", "section-5.2-smaller-root", ROOTS),
    ("cw2008", "loss-variance", {"mu": [0], "mu' Sigma mu": 0, "variance of y w.x": 1}),
    ("cw2012", "section-4-majority", {"mu.x": -1, "y": -1}),
    ("cw2012", "bracket-34", {"x": 0.01, "U": 2, "root": 100 / math.sqrt(2)}),
    ("cw2012", "section-7.10-kl", {"Sigma_c": [1, 1], "best Sigma^-1": 1}),
]


def test_the_smallest_counter_examples_have_the_numbers_that_plain_arithmetic_gives(results):
    for paper, id, expected in EXAMPLES:
        shown = results[paper, id].printed.example
        assert all(shown[name] == pytest.approx(value, abs=1e-6) for name, value in expected.items()), id
    shown = results["cw2012", "section-4-majority"].printed.example
    assert shown["Pr[M >= 0]"] > 0.5 > shown["votes for +1"]
    # sqrt(5) - (1 + 3) / 2, for Sigma = 1 and 9 with x = phi = 1
    assert "(2, 5) misses it by 0.236" in results["cw2012", "constraint-9"].note
    assert " 0 of " not in results["cw2008", "fixed-alpha"].note


def soft_step(m, v, phi, C):
    """SCW-I as Proposition 1 prints it: (alpha, zeta)."""
    psi, xi = 1 + phi**2 / 2, 1 + phi**2
    alpha = min(C, (-m * psi + math.sqrt(m**2 * phi**4 / 4 + v * phi**2 * xi)) / (v * xi))
    return alpha, alpha * phi / ((-alpha * v * phi + math.sqrt((alpha * v * phi) ** 2 + 4 * v)) / 2)


def test_the_bound_of_scw_theorem_1_fails_on_four_separable_examples(results):
    """A run by hand, with a comparator that is rounded and checked here, not taken from an optimiser."""
    phi, C = 3.0, 1.0
    mu, precision, squares, losses = np.zeros(2), np.eye(2), 0.0, []
    mean_star = np.array([0.948684, 3.174695])
    conditions = []
    for x in scw2012.COUNTER_EXAMPLE:
        sigma = np.linalg.inv(precision)
        m, v = mu @ x, x @ sigma @ x
        assert m < phi * math.sqrt(v)
        alpha, zeta = soft_step(m, v, phi, C)
        mu, precision = mu + alpha * sigma @ x, precision + zeta * np.outer(x, x)
        squares += alpha**2 * v
        losses.append((1 + phi**2) / phi**2 * alpha**2 * v)
        conditions.append((x, mu @ x, x @ np.linalg.inv(precision) @ x))
    sigma_star = np.linalg.inv(precision) * (1 - 1e-9)  # Sigma* = Sigma_{n+1}, as cw2008 suggests
    for x, margin, variance in conditions:
        assert mean_star @ x >= margin
        assert x @ sigma_star @ x <= variance
        assert mean_star @ x > 0  # the data are separable
    bracket = -np.linalg.slogdet(sigma_star)[1] + np.trace(sigma_star) + mean_star @ precision @ mean_star - 2
    bound = (1 + phi**2) / phi**2 * bracket
    assert min(losses) > 0.999  # every loss bounds the 0-1 loss, as the paper asks
    assert sum(losses) == pytest.approx(78.06, abs=0.01)
    assert squares == pytest.approx(70.25, abs=0.01)
    assert bound < 50 < squares
    shown = results["scw2012", "theorem-1-bound"].printed.example
    assert shown["losses"] == pytest.approx(sum(losses))
    assert shown["bound"] <= bound


def test_a_replay_counts_what_a_pass_counts_and_recovers_each_step():
    X, y = separable(np.random.default_rng(3), 80, 4)
    others = make_algorithm("scw1", eta=0.9, C=0.3), make_algorithm("arow", r=1.0)
    for algorithm in (confident("cw", 1.0), *others):
        run, counted = replay(algorithm, X, y), online_pass(algorithm, X, y)
        assert (run.mistakes, len(run.updates)) == (counted.mistakes, counted.effective_updates)
        np.testing.assert_array_equal(run.means[-1], counted.weights)
    run = replay(confident("cw", 1.0), X, y)
    for each in run.updates:
        alpha, zeta = soft_step(each.m, each.v, 1.0, math.inf)
        assert (each.alpha, each.gain) == (pytest.approx(alpha, rel=1e-6), pytest.approx(zeta, rel=1e-6))
        assert each.margin == pytest.approx(math.sqrt(each.variance))
    np.testing.assert_allclose(run.precision @ run.covariances[-1], np.eye(4), atol=1e-8)


def test_the_tightest_comparator_satisfies_its_conditions_and_beats_others():
    rng = np.random.default_rng(5)
    X, y = separable(rng, 50, 3)
    run = replay(confident("cw", 1.0), X, y)
    best = tightest_comparator(run)
    assert satisfies_conditions(best, run)
    for _ in range(200):
        mean = best.mean * rng.uniform(1.0, 1.2) + 0.05 * rng.normal(size=3)
        if all(mean @ each.z >= each.margin for each in run.updates):
            assert mean @ run.precision @ mean >= best.mean @ run.precision @ best.mean * (1 - 1e-6)
    ours, last = (np.trace(s) - np.linalg.slogdet(s)[1] for s in (best.covariance, run.covariances[-1]))
    assert ours <= last


def test_a_run_whose_updates_are_not_separable_is_refused_with_the_reason():
    run = replay(confident("cw", 1.0), np.ones((2, 1)), np.array([1.0, -1.0]))
    with pytest.raises(NotSeparableError, match="not linearly separable, and the theorem does not apply"):
        tightest_comparator(run)
