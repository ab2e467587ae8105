"""The papers' problems over Gaussians: solved by a general-purpose optimiser, and their closed forms."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, cast

import numpy as np
from scipy.optimize import minimize

from olbench.learners.examples import Floats
from olbench.papers.audit import POINTS, Instance, Instances

Constraint = Literal["deviation", "variance"]
Margins = Iterator[tuple[float, float, float]]
inverse_of = cast(Callable[[Floats], Floats], np.linalg.inv)


def divergence(mean: Floats, covariance: Floats, other_mean: Floats, other_covariance: Floats) -> float:
    inverse = np.linalg.inv(other_covariance)
    log_ratio = np.linalg.slogdet(other_covariance)[1] - np.linalg.slogdet(covariance)[1]
    shift = other_mean - mean
    return 0.5 * float(log_ratio + np.trace(inverse @ covariance) + shift @ inverse @ shift - len(mean))


@dataclass(frozen=True)
class Example:
    mean: Floats
    covariance: Floats
    x: Floats
    y: float

    @property
    def m(self) -> float:
        return self.y * float(self.mean @ self.x)

    @property
    def v(self) -> float:
        return float(self.x @ self.covariance @ self.x)

    def step(self, alpha: float, beta: float) -> tuple[Floats, Floats]:
        """Return the Gaussian after mu += alpha y Sigma x, Sigma -= beta Sigma x x' Sigma."""
        z = self.covariance @ self.x
        return self.mean + alpha * self.y * z, self.covariance - beta * np.outer(z, z)


@dataclass(frozen=True)
class Problem(Example):
    """Stay as close as possible to N(mean, covariance) subject to phi sqrt(x' Sigma x) <= y mu.x.

    `constraint` "variance" drops the root. `price` "linear" adds C xi (scw2012, eq. 4), "squared" C xi^2.
    """

    phi: float
    constraint: Constraint = "deviation"
    price: Literal["none", "linear", "squared"] = "none"
    C: float = 0.0
    diagonal: bool = False

    @property
    def shown(self) -> dict[str, float]:
        return {"m": self.m, "v": self.v, "phi": self.phi, **({} if self.price == "none" else {"C": self.C})}

    def move(self, alpha: float) -> tuple[Floats, Floats]:
        """Return the Gaussian after a step alpha of the deviation form."""
        return self.step(alpha, shrinkage(alpha, self.v, self.phi))

    def shortfall(self, mean: Floats, covariance: Floats) -> float:
        variance = float(self.x @ covariance @ self.x)
        wanted = variance if self.constraint == "variance" else math.sqrt(variance)
        return self.phi * wanted - self.y * float(mean @ self.x)

    def value(self, mean: Floats, covariance: Floats) -> float:
        cost, _ = self.cost(max(0.0, self.shortfall(mean, covariance)))
        return divergence(mean, covariance, self.mean, self.covariance) + cost

    def cost(self, slack: float) -> tuple[float, float]:
        if self.price == "none":
            return 0.0, 0.0
        if self.price == "linear":
            return self.C * slack, self.C
        return self.C * slack * slack, 2.0 * self.C * slack

    def solve(self) -> tuple[Floats, Floats]:
        """Solve by sequential quadratic programming, in coordinates where the old Gaussian is standard."""
        root = np.linalg.cholesky(self.covariance)
        d, x, has_slack = len(self.x), root.T @ self.x, self.price != "none"
        where = np.diag_indices(d) if self.diagonal else np.tril_indices(d)

        def unpack(variables: Floats) -> tuple[Floats, Floats, float]:
            factor = np.zeros((d, d))
            factor[where] = variables[d : d + len(where[0])]
            return variables[:d], factor, float(variables[-1]) if has_slack else 0.0

        def objective(variables: Floats) -> tuple[float, Floats]:
            step, factor, slack = unpack(variables)
            diagonal = np.maximum(np.diag(factor), 1e-12)
            value = 0.5 * float(step @ step + (factor * factor).sum() - d) - float(np.log(diagonal).sum())
            slope = factor - np.diag(1.0 / diagonal)
            cost, rise = self.cost(slack)
            return value + cost, np.concatenate([step, slope[where], [rise] * has_slack])

        def margin(variables: Floats) -> float:
            step, factor, slack = unpack(variables)
            deviation = float(np.linalg.norm(factor.T @ x))
            wanted = deviation**2 if self.constraint == "variance" else deviation
            return self.m + self.y * float(step @ x) + slack - self.phi * wanted

        def margin_slope(variables: Floats) -> Floats:
            image = unpack(variables)[1].T @ x
            size = max(float(np.linalg.norm(image)), 1e-150)
            scale = 2.0 if self.constraint == "variance" else 1.0 / size
            slope = -self.phi * scale * np.outer(x, image)
            return np.concatenate([self.y * x, slope[where], [1.0] * has_slack])

        slack = [max(0.0, self.shortfall(self.mean, self.covariance))] * has_slack
        answer = minimize(
            objective,
            np.concatenate([np.zeros(d), np.eye(d)[where], slack]),
            jac=True,
            method="SLSQP",
            bounds=[
                *[(None, None)] * d,
                *((1e-9 if row == column else None, None) for row, column in zip(*where, strict=True)),
                *[(0.0, None)] * has_slack,
            ],
            constraints={"type": "ineq", "fun": margin, "jac": margin_slope},
            options={"ftol": 1e-15, "maxiter": 500},
        )
        step, factor, _ = unpack(answer.x)
        return self.mean + root @ step, root @ factor @ factor.T @ root.T


