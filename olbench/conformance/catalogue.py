"""Known conventions and defects, one row each: which parts of the exact learner change, and where seen.

To add one, append a row to the list of its kind: its id, a sentence, the algorithms that can have it, the
exchange and, if a library has it, which. An exchange maps a part of the replica
(`olbench.conformance.replica.PARTS`) to a function that gets the part it replaces first. Combinations of two
are tried as well.
"""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from olbench.algorithms.cw import precision_gain
from olbench.algorithms.definition import Definition
from olbench.algorithms.probing import interpret
from olbench.conformance.replica import CompiledReplica, Exchange, Replica, RuleStep

Kind = Literal["convention", "variant", "defect"]
#: The algorithms whose constraint is on the deviation: their last constant is phi.
DEVIATION = "cw scw1 scw2 scw2-libol"
CLOSED, LIMITED = "cw scw1", "pa1 averaged-pa1 scw1"
HINGE = "pa pa1 pa2 averaged-pa averaged-pa1 aromma arow nherd narow"
SHRINKING = "romma aromma sgd alma"


@dataclass(frozen=True)
class Deviation:
    kind: Kind
    id: str
    says: str
    #: The ids of the algorithms that can have it, or an order, or a parameter that they have; empty for all.
    of: str
    exchange: Exchange
    seen: str = ""


def find_deviations(definition: Definition, names: Collection[str] | None = None) -> list[Deviation]:
    """Return the deviations that an algorithm can have, conventions first; by default with all parameters."""
    known = {parameter.name for parameter in definition.parameters} if names is None else names
    having = {definition.id, definition.order, *known}
    found = [each for each in CATALOGUE if not each.of or not having.isdisjoint(each.of.split())]
    if definition.order == "compiled":
        return [each for each in found if CompiledReplica.parts_used.issuperset(each.exchange)]
    return found


# The vocabulary of the table: exchanges that several rows have.
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


def with_limit(limit: Callable[[float, float], float]) -> Exchange:
    """Return the exchange of min(C, step), for PA-I and SCW-I, by another function of C and the step."""

    def retype(step: RuleStep, m: float, v: float, s: Replica) -> RuleStep:
        if s.definition.order == "first":
            return replace(step, alpha=limit(s.p[0], step.loss / v))
        return confident(step, limit(s.p[0], closed_alpha(m, v, s.p[1])), v, s.p[1])

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
    sign: float = -1.0,
) -> float:
    """Return CW's alpha = (-m psi + sqrt(root)) / divisor."""
    return max(0.0, (sign * m * psi(phi) + math.sqrt(max(0.0, root(m, v, phi)))) / (v * zeta_of(phi)))


# What single rows exchange.


def _scale_to_unit(before: Any, s: Replica, x: Any) -> Any:
    row = before(s, x)
    length = float(np.linalg.norm(row))
    return row / length if length else row


def _step_unscaled(before: Any, s: Replica, m: float, v: float, mistake: bool) -> RuleStep:
    """Take the step of a row of length 1 along the unscaled row; w is projected by its new length."""
    alpha, C = s.p[0], s.p[1]
    root = math.sqrt(s.k + 1.0)
    if m > (1.0 - alpha) / (alpha * root):
        return RuleStep(0.0, 0.0)
    tau = C / root
    longest = math.sqrt(max(0.0, float(s.mu @ s.mu) + tau * (2.0 * m + tau * v)))
    shrink = 1.0 / max(1.0, longest)
    return RuleStep(1.0, shrink * tau, shrink=shrink)


