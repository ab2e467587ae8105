"""Confidence-weighted learning, with the constraint on the standard deviation or on the variance."""

import math
from statistics import NormalDist
from typing import Any

from olbench.algorithms.definition import Parameter, Traits, second_order
from olbench.kernels.helpers import helper
from olbench.kernels.losses import excess


def quantile(eta: float) -> float:
    """Return phi = Phi^-1(eta), the standard normal quantile."""
    return NormalDist().inv_cdf(eta)


TRAITS = Traits(True, True, False, True)
ETA_GRID = tuple(round(0.5 + 0.05 * k, 2) for k in range(10))
ETA_DOC = "confidence: the probability with which the example must be classified correctly"
ETA = Parameter("eta", 0.7, ETA_DOC, low=0.5, high=1.0, closed="left", grid=ETA_GRID)
#: Confidence as a quantile, as cw2012 searches it: Phi(10) is one in doubles, so phi = 10 has no eta.
PHI = Parameter(
    "phi",
    quantile(0.7),
    "confidence as a number of standard deviations, phi = Phi^-1(eta)",
    closed="left",
    grid=(0.001, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
    instead_of="eta",
)


def confidence(eta: float | None = None, phi: float | None = None) -> tuple[float]:
    """Return the constant of the rules, phi, from the parameter that is given."""
    return (quantile(eta) if eta is not None else float(phi or 0.0),)


@helper
def confident_step(r: float, phi: float, share: float) -> float:
    """Return a = alpha sqrt(v) for the normalised margin r = m / sqrt(v) < phi.

    a solves phi sqrt(u / v) = r + a / share, where u is the variance after the update. With share = 1 the
    constraint is met with equality (cw2008, eq. 14); share = v / (v + 1/(2C)) gives the squared slack of
    scw2012, Proposition 2. Of the two forms of the root, the one without cancellation is used.
    """
    half = 0.5 * share * phi * phi
    root = math.hypot(r * half, phi * math.sqrt(1.0 + 2.0 * half))
    if r > 0.0:
        return share * (phi - r) * (phi + r) / (r * (1.0 + half) + root)
    return share * (root - r * (1.0 + half)) / (1.0 + 2.0 * half)


@helper
def precision_gain(a: float, phi: float, v: float) -> float:
    """Return c = alpha phi / sqrt(u), the precision that the update adds along x (cw2008, eq. 12)."""
    k = a * phi
    return 0.5 * k * (k + math.sqrt(k * k + 4.0)) / v


#: Newton's method from below takes five steps or less on random pairs; the bound only guards against a NaN.
MOST_STEPS = 60
EPSILON = 2.0**-52


@helper
def remaining(x: float, u: float, w: float) -> tuple[float, float, float]:
    """Return rho, (1 - rho^2) / x and the slope of rho for two shares u + w = 1 of the variance.

    rho^2 = u / (1 + x u) + w / (1 + x w) is the share of the variance that a gain c = x / v leaves.
    """
    p, q = 1.0 / (1.0 + x * u), 1.0 / (1.0 + x * w)
    rho = math.sqrt(u * p + w * q)
    return rho, u * u * p + w * w * q, -0.5 * (u * u * p * p + w * w * q * q) / rho


@helper
def pair_gain(r: float, phi: float, u: float, w: float, n: float) -> float:
    """Return the root x of rho(x) (phi^2 - n x) = phi r for a normalised margin r < phi.

    Written as x (n rho + phi^2 (1 - rho) / x) = phi (phi - r), nothing cancels, and the left side is concave
    and increasing: Newton's iterates from below increase towards the root. They start at the root for one
    share of 1, or two of 1/2, which bound rho from below and above: closed forms, as for two classes.
    """
    wanted = phi * (phi - r)
    if r >= 0.0:
        x = precision_gain(confident_step(r, phi, 1.0 / n), phi, 1.0)
    else:
        part = math.sqrt(0.5)
        x = 2.0 * precision_gain(confident_step(part * r, part * phi, 1.0 / n), part * phi, 1.0)
    for _ in range(MOST_STEPS):
        rho, curve, slope = remaining(x, u, w)
        missing = wanted - x * (n * rho + phi * phi * curve / (1.0 + rho))
        step = missing / (n * rho + (n * x - phi * phi) * slope)
        if not step > EPSILON * x:
            break
        x += step
    return x


@helper
def clipped_gain(k: float, u: float, w: float) -> float:
    """Return the root x of x rho(x) = k, in the same way."""
    x = 2.0 * precision_gain(0.5 * k, 1.0, 1.0)
    for _ in range(MOST_STEPS):
        rho, _, slope = remaining(x, u, w)
        step = (k - x * rho) / (rho + x * slope)
        if not step > EPSILON * x:
            break
        x += step
    return x


@helper
def pair_step(m: float, v_y: float, v_s: float, phi: float, slack: float, most: float) -> tuple[float, float]:
    """Return (alpha, c) of CW for the covariances of two classes: the optimum over both Gaussians.

    The constraint is phi sqrt(v_y+ + v_s+) = m + alpha (v_y + v_s + slack), and alpha is at most `most`.
    """
    v = v_y + v_s
    deviation = math.sqrt(v)
    r, u, w, n = m / deviation, v_y / v, v_s / v, 1.0 + slack / v
    x = pair_gain(r, phi, u, w, n)
    rho = remaining(x, u, w)[0]
    a = x * rho / phi if r > 0.0 else (phi * rho - r) / n
    if a > most * deviation:
        a = most * deviation
        x = clipped_gain(a * phi, u, w)
    return a / deviation, x / v


def cw_pair(m: float, v_y: float, v_s: float, p: Any) -> Any:
    """Change two Gaussians as little as needed for the constraint of CW on their difference to hold."""
    return pair_step(m, v_y, v_s, p[0], 0.0, math.inf)


def deviation_terms(m: float, v: float, p: Any) -> Any:
    """Return the terms of m + alpha v = phi sqrt(v+) for a diagonal Sigma (cw2012, eq. 34).

    Margins are measured in units of sqrt(v), which makes the equation free of scale.
    """
    phi = p[0]
    squared = phi * phi
    return excess(phi * math.sqrt(v), m), math.sqrt(v), squared, 0.0, 1.0, squared


def variance_terms(m: float, v: float, p: Any) -> Any:
    """Return the terms of m + alpha v = phi v+ for a diagonal Sigma (cw2012, eq. 33)."""
    phi = p[0]
    return excess(phi * v, m), 1.0, phi * v, 1.0, 0.0, 2.0 * phi


@second_order(
    "cw",
    title="CW",
    source="cw2008, eqs. (10)-(14) and Fig. 1; scw2012, section 2.3",
    parameters=(ETA, PHI),
    traits=TRAITS,
    constants=confidence,
    exact=deviation_terms,
    pair=cw_pair,
    form="root",
    monotone=True,
    scale_free=True,
)
def cw(m: float, v: float, mistake: bool, t: int, p: Any) -> Any:
    """Change the Gaussian as little as needed for phi sqrt(x' Sigma x) <= m to hold."""
    phi = p[0]
    loss = excess(phi * math.sqrt(v), m)
    if loss == 0.0 or v == 0.0:
        return loss, 0.0, 0.0
    deviation = math.sqrt(v)
    a = confident_step(m / deviation, phi, 1.0)
    return loss, a / deviation, precision_gain(a, phi, v)


@second_order(
    "cw-var",
    title="CW-var",
    source="Dredze, Crammer & Pereira, ICML 2008; cw2012, section 5.1",
    parameters=(ETA, PHI),
    traits=TRAITS,
    constants=confidence,
    exact=variance_terms,
    form="root",
    monotone=True,
)
def cw_var(m: float, v: float, mistake: bool, t: int, p: Any) -> Any:
    """Change the Gaussian as little as needed for phi x' Sigma x <= m to hold."""
    phi = p[0]
    loss = excess(phi * v, m)
    if loss == 0.0 or v == 0.0:
        return loss, 0.0, 0.0
    b = 1.0 + 2.0 * phi * m
    root = math.hypot(1.0 - 2.0 * phi * m, phi * math.sqrt(8.0 * v))
    alpha = 2.0 * loss / (v * (b + root)) if b > 0.0 else (root - b) / (4.0 * phi * v)
    return loss, alpha, 2.0 * alpha * phi