def random_gaussian(rng: np.random.Generator, d: int, diagonal: bool = False) -> tuple[Floats, Floats]:
    factor = np.diag(rng.lognormal(sigma=0.5, size=d))
    if not diagonal:
        factor = factor + 0.5 * np.tril(rng.normal(size=(d, d)), -1)
    return rng.normal(size=d), factor @ factor.T


def draw_problem(
    rng: np.random.Generator, constraint: Constraint = "deviation", diagonal: bool = False
) -> Problem:
    d = int(rng.integers(1, 4))
    mean, covariance = random_gaussian(rng, d, diagonal)
    x, y = rng.normal(size=d) * rng.lognormal(sigma=0.7), float(rng.choice([-1.0, 1.0]))
    return Problem(mean, covariance, x, y, rng.uniform(0.1, 3.0), constraint, diagonal=diagonal)


def violated_problems(
    rng: np.random.Generator, count: int, draw: Callable[..., Problem] = draw_problem, **settings: Any
) -> Iterator[Problem]:
    while count:
        problem = draw(rng, **settings)
        if problem.shortfall(problem.mean, problem.covariance) > 0.05 * math.sqrt(problem.v):
            count -= 1
            yield problem


def compare_optimum(
    problems: Iterable[Problem], update: Callable[[Problem], tuple[Floats, Floats]]
) -> Instances:
    for problem in problems:
        yield Instance(distance(problem, *update(problem), problem.solve()), **problem.shown)


def distance(problem: Problem, mean: Floats, covariance: Floats, best: tuple[Floats, Floats]) -> float:
    """Return the distance of two Gaussians, in coordinates where the problem's old one is standard."""
    inverse = np.linalg.inv(np.linalg.cholesky(problem.covariance))
    shift = inverse @ (mean - best[0])
    change = inverse @ (covariance - best[1]) @ inverse.T
    return float(max(np.abs(shift).max(), np.abs(change).max()))


def largest_slope(
    objective: Callable[[Floats, Floats], float], mean: Floats, covariance: Floats, rng: np.random.Generator
) -> float:
    """Return the largest of a few central differences of an objective, relative to the precision."""
    h, slopes = 1e-5 * float(np.linalg.eigvalsh(covariance)[0]), []
    for _ in range(4):
        shift, turn = rng.normal(size=len(mean)), rng.normal(size=covariance.shape)
        turn = h * (turn + turn.T)
        ends = [objective(mean + sign * h * shift, covariance + sign * turn) for sign in (1.0, -1.0)]
        slopes.append(abs(ends[0] - ends[1]) / (2.0 * h))
    return max(slopes) / (1.0 + float(np.abs(np.linalg.inv(covariance)).max()))


