"""Runs of olbench's learners, round by round; comparators of mistake bounds; the kernel form of a run."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy.optimize import linprog, minimize, nnls

from olbench.algorithms import get_definition
from olbench.algorithms.algorithm import Algorithm, make_algorithm
from olbench.learners.examples import Floats
from olbench.learners.tracing import trace
from olbench.papers.audit import Instance
from olbench.papers.audit.gaussians import inverse_of

#: Relative slacks that keep a comparator inside its constraints despite rounding; the first that works is
#: used, since slack loosens the bound.
SLACKS = (1e-9, 1e-7, 1e-5, 1e-3)
#: The confidences at which theorems are tested, from far below to far above those that the papers tune.
PHIS = (0.3, 1.0, 3.0)


class NotSeparableError(ValueError):
    """No comparator satisfies the conditions of the theorem, so it does not apply to the run."""


@dataclass(frozen=True)
class Update:
    """A round that changed the state: z = y x, the margin m and variance v before, and the step alpha.

    `gain` is zeta = alpha phi / sqrt(u), `margin` y mu_{i+1}.x and `variance` u = x' Sigma_{i+1} x.
    """

    z: Floats
    m: float
    v: float
    alpha: float
    gain: float
    margin: float
    variance: float

    @property
    def square(self) -> float:
        return self.alpha * self.alpha * self.v


@dataclass(frozen=True)
class Replay:
    means: list[Floats]
    covariances: list[Floats]
    updates: list[Update]
    mistakes: int

    @property
    def squares(self) -> float:
        return math.fsum(update.square for update in self.updates)

    @property
    def rows(self) -> Floats:
        return np.array([update.z for update in self.updates])

    @property
    def precision(self) -> Floats:
        """Sigma_{n+1}^-1, summed from the updates without an inversion."""
        total = inverse_of(self.covariances[0])
        for update in self.updates:
            total = total + update.gain * np.outer(update.z, update.z)
        return total


def confident(id: str, phi: float, **settings: float | str) -> Algorithm:
    return make_algorithm(id, eta=NormalDist().cdf(phi), **settings)


def replay(algorithm: Algorithm, X: Floats, y: Floats) -> Replay:
    rounds = list(trace(algorithm, X, y))
    states: Any = [rounds[0].before, *(each.after for each in rounds)]
    means, covariances = [each.weights for each in states], [each.covariance for each in states]
    updates = []
    for t, each in enumerate(rounds):
        if each.changed:
            z, shift = each.label * each.x, means[t + 1] - means[t]
            v, u = float(z @ covariances[t] @ z), float(z @ covariances[t + 1] @ z)
            alpha, m = float(z @ shift) / v, float(means[t] @ z)
            updates.append(Update(z, m, v, alpha, (v - u) / (u * v), float(means[t + 1] @ z), u))
    return Replay(means, covariances, updates, sum(each.mistake for each in rounds))


def separable(rng: np.random.Generator, n: int, d: int) -> tuple[Floats, Floats]:
    X = rng.normal(size=(n, d)) * rng.lognormal(sigma=0.5, size=(n, 1))
    return X, np.where(X @ rng.normal(size=d) >= 0.0, 1.0, -1.0)


def is_separable(z: Floats) -> bool:
    return _is_feasible(z, np.linalg.norm(z, axis=1))


def _is_feasible(A: Floats, b: Floats) -> bool:
    """Return whether some x has A x >= b; rows of unit length keep the solver's tolerance meaningful."""
    sizes = np.linalg.norm(A, axis=1)
    rows, limits = A / sizes[:, None], b / sizes
    answer = linprog(np.zeros(A.shape[1]), A_ub=-rows, b_ub=-limits, bounds=(None, None), method="highs")
    return bool(answer.status == 0)


