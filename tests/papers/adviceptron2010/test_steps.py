"""Every step is the optimum of its own problem, as a quadratic solver finds it."""

import numpy as np
import pytest

from olbench import make_algorithm, online_pass
from olbench.papers.adviceptron2010.algorithms import pack
from olbench.papers.adviceptron2010.kernels.cone import descend, solve
from olbench.papers.adviceptron2010.sets import Advice, AdviceSet
from tests.examples import noisy
from tests.papers.adviceptron2010.problems import (
    learn_one,
    learner_at,
    objective_10,
    random_advice,
    random_set,
    random_vectors,
    solve_6,
    solve_10,
    solve_10_without_cone,
)

CLOSE = 1e-8


def price(rng):
    return float(10.0 ** rng.uniform(-2, 2))


def assert_close(ours, theirs):
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=CLOSE * max(1.0, np.abs(theirs).max()))


def problem(rng):
    n = int(rng.integers(1, 8))
    each = AdviceSet(*random_set(rng, n, int(rng.integers(1, 7))))
    w = rng.normal(size=n)
    u = np.maximum(0.0, rng.normal(size=each.d.size))
    return each, w, u


def intermediate(each, w, u, mu):
    """Return what the step computes before it truncates."""
    sets = pack(Advice((each,), w.size), mu)
    scratch = np.zeros(2 * u.size)
    gap = solve(0, sets, np.array([1.0, mu]), w, u.copy(), scratch)
    return scratch[: u.size] - sets[9][0] * max(gap, 0.0) * sets[8]


@pytest.mark.parametrize("id", ["adviceptron", "adviceptron-printed", "adviceptron-exact"])
def test_the_step_of_w_solves_problem_6(id):
    rng = np.random.default_rng(6)
    seen = {True: 0, False: 0}
    for _ in range(200):
        n, m = int(rng.integers(1, 8)), int(rng.integers(1, 4))
        advice, lam, mu = random_advice(rng, n, m), price(rng), price(rng)
        w, u, x = rng.normal(size=n), random_vectors(rng, advice), rng.normal(size=n)
        y = int(rng.choice([-1, 1]))
        learner = learn_one(learner_at(id, advice, w, u, lam=lam, mu=mu), x, y)
        estimates = [-each.z * each.D.T @ part for each, part in zip(advice, u, strict=True)]
        assert_close(learner.weights, solve_6(w, x, y, estimates, lam, mu))
        seen[learner.updates > 0] += 1
    assert min(seen.values()) > 20, "both with and without a loss"


def test_the_untruncated_step_of_u_solves_problem_10_without_its_cone():
    rng = np.random.default_rng(10)
    seen = {True: 0, False: 0}
    for _ in range(400):
        (each, w, u), mu = problem(rng), price(rng)
        ours = intermediate(each, w, u, mu)
        assert_close(ours, solve_10_without_cone(each, w, u, mu))
        seen[bool(1.0 + each.d @ ours > 0)] += 1
    assert min(seen.values()) > 50, "both with the hinge active and inactive"


def test_the_printed_step_is_eq_13_with_its_matrix_h():
    rng = np.random.default_rng(13)
    differs = 0
    for _ in range(400):
        (each, w, u), mu = problem(rng), price(rng)
        advice, x = Advice((each,), w.size), rng.normal(size=w.size)
        learner = learn_one(learner_at("adviceptron-printed", advice, w, [u], lam=1.0, mu=mu), x, -1)
        n, D, d = w.size, each.D, each.d
        H = np.block([
            [-(D.T @ D + np.eye(n) / mu), (D.T @ d)[:, None]],
            [(d @ D)[None], np.array([[-(d @ d + 1.0 / mu)]])],
        ])  # fmt: skip
        g = np.append(D.T @ u + each.z * learner.weights, -d @ u - 1.0)
        dual = np.linalg.solve(H, g)
        assert_close(learner.advice_vectors[0], np.maximum(0.0, u + D @ dual[:n] - d * dual[n]))
        ours = learn_one(learner_at("adviceptron", advice, w, [u], lam=1.0, mu=mu), x, -1)
        assert_close(ours.advice_vectors[0], np.maximum(0.0, intermediate(each, ours.weights, u, mu)))
        differs += not np.allclose(ours.advice_vectors[0], learner.advice_vectors[0])
        assert dual[n] >= 0 or not np.allclose(
            intermediate(each, learner.weights, u, mu), u + D @ dual[:n] - d * dual[n]
        )
    assert differs > 20, "gamma < 0 must have occurred"


