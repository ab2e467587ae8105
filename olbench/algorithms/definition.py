"""What an algorithm is: a scalar rule with declared parameters, traits and a citation.

The decorators here serve the built-in files of this folder and a user's own file alike.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from olbench.errors import UserError, suggest

Rule = Callable[..., tuple[float, float, float]]
Value = float | str
Order = Literal["first", "second", "advice", "object"]
Closed = Literal["neither", "left", "right", "both"]

KEEPS_PRODUCT = "it keeps mu = Sigma w, which a projected Sigma would break"
#: Settings of every second-order algorithm, beside its own parameters.
RESERVED = frozenset({"covariance", "projection", "form", "a"})
POWERS_OF_TWO = tuple(2.0**k for k in range(-4, 5))


@dataclass(frozen=True)
class Parameter:
    """A named number with a default, bounds and the grid that the papers search; or one of a few words."""

    name: str
    default: Value
    doc: str
    low: float = 0.0
    high: float = math.inf
    closed: Closed = "neither"
    grid: tuple[float, ...] = ()
    choices: tuple[str, ...] = ()

    def check(self, value: Any, owner: str) -> Value:
        """Return the value as this parameter stores it, or refuse it."""
        if self.choices:
            if value not in self.choices:
                raise UserError(
                    f"{owner}: {self.name} must be one of {', '.join(self.choices)}, not {value!r}"
                )
            return str(value)
        if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
            raise UserError(f"{owner}: {self.name} must be a number in {self.interval}, not {value!r}")
        number = float(value)
        above = self.low < number or (self.closed in ("left", "both") and number == self.low)
        below = number < self.high or (self.closed in ("right", "both") and number == self.high)
        if not (above and below):
            raise UserError(f"{owner}: {self.name} must lie in {self.interval}, not {value!r}")
        return number

    @property
    def interval(self) -> str:
        """The allowed values in words or as an interval."""
        if self.choices:
            return " | ".join(self.choices)
        opening = "[" if self.closed in ("left", "both") else "("
        closing = "]" if self.closed in ("right", "both") else ")"
        return f"{opening}{self.low:g}, {self.high:g}{closing}"


@dataclass(frozen=True)
class Traits:
    """The four properties of scw2012, Table 1; `source` says who assigned them."""

    large_margin: bool
    confidence: bool
    non_separable: bool
    adaptive_margin: bool
    source: str = "scw2012, Table 1"


@dataclass(frozen=True)
class Definition:
    """An algorithm as its file declares it. Made by the decorators `first_order` and `second_order`."""

    id: str
    title: str
    order: Order
    source: str
    parameters: tuple[Parameter, ...] = ()
    traits: Traits | None = None
    rule: Rule | None = None
    constants: Callable[..., tuple[float, ...]] | None = None
    form: Literal["covariance", "root"] = "covariance"
    no_diagonal: str = ""
    monotone: bool = False
    scale_free: bool = False
    factory: Callable[..., Any] | None = None
    doc: str = field(default="", repr=False)

    def __reduce__(self) -> Any:
        from olbench.algorithms.plugins import restore

        if REGISTRY.get(self.id) is not self:
            return Definition, tuple(getattr(self, each.name) for each in fields(self))
        return restore, (self.id, self.module, self._file)

    @property
    def module(self) -> str:
        """The module that defines the rule or builds the object."""
        return getattr(self.rule or self.factory, "__module__", "")

    @property
    def _file(self) -> str:
        code = getattr(self.rule or self.factory, "__code__", None)
        return code.co_filename if code else ""

    @property
    def diagonal(self) -> bool:
        """Whether a diagonal covariance makes sense; `no_diagonal` says why where it does not."""
        return not self.no_diagonal

    @property
    def grid(self) -> dict[str, tuple[float, ...]]:
        """The values that the papers search, by parameter."""
        return {parameter.name: parameter.grid for parameter in self.parameters if parameter.grid}

    def resolve(self, given: Mapping[str, Any]) -> dict[str, Value]:
        """Return every parameter with its given or default value, checked."""
        names = [parameter.name for parameter in self.parameters]
        for name in given:
            if name not in names:
                known = f"its parameters are {', '.join(names)}" if names else "it has no parameters"
                raise UserError(f"{self.id}: unknown parameter '{name}'{suggest(name, names)}; {known}")
        return {
            parameter.name: parameter.check(given.get(parameter.name, parameter.default), self.id)
            for parameter in self.parameters
        }

    def rule_constants(self, params: Mapping[str, Value]) -> NDArray[np.float64]:
        """Return the array p that the rule sees for these parameters."""
        values = self.constants(**params) if self.constants else tuple(params.values())
        return np.array(values, dtype=np.float64)

    @cached_property
    def compiled_rule(self) -> Any:
        """The rule as a first-class compiled function."""
        from numba.core.errors import NumbaError

        from olbench.kernels import compile

        signature: Any = compile.FIRST_ORDER_RULE if self.order == "first" else compile.SECOND_ORDER_RULE
        if self.order == "advice":
            from olbench.kernels.advice_sets import ADVICE_STEP as signature  # noqa: N811
        if self.rule is None:
            raise TypeError(f"{self.id} is an object, not a rule")
        try:
            return compile.rule(signature, self.rule)
        except NumbaError as error:
            line, reason = _cause(str(error))
            place = f"{self._file}:{line}" if line else self._file
            raise UserError(f"{place}: the rule of '{self.id}' does not compile: {reason}") from error


def _cause(message: str) -> tuple[str, str]:
    """Return the line and the reason in what numba says about a function that it cannot compile."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", message)
    lines = [line.strip() for line in plain.splitlines() if line.strip()]
    reasons = [line for line in lines if not line.startswith("Failed in nopython")]
    place = re.search(r'File "[^"]*", line (\d+)', plain)
    return place[1] if place else "", (reasons or lines)[0]