def nearest_point(precision: Floats, A: Floats, b: Floats) -> Floats:
    """Return the shortest x with A x >= b, by non-negative least squares (Lawson & Hanson)."""
    root = np.linalg.cholesky(precision)
    G = np.linalg.solve(root, A.T).T
    size = np.linalg.norm(G, axis=1)
    target = np.append(np.zeros(len(root)), 1.0)
    for slack in SLACKS:
        E = np.vstack([(G / size[:, None]).T, (b + slack * np.abs(b)) / size])
        weights, _ = nnls(E, target, maxiter=100 * len(A))
        residual = E @ weights - target
        point = np.asarray(np.linalg.solve(root.T, -residual[:-1] / residual[-1]))
        if np.all(A @ point >= b):
            return point
    raise ArithmeticError("the examples are so hard to separate that rounding hides the comparator")


def nearest_covariance(z: Floats, limits: Floats) -> Floats:
    """Return the Sigma of least -log det Sigma + Tr Sigma with z' Sigma z <= limit for every row.

    The dual has Sigma = (I + sum lambda z z')^-1; scaling Sigma down makes it feasible.
    """
    rows = z / np.sqrt(limits)[:, None]

    def covariance(multipliers: Floats) -> Floats:
        return inverse_of(np.eye(z.shape[1]) + (rows.T * multipliers) @ rows)

    def lagrangian(multipliers: Floats) -> tuple[float, Floats]:
        sigma = covariance(multipliers)
        value = float(np.linalg.slogdet(sigma)[1] + multipliers.sum())
        return value, 1.0 - np.einsum("ij,jk,ik->i", rows, sigma, rows)

    start = np.full(len(z), 1.0 / len(z))
    answer = minimize(lagrangian, start, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * len(z))
    sigma = covariance(answer.x)
    excess = float(np.einsum("ij,jk,ik->i", rows, sigma, rows).max())
    return sigma / max(1.0, excess * (1.0 + SLACKS[0]))


@dataclass(frozen=True)
class Comparator:
    """Satisfies cw2008, eq. (18), on a run; `cost` is the bracket of (19)."""

    mean: Floats
    covariance: Floats
    cost: float


def tightest_comparator(run: Replay) -> Comparator:
    """Return the comparator with the smallest bound on this run: mu* and Sigma* solve two convex problems.

    A run so ill-conditioned that rounding hides them raises an ArithmeticError.
    """
    margins = np.array([update.margin for update in run.updates])
    if not _is_feasible(run.rows, margins):
        raise NotSeparableError(
            "no mu* has y mu*.x >= y mu_{i+1}.x on every update: the updated examples are not linearly "
            "separable, and the theorem does not apply to such a run"
        )
    mean = nearest_point(run.precision, run.rows, margins)
    covariance = nearest_covariance(run.rows, np.array([update.variance for update in run.updates]))
    spread = np.trace(covariance) - float(np.linalg.slogdet(covariance)[1])
    comparator = Comparator(mean, covariance, float(spread + mean @ run.precision @ mean - len(mean)))
    if not satisfies_conditions(comparator, run):
        raise ArithmeticError("rounding pushed the comparator out of its conditions")
    return comparator


def find_comparator(run: Replay) -> Comparator | None:
    try:
        return tightest_comparator(run)
    except (NotSeparableError, ArithmeticError, np.linalg.LinAlgError):
        return None


def satisfies_conditions(comparator: Comparator, run: Replay) -> bool:
    """Return whether eq. (18) holds for a comparator on every update of a run."""
    return all(
        comparator.mean @ update.z >= update.margin
        and update.z @ comparator.covariance @ update.z <= update.variance
        for update in run.updates
    )


#: (m, v) -> (alpha, beta) of mu += alpha y Sigma x and Sigma -= beta Sigma x x' Sigma.
Step = Callable[[float, float], tuple[float, float]]


def scalar_step(id: str, constants: tuple[float, ...]) -> Step:
    rule: Any = get_definition(id).rule

    def step(m: float, v: float) -> tuple[float, float]:
        _, alpha, gain = rule(m, v, m < 0.0, 1, constants)
        return alpha, gain / (1.0 + gain * v)

    return step


