"""Known conventions and defects, one entry each: what is exchanged in the exact learner, where it was seen.

To add one, append a `Deviation` to the list of its kind. `exchange` maps a part of the replica
(`olbench.conformance.replica.PARTS`) to a function of the part that it replaces. Combinations of two are
tried as well.
"""

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from olbench.algorithms.definition import Definition
from olbench.conformance.exchanges import (
    confident,
    gamma_root_of,
    psi_of,
    unlimited_step,
    with_alpha,
    with_beta,
    with_gamma,
    with_limit,
    with_params,
    with_part,
    with_phi,
    with_seen,
    with_step,
    zeta_of,
)
from olbench.conformance.replica import Exchange, Replica, RuleStep

Kind = Literal["convention", "variant", "defect"]
#: The algorithms whose constraint is on the deviation: their last constant is phi.
DEVIATION = ("cw", "scw1", "scw2", "scw2-libol")
CONFIDENCE = (*DEVIATION, "cw-var")
CLOSED = ("cw", "scw1")
LIMITED = ("pa1", "averaged-pa1", "scw1")
HINGE = ("pa", "pa1", "pa2", "averaged-pa", "averaged-pa1", "aromma", "arow", "nherd", "narow")


@dataclass(frozen=True)
class Deviation:
    id: str
    kind: Kind
    says: str
    exchange: Exchange
    seen: str = ""
    ids: tuple[str, ...] = ()
    params: tuple[str, ...] = ()
    order: str = ""

    def applies(self, definition: Definition, names: Collection[str]) -> bool:
        return (
            (not self.ids or definition.id in self.ids)
            and set(names).issuperset(self.params)
            and self.order in ("", definition.order)
        )


def find_deviations(definition: Definition, names: Collection[str] | None = None) -> list[Deviation]:
    """Return the deviations that an algorithm can have, conventions first; by default with all parameters."""
    known = {parameter.name for parameter in definition.parameters} if names is None else names
    return [each for each in CATALOGUE if each.applies(definition, known)]


# How parameters are read.


def _list_readings() -> Iterator[Deviation]:
    changes: list[tuple[str, str, Callable[[float], float]]] = [
        ("inverted", "1 / {0}", lambda value: 1.0 / value),
        ("doubled", "2 {0}", lambda value: 2.0 * value),
        ("halved", "{0} / 2", lambda value: value / 2.0),
        ("inverted-halved", "1 / (2 {0})", lambda value: 0.5 / value),
        ("squared", "{0}^2", lambda value: value * value),
    ]
    for name in ("C", "r", "b", "lam", "eta0"):
        for suffix, form, change in changes:
            says = f"uses {form.format(name)} where the paper has {name}"
            yield Deviation(
                f"{name}-{suffix}", "convention", says, with_params(**{name: change}), params=(name,)
            )


def _list_variances() -> Iterator[Deviation]:
    for a in (0.01, 0.1, 0.5, 2.0, 10.0, 100.0):
        says = f"starts with Sigma = {a:g} I rather than I"

        def start(before: Any, s: Replica, d: int, a: float = a) -> Any:
            mu, sigma = before(s, d)
            return mu, a * sigma

        yield Deviation(
            f"initial-variance-{a:g}", "convention", says, with_part("start", start), order="second"
        )


def _add_bias(before: Any, s: Replica, x: Any) -> Any:
    return np.append(before(s, x), 1.0)


def _unit_length(before: Any, s: Replica, x: Any) -> Any:
    row = before(s, x)
    length = float(np.linalg.norm(row))
    return row / length if length else row


def _keep_diagonal(before: Any, s: Replica, step: RuleStep, z: Any, x: Any) -> Any:
    return np.diag(np.diag(before(s, step, z, x)))


def _add_to_precisions(before: Any, s: Replica, step: RuleStep, z: Any, x: Any) -> Any:
    return np.diag(1.0 / (1.0 / np.diag(s.sigma) + step.gain * x * x))