def test_the_exact_step_solves_problem_10_with_its_cone():
    rng = np.random.default_rng(20)
    truncated = 0
    for _ in range(400):
        (each, w, u), mu = problem(rng), price(rng)
        advice, x = Advice((each,), w.size), rng.normal(size=w.size)
        learner = learn_one(learner_at("adviceptron-exact", advice, w, [u], lam=1.0, mu=mu), x, 1)
        [ours] = learner.advice_vectors
        assert_close(ours, solve_10(each, learner.weights, u, mu))
        plain = np.maximum(0.0, intermediate(each, learner.weights, u, mu))
        values = [objective_10(each, learner.weights, u, mu, x) for x in (ours, plain)]
        assert values[0] <= values[1] * (1 + 1e-12)
        truncated += np.allclose(plain, ours)
    assert 0 < truncated < 400, "truncation is sometimes the optimum, and sometimes not"


@pytest.mark.parametrize("mu", [0.01, 1.0, 100.0, 1e4])
def test_the_exact_step_is_right_with_many_nearly_opposite_rows(mu):
    """Domain rows, x <= 1 and -x <= 0, are opposite; that makes coordinate descent creep."""
    rng = np.random.default_rng(30)
    n = 20
    for _ in range(20):
        rule = np.eye(n)[rng.permutation(n)[:6]] * rng.choice([-1.0, 1.0], 6)[:, None]
        D = np.vstack([rule, np.eye(n), -np.eye(n)])
        d = np.concatenate([np.minimum(0.0, rule.sum(axis=1)), np.ones(n), np.zeros(n)])
        each = AdviceSet(D, d, int(rng.choice([-1, 1])))
        w, u = rng.normal(size=n), np.maximum(0.0, rng.normal(size=d.size))
        learner = learn_one(
            learner_at("adviceptron-exact", Advice((each,), n), w, [u], lam=1.0, mu=mu), rng.normal(size=n), 1
        )
        assert_close(learner.advice_vectors[0], solve_10(each, learner.weights, u, mu))


def test_the_exact_step_stays_in_its_cone_where_entries_are_zero_without_being_forced_to():
    """Without the cone the minimum is the same: rounding would leave such an entry on either side of zero."""
    rng, mu, zeros = np.random.default_rng(0), 100.0, 0
    for _ in range(300):
        rule = rng.normal(size=(4, 6))
        D, d = np.vstack([rule, -rule + 1e-3 * rng.normal(size=(4, 6))]), rng.normal(size=8)
        minimum = np.where(rng.random(8) < 0.5, 0.0, rng.random(8))
        gap = 1.0 + d @ minimum
        # The slope u - old + mu (D q + gap d) is zero at the minimum, in every entry; q is D'u + w there.
        q = np.linalg.lstsq(D, (rng.random(8) - minimum) / mu - gap * d, rcond=None)[0]
        u = minimum + mu * (D @ q + gap * d)
        if gap < 0.1 or (u < 0.0).any():
            continue
        sets = pack(Advice((AdviceSet(D, d, 1),), 6), mu)
        descend(0, sets, mu, q - D.T @ minimum, u, np.zeros(14))
        assert_close(u, minimum)
        assert (u >= 0.0).all()
        zeros += np.count_nonzero(minimum == 0.0)
    assert zeros > 50


@pytest.mark.parametrize("id", ["adviceptron", "adviceptron-printed", "adviceptron-exact"])
def test_no_advice_is_pa2_count_for_count(id):
    """Not plain PA, as adviceptron2010 says below eq. (8): its slack is squared, so it is PA-II."""
    X, y = noisy(n=400, d=9, density=0.6)
    for lam in (0.01, 0.3, 2.0, 50.0):
        ours = online_pass(make_algorithm(id, lam=lam, mu=3.0), X, y)
        pa2 = online_pass(make_algorithm("pa2", C=lam / 2), X, y)
        np.testing.assert_array_equal(ours.weights, pa2.weights)
        for name in ("mistakes", "updates", "effective_updates"):
            assert getattr(ours, name) == getattr(pa2, name)
        assert (ours.weights != online_pass(make_algorithm("pa"), X, y).weights).any()