#: One round, for w = pi k with inner products k: (alpha y, w, a, older pi, older inner products) -> nu_i, and
#: what beta times is taken from the older pi and makes pi_{p,i} and pi_{i,i}.
Form = Callable[[float, Floats, float, Floats, Floats], tuple[float, Floats, Floats, float]]


def derived_form(
    push: float, w: Floats, a: float, pi: Floats, gram: Floats
) -> tuple[float, Floats, Floats, float]:
    """Return what the update gives: nu_i = alpha y a, pi_{p,i} = -beta a w_p, pi_{i,i} = -beta a^2.

    The old block is sum_rs pi_pr (x_r'x_i)(x_i'x_s) pi_sq, which is Sigma x_i x_i' Sigma over the older
    examples. cw2008, eq. (21), and scw2012, Lemma 1, print sum_rs pi_pr (x_r'x_s) pi_sq.
    """
    return push * a, np.outer(w, w), a * w, a * a


@dataclass(frozen=True)
class Expansion:
    nu: list[Floats]
    pi: list[Floats]
    mistakes: int
    updates: int


def expand(gram: Floats, y: Floats, a: float, step: Step, form: Form) -> Expansion:
    n = len(y)
    nu, pi = np.zeros(n), np.zeros((n, n))
    means, covariances, mistakes, updates = [nu.copy()], [pi.copy()], 0, 0
    for i in range(n):
        k = gram[:i, i]
        w = pi[:i, :i] @ k
        score = float(nu[:i] @ k)
        mistakes += (1.0 if score >= 0.0 else -1.0) != y[i]
        v = float(k @ w + a * gram[i, i])
        # A wrong recursion can lose positive definiteness, where rules are undefined.
        alpha, beta = step(y[i] * score, v) if v > 0.0 else (0.0, 0.0)
        if alpha > 0.0:
            updates += 1
            nu[:i] += alpha * y[i] * w
            nu[i], block, border, corner = form(alpha * y[i], w, a, pi[:i, :i], gram[:i, :i])
            pi[:i, :i] -= beta * block
            pi[:i, i] = pi[i, :i] = -beta * border
            pi[i, i] = -beta * corner
        means.append(nu.copy())
        covariances.append(pi.copy())
    return Expansion(means, covariances, mistakes, updates)


def largest_difference(expansion: Expansion, X: Floats, a: float, run: Replay) -> float:
    means = [_relative(X.T @ nu, mean) for nu, mean in zip(expansion.nu, run.means, strict=True)]
    pairs = zip(expansion.pi, run.covariances, strict=True)
    ridge = a * np.eye(X.shape[1])
    return max(*means, *(_relative(X.T @ pi @ X + ridge, covariance) for pi, covariance in pairs))


def compare_forms(
    algorithm: Algorithm, constants: tuple[float, ...], X: Floats, y: Floats, printed_form: Form, **shown: Any
) -> Instance:
    run, step, a = replay(algorithm, X, y), scalar_step(algorithm.id, constants), algorithm.a
    expansions = [expand(X @ X.T, y, a, step, form) for form in (printed_form, derived_form)]
    printed, corrected = (largest_difference(expansion, X, a, run) for expansion in expansions)
    nu, pi = expansions[0].nu[-1], expansions[0].pi[-1]
    shown |= {"mu": run.means[-1], "mu from nu": X.T @ nu, "Sigma": run.covariances[-1]}
    shown["Sigma from pi"] = X.T @ pi @ X + a * np.eye(X.shape[1])
    return Instance(printed, corrected, x=X, y=y, a=a, **shown)


def _relative(value: Floats, reference: Floats) -> float:
    size = float(np.abs(reference).max())
    gap = float(np.abs(value - reference).max())
    return gap / size if size > 0.0 else gap