CONVENTIONS = [
    *_list_readings(),
    Deviation(
        "eta-is-phi", "convention", "takes the parameter eta as phi itself, not as a probability",
        with_phi(lambda eta: eta), ids=CONFIDENCE, params=("eta",),
    ),
    Deviation(
        "mistakes-only", "convention", "updates on mistakes only, not whenever there is a loss",
        with_part("trigger", lambda before, s, m, v, mistake: mistake and before(s, m, v, mistake)),
    ),
    Deviation(
        "zero-is-mistake", "convention", "counts a margin of zero as a mistake, whatever the label",
        with_part("mistake", lambda before, s, f, y: y * f <= 0.0), seen="olpy 1.0.0.dev3, LIBOL",
    ),
    Deviation(
        "zero-is-negative", "convention", "predicts -1 where the margin is zero",
        with_part("mistake", lambda before, s, f, y: (f > 0.0) != (y > 0.0)),
    ),
    Deviation(
        "bias-feature", "convention", "adds a constant feature, a bias that the paper does not have",
        with_part("row", _add_bias),
    ),
    Deviation(
        "bias-beside", "convention",
        "learns a bias that the paper does not have, and leaves it out of the norm of x",
        {**with_part("row", _add_bias), **with_part("norm", lambda before, s, x: before(s, x[:-1]))},
        seen="River and scikit-learn, by default", order="first",
    ),
    *_list_variances(),
    Deviation("unit-rows", "convention", "scales every row to length 1", with_part("row", _unit_length)),
    Deviation(
        "diagonal-l2", "convention", "keeps only the diagonal of Sigma (the rest of each update is dropped)",
        with_part("contract", _keep_diagonal), order="second",
    ),
    Deviation(
        "diagonal-kl", "convention", "keeps only a diagonal Sigma (its inverse grows by c x_j^2)",
        with_part("contract", _add_to_precisions), order="second",
    ),
    Deviation(
        "averaged", "convention", "predicts with the mean of its weights over all rounds",
        with_part("expose", lambda before, s: s.total / s.t),
    ),
    Deviation(
        "average-with-start", "convention", "counts the weights before the first round in the average",
        with_part("expose", lambda before, s: s.total / (s.t + 1)), seen="oll 0.2.1: AP",
        ids=("averaged-perceptron", "averaged-pa", "averaged-pa1"),
    ),
    Deviation(
        "predicts-without-sigma", "convention", "predicts with w, though it learns by the sign of Sigma w",
        with_part("expose", lambda before, s: np.linalg.solve(s.sigma, before(s))),
        seen="olpy 1.0.0.dev3: SecondOrderPerceptron", ids=("sop", "sop-libol", "narow2010"),
    ),
    Deviation(
        "strict-margin", "convention", "does not update where the margin equals its threshold",
        with_part("trigger", lambda before, s, m, v, mistake: m < s.p[0]), ids=("margin-perceptron",),
    ),
    Deviation(
        "raw-rows", "convention", "does not scale rows to length 1 as the paper does",
        with_part("decide", lambda before, s, m, v, mistake: _step_unscaled(before, s, m, v, mistake)),
        seen="olpy 1.0.0.dev3, River", ids=("alma",),
    ),
    Deviation(
        "schedule-from-two", "convention", "starts its step sizes with the second of the paper, C / sqrt(2)",
        with_part("clock", lambda before, s: before(s) + 1), seen="Vowpal Wabbit 9.11.9", ids=("ogd", "sgd"),
    ),
    *(
        Deviation(
            f"rate-{rate:g}", "convention",
            f"multiplies every step by a learning rate of {rate:g}, which changes no prediction",
            with_step(lambda step, m, v, s, rate=rate: replace(step, alpha=rate * step.alpha)),  # type: ignore[misc]
            ids=("perceptron", "averaged-perceptron"),
        )
        for rate in (0.01, 0.1, 0.5, 2.0)
    ),
]  # fmt: skip