REGISTRY: dict[str, Definition] = {}


def register(definition: Definition) -> Definition:
    """Add a definition to the listing; a name may be defined again only where it was defined before."""
    known = REGISTRY.get(definition.id)
    if known is not None and known._file != definition._file and not known._file.startswith("<"):
        raise UserError(
            f"an algorithm named '{definition.id}' exists already ({known._file}); choose another id"
        )
    reserved = RESERVED.intersection(parameter.name for parameter in definition.parameters)
    if definition.order == "second" and reserved:
        raise UserError(
            f"{definition.id}: a parameter cannot be named {', '.join(sorted(reserved))}: every second-order "
            "algorithm has that setting already"
        )
    REGISTRY[definition.id] = definition
    return definition


def first_order(
    id: str, *, title: str = "", source: str = "", **declared: Any
) -> Callable[[Rule], Definition]:
    """Make a first-order algorithm of a rule (m, s, mistake, q, t, k, p) -> (loss, shrink, tau).

    The rule sees the signed margin m = y w.x, s = ||x||^2, whether the prediction was a mistake, q = ||w||^2,
    the round t = 1, 2, ..., the number k of updates so far and its parameters p. A loss above zero counts as
    an update; then w = shrink w + tau y x. Further keywords are the fields of Definition: parameters, traits,
    constants.
    """
    return _decorator(id, title, source, "first", declared)


def second_order(
    id: str, *, title: str = "", source: str = "", **declared: Any
) -> Callable[[Rule], Definition]:
    """Make a second-order algorithm of a rule (m, v, mistake, t, p) -> (loss, alpha, c).

    The rule sees the signed margin m = y mu.x, the variance v = x' Sigma x, whether the prediction was a
    mistake, the round t = 1, 2, ... and its parameters p. A loss above zero counts as an update; then
    mu += alpha y Sigma x and Sigma^-1 += c x x', which is Sigma -= beta Sigma x x' Sigma with
    beta = c / (1 + c v). Further keywords are the fields of Definition: parameters, traits, constants, form,
    no_diagonal (why a diagonal covariance makes no sense), monotone (the loss does not fall as v grows, so
    rounds that cannot trigger skip v) and scale_free (nothing depends on the common scale of mu and the root
    of Sigma).
    """
    return _decorator(id, title, source, "second", declared)


def advice(id: str, *, title: str = "", source: str = "", **declared: Any) -> Callable[..., Definition]:
    """Make an algorithm that takes advice of a step (i, sets, p, w, u, room) that moves u for advice set i.

    `olbench.kernels.advice` describes what the step sees. Further keywords are the fields of Definition.
    """
    return _decorator(id, title, source, "advice", declared)


def contestant(id: str, *, title: str = "", source: str = "", **declared: Any) -> Callable[..., Definition]:
    """Make a contestant of a function that builds an online learner from the declared parameters.

    The learner has `predict_one` and `learn_one` (River) or `predict` and `partial_fit` (scikit-learn).
    """

    def define(factory: Callable[..., Any]) -> Definition:
        return _define(id, title, source, "object", factory.__doc__, {"factory": factory, **declared})

    return define


def _decorator(
    id: str, title: str, source: str, order: Order, declared: dict[str, Any]
) -> Callable[[Rule], Definition]:
    def define(rule: Rule) -> Definition:
        function: Rule = getattr(rule, "py_func", rule)
        return _define(id, title, source, order, function.__doc__, {"rule": function, **declared})

    return define


def _define(
    id: str, title: str, source: str, order: Order, doc: str | None, fields: dict[str, Any]
) -> Definition:
    return register(Definition(id=id, title=title or id, order=order, source=source, doc=doc or "", **fields))
