"""Every closed form is the optimum of its own problem.

The problems are those of the papers: stay as close as possible to the old Gaussian in Kullback-Leibler
divergence, subject to, or traded against, the loss on one example. Along x the update is one-dimensional, so
the conditions of optimality can be checked for any margin m and variance v.
"""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from olbench import online_pass
from olbench.algorithms import get_definition
from olbench.algorithms.cw import quantile
from olbench.papers.audit.gaussians import Problem

ROUNDING = 1e-11

# Next to zero a double has no eleven digits: what is below the smallest normal number is left out.
margins = st.one_of(st.floats(-1e6, 1e6), st.floats(-3.0, 3.0), st.just(0.0)).filter(
    lambda m: m == 0.0 or abs(m) > 1e-280
)
variances = st.floats(-8.0, 8.0).map(lambda exponent: 10.0**exponent)
prices = st.floats(-4.0, 4.0).map(lambda exponent: 10.0**exponent)
confidences = st.one_of(st.floats(0.5, 0.95), st.floats(0.95, 1.0 - 1e-12))


def step(id, m, v, **params):
    definition = get_definition(id)
    return definition.rule(m, v, m < 0, 1, definition.rule_constants(definition.resolve(params)))


def after(m, v, alpha, c):
    return m + alpha * v, v / (1.0 + c * v)


def deviation_residuals(m, v, eta, alpha, c):
    """Return the relative residual of stationarity in Sigma, the shortfall, and the size of its terms."""
    phi = quantile(eta)
    margin, variance = after(m, v, alpha, c)
    stationarity = abs(c * math.sqrt(variance) - alpha * phi) / max(alpha * phi, 1e-300)
    shortfall = phi * math.sqrt(variance) - margin
    size = abs(m) + alpha * v + phi * math.sqrt(variance)
    return stationarity, shortfall, size


@given(m=margins, v=variances, eta=confidences)
def test_cw_meets_its_constraint_with_equality(m, v, eta):
    loss, alpha, c = step("cw", m, v, eta=eta)
    assume(loss > 0)
    stationarity, shortfall, size = deviation_residuals(m, v, eta, alpha, c)
    assert alpha >= 0
    assert stationarity <= ROUNDING
    assert abs(shortfall) <= ROUNDING * size


@given(m=margins, v=variances, eta=confidences, C=prices)
def test_scw1_is_the_optimum_with_linear_slack(m, v, eta, C):
    loss, alpha, c = step("scw1", m, v, eta=eta, C=C)
    assume(loss > 0)
    stationarity, shortfall, size = deviation_residuals(m, v, eta, alpha, c)
    assert 0 <= alpha <= C * (1 + ROUNDING)
    assert stationarity <= ROUNDING
    if alpha < C * (1 - 1e-9):
        assert abs(shortfall) <= ROUNDING * size
    else:
        assert shortfall >= -1e-8 * size


def scw2_residual(id, m, v, eta, C):
    """Return the loss and the relative residuals of scw2012's conditions: shortfall = alpha / (2 C)."""
    loss, alpha, c = step(id, m, v, eta=eta, C=C)
    stationarity, shortfall, size = deviation_residuals(m, v, eta, alpha, c)
    slack = alpha / (2 * C)
    return loss, stationarity, abs(shortfall - slack) / max(size + slack, 1e-300)


@given(m=margins, v=variances, eta=confidences, C=prices)
def test_scw2_is_the_optimum_with_squared_slack(m, v, eta, C):
    loss, stationarity, residual = scw2_residual("scw2", m, v, eta, C)
    assume(loss > 0)
    assert stationarity <= ROUNDING
    assert residual <= ROUNDING


def test_scw2_libol_is_not_an_optimum():
    """The toolbox's formula fails the check that SCW-II passes, by far more than rounding."""
    residuals = [
        scw2_residual("scw2-libol", m, v, 0.9, C)[2]
        for m in (-2.0, -0.5, 0.0, 0.3)  # below phi sqrt(v) in every case
        for v in (0.1, 0.5, 3.0)
        for C in (0.5, 1.0, 4.0)
    ]
    assert np.median(residuals) > 1e-3
    assert min(residuals) > 1e-6