READINGS = (
    ("inverted", "1 / {}", lambda value: 1.0 / value),
    ("doubled", "2 {}", lambda value: 2.0 * value),
    ("halved", "{} / 2", lambda value: value / 2.0),
    ("inverted-halved", "1 / (2 {})", lambda value: 0.5 / value),
    ("squared", "{}^2", lambda value: value * value),
)
CONVENTIONS: list[tuple[Any, ...]] = [
    *((f"{name}-{suffix}", f"uses {form.format(name)} where the paper has {name}", name,
       with_param(name, change))
      for name in ("C", "r", "b", "lam", "eta0") for suffix, form, change in READINGS),
    ("eta-is-phi", "takes the parameter eta as phi itself, not as a probability", "eta",
     with_phi(lambda eta: eta)),
    ("mistakes-only", "updates on mistakes only, not whenever there is a loss", "",
     {"trigger": lambda before, s, m, v, mistake: mistake and before(s, m, v, mistake)}),
    ("zero-is-mistake", "counts a margin of zero as a mistake, whatever the label", "",
     {"mistake": lambda before, s, f, y: y * f <= 0.0}, "olpy 1.0.0.dev3, LIBOL"),
    ("zero-is-negative", "predicts -1 where the margin is zero", "",
     {"mistake": lambda before, s, f, y: (f > 0.0) != (y > 0.0)}),
    ("bias-feature", "adds a constant feature, a bias that the paper does not have", "",
     {"row": lambda before, s, x: np.append(before(s, x), 1.0)}),
    ("bias-beside", "learns a bias that the paper does not have, and leaves it out of the norm of x", "first",
     {"row": lambda before, s, x: np.append(before(s, x), 1.0),
      "norm": lambda before, s, x: before(s, x[:-1])},
     "River and scikit-learn, by default"),
    *((f"initial-variance-{a:g}", f"starts with Sigma = {a:g} I rather than I", "second",
       with_initial_variance(a))
      for a in (0.01, 0.1, 0.5, 2.0, 10.0, 100.0)),
    ("unit-rows", "scales every row to length 1", "", {"row": _scale_to_unit}),
    ("diagonal-l2", "keeps only the diagonal of Sigma (the rest of each update is dropped)", "second",
     {"contract": lambda before, s, step, z, x: np.diag(np.diag(before(s, step, z, x)))}),
    ("diagonal-kl", "keeps only a diagonal Sigma (its inverse grows by c x_j^2)", "second",
     {"contract": lambda before, s, step, z, x: np.diag(1.0 / (1.0 / np.diag(s.sigma) + step.gain * x * x))}),
    ("averaged", "predicts with the mean of its weights over all rounds", "",
     {"expose": lambda before, s: s.total / s.t}),
    ("average-with-start", "counts the weights before the first round in the average",
     "averaged-perceptron averaged-pa averaged-pa1",
     {"expose": lambda before, s: s.total / (s.t + 1)}, "oll 0.2.1: AP"),
    ("predicts-without-sigma", "predicts with w, though it learns by the sign of Sigma w",
     "sop sop-libol narow2010",
     {"expose": lambda before, s: np.linalg.solve(s.sigma, before(s))},
     "olpy 1.0.0.dev3: SecondOrderPerceptron"),
    ("strict-margin", "does not update where the margin equals its threshold", "margin-perceptron",
     {"trigger": lambda before, s, m, v, mistake: m < s.p[0]}),
    ("raw-rows", "does not scale rows to length 1 as the paper does", "alma",
     {"decide": _step_unscaled}, "olpy 1.0.0.dev3, River"),
    ("schedule-from-two", "starts its step sizes with the second of the paper, C / sqrt(2)", "ogd sgd",
     {"clock": lambda before, s: before(s) + 1}, "Vowpal Wabbit 9.11.9"),
    *((f"rate-{rate:g}", f"multiplies every step by a learning rate of {rate:g}, which changes no prediction",
       "perceptron averaged-perceptron", scale_step(alpha=rate))
      for rate in (0.01, 0.1, 0.5, 2.0)),
]  # fmt: skip

