"""What an algorithm is: a scalar rule with declared parameters, traits and a citation.

The same decorators serve the built-in files in this folder and a user's own file.
"""

import dis
import math
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import cached_property
from pkgutil import resolve_name
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from olbench.algorithms.probing import TAKES, check_rule, has_constant_gain
from olbench.errors import UserError, shorten, show_name, suggest
from olbench.plugins import Registry, digest_syntax, read_source

#: Our rules read p[0], p[1]: to unpack p tests its length, which takes about 10 ns in every round.
Rule = Callable[..., tuple[float, float, float]]
Value = float | str
PairRule = Callable[..., tuple[float, float]]
ExactRule = Callable[..., tuple[float, float, float, float, float, float]]
Closed = Literal["neither", "left", "right", "both"]

KEEPS_PRODUCT = "it keeps mu = Sigma w, which a projected Sigma would break"
#: Settings of a kernel; an algorithm that has a parameter of such a name runs without kernels.
KERNEL = frozenset({"gamma", "degree", "coef0"})
RESERVED = KERNEL | {"covariance", "projection", "form", "a", "forgetting", "kernel"}
NATIVE = frozenset({"multiclass", "allocation"})
POWERS_OF_TWO = tuple(2.0**k for k in range(-4, 5))


@dataclass(frozen=True)
class Parameter:
    """A number with a default, bounds and the grid that the papers search, or one word out of `choices`."""

    name: str
    default: Value
    doc: str
    low: float = 0.0
    high: float = math.inf
    closed: Closed = "neither"
    grid: tuple[float, ...] = ()
    choices: tuple[str, ...] = ()
    instead_of: str = ""

    def check(self, value: Any, owner: str) -> Value:
        """Return the value as a float or a word, or raise a UserError that names `owner`."""
        if self.choices:
            if value not in self.choices:
                raise UserError(
                    f"{owner}: {self.name} must be one of {', '.join(self.choices)}, not {value!r}"
                )
            return str(value)
        if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
            raise UserError(f"{owner}: {self.name} must be a number in {self.interval}, not {value!r}")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        above = self.low < number or (self.closed in ("left", "both") and number == self.low)
        below = number < self.high or (self.closed in ("right", "both") and number == self.high)
        if not (above and below):
            raise UserError(f"{owner}: {self.name} must lie in {self.interval}, not {shorten(repr(value))}")
        return number

    @property
    def interval(self) -> str:
        """The allowed values: an interval or a list of words."""
        if self.choices:
            return " | ".join(self.choices)
        opening = "[" if self.closed in ("left", "both") else "("
        closing = "]" if self.closed in ("right", "both") else ")"
        return f"{opening}{self.low:g}, {self.high:g}{closing}"


@dataclass(frozen=True)
class Traits:
    """The four properties of scw2012, Table 1, and who assigned them."""

    large_margin: bool
    confidence: bool
    non_separable: bool
    adaptive_margin: bool
    source: str = "scw2012, Table 1"


#: The traits in words, by field, in the order of scw2012, Table 1.
TRAITS = {each.name: each.name.replace("_", " ") for each in fields(Traits) if each.name != "source"} | {
    "non_separable": "non-separable"
}


@dataclass(frozen=True)
class Estimator:
    """What the docstring of an algorithm's scikit-learn estimator says, and what is special about it."""

    #: What it is, in a sentence; by default the docstring of the rule.
    summary: str = ""
    accuracy: float | None = None
    settings: str = ""
    #: The name of the class; by default from the id, with capitals where the title has them.
    name: str = ""
    #: Whether the Sigma of a second-order algorithm is the covariance of a Gaussian over weights.
    gaussian: bool = True
    #: The base of the class as "module:name", for a family of its own.
    base: str = ""


