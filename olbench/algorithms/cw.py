"""Confidence-weighted learning, with the constraint on the standard deviation or on the variance."""

import math
from statistics import NormalDist
from typing import Any

from olbench.algorithms.definition import Estimator, Parameter, Traits, second_order
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
    "phi", quantile(0.7), "confidence as a number of standard deviations, phi = Phi^-1(eta)",
    closed="left", grid=(0.001, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0), instead_of="eta",
)  # fmt: skip


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
    form="root",
    monotone=True,
    scale_free=True,
    estimator=Estimator("Confidence-weighted learning, standard-deviation form.", accuracy=0.98),
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
    estimator=Estimator("Confidence-weighted learning, variance form.", accuracy=0.98),
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