def _step_unscaled(before: Any, s: Replica, m: float, v: float, mistake: bool) -> RuleStep:
    """Take the step of a row of length 1 along the row as it is; w is projected by its new length."""
    alpha, C = s.p[0], s.p[1]
    root = math.sqrt(s.k + 1.0)
    if m > (1.0 - alpha) / (alpha * root):
        return RuleStep(0.0, 0.0)
    tau = C / root
    longest = math.sqrt(max(0.0, float(s.mu @ s.mu) + tau * (2.0 * m + tau * v)))
    shrink = 1.0 / max(1.0, longest)
    return RuleStep(1.0, shrink * tau, shrink=shrink)


# Published variants that are no algorithm of their own.

VARIANTS = [
    Deviation(
        "every-round", "variant",
        "shrinks Sigma in every round: AROW's objective wants that also where the hinge is zero",
        with_step(
            lambda step, m, v, s: step if step.loss else RuleStep(0.0, 0.0, 1.0 / (v + s.p[0]), 1.0 / s.p[0])
        ),
        ids=("arow",),
    ),
]  # fmt: skip


# Defects. First what the rule is given, then the rule, then what is done with its step.


def _lag(before: Any, s: Replica, x: Any) -> float:
    """Return x' Sigma x with the Sigma of a round before."""
    older = s.__dict__.get("older", s.sigma)
    s.__dict__["older"] = s.sigma
    return float(x @ older @ x)


def _double(before: Any, s: Replica, x: Any, y: float) -> Any:
    first = before(s, x, y)
    second = before(s, x, y)
    return replace(second, margin=first.margin)


def _covariance_first(before: Any, s: Replica, step: RuleStep, x: Any, y: float) -> None:
    z = s.parts["direction"](s, x)
    s.sigma = s.parts["contract"](s, step, z, x)
    s.mu = s.parts["move"](s, step, y, s.parts["direction"](s, x), x)


def _decide_again(before: Any, s: Replica, step: RuleStep, x: Any, y: float) -> None:
    z, v = s.parts["direction"](s, x), s.parts["variance"](s, x)
    s.mu = s.parts["move"](s, step, y, z, x)
    f = s.parts["score"](s, x)
    again = s.parts["decide"](s, s.parts["margin"](s, f, y), v, s.parts["mistake"](s, f, y))
    s.sigma = s.parts["contract"](s, again if again.is_finite else step, z, x)


