"""The quadratic for alpha (cw2008, section 3.2, cw2012, section 5.2, scw2012, Proposition 1); the loss."""

import math
from collections.abc import Callable
from decimal import Decimal

import numpy as np

from olbench.papers.audit.definition import POINTS, Instance, Instances

#: (m, v, phi) -> a number.
OfMargin = Callable[[float, float, float], float]


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
    """Return the margin from which the constraint holds: cw2008, eq. (4), and cw2012, eq. (19)."""
    return phi * math.sqrt(v)


def confidence_loss(x: Decimal, phi: Decimal) -> Decimal:
    """Return f_phi(x) of cw2008, eq. (24)."""
    psi, xi = 1 + phi * phi / 2, 1 + phi * phi
    g = -x * psi + (x * x * phi**4 / 4 + phi * phi * xi).sqrt()
    return g * g / (phi * phi * xi)


def factor_6(phi: float) -> float:
    """Return (1 + phi^2) / phi^2, which makes alpha^2 v the confidence loss: cw2008, Lemma 5, item 6."""
    return (1.0 + phi * phi) / (phi * phi)


def compare_smaller_root(
    rng: np.random.Generator, trials: int, least_margin: Callable[[float, float], float]
) -> Instances:
    """Where it is not negative, it belongs to the other sign of the square root: the margin < phi sqrt(u)."""
    cases = [(-2.0, 1.0, 1.0)]
    for _ in range(POINTS * trials):
        v, phi = 10.0 ** rng.uniform(-4, 4), rng.uniform(0.05, 3.0)
        cases.append((rng.uniform(-3.0, 1.0) * phi * math.sqrt(v), v, phi))
    for m, v, phi in cases:
        smaller, larger = quadratic_roots(m, v, phi)
        left = [(m + a * v - phi * remaining_deviation(a, v, phi)) / math.sqrt(v) for a in (smaller, larger)]
        as_said = (smaller < 0.0) == (m > -least_margin(v, phi))
        refused = left[0] < -1e-6 and abs(left[1]) < 1e-6
        shown = {"m": m, "v": v, "phi": phi, "smaller root": smaller, "larger root": larger}
        shown["margin after the smaller"] = m + smaller * v
        yield Instance(smaller >= 0.0, not (as_said and refused), **shown)
    yield "The larger root is the multiplier all the same: only it meets the constraint"


def compare_trigger(
    rng: np.random.Generator, trials: int, step: OfMargin, least_margin: Callable[[float, float], float]
) -> Instances:
    cases = [(0.2, 0.1, 1.0)]
    for _ in range(POINTS * trials):
        v, phi = 10.0 ** rng.uniform(-4, 4), rng.uniform(0.05, 3.0)
        cases.append((rng.uniform(0.0, 2.0) * phi * math.sqrt(v), v, phi))
    for m, v, phi in cases:
        gamma = step(m, v, phi)
        moves, shown = gamma > 0.0, {"m": m, "v": v, "phi": phi, "gamma": gamma, "phi v": phi * v}
        yield Instance(moves != (m < phi * v), moves != (m < least_margin(v, phi)), **shown)
