"""The exact diagonal step of CW is the optimum over diagonal Gaussians (cw2012, section 6.2)."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import NonlinearConstraint, minimize

from olbench import make_algorithm
from olbench.learners.examples import as_examples
from olbench.learners.start import start
from tests.cases import for_each

L = np.longdouble
IDS = ["cw", "cw-var"]

powers = st.floats(-6.0, 6.0).map(lambda exponent: 10.0**exponent)
rows = st.lists(st.tuples(powers, st.floats(-3.0, 3.0)), min_size=1, max_size=12)
confidences = st.floats(-3.0, 1.2).map(lambda exponent: 10.0**exponent)
#: The margin as a share of the required one.
parts = st.just(0.0) | st.floats(-2.0, 1.0) | st.floats(-1e6, -1.0)
parts |= st.floats(-9.0, -1.0).map(lambda exponent: 1.0 - 10.0**exponent)


def wanted(id, phi, v):
    """Return the margin that the constraint asks for at variance v."""
    return phi * (np.sqrt(v) if id == "cw" else v)


def example(id, entries, phi, part, norm):
    """Return (mu, sigma, x, m, v): a diagonal Gaussian and a row of this norm whose margin is m."""
    sigma = np.array([variance for variance, _ in entries])
    x = norm * np.array([10.0**exponent for _, exponent in entries])
    v = float(sigma @ x**2)
    m = part * float(wanted(id, phi, v))
    mu = m * sigma * x / v
    return mu, sigma, x, float(mu @ x), v


def learn(id, phi, mu, sigma, x):
    """Return the Gaussian after one positive example, and whether it was an update."""
    learner = start(make_algorithm(id, phi=phi, covariance="diag", projection="exact"), len(x))
    learner.moments[:] = np.column_stack([mu, sigma])
    learner.run(as_examples(x[None, :]).rows(), np.ones(1), np.zeros(1, dtype=np.int64))
    assert learner.breakdowns == 0
    return learner.weights, learner.covariance, learner.updates == 1


def bisect(id, phi, sigma, x, m):
    """Return (alpha, c) of the root of (33) or (34), in long double.

    The unknown is the margin after the step, or for m > 0 its gain, so that neither is a difference. The
    gain is at most what the constraint asks for at today's variance, less m.
    """
    q = sigma.astype(L) * x.astype(L) ** 2
    v, m, phi = q.sum(), L(m), L(phi)

    def split(unknown):
        return (unknown, unknown - m) if m < 0 else (m + unknown, unknown)

    def residual(unknown):
        margin, gain = split(unknown)
        if id == "cw-var":
            return margin - (phi * q / (1 + 2 * gain / v * phi * q)).sum()
        return margin - (phi**2 * q / (margin + gain / v * phi**2 * q)).sum()

    low, high = L(0), wanted(id, phi, v) - max(m, L(0))
    assert residual(high) >= -L(1e-17) * wanted(id, phi, v)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if residual(middle) < 0 else (low, middle)
    margin, gain = split(high)
    return gain / v, gain / v * (2 * phi if id == "cw-var" else phi**2 / margin)


@pytest.mark.parametrize("norm", [1e-30, 1e-2, 1.0, 1e4])
@pytest.mark.parametrize("id", IDS)
@given(entries=rows, phi=confidences, part=parts)
def test_the_step_meets_its_constraint_and_agrees_with_bisection(id, norm, entries, phi, part):
    mu, sigma, x, m, v = example(id, entries, phi, part, norm)
    new_mu, new_sigma, updated = learn(id, phi, mu, sigma, x)
    assume(updated)
    alpha, gain = bisect(id, phi, sigma, x, m)
    size = max(abs(m), float(wanted(id, phi, v)))
    assert abs(new_mu @ x - wanted(id, phi, new_sigma @ x**2)) <= 1e-9 * size
    np.testing.assert_allclose(
        (new_mu - mu) * x, (alpha * sigma * x * x).astype(float), rtol=1e-6, atol=1e-9 * size
    )
    # A step that is nearly nothing is known to rounding of the margin, not of itself.
    blur = 1e-12 * size / float(alpha * v)
    np.testing.assert_allclose(
        new_sigma, (sigma / (1 + gain * sigma * x * x)).astype(float), rtol=1e-9 + blur
    )


def divergence(mu, sigma, old_mu, old_sigma):
    ratio = sigma / old_sigma
    return 0.5 * float(np.sum(ratio - 1.0 - np.log(ratio) + (mu - old_mu) ** 2 / old_sigma))


@for_each("seed", range(6))
@for_each("id", IDS)
def test_a_numerical_solver_finds_nothing_better(id, seed):
    rng = np.random.default_rng(seed)
    d, phi = 2 + seed % 3, [0.3, 1.0, 3.0][seed % 3]
    mu, sigma, x = rng.normal(size=d), rng.uniform(0.2, 2.0, d), rng.normal(size=d)
    if mu @ x > 0:
        mu = -mu
    ours = learn(id, phi, mu, sigma, x)

    def slack(parameters):
        return parameters[:d] @ x - wanted(id, phi, np.exp(parameters[d:]) @ x**2)

    solution = minimize(
        lambda parameters: divergence(parameters[:d], np.exp(parameters[d:]), mu, sigma),
        np.concatenate([mu, np.log(sigma)]), method="SLSQP", options={"maxiter": 500, "ftol": 1e-14},
        constraints=[NonlinearConstraint(slack, 0.0, np.inf)],
    )  # fmt: skip
    np.testing.assert_allclose(ours[0], solution.x[:d], atol=1e-4)
    np.testing.assert_allclose(ours[1], np.exp(solution.x[d:]), atol=1e-4)
    assert divergence(*ours[:2], mu, sigma) <= solution.fun + 1e-7