# Published variants that olbench does not list as algorithms.
VARIANTS: list[tuple[Any, ...]] = [
    ("every-round", "shrinks Sigma in every round: AROW's objective wants that also where the hinge is zero",
     "arow", with_step(lambda step, m, v, s: step if step.loss else
                       RuleStep(0.0, 0.0, 1.0 / (v + s.p[0]), 1.0 / s.p[0]))),
]  # fmt: skip


def _lag(before: Any, s: Replica, x: Any) -> float:
    """Return x' Sigma x with the Sigma of the round before."""
    older = s.__dict__.get("older", s.sigma)
    s.__dict__["older"] = s.sigma
    return float(x @ older @ x)


def _learn_twice(before: Any, s: Replica, x: Any, y: float) -> Any:
    first = before(s, x, y)
    return replace(before(s, x, y), margin=first.margin)


def _covariance_first(before: Any, s: Replica, step: RuleStep, x: Any, y: float) -> None:
    s.sigma = s.parts["contract"](s, step, s.parts["direction"](s, x), x)
    s.mu = s.parts["move"](s, step, y, s.parts["direction"](s, x), x)


def _decide_again(before: Any, s: Replica, step: RuleStep, x: Any, y: float) -> None:
    z, v = s.parts["direction"](s, x), s.parts["variance"](s, x)
    s.mu = s.parts["move"](s, step, y, z, x)
    f = s.parts["score"](s, x)
    again = s.parts["decide"](s, s.parts["margin"](s, f, y), v, s.parts["mistake"](s, f, y))
    s.sigma = s.parts["contract"](s, again if again.is_finite else step, z, x)


def _pull_back(before: Any, s: Replica, m: float, v: float, mistake: bool) -> RuleStep:
    step: RuleStep = before(s, m if m < 1.0 else 2.0 - m, v, mistake)
    return step if m < 1.0 else replace(step, alpha=-step.alpha)


def _double_variance(step: RuleStep, m: float, v: float, s: Replica) -> RuleStep:
    """Return the step of SCW-II with 2 v for v^2 in gamma."""
    phi, n = s.p[1], v + 0.5 / s.p[0]
    gamma = phi * math.sqrt(2.0 * phi * phi * m * m * v + 4.0 * n * v * (n + v * phi * phi))
    alpha = (gamma - m * (2.0 * n + phi * phi * v)) / (2.0 * n * (n + v * phi * phi))
    return confident(step, max(0.0, alpha), v, phi)


def _keep_square(step: RuleStep, m: float, v: float, s: Replica) -> RuleStep:
    """Return the step of CW and SCW with u for sqrt(u) in beta = alpha phi / (sqrt(u) + v alpha phi)."""
    grown = step.alpha * v * s.p[-1]
    u = 0.25 * (math.sqrt(grown * grown + 4.0 * v) - grown) ** 2
    beta = step.alpha * s.p[-1] / (u + grown)
    return replace(step, beta=beta, gain=beta / (1.0 - beta * v) if beta * v != 1.0 else math.inf)


def _relax(step: RuleStep, m: float, v: float, s: Replica) -> RuleStep:
    """Return ROMMA's step with an exact zero as the only denominator that is refused."""
    q = float(s.mu @ s.mu)
    denominator = v * q - m * m
    if q == 0.0 or denominator == 0.0:
        return step
    return replace(step, shrink=(v * q - m) / denominator, alpha=q * (1.0 - m) / denominator)


