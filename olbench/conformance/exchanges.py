"""Exchanges of parts of a replica: the vocabulary in which the catalogue is written."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from olbench.algorithms.cw import precision_gain
from olbench.algorithms.probing import interpret
from olbench.conformance.replica import Exchange, Replica, RuleStep

#: A step typed otherwise: change(step, m, v, replica).
Change = Callable[[RuleStep, float, float, Replica], RuleStep]


def with_param(name: str, change: Callable[[float], float]) -> Exchange:
    return {"params": lambda before, given: {**before(given), name: change(before(given)[name])}}


def with_phi(change: Callable[[float], float]) -> Exchange:
    return {"constants": lambda before, s: [*before(s)[:-1], change(s.params["eta"])]}


def with_initial_variance(a: float) -> Exchange:
    return {"start": lambda before, s, d: (before(s, d)[0], a * before(s, d)[1])}


def with_variance(change: Callable[[float], float]) -> Exchange:
    """Return the exchange of v, or ||x||^2, as the rule gets it."""
    return {"decide": lambda before, s, m, v, mistake: before(s, m, change(v), mistake)}


def with_step(change: Change) -> Exchange:
    return {"decide": lambda before, s, m, v, mistake: change(before(s, m, v, mistake), m, v, s)}


def with_loss(change: Change) -> Exchange:
    """Return the exchange that changes the steps of rounds with a loss."""
    return with_step(lambda step, m, v, s: change(step, m, v, s) if step.loss and v else step)


def scale_step(alpha: float = 1.0, beta: float = 1.0) -> Exchange:
    return with_step(lambda step, m, v, s: replace(step, alpha=alpha * step.alpha, beta=beta * step.beta))


def with_alpha(**typed: Any) -> Exchange:
    """Return the exchange of the alpha of CW and SCW-I by `closed_alpha` with parts typed otherwise."""

    def retype(step: RuleStep, m: float, v: float, s: Replica) -> RuleStep:
        alpha = closed_alpha(m, v, s.p[-1], **typed)
        return confident(step, min(s.p[0], alpha) if s.definition.id == "scw1" else alpha, v, s.p[-1])

    return with_loss(retype)


def with_gamma(root: Callable[[float, float, float, float], float], divisor: float = 2.0) -> Exchange:
    """Return the exchange of SCW-II's gamma = phi sqrt(root(m, v, n, phi)), n = v + 1/(2C), in its alpha."""

    def retype(step: RuleStep, m: float, v: float, s: Replica) -> RuleStep:
        phi, n = s.p[1], v + 0.5 / s.p[0]
        top = phi * math.sqrt(root(m, v, n, phi)) - m * (2.0 * n + phi * phi * v)
        return confident(step, max(0.0, top / (divisor * n * (n + v * phi * phi))), v, phi)

    return with_loss(retype)


def with_limit(limit: Callable[[float, float], float]) -> Exchange:
    """Return the exchange of min(C, step), for PA-I and SCW-I, by another function of C and the step."""

    def retype(step: RuleStep, m: float, v: float, s: Replica) -> RuleStep:
        if s.definition.order == "first":
            return replace(step, alpha=limit(s.p[0], step.loss / v))
        return confident(step, limit(s.p[0], closed_alpha(m, v, s.p[1])), v, s.p[1])

    return with_loss(retype)


def with_beta(change: Callable[[float, float, float, float], float]) -> Exchange:
    """Return the exchange of beta of the deviation form: change(alpha, v, phi, sqrt(u))."""

    def retype(step: RuleStep, m: float, v: float, s: Replica) -> RuleStep:
        phi, alpha = s.p[-1], step.alpha
        root = 0.5 * (-alpha * v * phi + math.sqrt((alpha * v * phi) ** 2 + 4.0 * v))
        beta = change(alpha, v, phi, root)
        return replace(step, beta=beta, gain=beta / (1.0 - beta * v) if beta * v != 1.0 else math.inf)

    return with_loss(retype)


def confident(step: RuleStep, alpha: float, v: float, phi: float) -> RuleStep:
    gain = interpret(precision_gain.py_func)(alpha * math.sqrt(v), phi, v)  # type: ignore[attr-defined]
    return replace(step, alpha=alpha, gain=gain, beta=gain / (1.0 + gain * v))


def zeta_of(phi: float) -> float:
    return 1.0 + phi * phi


def psi_of(phi: float) -> float:
    return 1.0 + phi * phi / 2.0


def closed_alpha(
    m: float,
    v: float,
    phi: float,
    psi: Callable[[float], float] = psi_of,
    root: Callable[[float, float, float], float] = lambda m, v, phi: (
        m * m * phi**4 / 4.0 + v * phi * phi * zeta_of(phi)
    ),
    divisor: Callable[[float, float], float] = lambda v, phi: v * zeta_of(phi),
    sign: float = -1.0,
) -> float:
    """Return CW's alpha = (-m psi + sqrt(root)) / divisor."""
    return max(0.0, (sign * m * psi(phi) + math.sqrt(max(0.0, root(m, v, phi)))) / divisor(v, phi))
