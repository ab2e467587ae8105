"""An algorithm in plain NumPy, round by round.

A replica calls the rule of a definition itself, not a copy of it. Everything around the rule is a *part*, a
small function by name, and a catalogue entry exchanges parts: that is how a convention or a defect is data.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from olbench.algorithms.compiled import CompiledDefinition
from olbench.algorithms.definition import Definition, Value
from olbench.algorithms.probing import interpret
from olbench.conformance.inputs import Input
from olbench.learners.examples import Floats

Part = Callable[..., Any]
#: By name, functions that get the part they replace before its arguments.
Exchange = Mapping[str, Part]


@dataclass(frozen=True)
class RuleStep:
    """What a rule decides: mu = shrink mu + alpha y z and Sigma -= beta z z', where beta = c / (1 + c v)."""

    loss: float
    alpha: float
    beta: float = 0.0
    gain: float = 0.0
    shrink: float = 1.0

    @property
    def is_finite(self) -> bool:
        return all(map(math.isfinite, (self.alpha, self.beta, self.gain, self.shrink)))


@dataclass(frozen=True)
class ReplicaRound:
    """What a replica saw and did in a round: margin mu.x and variance before the step, the rest after it."""

    margin: float
    variance: float
    step: RuleStep
    #: The weights that predict and the weights that learn; they differ only if an average predicts.
    weights: Floats
    mu: Floats
    learning_margin: float
    covariance: Floats | None

    @property
    def prediction(self) -> float:
        return 1.0 if self.margin >= 0.0 else -1.0


def _decide(s: "Replica", m: float, v: float, mistake: bool) -> RuleStep:
    t = s.parts["clock"](s)
    if s.definition.order == "second":
        loss, alpha, gain = s.rule(m, v, mistake, t, s.p)
        return RuleStep(loss, alpha, gain / (1.0 + gain * v), gain)
    loss, shrink, tau = s.rule(m, v, mistake, float(s.mu @ s.mu), t, s.k, s.p)
    return RuleStep(loss, tau, shrink=shrink)


def _update(s: "Replica", step: RuleStep, x: Floats, y: float) -> None:
    """Change mu and Sigma, both by what they were before."""
    z = s.parts["direction"](s, x)
    s.mu, s.sigma = s.parts["move"](s, step, y, z, x), s.parts["contract"](s, step, z, x)


PARTS: dict[str, Part] = {
    "params": lambda params: params,
    "constants": lambda s: s.definition.rule_constants(s.params).tolist(),
    "start": lambda s, d: (np.zeros(d), np.eye(d)),
    "row": lambda s, x: x,
    "label": lambda s, y: y,
    "score": lambda s, x: float(s.mu @ x),
    "variance": lambda s, x: float(x @ s.sigma @ x),
    "norm": lambda s, x: float(x @ x),
    "margin": lambda s, f, y: y * f,
    "mistake": lambda s, f, y: (f >= 0.0) != (y > 0.0),
    "clock": lambda s: s.t,
    "decide": _decide,
    # The rule decides: without a loss its step is zero.
    "trigger": lambda s, m, v, mistake: True,
    "direction": lambda s, x: s.sigma @ x if s.definition.order == "second" else x,
    "move": lambda s, step, y, z, x: step.shrink * s.mu + step.alpha * y * z,
    "contract": lambda s, step, z, x: s.sigma - step.beta * np.outer(z, z) if step.beta else s.sigma,
    "update": _update,
    "visit": lambda s, x, y: s.learn_once(x, y),
    "expose": lambda s: s.total / s.t if s.definition.averaged else s.mu,
}


class Replica:
    def __init__(
        self, definition: Definition, params: Mapping[str, Value], exchanges: Iterable[Exchange] = ()
    ):
        self.definition = definition
        self.rule = interpret(definition.rule)
        self.parts = dict(PARTS)
        for exchange in exchanges:
            for name, part in exchange.items():
                self.parts[name] = partial(part, self.parts[name])
        self.params = self.parts["params"](dict(params))
        self.p: Any = self.parts["constants"](self)
        self.t = self.k = 0
        self.mu: Floats = np.empty(0)
        self.sigma: Floats = np.empty((0, 0))
        self.total = self.shown = self.before = self.mu

    def meet(self, given: Input) -> Iterator[ReplicaRound]:
        for x, y in zip(given.X, given.y, strict=True):
            yield self.learn(x, float(y))

    def learn(self, x: Floats, y: float) -> ReplicaRound:
        x = self.parts["row"](self, x)
        if not self.t:
            self.mu, self.sigma = self.parts["start"](self, x.size)
            self.total = np.zeros(x.size)
            self.shown = self.before = self.mu
        self.t += 1
        return self.parts["visit"](self, x, self.parts["label"](self, y))  # type: ignore[no-any-return]

    def learn_once(self, x: Floats, y: float) -> ReplicaRound:
        second = self.definition.order == "second"
        f = self.parts["score"](self, x)
        v = self.parts["variance" if second else "norm"](self, x)
        mistake = self.parts["mistake"](self, f, y)
        m = self.parts["margin"](self, f, y)
        step, triggered = RuleStep(0.0, 0.0), self.parts["trigger"](self, m, v, mistake)
        try:
            if triggered:
                step = self.parts["decide"](self, m, v, mistake)
        except (ArithmeticError, ValueError):  # a root of a negative number, or a division by zero
            step = RuleStep(math.nan, math.nan)
        if triggered and step.is_finite and np.any(x):
            self.parts["update"](self, step, x, y)
        self.k += step.loss > 0.0
        self.total = self.total + self.mu
        shown = float(self.shown @ x) if self.shown is not self.before else f
        self.before = self.mu
        self.shown = self.parts["expose"](self)
        return ReplicaRound(shown, v, step, self.shown, self.mu, f, self.sigma if second else None)


class CompiledReplica(Replica):
    """A compiled learner in plain Python; only its rows, labels and parameters can be exchanged."""

    #: The parts that an exchange can replace.
    parts_used = frozenset({"params", "row", "label", "visit"})
    arrays: Any = None

    def learn_once(self, x: Floats, y: float) -> ReplicaRound:
        definition = self.definition
        assert isinstance(definition, CompiledDefinition)
        if self.arrays is None:
            self.arrays = definition.make_arrays(x.size)
            self.p = definition.rule_constants(self.params)
        score, columns = interpret(definition.score), np.flatnonzero(x).astype(np.uint32)
        margin = float(score(self.arrays, columns, x[columns], self.t, self.p))
        found = self.rule(self.arrays, columns, x[columns], y, self.t, self.p)
        places = np.arange(x.size, dtype=np.uint32)[:, None]
        self.mu = np.array([score(self.arrays, j, np.ones(1), self.t + 1, self.p) for j in places])
        step, sigma = RuleStep(float(found), math.nan), np.array(getattr(self.arrays, "sigma", ()))
        shown = sigma if sigma.ndim == 2 else None
        return ReplicaRound(margin, float(x @ x), step, self.mu, self.mu, margin, shown)


def make_replica(
    definition: Definition, params: Mapping[str, Value], exchanges: Iterable[Exchange] = ()
) -> Replica:
    kind = CompiledReplica if definition.order == "compiled" else Replica
    return kind(definition, params, exchanges)