SEEN_BY_RULE = [
    Deviation(
        "variance-from-diagonal", "defect",
        "takes v from the diagonal of Sigma, and then updates the full Sigma",
        with_part("variance", lambda before, s, x: float(x * x @ np.diag(s.sigma))),
        seen="olpy 1.0.0.dev3: CW, ECCW, SCW, SCW2", order="second",
    ),
    Deviation(
        "stale-variance", "defect", "takes v from the Sigma of the round before",
        with_part("variance", _lag), order="second",
    ),
    Deviation(
        "norm-for-variance", "defect", "takes ||x||^2 for the variance v = x' Sigma x",
        with_part("variance", lambda before, s, x: float(x @ x)), order="second",
    ),
    Deviation(
        "deviation-for-variance", "defect", "takes the square root of v for v",
        with_seen(lambda m, v, s: (m, math.sqrt(v))), order="second",
    ),
    Deviation(
        "root-norm", "defect", "takes ||x|| where the paper has its square",
        with_seen(lambda m, v, s: (m, math.sqrt(v))), order="first",
    ),
    Deviation(
        "fourth-norm", "defect", "squares the square of the norm", with_seen(lambda m, v, s: (m, v * v)),
        order="first",
    ),
    Deviation(
        "label-forgotten-in-margin", "defect", "forgets y in the margin: m = mu.x instead of y mu.x",
        with_part("margin", lambda before, s, f, y: f),
    ),
    Deviation(
        "margin-negated", "defect", "has the wrong sign in the margin: m = -y mu.x",
        with_part("margin", lambda before, s, f, y: -y * f),
    ),
    Deviation(
        "margin-absolute", "defect", "takes the absolute value of the margin",
        with_part("margin", lambda before, s, f, y: abs(f)),
    ),
    Deviation(
        "labels-zero-one", "defect", "computes with labels 0 and 1 instead of -1 and +1",
        with_part("label", lambda before, s, y: max(0.0, before(s, y))),
    ),
    Deviation(
        "round-from-zero", "defect", "counts rounds from 0 instead of 1",
        with_part("clock", lambda before, s: before(s) - 1),
    ),
    Deviation(
        "round-from-two", "defect", "counts rounds from 2 instead of 1",
        with_part("clock", lambda before, s: before(s) + 1), ids=("iellip",),
    ),
    Deviation(
        "updates-for-rounds", "defect", "counts updates where the paper counts rounds",
        with_part("clock", lambda before, s: s.k + 1),
    ),
    Deviation(
        "round-never-counted", "defect", "never counts on: every round is the first",
        with_part("clock", lambda before, s: 1),
    ),
    Deviation(
        "single-precision-rows", "defect", "rounds its rows to single precision",
        with_part("row", lambda before, s, x: before(s, x).astype(np.float32).astype(np.float64)),
    ),
    Deviation(
        "whole-rows", "defect", "rounds its rows to whole numbers",
        with_part("row", lambda before, s, x: np.trunc(before(s, x))),
    ),
    Deviation(
        "cdf-for-quantile", "defect", "takes the distribution function of eta where its inverse belongs",
        with_phi(NormalDist().cdf), seen="scw 1.1.2 on PyPI", ids=CONFIDENCE, params=("eta",),
    ),
    Deviation(
        "density-for-quantile", "defect", "takes the normal density at eta where the quantile belongs",
        with_phi(NormalDist().pdf), ids=CONFIDENCE, params=("eta",),
    ),
    Deviation(
        "two-sided-quantile", "defect", "takes the two-sided quantile, Phi^-1((1 + eta) / 2)",
        with_phi(lambda eta: NormalDist().inv_cdf((1.0 + eta) / 2.0)), ids=CONFIDENCE, params=("eta",),
    ),
    Deviation(
        "quantile-negated", "defect", "takes the quantile of 1 - eta, which is -phi",
        with_phi(lambda eta: NormalDist().inv_cdf(1.0 - eta)), ids=CONFIDENCE, params=("eta",),
    ),
]  # fmt: skip

