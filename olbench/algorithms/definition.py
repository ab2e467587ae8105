"""What an algorithm is: a rule with declared parameters, traits and a citation. And the list of all of them.

The same decorators serve the files in this folder and a user's own file.
"""

import dis
import math
import re
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from olbench.algorithms import probing
from olbench.errors import UserError, describe_error, shorten, show_name, suggest
from olbench.plugins import PREFIX, Registry, digest_syntax, find_parts, load_file, read_source

#: Our rules read p[0], p[1]: to unpack p tests its length, which takes about 10 ns in every round.
Rule = Callable[..., Any]
Value = float | str

KEEPS_PRODUCT = "it keeps mu = Sigma w, which a projected Sigma would break"
POWERS_OF_TWO = tuple(2.0**k for k in range(-4, 5))
TENTHS = tuple(k / 10 for k in range(1, 11))


@dataclass(frozen=True)
class Parameter:
    """A number with a default, bounds and the grid that the papers search, or one word out of `choices`."""

    name: str
    default: Value
    doc: str
    low: float = 0.0
    high: float = math.inf
    closed: Literal["neither", "left", "right", "both"] = "neither"
    grid: tuple[float, ...] = ()
    choices: tuple[str, ...] = ()
    instead_of: str = ""

    def check(self, value: Any, owner: str) -> Value:
        """Return the value as a float or a word, or raise a UserError that names `owner`."""
        if self.choices:
            if value not in self.choices:
                words = ", ".join(self.choices)
                raise UserError(f"{owner}: {self.name} must be one of {words}, not {value!r}")
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


def choose(name: str, doc: str, *words: str) -> Parameter:
    return Parameter(name, words[0], doc, choices=words)


#: Options that rules have in addition to their parameters: those in NATIVE apply to several classes, the
#: others to the covariance of a second-order rule.
OPTIONS = {
    each.name: each
    for each in (
        choose("multiclass", "one learner per class, or one of all classes", "one-vs-rest", "native"),
        choose("allocation", "how the rivals of a native perceptron share a step", "max", "uniform", "prop"),
        choose(
            "covariance", "matrix or diagonal; block and shared are native", "full", "diag", "block", "shared"
        ),
        choose("projection", "how a diagonal covariance stays diagonal after an update", "kl", "l2", "exact"),
        choose("form", "whether the full covariance or a root of it is stored", "covariance", "root"),
        Parameter("a", 1.0, "the initial variance of every weight"),
        Parameter(
            "forgetting",
            1.0,
            "below 1: variances grow by its inverse between examples, up to a",
            high=1.0,
            closed="right",
        ),
        choose("kernel", "learn in the feature space of a kernel", "linear", "rbf", "poly"),
        Parameter("gamma", 1.0, "the scale of the kernel"),
        Parameter("degree", 3.0, "the degree of a polynomial kernel", low=1.0, closed="left"),
        Parameter("coef0", 0.0, "the constant of a polynomial kernel", closed="left"),
    )
}
NATIVE = frozenset({"multiclass", "allocation"})
#: The settings of each kernel; an algorithm that has a parameter of such a name runs without kernels.
KERNELS: dict[str, tuple[str, ...]] = {"linear": (), "rbf": ("gamma",), "poly": ("gamma", "degree", "coef0")}
KERNEL = KERNELS["poly"]


@dataclass(frozen=True)
class Traits:
    """The four properties of scw2012, Table 1, and who assigned them."""

    large_margin: bool
    confidence: bool
    non_separable: bool
    adaptive_margin: bool
    source: str = "scw2012, Table 1"


