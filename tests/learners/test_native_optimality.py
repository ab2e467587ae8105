"""Every native step is the optimum of its problem over several classes, by a numerical optimiser.

Each step is one round of the learner itself from a random state: means, covariances of very different size,
and an example. The problem is that of the papers, summed over the classes: stay close to the old Gaussians in
Kullback-Leibler divergence, subject to, or traded against, the loss between the true class and its rival.
In an optimum only two things change: F_k moves by some multiple of sqrt(v_k), and v_k shrinks by some factor.
The optimiser works on these numbers; `test_nothing_else_changes` justifies them on whole matrices.
"""

import math

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar

from olbench import make_algorithm
from olbench.algorithms.cw import quantile
from olbench.learners.examples import as_examples
from olbench.learners.start import start_classes
from olbench.papers.audit.gaussians import divergence
from tests.cases import for_each

STEPS, CLASSES, D = 60, 3, 3
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


def price(id, params, m, v):
    """Return what the loss at a margin and a variance costs, and how far the constraint of CW is violated."""
    if id == "arow":
        return (max(0.0, 1.0 - m) ** 2 + v) / (2.0 * params["r"]), 0.0
    short = max(0.0, quantile(params["eta"]) * math.sqrt(v) - m)
    if id == "scw1":
        return params["C"] * short, 0.0
    return (params["C"] * short**2, 0.0) if id == "scw2" else (0.0, short)


def solve(id, params, m, v, copies):
    """Return the least objective over moves e_k and shrinkages exp(2 l_k) of the variances v.

    `copies` says how often the shrinkage of each variance counts: twice for a shared covariance.
    The margin becomes m + sum sqrt(v_k) e_k. Slack is a variable in units of the deviation: z[-1] >= 0.
    """
    v, phi = np.asarray(v), quantile(params.get("eta", 0.5))
    size, scale, has_slack = v.size, math.sqrt(v.sum()), id.startswith("scw")
    moves = np.repeat(np.sqrt(v), copies)

    def close(z):
        e, logs = z[: moves.size], z[moves.size : moves.size + size]
        return (copies * (0.5 * np.expm1(2 * logs) - logs)).sum() + 0.5 * e @ e

    def margin_and_variance(z):
        e, logs = z[: moves.size], z[moves.size : moves.size + size]
        return m + moves @ e, float((copies * v) @ np.exp(2 * logs))

    def spare(z):
        margin, variance = margin_and_variance(z)
        return (margin - phi * math.sqrt(variance)) / scale + (z[-1] if has_slack else 0.0)

    def objective(z):
        if id == "arow":
            return close(z) + price(id, params, *margin_and_variance(z))[0]
        lost = scale * z[-1] if has_slack else 0.0
        return close(z) + params.get("C", 0.0) * (lost**2 if id == "scw2" else lost)

    best = math.inf
    bounds = [(None, None)] * moves.size + [(-40.0, 0.0)] * size + [(0.0, None)] * has_slack
    for start in (0.1, 1.0, max(1.0, -m / scale)):
        first = np.zeros(len(bounds))
        first[: moves.size] = start * moves / np.linalg.norm(moves)
        first[moves.size : moves.size + size] = -0.5 * math.log1p(start)
        if has_slack:
            first[-1] = max(0.0, -spare(first))
        found = minimize(
            objective, first, method="SLSQP", bounds=bounds, options={"ftol": 1e-15, "maxiter": 500},
            constraints=[] if id == "arow" else [{"type": "ineq", "fun": spare}],
        )  # fmt: skip
        if id == "arow" or spare(found.x) > -1e-9:
            best = min(best, float(found.fun))
    return best


def random_round(rng, means_scale=1.0):
    means = means_scale * rng.normal(size=(CLASSES, D))
    return means, rng.normal(size=D), int(rng.integers(CLASSES))


def assert_optimal(gaps):
    """No step is worse than the optimiser's, which now and then gives up early; nearly all are equal."""
    assert len(gaps) > STEPS // 4
    assert max(gaps) <= 1e-6
    assert np.median(np.abs(gaps)) <= 1e-9
    assert np.mean(np.abs(gaps) <= 1e-6) >= 0.9


def gap(found, best):
    return (found - best) / (1.0 + abs(best)) if math.isfinite(best) else -1.0


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