RULES = [
    Deviation(
        "max-for-min", "defect", "takes the larger of C and the step where the smaller belongs",
        with_limit(max), seen="Hivemall: SCW1", ids=LIMITED,
    ),
    Deviation(
        "limit-forgotten", "defect", "does not limit the step by C", with_limit(lambda C, alpha: alpha),
        ids=LIMITED,
    ),
    Deviation(
        "factor-for-limit", "defect", "multiplies the step by C where C limits it",
        with_limit(lambda C, alpha: C * alpha), ids=LIMITED,
    ),
    Deviation(
        "limit-on-mean-only", "defect", "limits the step on mu by C, but not the one on Sigma",
        with_step(
            lambda step, m, v, s: step if not step.alpha
            else replace(confident(step, unlimited_step(step, m, v, s), v, s.p[1]), alpha=step.alpha)
        ),
        ids=("scw1",),
    ),
    Deviation(
        "hinge-trigger", "defect", "updates while the margin is below 1, not below phi sqrt(v)",
        with_part("trigger", lambda before, s, m, v, mistake: m < 1.0),
        seen="scw 1.1.2 on PyPI", ids=CONFIDENCE,
    ),
    Deviation(
        "variance-trigger", "defect", "updates while m < phi v, without the square root of v",
        with_part("trigger", lambda before, s, m, v, mistake: m < s.p[-1] * v), ids=DEVIATION,
    ),
    Deviation(
        "zero-margin-trigger", "defect", "has no margin: it updates only while m < 0",
        with_part("trigger", lambda before, s, m, v, mistake: m < 0.0),
    ),
    Deviation(
        "hinge-forgotten", "defect", "forgets the hinge: margins above 1 are pulled back",
        with_part(
            "decide",
            lambda before, s, m, v, mistake: (
                before(s, m, v, mistake) if m < 1.0 else _negate(before(s, 2.0 - m, v, mistake))
            ),
        ),
        ids=HINGE,
    ),
    Deviation(
        "psi-without-half", "defect", "has psi = 1 + phi^2, without the factor 1/2", with_alpha(psi=zeta_of),
        ids=CLOSED,
    ),
    Deviation(
        "psi-for-zeta", "defect", "divides alpha by psi instead of zeta",
        with_alpha(divisor=lambda v, phi: v * psi_of(phi)), ids=CLOSED,
    ),
    Deviation(
        "zeta-not-divided", "defect", "does not divide alpha by zeta", with_alpha(divisor=lambda v, phi: v),
        ids=CLOSED,
    ),
    Deviation(
        "variance-not-divided", "defect", "does not divide alpha by v",
        with_alpha(divisor=lambda v, phi: zeta_of(phi)), ids=CLOSED,
    ),
    Deviation(
        "zeta-missing-in-root", "defect", "lacks the factor zeta under the root of alpha",
        with_alpha(root=lambda m, v, phi: m * m * phi**4 / 4.0 + v * phi * phi), ids=CLOSED,
    ),
    Deviation(
        "phi-missing-in-root", "defect", "lacks the factor phi^2 under the root of alpha",
        with_alpha(root=lambda m, v, phi: m * m * phi**4 / 4.0 + v * zeta_of(phi)), ids=CLOSED,
    ),
    Deviation(
        "quarter-missing-in-root", "defect", "lacks the factor 1/4 under the root of alpha",
        with_alpha(root=lambda m, v, phi: m * m * phi**4 + v * phi * phi * zeta_of(phi)), ids=CLOSED,
    ),
    Deviation(
        "square-for-fourth-power", "defect", "has phi^2 for phi^4 under the root of alpha",
        with_alpha(root=lambda m, v, phi: m * m * phi**2 / 4.0 + v * phi * phi * zeta_of(phi)), ids=CLOSED,
    ),
    Deviation(
        "phi-psi-mistyped", "defect", "has phi for phi^4 and psi for zeta under the root of alpha",
        with_alpha(root=lambda m, v, phi: m * m * phi / 4.0 + v * phi * phi * psi_of(phi)),
        seen="olpy 1.0.0.dev3: ECCW", ids=CLOSED,
    ),
    Deviation("margin-added", "defect", "has +m psi for -m psi in alpha", with_alpha(sign=1.0), ids=CLOSED),
    Deviation(
        "doubled-for-squared-variance", "defect", "has v*2 for v^2 in gamma of SCW-II",
        with_gamma(lambda m, v, n, phi: 2.0 * phi * phi * m * m * v + 4.0 * n * v * (n + v * phi * phi)),
        ids=("scw2",),
    ),
    Deviation(
        "doubled-for-squared-phi", "defect", "has phi*2 for phi^2 in gamma of SCW-II",
        with_gamma(lambda m, v, n, phi: phi * phi * m * m * v * v + 4.0 * n * v * (n + 2.0 * v * phi)),
        ids=("scw2",),
    ),
    Deviation(
        "half-missing-in-alpha", "defect", "does not halve alpha of SCW-II", with_gamma(gamma_root_of, 1.0),
        ids=("scw2",),
    ),
    Deviation(
        "variance-after-for-deviation", "defect", "has u for sqrt(u) in beta",
        with_beta(lambda alpha, v, phi, root: alpha * phi / (root * root + v * alpha * phi)), ids=DEVIATION,
    ),
    Deviation(
        "variance-before-for-after", "defect", "has sqrt(v) for sqrt(u) in beta",
        with_beta(lambda alpha, v, phi, root: alpha * phi / (math.sqrt(v) + v * alpha * phi)), ids=DEVIATION,
    ),
    Deviation(
        "phi-missing-in-beta", "defect", "lacks phi in the numerator of beta",
        with_beta(lambda alpha, v, phi, root: alpha / (root + v * alpha * phi)), ids=DEVIATION,
    ),
    Deviation(
        "loss-forgotten", "defect", "does not multiply the step by the loss",
        with_step(lambda step, m, v, s: replace(step, alpha=step.alpha / step.loss) if step.loss else step),
        ids=HINGE,
    ),
    Deviation(
        "loss-squared", "defect", "multiplies the step by the square of the loss",
        with_step(lambda step, m, v, s: replace(step, alpha=step.alpha * step.loss)), ids=HINGE,
    ),
    Deviation(
        "regularised-mean-only", "defect", "has r in alpha, but not in beta = 1 / v",
        with_step(lambda step, m, v, s: replace(step, beta=1.0 / v) if step.loss and v else step),
        ids=("arow",),
    ),
    Deviation(
        "regularised-covariance-only", "defect", "has r in beta, but not in alpha = loss / v",
        with_step(lambda step, m, v, s: replace(step, alpha=step.loss / v) if step.loss and v else step),
        ids=("arow",),
    ),
    Deviation(
        "regularised-by-product", "defect", "multiplies v by r where r is added",
        with_step(
            lambda step, m, v, s: replace(step, alpha=step.loss / (v * s.p[0]), beta=1.0 / (v * s.p[0]))
            if step.loss and v else step
        ),
        ids=("arow",),
    ),
    Deviation(
        "regularised-variance", "defect", "adds 1/(2C) to v in beta as well, where it belongs to alpha only",
        with_step(
            lambda step, m, v, s: replace(
                step, beta=confident(step, step.alpha, v + 0.5 / s.p[0], s.p[1]).beta
            ) if step.alpha else step
        ),
        ids=("scw2",),
    ),
    Deviation(
        "regularised-loss", "defect", "adds 1/(2C) to the loss instead of the squared norm",
        with_step(
            lambda step, m, v, s: replace(step, alpha=(step.loss + 0.5 / s.p[0]) / v)
            if step.loss and v else step
        ),
        ids=("pa2",),
    ),
    Deviation(
        "parallel-not-noticed", "defect",
        "divides by what rounding leaves of ||x||^2 ||w||^2 - (w.x)^2 where x is parallel to w",
        with_part("decide", lambda before, s, m, v, mistake: _relax(before(s, m, v, mistake), m, v, s)),
        seen="olpy 1.0.0.dev3: ROMMA", ids=("romma", "aromma"),
    ),
    Deviation(
        "norm-with-bias", "defect", "adds 1 to the squared norm, as for a bias, but learns no bias",
        with_part("norm", lambda before, s, x: before(s, x) + 1.0), seen="oll 0.2.1: PA, PA1, PA2",
        order="first",
    ),
    Deviation(
        "herding-as-arow", "defect", "has AROW's beta = 1 / (v + 1/C) for the one of NHERD",
        with_step(lambda step, m, v, s: replace(step, beta=1.0 / (v + 1.0 / s.p[0])) if step.loss else step),
        ids=("nherd",),
    ),
    Deviation(
        "herding-not-squared", "defect", "does not square the denominator of beta",
        with_step(
            lambda step, m, v, s: replace(step, beta=(v + 2.0 / s.p[0]) / (v + 1.0 / s.p[0]))
            if step.loss else step
        ),
        ids=("nherd",),
    ),
]  # fmt: skip


