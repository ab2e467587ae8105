"""Every native step is the optimum of its problem over several classes.

Each step is one round of the learner itself from a random state: means, covariances of very different size,
and an example. The problem is that of the papers, summed over the classes: stay close to the old Gaussians in
Kullback-Leibler divergence, subject to, or traded against, the loss between the true class and its rival.
A step must meet the conditions of optimality, and for CW a numerical optimiser must find nothing better.
"""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from olbench import make_algorithm
from olbench.algorithms.cw import quantile
from olbench.learners.examples import as_examples
from olbench.learners.start import start_classes
from olbench.papers.audit.gaussians import divergence
from tests.cases import for_each

STEPS, CLASSES, D = 60, 3, 3
ROUNDING = 1e-9
SOFT = {"C": 0.3, "eta": 0.8}
GAUSSIANS = [("arow", {"r": 0.7}), ("cw", {"eta": 0.8}), ("scw1", SOFT), ("scw2", SOFT)]


def random_covariance(rng, d):
    """Return a positive definite matrix whose size is anything between 1e-4 and 1e4."""
    A = rng.normal(size=(d, d))
    return 10.0 ** rng.uniform(-4, 4) * (A @ A.T + 0.1 * np.eye(d))


def step_from(learner, x, truth):
    """Run one round of a learner; return the rival by the scores before it."""
    scores = learner.weights @ x
    scores[truth] = -np.inf
    rival = int(scores.argmax())
    learner.run(as_examples(x[None, :]).rows(), np.array([float(truth)]), np.array([0]))
    return rival


def random_round(rng, means_scale=1.0):
    means = means_scale * rng.normal(size=(CLASSES, D))
    return means, rng.normal(size=D), int(rng.integers(CLASSES))


def set_covariances(learner, sigmas):
    if hasattr(learner, "variances"):
        learner.variances[:, :CLASSES] = np.diagonal(sigmas, axis1=1, axis2=2).T
    elif hasattr(learner, "roots"):
        learner.roots[:] = np.linalg.cholesky(sigmas)
        learner.bound[:], learner.reach[:] = np.inf, np.abs(learner.roots).sum(axis=2)
    else:
        learner.base[:, :D, :D] = sigmas
        learner.bound[:] = np.inf


def draw_covariances(rng, kind):
    if kind == "diag":
        return np.stack([np.diag(10.0 ** rng.uniform(-3, 3, size=D)) for _ in range(CLASSES)])
    return np.stack([random_covariance(rng, D) for _ in range(1 if kind == "shared" else CLASSES)])


def check_loss(id, params, m, variance, alpha, size):
    """Check a step by the margin and the variance after it; return the precision that it adds along x."""
    if id == "arow":
        assert params["r"] * alpha == pytest.approx(1.0 - m, abs=ROUNDING * size)
        return 1.0 / params["r"]
    phi = quantile(params["eta"])
    shortfall = phi * math.sqrt(variance) - m
    if id == "scw1" and alpha > SOFT["C"] * (1.0 - 1e-9):
        assert alpha <= SOFT["C"] * (1.0 + 1e-9)
        assert shortfall >= -ROUNDING * size
    else:
        slack = alpha / (2.0 * SOFT["C"]) if id == "scw2" else 0.0
        assert abs(shortfall - slack) <= ROUNDING * (size + slack)
    return alpha * phi / math.sqrt(variance)


@for_each(
    ("id", "params", "options"),
    [
        *((*each, {"covariance": kind}) for kind in ("block", "shared") for each in GAUSSIANS),
        ("arow", {"r": 0.7}, {"covariance": "diag", "projection": "kl"}),
        ("cw", {"eta": 0.8}, {"covariance": "diag", "projection": "exact"}),
    ],
)
def test_the_step_of_a_gaussian_is_the_optimum(id, params, options):
    """AROW with kl, and CW with exact, are the optimum over diagonals: every entry shrinks on its own."""
    rng, updates, kind = np.random.default_rng(0), 0, options["covariance"]
    algorithm = make_algorithm(id, multiclass="native", **options, **params)
    for _ in range(STEPS):
        means, x, truth = random_round(rng, 10.0 ** rng.uniform(-2, 1))
        sigmas, learner = draw_covariances(rng, kind), start_classes(algorithm, D, CLASSES)
        learner.means[:, :CLASSES] = means.T
        set_covariances(learner, sigmas)
        pair = [truth, step_from(learner, x, truth)]
        updates += learner.updates
        if not learner.updates:
            continue
        shrunk = learner.covariance
        shrunk = np.stack([np.diag(each) for each in shrunk]) if kind == "diag" else shrunk
        own = [0, 0] if kind == "shared" else pair
        z, moves = sigmas[own] @ x, learner.weights - means
        alpha, wanted = moves[truth] @ z[0] / (z[0] @ z[0]), np.zeros_like(means)
        wanted[pair] = alpha * z[0], -alpha * z[1]
        np.testing.assert_allclose(
            moves, wanted, atol=ROUNDING * (np.abs(wanted).max() + np.abs(means).max())
        )
        m, variance = (learner.weights[truth] - learner.weights[pair[1]]) @ x, (shrunk[own] @ x @ x).sum()
        size = np.abs(means[pair] @ x).sum() + alpha * (z @ x).sum() + math.sqrt(variance)
        c = check_loss(id, params, m, variance, alpha, size)
        gain = np.diag(x * x) if kind == "diag" else np.outer(x, x)
        for k, sigma in enumerate(sigmas):
            added = c * gain if k in own else 0.0 * gain
            expected = np.linalg.solve(np.eye(D) + sigma @ added, sigma)
            np.testing.assert_allclose(shrunk[k], expected, atol=ROUNDING * np.abs(sigma).max())
    assert updates > STEPS // 4