# First the arguments of the rule, then the rule, then the use of its step.
DEFECTS: list[tuple[Any, ...]] = [
    ("variance-from-diagonal", "takes v from the diagonal of Sigma, and then updates the full Sigma",
     "second", {"variance": lambda before, s, x: float(x * x @ np.diag(s.sigma))},
     "olpy 1.0.0.dev3: CW, ECCW, SCW, SCW2"),
    ("stale-variance", "takes v from the Sigma of the round before", "second", {"variance": _lag}),
    ("norm-for-variance", "takes ||x||^2 for the variance v = x' Sigma x", "second",
     {"variance": lambda before, s, x: float(x @ x)}),
    ("deviation-for-variance", "takes the square root of v for v", "second", with_variance(math.sqrt)),
    ("root-norm", "takes ||x|| where the paper has its square", "first", with_variance(math.sqrt)),
    ("label-forgotten-in-margin", "forgets y in the margin: m = mu.x instead of y mu.x", "",
     {"margin": lambda before, s, f, y: f}),
    ("margin-negated", "has the wrong sign in the margin: m = -y mu.x", "",
     {"margin": lambda before, s, f, y: -y * f}),
    ("labels-zero-one", "computes with labels 0 and 1 instead of -1 and +1", "",
     {"label": lambda before, s, y: max(0.0, before(s, y))}),
    ("round-from-zero", "counts rounds from 0 instead of 1", "", {"clock": lambda before, s: before(s) - 1}),
    ("round-from-two", "counts rounds from 2 instead of 1", "iellip",
     {"clock": lambda before, s: before(s) + 1}),
    ("updates-for-rounds", "counts updates where the paper counts rounds", "",
     {"clock": lambda before, s: s.k + 1}),
    ("single-precision-rows", "rounds its rows to single precision", "",
     {"row": lambda before, s, x: before(s, x).astype(np.float32).astype(np.float64)}),
    ("cdf-for-quantile", "takes the distribution function of eta where its inverse belongs", "eta",
     with_phi(NormalDist().cdf), "scw 1.1.2 on PyPI"),
    ("two-sided-quantile", "takes the two-sided quantile, Phi^-1((1 + eta) / 2)", "eta",
     with_phi(lambda eta: NormalDist().inv_cdf((1.0 + eta) / 2.0))),

    ("max-for-min", "takes the larger of C and the step where the smaller belongs", LIMITED,
     with_limit(max), "Hivemall: SCW1"),
    ("limit-forgotten", "does not limit the step by C", LIMITED, with_limit(lambda C, alpha: alpha)),
    ("hinge-trigger", "updates while the margin is below 1, not below phi sqrt(v)", f"{DEVIATION} cw-var",
     {"trigger": lambda before, s, m, v, mistake: m < 1.0}, "scw 1.1.2 on PyPI"),
    ("variance-trigger", "updates while m < phi v, without the square root of v", DEVIATION,
     {"trigger": lambda before, s, m, v, mistake: m < s.p[-1] * v}),
    ("zero-margin-trigger", "has no margin: it updates only while m < 0", "",
     {"trigger": lambda before, s, m, v, mistake: m < 0.0}),
    ("hinge-forgotten", "forgets the hinge: margins above 1 are pulled back", HINGE, {"decide": _pull_back}),
    ("psi-without-half", "has psi = 1 + phi^2, without the factor 1/2", CLOSED, with_alpha(psi=zeta_of)),
    ("zeta-missing-in-root", "omits the factor zeta under the root of alpha", CLOSED,
     with_alpha(root=lambda m, v, phi: m * m * phi**4 / 4.0 + v * phi * phi)),
    ("phi-psi-mistyped", "has phi for phi^4 and psi for zeta under the root of alpha", CLOSED,
     with_alpha(root=lambda m, v, phi: m * m * phi / 4.0 + v * phi * phi * psi_of(phi)),
     "olpy 1.0.0.dev3: ECCW"),
    ("margin-added", "has +m psi for -m psi in alpha", CLOSED, with_alpha(sign=1.0)),
    ("doubled-for-squared-variance", "has v*2 for v^2 in gamma of SCW-II", "scw2",
     with_loss(_double_variance)),
    ("variance-after-for-deviation", "has u for sqrt(u) in beta", DEVIATION, with_loss(_keep_square)),
    ("loss-forgotten", "does not multiply the step by the loss", HINGE,
     with_loss(lambda step, m, v, s: replace(step, alpha=step.alpha / step.loss))),
    ("regularised-mean-only", "has r in alpha, but not in beta = 1 / v", "arow",
     with_loss(lambda step, m, v, s: replace(step, beta=1.0 / v))),
    ("regularised-covariance-only", "has r in beta, but not in alpha = loss / v", "arow",
     with_loss(lambda step, m, v, s: replace(step, alpha=step.loss / v))),
    ("regularised-variance", "adds 1/(2C) to v in beta as well, where it belongs to alpha only", "scw2",
     with_loss(lambda step, m, v, s: replace(
         step, beta=confident(step, step.alpha, v + 0.5 / s.p[0], s.p[1]).beta))),
    ("regularised-loss", "adds 1/(2C) to the loss instead of the squared norm", "pa2",
     with_loss(lambda step, m, v, s: replace(step, alpha=(step.loss + 0.5 / s.p[0]) / v))),
    ("parallel-not-noticed",
     "divides by what rounding leaves of ||x||^2 ||w||^2 - (w.x)^2 where x is parallel to w", "romma aromma",
     with_loss(_relax), "olpy 1.0.0.dev3: ROMMA"),
    ("norm-with-bias", "adds 1 to the squared norm, as for a bias, but learns no bias", "first",
     {"norm": lambda before, s, x: before(s, x) + 1.0}, "oll 0.2.1: PA, PA1, PA2"),

    ("step-doubled", "takes twice the step on the weights", "", scale_step(alpha=2.0)),
    ("step-halved", "takes half the step on the weights", "", scale_step(alpha=0.5)),
    ("step-negated", "has the wrong sign in the step on the weights", "", scale_step(alpha=-1.0)),
    ("covariance-doubled", "subtracts twice the update of Sigma", "second", scale_step(beta=2.0)),
    ("covariance-halved", "subtracts half the update of Sigma", "second", scale_step(beta=0.5)),
    ("covariance-grows", "adds the update of Sigma instead of subtracting it", "second",
     scale_step(beta=-1.0)),
    ("beta-for-gain", "takes beta for c, and so subtracts beta / (1 + beta v) instead of beta", "second",
     with_step(lambda step, m, v, s: replace(step, beta=step.beta / (1.0 + step.beta * v)))),
    ("covariance-fixed", "never updates Sigma", "second", scale_step(beta=0.0)),
    ("label-forgotten-in-step", "forgets y in the step: mu += alpha Sigma x", "",
     {"move": lambda before, s, step, y, z, x: before(s, step, 1.0, z, x)}),
    ("row-for-direction", "moves mu along x instead of Sigma x", "second",
     {"move": lambda before, s, step, y, z, x: before(s, step, y, x, x)}),
    ("row-for-direction-in-covariance", "subtracts beta x x' instead of beta Sigma x x' Sigma", "second",
     {"contract": lambda before, s, step, z, x: before(s, step, x, x)}),
    ("covariance-first", "updates Sigma first and then moves mu with the new Sigma", "second",
     {"update": _covariance_first}),
    ("decided-again", "moves mu first and then computes the update of Sigma from the new margin", "second",
     {"update": _decide_again}, "scw 1.1.2 on PyPI"),
    ("double-update", "learns every example twice", "", {"visit": _learn_twice}),
    ("partial-projection", "shrinks only the weights of the features that are in the row", SHRINKING,
     {"move": lambda before, s, step, y, z, x: np.where(x != 0.0, before(s, step, y, z, x), s.mu)},
     "River 0.26.1: ALMAClassifier"),
    ("shrink-forgotten", "does not shrink the weights before it adds the row", SHRINKING,
     with_step(lambda step, m, v, s: replace(step, shrink=1.0))),
]  # fmt: skip

CATALOGUE: Sequence[Deviation] = [
    *(Deviation("convention", *row) for row in CONVENTIONS),
    *(Deviation("variant", *row) for row in VARIANTS),
    *(Deviation("defect", *row) for row in DEFECTS),
]