def _relax(step: RuleStep, m: float, v: float, s: Replica) -> RuleStep:
    """Return ROMMA's step with an exact zero as the only denominator that is refused."""
    q = float(s.mu @ s.mu)
    denominator = v * q - m * m
    if step.loss == 0.0 or q == 0.0 or denominator == 0.0:
        return step
    return replace(step, shrink=(v * q - m) / denominator, alpha=q * (1.0 - m) / denominator)


def _negate(step: RuleStep) -> RuleStep:
    return replace(step, alpha=-step.alpha)


def _times(alpha: float = 1.0, beta: float = 1.0) -> Exchange:
    return with_step(lambda step, m, v, s: replace(step, alpha=alpha * step.alpha, beta=beta * step.beta))


UPDATES = [
    Deviation("step-doubled", "defect", "takes twice the step on the weights", _times(alpha=2.0)),
    Deviation("step-halved", "defect", "takes half the step on the weights", _times(alpha=0.5)),
    Deviation("step-negated", "defect", "has the wrong sign in the step on the weights", _times(alpha=-1.0)),
    Deviation(
        "covariance-doubled", "defect", "subtracts twice the update of Sigma", _times(beta=2.0),
        order="second",
    ),
    Deviation(
        "covariance-halved", "defect", "subtracts half the update of Sigma", _times(beta=0.5), order="second"
    ),
    Deviation(
        "covariance-grows", "defect", "adds the update of Sigma instead of subtracting it", _times(beta=-1.0),
        order="second",
    ),
    Deviation(
        "covariance-fixed", "defect", "never updates Sigma", _times(beta=0.0), order="second"
    ),
    Deviation(
        "label-forgotten-in-step", "defect", "forgets y in the step: mu += alpha Sigma x",
        with_part("move", lambda before, s, step, y, z, x: before(s, step, 1.0, z, x)),
    ),
    Deviation(
        "row-for-direction", "defect", "moves mu along x instead of Sigma x",
        with_part("move", lambda before, s, step, y, z, x: before(s, step, y, x, x)), order="second",
    ),
    Deviation(
        "diagonal-direction", "defect", "moves mu by the diagonal of Sigma times x, not by Sigma x",
        with_part("move", lambda before, s, step, y, z, x: before(s, step, y, np.diag(s.sigma) * x, x)),
        order="second",
    ),
    Deviation(
        "row-for-direction-in-covariance", "defect", "subtracts beta x x' instead of beta Sigma x x' Sigma",
        with_part("contract", lambda before, s, step, z, x: before(s, step, x, x)), order="second",
    ),
    Deviation(
        "half-direction-in-covariance", "defect", "subtracts beta Sigma x x', with one Sigma missing",
        with_part("contract", lambda before, s, step, z, x: s.sigma - step.beta * np.outer(z, x)),
        order="second",
    ),
    Deviation(
        "beta-for-gain", "defect",
        "adds beta x x' to the inverse of Sigma, where c = beta / (1 - beta v) belongs",
        with_part(
            "contract",
            lambda before, s, step, z, x: before(
                s, replace(step, beta=step.beta / (1.0 + step.beta * float(x @ z))), z, x
            ),
        ),
        order="second",
    ),
    Deviation(
        "covariance-first", "defect", "updates Sigma first and then moves mu with the new Sigma",
        with_part("update", _covariance_first), order="second",
    ),
    Deviation(
        "decided-again", "defect", "moves mu first and then computes the update of Sigma from the new margin",
        with_part("update", _decide_again), seen="scw 1.1.2 on PyPI", order="second",
    ),
    Deviation("double-update", "defect", "learns every example twice", with_part("visit", _double)),
    Deviation(
        "partial-projection", "defect", "shrinks only the weights of the features that are in the row",
        with_part(
            "move", lambda before, s, step, y, z, x: np.where(x != 0.0, before(s, step, y, z, x), s.mu)
        ),
        seen="River 0.26.1: ALMAClassifier", ids=("romma", "aromma", "sgd", "alma"),
    ),
    Deviation(
        "shrink-forgotten", "defect", "does not shrink the weights before it adds the row",
        with_step(lambda step, m, v, s: replace(step, shrink=1.0)), ids=("romma", "aromma", "sgd", "alma"),
    ),
]  # fmt: skip

DEFECTS = [*SEEN_BY_RULE, *RULES, *UPDATES]
CATALOGUE: Sequence[Deviation] = (*CONVENTIONS, *VARIANTS, *DEFECTS)
