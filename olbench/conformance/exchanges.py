"""Exchanges of parts of a replica: the vocabulary in which the catalogue is written."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from olbench.algorithms.cw import precision_gain
from olbench.algorithms.probing import interpret
from olbench.conformance.replica import Exchange, Replica, RuleStep


def with_params(**changes: Callable[[float], float]) -> Exchange:
    def read(before: Any) -> Any:
        def params(given: dict[str, Any]) -> Any:
            known = before(given)
            return {**known, **{name: change(known[name]) for name, change in changes.items()}}

        return params

    return {"params": read}


def with_part(name: str, part: Callable[..., Any]) -> Exchange:
    """Return the exchange of one part by a function that gets the part it replaces first."""
    return {name: lambda before: lambda *arguments: part(before, *arguments)}


def with_step(change: Callable[[RuleStep, float, float, Replica], RuleStep]) -> Exchange:
    """Return the exchange that changes what the rule has decided: change(step, m, v, replica)."""
    return with_part("decide", lambda before, s, m, v, mistake: change(before(s, m, v, mistake), m, v, s))


def with_seen(change: Callable[[float, float, Replica], tuple[float, float]]) -> Exchange:
    """Return the exchange that changes the m and v that the rule gets: change(m, v, replica)."""
    return with_part("decide", lambda before, s, m, v, mistake: before(s, *change(m, v, s), mistake))


def with_phi(change: Callable[[float], float]) -> Exchange:
    def constants(before: Any, s: Replica) -> list[float]:
        return [*before(s)[:-1], change(s.params["eta"])]

    return with_part("constants", constants)


def with_alpha(
    psi: Callable[[float], float] | None = None,
    root: Callable[[float, float, float], float] | None = None,
    divisor: Callable[[float, float], float] | None = None,
    sign: float = -1.0,
) -> Exchange:
    """Return the exchange of CW's alpha = (-m psi + sqrt(root)) / divisor with parts typed otherwise."""

    def retype(step: RuleStep, m: float, v: float, s: Replica) -> RuleStep:
        if step.loss == 0.0 or v == 0.0:
            return step
        phi = s.p[-1]
        top = sign * m * (psi or psi_of)(phi) + math.sqrt(max(0.0, (root or root_of)(m, v, phi)))
        alpha = max(0.0, top / (divisor or divisor_of)(v, phi))
        return confident(step, min(s.p[0], alpha) if s.definition.id == "scw1" else alpha, v, phi)

    return with_step(retype)


def with_gamma(root: Callable[[float, float, float, float], float], divisor: float = 2.0) -> Exchange:
    """Return the exchange of SCW-II's gamma = phi sqrt(root(m, v, n, phi)), n = v + 1/(2C), in its alpha."""

    def retype(step: RuleStep, m: float, v: float, s: Replica) -> RuleStep:
        if step.loss == 0.0 or v == 0.0:
            return step
        phi, n = s.p[1], v + 0.5 / s.p[0]
        top = phi * math.sqrt(root(m, v, n, phi)) - m * (2.0 * n + phi * phi * v)
        return confident(step, max(0.0, top / (divisor * n * (n + v * phi * phi))), v, phi)

    return with_step(retype)


def with_limit(limit: Callable[[float, float], float]) -> Exchange:
    """Return the exchange of min(C, step), for PA-I and SCW-I, by another function of C and the step."""

    def retype(step: RuleStep, m: float, v: float, s: Replica) -> RuleStep:
        if step.loss == 0.0 or v == 0.0:
            return step
        alpha = limit(s.p[0], unlimited_step(step, m, v, s))
        return (
            replace(step, alpha=alpha) if s.definition.order == "first" else confident(step, alpha, v, s.p[1])
        )

    return with_step(retype)


def unlimited_step(step: RuleStep, m: float, v: float, s: Replica) -> float:
    if s.definition.order == "first":
        return step.loss / v
    phi = s.p[1]
    return max(0.0, (-m * psi_of(phi) + math.sqrt(root_of(m, v, phi))) / divisor_of(v, phi))


def confident(step: RuleStep, alpha: float, v: float, phi: float) -> RuleStep:
    gain = interpret(precision_gain.py_func)(alpha * math.sqrt(v), phi, v)  # type: ignore[attr-defined]
    return replace(step, alpha=alpha, gain=gain, beta=gain / (1.0 + gain * v))


def with_beta(change: Callable[[float, float, float, float], float]) -> Exchange:
    """Return the exchange of beta of the deviation form: change(alpha, v, phi, sqrt(u))."""

    def retype(step: RuleStep, m: float, v: float, s: Replica) -> RuleStep:
        if step.alpha == 0.0:
            return step
        phi, alpha = s.p[-1], step.alpha
        root = 0.5 * (-alpha * v * phi + math.sqrt((alpha * v * phi) ** 2 + 4.0 * v))
        beta = change(alpha, v, phi, root)
        return replace(step, beta=beta, gain=beta / (1.0 - beta * v) if beta * v != 1.0 else math.inf)

    return with_step(retype)


def zeta_of(phi: float) -> float:
    return 1.0 + phi * phi


def psi_of(phi: float) -> float:
    return 1.0 + phi * phi / 2.0


def root_of(m: float, v: float, phi: float) -> float:
    return m * m * phi**4 / 4.0 + v * phi * phi * zeta_of(phi)


def divisor_of(v: float, phi: float) -> float:
    return v * zeta_of(phi)


def gamma_root_of(m: float, v: float, n: float, phi: float) -> float:
    return phi * phi * m * m * v * v + 4.0 * n * v * (n + v * phi * phi)