@given(m=margins, v=variances, eta=confidences)
def test_cw_var_meets_its_constraint_with_equality(m, v, eta):
    loss, alpha, c = step("cw-var", m, v, eta=eta)
    assume(loss > 0)
    phi = quantile(eta)
    margin, variance = after(m, v, alpha, c)
    assert alpha >= 0
    assert c == pytest.approx(2 * alpha * phi, rel=ROUNDING)
    assert abs(phi * variance - margin) <= ROUNDING * (abs(m) + alpha * v + phi * variance)


@given(m=margins, v=variances, r=prices)
def test_arow_is_stationary(m, v, r):
    loss, alpha, c = step("arow", m, v, r=r)
    assume(loss > 0)
    margin, _ = after(m, v, alpha, c)
    assert r * alpha == pytest.approx(1.0 - margin, abs=ROUNDING * (1 + abs(m) + alpha * v))
    assert c == pytest.approx(1.0 / r)


@given(m=margins, s=variances, C=prices)
def test_pa_family_is_the_nearest_point(m, s, C):
    """PA meets the margin; PA-I stops at C; PA-II leaves a loss of tau / (2 C) (Crammer et al. 2006)."""
    steps = {}
    for id, params in (("pa", {}), ("pa1", {"C": C}), ("pa2", {"C": C})):
        definition = get_definition(id)
        loss, shrink, tau = definition.rule(
            m, s, m < 0, 1.0, 1, 0, definition.rule_constants(definition.resolve(params))
        )
        assume(loss > 0)
        assert shrink == 1.0
        steps[id] = tau
    size = 1 + abs(m)
    assert m + steps["pa"] * s == pytest.approx(1.0, abs=ROUNDING * size)
    assert steps["pa1"] == min(C, steps["pa"])
    assert 1 - m - steps["pa2"] * s == pytest.approx(steps["pa2"] / (2 * C), abs=ROUNDING * size)


@given(m=margins, v=variances)
@pytest.mark.parametrize("id", ["cw", "cw-var", "scw1", "scw2", "arow", "nherd", "narow", "narow2010"])
def test_every_second_order_step_keeps_sigma_positive_definite(id, m, v):
    _, alpha, c = step(id, m, v)
    assert c >= 0
    assert math.isfinite(alpha)
    assert math.isfinite(c)


#: How the problem of each differs from that of CW.
PROBLEMS = {
    "cw": {}, "cw-var": {"constraint": "variance"}, "scw1": {"price": "linear"}, "scw2": {"price": "squared"},
}  # fmt: skip


def first_two_rounds(id, X, y, **params):
    """Return our Gaussian before and after the second example, having learnt the first."""
    learners = [online_pass(id, X[:n], y[:n], **params).learner for n in (1, 2)]
    return [(each.weights, each.covariance) for each in learners]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("id", PROBLEMS)
def test_updates_agree_with_a_numerical_solver(id, seed):
    rng = np.random.default_rng(seed)
    d = 2 + seed % 2
    x, old_x = rng.normal(size=(2, d))
    eta, C = [0.6, 0.75, 0.9, 0.95][seed], [0.2, 0.5, 1.0, 3.0][seed]
    params = {"eta": eta, "C": C} if "price" in PROBLEMS[id] else {"eta": eta}
    old, ours = first_two_rounds(id, [old_x, x], [1.0, -1.0], **params)
    problem = Problem(*old, x, -1.0, quantile(eta), **PROBLEMS[id], C=C)
    theirs = problem.solve()
    np.testing.assert_allclose(ours[0], theirs[0], atol=1e-5)
    np.testing.assert_allclose(ours[1], theirs[1], atol=1e-5)
    assert problem.value(*ours) <= problem.value(*theirs) + 1e-6