#: The traits in words, by field, in the order of scw2012, Table 1.
TRAITS = {
    "large_margin": "large margin", "confidence": "confidence",
    "non_separable": "non-separable", "adaptive_margin": "adaptive margin",
}  # fmt: skip


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
    exact: Rule | None = None
    pair: Rule | None = None
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
    #: Whether an object with learn_one gets only the non-zero features; None if that is not declared.
    sparse: bool | None = None
    #: Names of settings of its learner or factory that are neither numbers nor words.
    takes: tuple[str, ...] = ()
    #: The numba signature of its rule as "module:name", for a family that is not listed above.
    signature: str = ""
    #: Whether a round takes many times as long as its margin.
    slow: bool = False
    #: Whether the Sigma of a second-order algorithm is the covariance of a Gaussian over weights.
    gaussian: bool = True
    #: Raised whenever its counts change: trials of other versions are not reused.
    version: int = 1
    doc: str = field(default="", repr=False)

    @property
    def functions(self) -> tuple[Any, ...]:
        """What its author wrote: a rule or a factory."""
        return (self.rule or self.factory,)

    @property
    def module(self) -> str:
        return getattr(self.functions[-1], "__module__", "")

    @property
    def _code(self) -> Any:
        """The bytecode of what its author wrote; None for an object that can be called."""
        return getattr(self.functions[-1], "__code__", None)

    @property
    def file(self) -> str:
        return getattr(self._code, "co_filename", "")

    @property
    def place(self) -> str:
        """The start of an error message: "file:line: "."""
        return f"{self.file}:{self._code.co_firstlineno}: " if self._code else ""

    @cached_property
    def is_own(self) -> bool:
        return bool(self.file) and not self.module.startswith("olbench.")

    @cached_property
    def sources(self) -> list[bytes | str]:
        """The files of its functions and of the jitted functions they call; in a notebook, their lines."""
        parts = (read_source(part) for each in self.functions for part in (each, *find_parts(each)))
        return [source for source in dict.fromkeys(parts) if source]

    @cached_property
    def code(self) -> str:
        """Its version; for an algorithm of a user's own file, a hash of the syntax of its sources."""
        sources = [] if REGISTRY.is_installed(self.module) else self.sources
        return digest_syntax(*sources) if sources else str(self.version)

    @property
    def online(self) -> bool:
        return self.order != "batch"

    @property
    def diagonal(self) -> bool:
        return not self.no_diagonal

    @property
    def is_gaussian(self) -> bool:
        """Whether that Gaussian is its state; other learners keep w, and mu = Sigma w follows."""
        keeps_product = self.product or self.no_diagonal == KEEPS_PRODUCT
        return self.order == "second" and not keeps_product and self.gaussian

    @property
    def projections(self) -> tuple[str, ...]:
        if self.order != "second" or self.no_diagonal:
            return ()
        return ("kl",) if self.product else ("kl", "l2", "exact") if self.exact else ("kl", "l2")

    @cached_property
    def searched_options(self) -> dict[str, Parameter]:
        """The options that a grid may have beside parameters."""
        taken = NATIVE.union(parameter.name for parameter in self.parameters)
        options = OPTIONS if self.order == "second" else {}
        return {name: option for name, option in options.items() if name not in taken}

    @cached_property
    def searchable(self) -> dict[str, Parameter]:
        return {**{parameter.name: parameter for parameter in self.parameters}, **self.searched_options}

    @property
    def grid(self) -> dict[str, tuple[float, ...]]:
        return self.grid_beside(())

    def grid_beside(self, fixed: Container[str]) -> dict[str, tuple[float, ...]]:
        """Return the grids to search when these parameters are fixed."""
        replaced = {parameter.instead_of for parameter in self.parameters if parameter.name in fixed}
        return {
            parameter.name: parameter.grid
            for parameter in self.parameters
            if parameter.grid and not parameter.instead_of
            if parameter.name not in fixed and parameter.name not in replaced
        }

    def resolve(self, given: Mapping[str, Any], searched: Iterable[str] = ()) -> dict[str, Value]:
        """Return all parameters with their given or default values, after checking them.

        Of a parameter and its replacement, the result has the given one, by default the parameter itself.
        `searched` names parameters whose values come later: they have their defaults and count as given.

        >>> from olbench.algorithms import get_definition
        >>> get_definition("cw").resolve({}), get_definition("cw").resolve({"phi": 10})
        ({'eta': 0.7}, {'phi': 10.0})
        """
        named = [*given, *searched]
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in named:
            if name not in known:
                names = f"its parameters are {', '.join(known)}" if known else "it has no parameters"
                hint = suggest(name, list(known))
                raise UserError(f"{self.id}: unknown parameter {show_name(name)}{hint}; {names}")
        for parameter in [each for each in self.parameters if each.instead_of]:
            name, replaced = parameter.name, parameter.instead_of
            if name in named and replaced in named:
                raise UserError(f"{self.id}: give {replaced} or {name}, not both")
            del known[replaced if name in named else name]
        return {name: each.check(given.get(name, each.default), self.id) for name, each in known.items()}

    def rule_constants(self, params: Mapping[str, Value]) -> NDArray[np.float64]:
        return self._call(self.constants or (lambda **params: tuple(params.values())), "constants", params)

    def find_passive_margin(self, params: Mapping[str, Value]) -> float:
        """Return the margin above which the rule promises to do nothing; infinity if it promises nothing.

        A mistake may change anything, so the margin is not negative.
        """
        above = self.passive_above
        return max(0.0, float(self._call(above, "passive_above", params))) if above else math.inf

    def _call(self, function: Any, name: str, params: Mapping[str, Value]) -> NDArray[np.float64]:
        try:
            return np.array(function(**params), dtype=np.float64)
        except Exception as error:
            raise UserError(
                f"{self.place}{name} of '{self.id}', which gets ({', '.join(params)}), fails: "
                f"{describe_error(error)}"
            ) from error

    @cached_property
    def reads_norm(self) -> bool:
        """Whether a first-order rule reads q, its fourth argument: the squared norm is kept only then.

        The bytecode of the rule shows it, so no rule can forget to declare it.
        """
        if self.order != "first":
            return False
        q = self._code.co_varnames[3:4]
        operands = [instruction.argval for instruction in dis.get_instructions(self._code)]
        return any(q and q[0] in (each if isinstance(each, tuple) else (each,)) for each in operands)

    @cached_property
    def has_constant_gain(self) -> bool:
        """Whether the precision c that a second-order rule adds does not depend on the variance."""
        return self.order == "second" and probing.has_constant_gain(self)

    @cached_property
    def compared(self) -> set[str]:
        """The settings with which its promises were compared with its answers on data."""
        return set()

    def check(self) -> None:
        """Refuse a user's rule or compiled learner that has the wrong form, fails or breaks its promise."""
        if not self.module.startswith("olbench."):
            probing.check(self)

    @cached_property
    def compiled_rule(self) -> Any:
        from olbench.kernels.compile import RULES

        self.check()
        signature = resolve_name(self.signature) if self.signature else RULES.get(self.order)
        return self._compile(signature, self.rule)

    @cached_property
    def compiled_exact(self) -> Any:
        from olbench.kernels.compile import EXACT_RULE

        return self._compile(EXACT_RULE, self.exact)

    @cached_property
    def compiled_pair(self) -> Any:
        from olbench.kernels.compile import PAIR_RULE

        return self._compile(PAIR_RULE, self.pair)

    def _compile(self, signature: Any, rule: Rule | None) -> Any:
        from olbench.kernels import compile

        assert rule is not None
        with self.explain_errors():
            return compile.rule(signature, rule, **self.checks)

    @property
    def checks(self) -> dict[str, bool]:
        """How what its author wrote is compiled: without checks, a wrong index would read stray memory."""
        return {"boundscheck": True} if self.is_own else {}

    @contextmanager
    def explain_errors(self) -> Iterator[None]:
        """Raise numba's errors as a UserError with the line and the reason."""
        from numba.core.errors import NumbaError, UnsupportedBytecodeError

        try:
            yield
        except (NumbaError, UnsupportedBytecodeError) as error:
            plain = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
            plain = re.sub(r"\. Raised from (.*) \((\d+).*", r'\nFile "\1", line \2', plain)
            # Numba shows lines of its own files first.
            line = re.search(rf'File "(?:[^"]*/)?{re.escape(Path(self.file).name)}", line (\d+)', plain)
            lines = [line.strip() for line in plain.splitlines() if line.strip()]
            reason, *more = [each for each in lines if not each.startswith("Failed in nopython")] or lines
            if reason.endswith(":") and more:  # the call that numba cannot compile is in the next line
                reason = f"{reason} {more[0].lstrip('> ')}"
            if reason.endswith("of <class 'function'>"):
                reason = f"{reason}; decorate it with @numba.njit"
            if self.order == "compiled" and "returning of array" in plain:
                reason = f"{reason}; a learner cannot allocate arrays: declare those that it needs"
            place = f"{self.file}:{line[1]}" if line else self.file
            raise UserError(f"{place}: the rule of '{self.id}' does not compile: {reason}") from error

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a listed definition by its id and file: rules cannot be pickled."""
        if REGISTRY.get(self.id) is self:
            return restore, (self.id, self.module, self.file)
        return type(self), tuple(getattr(self, each.name) for each in fields(self))


REGISTRY: Registry[Definition] = Registry(
    "the algorithm",
    room="olbench.algorithms",
    part="algorithms",
    group="olbench.algorithms",
    first=(
        "perceptron", "passive_aggressive", "maximum_margin", "gradient", "adaptive", "sparse",
        "ellipsoid", "cw", "arow", "scw", "baselines",
    ),
)  # fmt: skip
#: Titles that runs on record give to algorithms of a user's file, by id: reports do not run that file.
RECORDED: dict[str, str] = {}


def definitions() -> list[Definition]:
    """Return all algorithms: what ships, in a fixed order, then the others."""
    return REGISTRY.listed()


def get_definition(name: str) -> Definition:
    """Return the algorithm with this id, or else with this title or id in any case.

    >>> get_definition("SCW-I") is get_definition("SCW1") is get_definition("scw1")
    True
    """
    REGISTRY.load()
    if name in REGISTRY:
        return REGISTRY[name]
    names = {known: each for each in definitions() for known in (each.id, each.title)}
    for known, definition in names.items():
        if name.casefold() == known.casefold():
            return definition
    hint = suggest(name, list(names))
    raise UserError(
        f"unknown algorithm {show_name(name)}{hint}; `olbench algorithms` lists all of them, and a plugin "
        "adds your own"
    )


def title_of(id: str) -> str:
    """Return the title of an algorithm; if it is known only from a run, the title there, or else the id.

    >>> title_of("scw1"), title_of("somebody-elses")
    ('SCW-I', 'somebody-elses')
    """
    REGISTRY.load()
    return REGISTRY[id].title if id in REGISTRY else RECORDED.get(id, id)


def load_plugin(path: str | Path) -> list[Definition]:
    """Run a Python file once and return the algorithms that it defines."""
    REGISTRY.load()
    name = load_file(path)
    return [definition for definition in REGISTRY.values() if definition.module == name]


def restore(id: str, module: str, file: str) -> Definition:
    """Return a pickled definition, in a process that may not have loaded its file."""
    if module.startswith(PREFIX) and module not in sys.modules:
        load_plugin(file)
    return get_definition(id)


def _check_name(name: Any, what: str) -> None:
    if not (isinstance(name, str) and name and name.isprintable() and not set(name) & set(" ,")):
        raise UserError(f"{what} cannot be named {shorten(repr(name))}; use a word without spaces and commas")


def check_keywords(id: str, declared: Mapping[str, Any]) -> None:
    if callable(id):
        raise UserError('the decorator of an algorithm needs an id, such as @second_order("my-rule")')
    known = [each.name for each in fields(Definition)]
    for name in declared.keys() - known:
        raise UserError(f"'{id}' has an unknown keyword {show_name(name)}{suggest(name, known)}")


def register(definition: Definition) -> Definition:
    id, place, order = definition.id, definition.place, definition.order
    options = {"first": NATIVE, "second": OPTIONS.keys() - KERNEL}.get(order, frozenset())
    _check_name(id, f"{place}an algorithm")
    names: list[str] = []
    parameter: Any
    for parameter in definition.parameters:
        if not isinstance(parameter, Parameter):
            wanted = f"use Parameter({shorten(repr(parameter))}, default, doc)"
            raise UserError(f"{place}'{id}' has a parameter {shorten(repr(parameter))}; {wanted}")
        _check_name(parameter.name, f"{place}a parameter")
        if parameter.name in names:
            raise UserError(f"{place}'{id}' has two parameters named '{parameter.name}'; rename one of them")
        if parameter.name in options:
            raise UserError(
                f"{place}{id}: a parameter cannot be named {parameter.name}: every {order}-order algorithm "
                "already has that setting; choose another name"
            )
        for value in (parameter.default, *parameter.grid):
            parameter.check(value, f"{id}, its default or grid")
        names.append(parameter.name)
    REGISTRY.add(id, definition, definition.module)
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
    product (the diagonal form keeps w and Sigma apart, see olbench.kernels.diagonal).
    """
    return make_decorator(id, title, source, "second", declared)


def average(definition: Definition, title: str, named: str) -> Definition:
    """Define the algorithm that learns as another one does, and predicts unseen examples with its mean."""
    changed: dict[str, Any] = {
        "id": f"averaged-{definition.id}",
        "title": title,
        "source": "Freund & Schapire, Machine Learning 37 (1999); cw2008, section 5",
        "doc": f"Learn as {named} does; predict unseen examples with the mean of w over all rounds.",
    }
    return register(replace(definition, averaged=True, allocated=False, **changed))


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

    check_keywords(id, declared)

    def define(function: Callable[..., Any]) -> Definition:
        if role == "rule":
            function = getattr(function, "py_func", function)
        fields: dict[str, Any] = {role: function, "doc": function.__doc__ or "", **declared}
        return register(Definition(id=id, title=title or id, order=order, source=source, **fields))

    return define