@dataclass(frozen=True)
class Definition:
    """An algorithm as its file declares it with one of the decorators of this module."""

    id: str
    title: str
    #: "first", "second", "compiled", "baseline", "object", "batch", or another family.
    order: str
    source: str
    parameters: tuple[Parameter, ...] = ()
    traits: Traits | None = None
    rule: Rule | None = None
    exact: ExactRule | None = None
    pair: PairRule | None = None
    constants: Callable[..., tuple[float, ...]] | None = None
    form: Literal["covariance", "root"] = "covariance"
    no_diagonal: str = ""
    monotone: bool = False
    scale_free: bool = False
    averaged: bool = False
    passive_above: Callable[..., float] | None = None
    product: bool = False
    #: Whether a step of the native learner can be shared among all rivals, by the option `allocation`.
    allocated: bool = False
    #: Whether it is a toolbox's learner of several classes, which has no binary or one-vs-rest form.
    only_native: bool = False
    factory: Callable[..., Any] | None = None
    #: Whether an object with learn_one gets the non-zero features only; None if its author does not say.
    sparse: bool | None = None
    #: The names of further settings that its learner or factory takes, which are not numbers or words.
    takes: tuple[str, ...] = ()
    #: The numba signature of its rule as "module:name", for a family of its own.
    signature: str = ""
    #: Whether a round takes many times as long as its margin.
    slow: bool = False
    estimator: Estimator = Estimator()
    #: Raised whenever its counts change: trials of other versions are not reused.
    version: int = 1
    doc: str = field(default="", repr=False)

    @property
    def module(self) -> str:
        return getattr(self.rule or self.factory, "__module__", "")

    @property
    def file(self) -> str:
        code = getattr(self.rule or self.factory, "__code__", None)
        return code.co_filename if code else ""

    @property
    def place(self) -> str:
        return _find_place(self.rule or self.factory)

    @property
    def is_own(self) -> bool:
        return bool(self.file) and not self.module.startswith("olbench.")

    @cached_property
    def code(self) -> str:
        """Its version; a hash of the syntax of its file for an algorithm of a user's own file."""
        source = "" if REGISTRY.is_installed(self.module) else read_source(self.rule or self.factory)
        return digest_syntax(source) if source else str(self.version)

    @property
    def estimator_name(self) -> str:
        words = re.findall("[a-z]+|[0-9]+", self.id)
        named = [word.upper() if word.upper() in self.title else word.capitalize() for word in words]
        return self.estimator.name or "".join(named)

    @property
    def online(self) -> bool:
        return self.order != "batch"

    @property
    def diagonal(self) -> bool:
        """Whether a diagonal covariance makes sense; if not, `no_diagonal` says why."""
        return not self.no_diagonal

    @property
    def is_gaussian(self) -> bool:
        """Whether it keeps the covariance of a Gaussian over weights, and no other matrix."""
        kept = self.product or self.no_diagonal == KEEPS_PRODUCT
        return self.order == "second" and not kept and self.estimator.gaussian

    @property
    def projections(self) -> tuple[str, ...]:
        if self.order != "second" or not self.diagonal:
            return ()
        if self.product:
            return ("kl",)
        return ("kl", "l2") if self.exact is None else ("kl", "l2", "exact")

    @property
    def grid(self) -> dict[str, tuple[float, ...]]:
        return self.grid_beside(())

    def grid_beside(self, fixed: Container[str]) -> dict[str, tuple[float, ...]]:
        replaced = {parameter.instead_of for parameter in self.parameters if parameter.name in fixed}
        searched = [
            parameter
            for parameter in self.parameters
            if not (parameter.instead_of or parameter.name in fixed or parameter.name in replaced)
        ]
        return {parameter.name: parameter.grid for parameter in searched if parameter.grid}

    def resolve(self, given: Mapping[str, Any], searched: Iterable[str] = ()) -> dict[str, Value]:
        """Return all parameters with their given or default values, after checking them.

        Of a parameter and one that replaces it, the result has the one that is given, or else the replaced
        one. `searched` names parameters whose values come later: they have their defaults and count as given.

        >>> from olbench.algorithms import get_definition
        >>> get_definition("cw").resolve({}), get_definition("cw").resolve({"phi": 10})
        ({'eta': 0.7}, {'phi': 10.0})
        """
        named = [*given, *searched]
        names = [parameter.name for parameter in self.parameters]
        for name in named:
            if name not in names:
                known = f"its parameters are {', '.join(names)}" if names else "it has no parameters"
                raise UserError(
                    f"{self.id}: unknown parameter {show_name(name)}{suggest(name, names)}; {known}"
                )
        absent = self._find_absent(named)
        return {
            parameter.name: parameter.check(given.get(parameter.name, parameter.default), self.id)
            for parameter in self.parameters
            if parameter.name not in absent
        }

    def _find_absent(self, named: Container[str]) -> set[str]:
        absent = set()
        for parameter in self.parameters:
            replaced = parameter.instead_of
            if replaced and parameter.name in named and replaced in named:
                raise UserError(f"{self.id}: give {replaced} or {parameter.name}, not both")
            if replaced:
                absent.add(replaced if parameter.name in named else parameter.name)
        return absent

    def rule_constants(self, params: Mapping[str, Value]) -> NDArray[np.float64]:
        values = self.constants(**params) if self.constants else tuple(params.values())
        return np.array(values, dtype=np.float64)

    def find_passive_margin(self, params: Mapping[str, Value]) -> float:
        """Return the margin above which the rule does nothing, or infinity if it makes no promise.

        A mistake may change anything, so the margin is not negative.
        """
        if self.passive_above is None:
            return math.inf
        return max(0.0, float(self.passive_above(**params)))

    @cached_property
    def reads_norm(self) -> bool:
        """Whether a first-order rule reads q, its fourth argument: the squared norm is kept only then.

        The compiled code of the rule tells, so that no rule can forget to declare it.
        """
        if self.rule is None or self.order != "first":
            return False
        code = getattr(self.rule, "__code__", None)
        if code is None or code.co_argcount < 4:
            return True
        q = code.co_varnames[3]
        operands = [instruction.argval for instruction in dis.get_instructions(self.rule)]
        return any(operand == q or (isinstance(operand, tuple) and q in operand) for operand in operands)

    @cached_property
    def has_constant_gain(self) -> bool:
        """Whether the precision c that a second-order rule adds does not depend on the variance."""
        if self.rule is None or self.order != "second":
            return False
        return has_constant_gain(self.rule, self.rule_constants(self.resolve({})))

    @cached_property
    def compiled_rule(self) -> Any:
        from olbench.kernels.compile import RULES

        self.check()
        if self.signature:
            return self._compile(resolve_name(self.signature), self.rule)
        return self._compile(RULES.get(self.order), self.rule)

    def check(self) -> None:
        if self.rule is not None and self.order in TAKES and not self.module.startswith("olbench."):
            params = self.resolve({})
            constants, passive_above = self.rule_constants(params), self.find_passive_margin(params)
            check_rule(self.id, self.order, self.rule, constants, self.file, passive_above)

    @cached_property
    def compiled_exact(self) -> Any:
        from olbench.kernels.compile import EXACT_RULE

        return self._compile(EXACT_RULE, self.exact)

    @cached_property
    def compiled_pair(self) -> Any:
        from olbench.kernels.compile import PAIR_RULE

        return self._compile(PAIR_RULE, self.pair)

    def _compile(self, signature: Any, rule: Callable[..., Any] | None) -> Any:
        from olbench.kernels import compile

        if rule is None:
            raise TypeError(f"{self.id} is an object, not a rule")
        # Without bounds checks, a wrong index would read stray memory and give a plausible rate.
        how = {"boundscheck": True} if self.is_own else {}
        with self.explain_errors():
            return compile.rule(signature, rule, **how)

    @contextmanager
    def explain_errors(self) -> Iterator[None]:
        from numba.core.errors import NumbaError

        try:
            yield
        except NumbaError as error:
            line, reason = _find_cause(str(error))
            place = f"{self.file}:{line}" if line else self.file
            raise UserError(f"{place}: the rule of '{self.id}' does not compile: {reason}") from error