def matched_draws(rng: np.random.Generator, mean: Floats, covariance: Floats, count: int) -> Floats:
    """Return draws from a Gaussian, shifted and scaled to have exactly its mean and covariance."""
    draws = rng.normal(size=(count, len(mean)))
    draws -= draws.mean(axis=0)
    spread = np.linalg.cholesky(draws.T @ draws / count)
    return np.asarray(mean + np.linalg.solve(spread, draws.T).T @ np.linalg.cholesky(covariance).T)


def larger_root(m: float, v: float, phi: float) -> float:
    """Return alpha of the optimal step, if it is not negative: cw2008, eq. (14)."""
    psi, xi = 1.0 + phi * phi / 2.0, 1.0 + phi * phi
    return (-m * psi + math.sqrt(m * m * phi**4 / 4.0 + v * phi * phi * xi)) / (v * xi)


def quadratic_roots(m: float, v: float, phi: float) -> list[float]:
    xi = 1.0 + phi * phi
    roots = np.roots([v * v * xi, 2.0 * m * v * (1.0 + phi * phi / 2.0), m * m - v * phi * phi])
    return sorted(float(root) for root in roots)


def remaining_deviation(alpha: float, v: float, phi: float) -> float:
    """Return sqrt(u), the deviation of the margin after a step alpha: cw2008, eq. (12)."""
    return 0.5 * (-alpha * v * phi + math.sqrt((alpha * v * phi) ** 2 + 4.0 * v))


def shrinkage(alpha: float, v: float, phi: float) -> float:
    """Return beta of Sigma -= beta Sigma x x' Sigma for a step alpha: cw2008, eqs. (12) and (22)."""
    return alpha * phi / (remaining_deviation(alpha, v, phi) + v * alpha * phi)


def least_margin(v: float, phi: float) -> float:
    """Return the smallest margin that meets the constraint: cw2008, eq. (4), and cw2012, eq. (19)."""
    return phi * math.sqrt(v)


def confidence_loss(x: Decimal, phi: Decimal) -> Decimal:
    """Return f_phi(x) of cw2008, eq. (24)."""
    psi, xi = 1 + phi * phi / 2, 1 + phi * phi
    g = -x * psi + (x * x * phi**4 / 4 + phi * phi * xi).sqrt()
    return g * g / (phi * phi * xi)


def factor_6(phi: float) -> float:
    """Return (1 + phi^2) / phi^2, which makes alpha^2 v the confidence loss: cw2008, Lemma 5, item 6."""
    return (1.0 + phi * phi) / (phi * phi)


def draw_margins(rng: np.random.Generator, count: int, low: float, high: float) -> Margins:
    """Yield (m, v, phi) with m from low to high in units of phi sqrt(v)."""
    for _ in range(count):
        v, phi = 10.0 ** rng.uniform(-4, 4), rng.uniform(0.05, 3.0)
        yield rng.uniform(low, high) * phi * math.sqrt(v), v, phi


def compare_smaller_root(rng: np.random.Generator, trials: int) -> Instances:
    """Compare both roots: the smaller, where not negative, leaves the margin below phi sqrt(u)."""
    for m, v, phi in ((-2.0, 1.0, 1.0), *draw_margins(rng, POINTS * trials, -3.0, 1.0)):
        smaller, larger = quadratic_roots(m, v, phi)
        left = [(m + a * v - phi * remaining_deviation(a, v, phi)) / math.sqrt(v) for a in (smaller, larger)]
        as_corrected = (smaller < 0.0) == (m > -least_margin(v, phi))
        refused = left[0] < -1e-6 and abs(left[1]) < 1e-6
        shown = {"m": m, "v": v, "phi": phi, "smaller root": smaller, "larger root": larger}
        shown["margin after the smaller"] = m + smaller * v
        yield Instance(smaller >= 0.0, not (as_corrected and refused), **shown)
    yield "The larger root is still the multiplier: only it meets the constraint"


def compare_trigger(
    rng: np.random.Generator, trials: int, step: Callable[[float, float, float], float]
) -> Instances:
    for m, v, phi in ((0.2, 0.1, 1.0), *draw_margins(rng, POINTS * trials, 0.0, 2.0)):
        gamma = step(m, v, phi)
        moves, shown = gamma > 0.0, {"m": m, "v": v, "phi": phi, "gamma": gamma, "phi v": phi * v}
        yield Instance(moves != (m < phi * v), moves != (m < least_margin(v, phi)), **shown)