def find_gaps(seed, id, params, options):
    """Return the gaps of random steps that are updates, whichever way the covariances are kept."""
    rng, gaps, kind = np.random.default_rng(seed), [], options["covariance"]
    algorithm = make_algorithm(id, multiclass="native", **options, **params)
    for _ in range(STEPS):
        means, x, truth = random_round(rng, 10.0 ** rng.uniform(-2, 1))
        sigmas, learner = draw_covariances(rng, kind), start_classes(algorithm, D, CLASSES)
        learner.means[:, :CLASSES] = means.T
        set_covariances(learner, sigmas)
        pair = [truth, step_from(learner, x, truth)]
        if not learner.updates:
            continue
        after, shrunk = learner.weights, learner.covariance
        shrunk = np.stack([np.diag(each) for each in shrunk]) if kind == "diag" else shrunk
        if kind == "shared":
            sigmas, shrunk = (np.repeat(each, CLASSES, axis=0) for each in (sigmas, shrunk))
        # The shared covariance is counted twice, once for each class of the pair.
        counted = pair if kind == "shared" else range(CLASSES)
        moved = sum(divergence(after[k], shrunk[k], means[k], sigmas[k]) for k in counted)
        m, v = (means[truth] - means[pair[1]]) @ x, np.array([x @ sigmas[k] @ x for k in pair])
        left = (after[truth] - after[pair[1]]) @ x, sum(x @ shrunk[k] @ x for k in pair)
        cost, violation = price(id, params, *left)
        assert violation <= 1e-7 * (abs(left[0]) + math.sqrt(v.sum()))
        parts = np.concatenate([np.diag(sigmas[k]) * x * x for k in pair]) if kind == "diag" else v
        parts, copies = (v[:1], np.array([2])) if kind == "shared" else (parts, np.ones(parts.size, int))
        gaps.append(gap(moved + cost, solve(id, params, m, parts, copies)))
    return gaps


@pytest.mark.parametrize(("id", "params"), GAUSSIANS, ids=["arow", "cw", "scw1", "scw2"])
def test_the_step_of_a_gaussian_is_the_optimum(id, params):
    """AROW with kl, and CW with exact, are the optimum over diagonals: every entry shrinks on its own."""
    assert_optimal(find_gaps(0, id, params, {"covariance": "block"}))
    assert_optimal(find_gaps(1, id, params, {"covariance": "shared"}))
    if id in ("arow", "cw"):
        projection = "kl" if id == "arow" else "exact"
        assert_optimal(find_gaps(3, id, params, {"covariance": "diag", "projection": projection}))


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
    gaps = []
    for _ in range(STEPS):
        means, x, truth = random_round(rng, 10.0 ** rng.uniform(-1, 0.5))
        learner = start_classes(make_algorithm(id, multiclass="native", **params), D, CLASSES)
        learner.means[:, :CLASSES] = means.T
        learner.scalars[1] = (means**2).sum()
        learner.squares[:] = (means**2).sum()
        rival = step_from(learner, x, truth)
        if not learner.updates:
            continue
        phi, old, new = np.zeros((CLASSES, D)), means.ravel(), learner.weights.ravel()
        phi[truth], phi[rival] = x, -x
        phi = phi.ravel()
        if id.endswith("romma"):
            assert_shortest(new, old, phi)
            gaps.append(0.0)
            continue
        lost = max(0.0, 1.0 - new @ phi)
        cost = {"pa": 0.0, "pa1": 0.2 * lost, "pa2": 0.2 * lost**2}[id]
        assert id != "pa" or lost <= 1e-9 * (1 + abs(old @ phi))
        gaps.append(gap(0.5 * (new - old) @ (new - old) + cost, nearest(id, old @ phi, phi @ phi)))
    assert_optimal(gaps)


def nearest(id, m, s):
    """Return the least objective of a PA learner over the length of the step along Phi / ||Phi||."""
    length = math.sqrt(s)

    def objective(e):
        lost = max(0.0, 1 - m - length * e)
        return 0.5 * e * e + {"pa": 0.0, "pa1": 0.2 * lost, "pa2": 0.2 * lost**2}[id]

    most = (1 - m) / length
    if id == "pa":
        return objective(most)
    return minimize_scalar(objective, bounds=(0.0, most), method="bounded", options={"xatol": 1e-12}).fun


def assert_shortest(new, old, phi):
    """The step meets ROMMA's two constraints with equality, and is the shortest vector that does."""
    assert new @ phi == pytest.approx(1.0, abs=1e-7 * (1 + abs(old @ phi)))
    assert new @ old == pytest.approx(old @ old, rel=1e-7)
    shortest = np.linalg.lstsq(np.stack([phi, old]), np.array([1.0, old @ old]), rcond=None)[0]
    np.testing.assert_allclose(new, shortest, rtol=1e-6, atol=1e-9 * np.abs(shortest).max())