def test_nothing_else_changes():
    """An optimiser over whole means and Cholesky factors of two classes finds nothing better than CW."""
    rng, phi = np.random.default_rng(4), quantile(0.8)
    lower = np.tril_indices(2)

    def unpack(z):
        factors = np.zeros((2, 2, 2))
        factors[:, *lower] = z[4:].reshape(2, 3)
        return z[:4].reshape(2, 2), factors @ factors.transpose(0, 2, 1)

    def objective(z, means, sigmas, x):
        return sum(map(divergence, *unpack(z), means, sigmas))

    def slack(z, means, sigmas, x):
        new_means, new_sigmas = unpack(z)
        return (new_means[0] - new_means[1]) @ x - phi * math.sqrt(x @ new_sigmas.sum(axis=0) @ x)

    for _ in range(15):
        means, x = rng.normal(size=(2, 2)), rng.normal(size=2)
        sigmas = np.stack([random_covariance(rng, 2) / 100 for _ in range(2)])
        learner = start_classes(make_algorithm("cw", multiclass="native", eta=0.8), 2, 2)
        learner.means[:, :2] = means.T
        set_covariances(learner, sigmas)
        step_from(learner, x, 0)
        after = [learner.weights.ravel(), np.linalg.cholesky(learner.covariance)[:, *lower].ravel()]
        first, given = np.concatenate(after), (means, sigmas, x)
        found = minimize(
            objective, first * (1 + 0.05 * rng.normal(size=10)), given, method="SLSQP",
            constraints=[{"type": "ineq", "fun": slack, "args": given}],
            options={"ftol": 1e-13, "maxiter": 500},
        )  # fmt: skip
        if slack(found.x, *given) > -1e-9:
            assert objective(first, *given) <= found.fun + 1e-6 * (1 + found.fun)


@for_each("id", ["pa", "pa1", "pa2", "romma", "aromma"])
def test_first_order_steps(id):
    """PA is the nearest point that meets the margin, or trades it off; ROMMA is the shortest of its kind."""
    rng, params = np.random.default_rng(5), {"C": 0.2} if id in ("pa1", "pa2") else {}
    updates = 0
    for _ in range(STEPS):
        means, x, truth = random_round(rng, 10.0 ** rng.uniform(-1, 0.5))
        learner = start_classes(make_algorithm(id, multiclass="native", **params), D, CLASSES)
        learner.means[:, :CLASSES] = means.T
        learner.scalars[1] = (means**2).sum()
        learner.squares[:] = (means**2).sum()
        rival = step_from(learner, x, truth)
        updates += learner.updates
        if not learner.updates:
            continue
        phi, old, new = np.zeros((CLASSES, D)), means.ravel(), learner.weights.ravel()
        phi[truth], phi[rival] = x, -x
        phi = phi.ravel()
        if id.endswith("romma"):
            assert_shortest(new, old, phi)
            continue
        tau, lost = (new - old) @ phi / (phi @ phi), 1.0 - new @ phi
        np.testing.assert_allclose(new, old + tau * phi, atol=ROUNDING)
        size = 1.0 + abs(old @ phi)
        if id == "pa1":
            assert tau == pytest.approx(min(0.2, (1.0 - old @ phi) / (phi @ phi)), abs=ROUNDING * size)
        else:
            assert lost == pytest.approx(tau / 0.4 if id == "pa2" else 0.0, abs=ROUNDING * size)
    assert updates > STEPS // 4


def assert_shortest(new, old, phi):
    """The step meets ROMMA's two constraints with equality, and is the shortest vector that does."""
    assert new @ phi == pytest.approx(1.0, abs=1e-7 * (1 + abs(old @ phi)))
    assert new @ old == pytest.approx(old @ old, rel=1e-7)
    shortest = np.linalg.lstsq(np.stack([phi, old]), np.array([1.0, old @ old]), rcond=None)[0]
    np.testing.assert_allclose(new, shortest, rtol=1e-6, atol=1e-9 * np.abs(shortest).max())
