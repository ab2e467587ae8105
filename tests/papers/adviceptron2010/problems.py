"""Random problems of the paper, and solvers that share nothing with the package."""

from dataclasses import replace

import daqp
import numpy as np
from scipy.optimize import nnls

from olbench import make_algorithm
from olbench.learners.examples import as_examples
from olbench.learners.start import start
from olbench.papers.adviceptron2010.algorithms import mean_estimate
from olbench.papers.adviceptron2010.sets import Advice, AdviceSet


def random_set(rng, n, k):
    """Return D, d and z, with a scale of its own."""
    scale = 10.0 ** rng.uniform(-1, 1)
    D, d = scale * rng.normal(size=(k, n)), rng.normal(size=k) * 10.0 ** rng.uniform(-1, 1)
    return D, d, int(rng.choice([-1, 1]))


def random_advice(rng, n, m):
    return Advice(tuple(AdviceSet(*random_set(rng, n, int(rng.integers(1, 6)))) for _ in range(m)), n)


def flip(advice):
    """Return the advice with every class turned into the other: advice that misleads."""
    return replace(advice, sets=tuple(replace(each, z=-each.z) for each in advice))


def random_vectors(rng, advice):
    return [np.maximum(0.0, rng.normal(size=each.d.size)) for each in advice]


def learner_at(id, advice, w, u, **params):
    learner = start(make_algorithm(id, advice=advice, **params), advice.n)
    learner.w[:] = w
    learner.u[:] = np.concatenate(u)
    learner.r[:] = mean_estimate(advice, u)
    return learner


def learn_one(learner, x, y):
    learner.run(as_examples(x[None]).rows(), np.array([float(y)]), np.array([0]))
    return learner


def solve_qp(P, q, G, h):
    """Minimise x'Px/2 + q'x subject to G x <= h, by an active set method to full precision."""
    x, _, flag, _ = daqp.solve(P, q, np.ascontiguousarray(G), h, primal_tol=1e-12, dual_tol=1e-13)
    assert flag == 1
    return np.array(x)


def solve_6(w, x, y, estimates, lam, mu):
    """Solve problem (6) over (w, xi): stay near w, lose little on (x, y), stay near the advice estimates."""
    n, m = w.size, len(estimates)
    P = np.diag(np.append(np.full(n, 1.0 + m * mu), lam))
    q = np.append(-w - mu * np.sum(estimates, axis=0), 0.0)
    return solve_qp(P, q, -np.append(y * x, 1.0)[None], np.array([-1.0]))[:n]


def solve_10_without_cone(each, w, u, mu):
    """Solve problem (10) over (u, zeta), without u >= 0."""
    k = u.size
    P = np.zeros((k + 1, k + 1))
    P[:k, :k] = np.eye(k) + mu * each.D @ each.D.T
    P[k, k] = mu
    q = np.append(-u + mu * each.z * (each.D @ w), 0.0)
    return solve_qp(P, q, np.append(each.d, -1.0)[None], np.array([-1.0]))[:k]


def solve_10(each, w, u, mu):
    """Solve problem (10) as non-negative least squares, with the hinge's square or without."""
    k, root = u.size, np.sqrt(mu)
    candidates = []
    for hinge in ([root * each.d[None]], []):
        A = np.vstack([np.eye(k), root * each.D.T, *hinge])
        b = np.concatenate([u, -root * each.z * w, *([[-root]] if hinge else [])])
        candidates.append(nnls(A, b)[0])
    return min(candidates, key=lambda x: objective_10(each, w, u, mu, x))


def objective_10(each, w, u, mu, x):
    losses = ((each.D.T @ x + each.z * w) ** 2).sum() + max(0.0, 1.0 + each.d @ x) ** 2
    return 0.5 * ((x - u) ** 2).sum() + 0.5 * mu * losses