def _find_place(function: Callable[..., Any] | None) -> str:
    code = getattr(function, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}: " if code else ""


def _find_cause(message: str) -> tuple[str, str]:
    """Return the line number and the reason from numba's message about a function it cannot compile."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", message)
    lines = [line.strip() for line in plain.splitlines() if line.strip()]
    reasons = [line for line in lines if not line.startswith("Failed in nopython")]
    place = re.search(r'File "[^"]*", line (\d+)', plain)
    reason, *more = reasons or lines
    if reason.endswith(":") and more:  # the call that numba cannot compile is in the next line
        reason = f"{reason} {more[0].lstrip('> ')}"
    return place[1] if place else "", reason


REGISTRY: Registry[Definition] = Registry(
    "the algorithm",
    room="olbench.algorithms",
    part="algorithms",
    group="olbench.algorithms",
    first=(
        "perceptron", "passive_aggressive", "averaged", "romma", "alma", "ogd", "sgd",
        "adagrad", "ftrl", "sparse", "adam",
        "sop", "iellip", "ons", "cw", "nherd", "arow", "scw", "baselines", "batch",
    ),
)  # fmt: skip


def _refuse_names(definition: Definition) -> None:
    names = [parameter.name for parameter in definition.parameters]
    for what, name in (("an algorithm", definition.id), *(("a parameter", name) for name in names)):
        if not (isinstance(name, str) and name and name.isprintable() and not set(name) & set(" ,")):
            raise UserError(
                f"{definition.place}{what} cannot be named {shorten(repr(name))}; use a word without spaces "
                "and commas"
            )
    twice = next((name for name in names if names.count(name) > 1), "")
    if twice:
        raise UserError(
            f"{definition.place}'{definition.id}' has two parameters named '{twice}'; rename one of them"
        )


def register(definition: Definition) -> Definition:
    _refuse_names(definition)
    known_settings = NATIVE | (RESERVED - KERNEL if definition.order == "second" else set())
    reserved = known_settings.intersection(parameter.name for parameter in definition.parameters)
    if definition.order in ("first", "second") and reserved:
        raise UserError(
            f"{definition.place}{definition.id}: a parameter cannot be named {', '.join(sorted(reserved))}: "
            f"every {definition.order}-order algorithm already has that setting; choose another name"
        )
    for parameter in definition.parameters:
        for value in (parameter.default, *parameter.grid):
            parameter.check(value, f"{definition.id}, its default or grid")
    REGISTRY.add(definition.id, definition, definition.module, definition.place)
    return definition


def first_order(id: str, *, title: str = "", source: str = "", **declared: Any) -> Callable[..., Definition]:
    """Define a first-order algorithm by a rule (m, s, mistake, q, t, k, p) -> (loss, shrink, tau).

    The rule receives the signed margin m = y w.x, s = ||x||^2, whether the prediction was a mistake,
    q = ||w||^2, the round t = 1, 2, ..., the number k of updates so far and its parameters p. A round with a
    loss above zero counts as an update. The weights become w = shrink w + tau y x. Further keywords are the
    fields of Definition: parameters, traits, constants, averaged (unseen examples are predicted with the mean
    of w over all rounds) and passive_above (a function of the parameters that gives a margin above which loss
    and tau are 0 and shrink is 1, whatever the other arguments, so such rounds skip the rule).
    """
    return make_decorator(id, title, source, "first", declared)


def second_order(id: str, *, title: str = "", source: str = "", **declared: Any) -> Callable[..., Definition]:
    """Define a second-order algorithm by a rule (m, v, mistake, t, p) -> (loss, alpha, c).

    The rule receives the signed margin m = y mu.x, the variance v = x' Sigma x, whether the prediction was a
    mistake, the round t = 1, 2, ... and its parameters p. A round with a loss above zero counts as an update.
    The Gaussian becomes mu += alpha y Sigma x and Sigma^-1 += c x x', which equals
    Sigma -= beta Sigma x x' Sigma with beta = c / (1 + c v).

    Further keywords are the fields of Definition: parameters, traits, constants, form, no_diagonal (why a
    diagonal covariance makes no sense), monotone (the loss does not fall as v grows, so rounds that cannot
    trigger skip v), passive_above (a function of the parameters that gives a margin above which loss, alpha
    and c are 0, for a rule whose loss does not depend on v), scale_free (nothing depends on the common scale
    of mu and the root of Sigma), exact (a rule (m, v, p) for projection="exact", see olbench.kernels.exact),
    pair (a rule (m, v_y, v_s, p) -> (alpha, c) for the covariances of two classes, where c depends on v) and
    product (the diagonal form keeps w and Sigma apart, see olbench.kernels.product).
    """
    return make_decorator(id, title, source, "second", declared)


def baseline(id: str, *, title: str = "", source: str = "", **declared: Any) -> Callable[..., Definition]:
    """Define a baseline by a rule (negatives, positives, last, p) -> margin of the labels learnt so far.

    Before the first label, `last` is 1: a baseline that knows nothing predicts +1, as every learner does.
    """
    return make_decorator(id, title, source, "baseline", declared)


def contestant(id: str, *, title: str = "", source: str = "", **declared: Any) -> Callable[..., Definition]:
    """Define a contestant by a function that builds an online learner from the declared parameters.

    The learner has `predict_one` and `learn_one` (River) or `predict` and `partial_fit` (scikit-learn).
    River's get all features of a row, or the non-zero ones with `sparse=True`. With more than 10,000 columns,
    `sparse` must be stated.
    """
    return make_decorator(id, title, source, "object", declared)


def batch_contestant(
    id: str, *, title: str = "", source: str = "", **declared: Any
) -> Callable[..., Definition]:
    """Define a batch contestant by a function that builds a classifier with `fit` and `predict`.

    It learns from all training examples at once, so it has no online pass; a protocol with training and test
    sets runs it (`olbench.learners.contestants.BatchLearner`).
    """
    return make_decorator(id, title, source, "batch", declared)


def make_decorator(
    id: str, title: str, source: str, order: str, declared: dict[str, Any]
) -> Callable[[Callable[..., Any]], Definition]:
    """Return a decorator of rules, or of factories for the orders "object" and "batch"."""
    role = "factory" if order in ("object", "batch") else "rule"

    def define(function: Callable[..., Any]) -> Definition:
        if role == "rule":
            function = getattr(function, "py_func", function)
        fields: dict[str, Any] = {role: function, "doc": function.__doc__ or "", **declared}
        return register(Definition(id=id, title=title or id, order=order, source=source, **fields))

    return define
