"""The kernel form: mu = sum nu_p x_p and Sigma = sum pi_pq x_p x_q' + a I (cw2008, Theorem 2)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from olbench.algorithms import get_definition
from olbench.learners.examples import Floats
from olbench.papers.audit.definition import Instance
from olbench.papers.audit.runs import Replay

#: (m, v) -> (alpha, beta) of mu += alpha y Sigma x and Sigma -= beta Sigma x x' Sigma.
Step = Callable[[float, float], tuple[float, float]]


def rule_of(id: str) -> Callable[..., tuple[float, float, float]]:
    rule = get_definition(id).rule
    assert rule is not None
    return rule


def scalar_step(id: str, constants: tuple[float, ...]) -> Step:
    rule = rule_of(id)

    def step(m: float, v: float) -> tuple[float, float]:
        _, alpha, gain = rule(m, v, m < 0.0, 1, constants)
        return alpha, gain / (1.0 + gain * v)

    return step


@dataclass(frozen=True)
class Coefficients:
    """One round, for w = pi k with inner products k: nu_i, the change of older pi, pi_{p,i} and pi_{i,i}."""

    new_mean: Callable[[float, float, float], float]
    old_block: Callable[[Floats, Floats, Floats], Floats]
    border: Callable[[Floats, float], Floats]
    corner: Callable[[float], float]


def printed_block(w: Floats, pi: Floats, gram: Floats) -> Floats:
    """Return sum_rs pi_pr (x_r'x_s) pi_sq, as cw2008, eq. (21), and scw2012, Lemma 1, print it."""
    return np.asarray(pi @ gram @ pi)


#: As the update gives them: nu_i = alpha y a, pi_{p,i} = -beta a w_p, pi_{i,i} = -beta a^2. The old block is
#: sum_rs pi_pr (x_r'x_i)(x_i'x_s) pi_sq, which is Sigma x_i x_i' Sigma over the older examples.
DERIVED = Coefficients(
    new_mean=lambda alpha, y, a: alpha * y * a,
    old_block=lambda w, pi, gram: np.outer(w, w),
    border=lambda w, a: a * w,
    corner=lambda a: a * a,
)


@dataclass(frozen=True)
class Expansion:
    nu: list[Floats]
    pi: list[Floats]
    mistakes: int
    updates: int


def expand(gram: Floats, y: Floats, a: float, step: Step, form: Coefficients) -> Expansion:
    n = len(y)
    nu, pi = np.zeros(n), np.zeros((n, n))
    means, covariances, mistakes, updates = [nu.copy()], [pi.copy()], 0, 0
    for i in range(n):
        k = gram[:i, i]
        w = pi[:i, :i] @ k
        score = float(nu[:i] @ k)
        mistakes += (1.0 if score >= 0.0 else -1.0) != y[i]
        v = float(k @ w + a * gram[i, i])
        # A wrong recursion can lose positive definiteness; a rule has no answer then.
        alpha, beta = step(y[i] * score, v) if v > 0.0 else (0.0, 0.0)
        if alpha > 0.0:
            updates += 1
            nu[:i] += alpha * y[i] * w
            nu[i] = form.new_mean(alpha, y[i], a)
            pi[:i, :i] -= beta * form.old_block(w, pi[:i, :i], gram[:i, :i])
            pi[:i, i] = pi[i, :i] = -beta * form.border(w, a)
            pi[i, i] = -beta * form.corner(a)
        means.append(nu.copy())
        covariances.append(pi.copy())
    return Expansion(means, covariances, mistakes, updates)


def largest_difference(expansion: Expansion, X: Floats, a: float, run: Replay) -> float:
    means = [_relative(X.T @ nu, mean) for nu, mean in zip(expansion.nu, run.means, strict=True)]
    pairs = zip(expansion.pi, run.covariances, strict=True)
    ridge = a * np.eye(X.shape[1])
    return max(*means, *(_relative(X.T @ pi @ X + ridge, covariance) for pi, covariance in pairs))


def compare_forms(
    run: Replay,
    data: tuple[Floats, Floats, float],
    step: Step,
    coefficients: tuple[Coefficients, Coefficients],
    **shown: Any,
) -> Instance:
    X, y, a = data
    expansions = [expand(X @ X.T, y, a, step, form) for form in coefficients]
    printed, corrected = (largest_difference(expansion, X, a, run) for expansion in expansions)
    nu, pi = expansions[0].nu[-1], expansions[0].pi[-1]
    shown |= {"mu": run.means[-1], "mu from nu": X.T @ nu, "Sigma": run.covariances[-1]}
    shown["Sigma from pi"] = X.T @ pi @ X + a * np.eye(X.shape[1])
    return Instance(printed, corrected, x=X, y=y, a=a, **shown)


def _relative(value: Floats, reference: Floats) -> float:
    size = float(np.abs(reference).max())
    gap = float(np.abs(value - reference).max())
    return gap / size if size > 0.0 else gap
