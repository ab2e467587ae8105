"""The checks of a user's rule or compiled learner before it is compiled: a few rounds in plain Python.

What these rounds do not reach fails during a pass: compiled rules have bounds checks, see
`learners.own_rules`.
"""

import inspect
import itertools
from collections.abc import Iterator
from functools import cache
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from olbench.errors import UserError, count, describe_error, find_line

if TYPE_CHECKING:
    from olbench.algorithms.compiled import CompiledDefinition
    from olbench.algorithms.definition import Definition

TAKES = {
    "first": ("m", "s", "mistake", "q", "t", "k", "p"),
    "second": ("m", "v", "mistake", "t", "p"),
    "score": ("arrays", "columns", "values", "t", "p"),
    "learn": ("arrays", "columns", "values", "y", "t", "p"),
}
GIVES = {"first": ("loss", "shrink", "tau"), "second": ("loss", "alpha", "c")}
PASSIVE = {"first": (0.0, 1.0, 0.0), "second": (0.0, 0.0, 0.0)}
#: Rounds that reach the branches of most rules: margins, norms or variances, mistakes, early and late.
_MARGINS, _SIZES, _ROUNDS = (-2.0, -0.1, 0.0, 0.3, 1.0, 5.0), (0.01, 1.0, 40.0), (1, 100)
#: Errors of a number that is not defined, such as a root of -1; compiled code gives infinity or NaN, which a
#: pass counts as a breakdown.
_UNDEFINED = (ArithmeticError, ValueError)


def check(definition: Any) -> None:
    """Refuse a rule or a compiled learner that has the wrong form, fails, or breaks a promise."""
    if definition.order == "compiled":
        _check_learner(definition)
    elif definition.order in GIVES:
        _check_rule(definition)


def _check_rule(definition: "Definition") -> None:
    order, place, what = definition.order, definition.place, f"the rule of '{definition.id}'"
    form = f"be ({', '.join(TAKES[order])}) -> ({', '.join(GIVES[order])})"
    _check_arguments(definition.rule, order, f"{place}{what}", form)
    passive_above = definition.find_passive_margin(definition.resolve({}))
    is_defined = False
    for call, found in _play(definition):
        m, size, mistake = call[:3]
        if isinstance(found, _UNDEFINED):
            undefined = found
            continue
        is_defined = True
        if isinstance(found, Exception):
            raise UserError(f"{_locate(found, definition)}{what} fails: {describe_error(found)}") from None
        if not _is_answer(found, order):
            where = f" at m = {m:g}" if found is None else ""
            raise UserError(f"{place}{what} returns {_describe(found)}{where}; it must {form}")
        if order == "second" and found[2] < 0.0:
            raise UserError(
                f"{place}{what} returns c = {found[2]:g} at m = {m:g}, v = {size:g}; c must not be negative, "
                "because the inverse of Sigma grows by c x x'"
            )
        if passive_above < m and not mistake and found != PASSIVE[order]:
            raise UserError(
                f"{place}{what} is declared passive above a margin of {passive_above:g}, but at {m:g} it "
                f"returns {found}; passive is {PASSIVE[order]}"
            )
    if not is_defined:
        raise UserError(
            f"{_locate(undefined, definition)}{what} fails in every round that was tried, whatever the "
            f"margin: {describe_error(undefined)}"
        )


def _check_learner(definition: "CompiledDefinition") -> None:
    """Run a compiled learner over a few examples in plain Python, where every index is checked."""
    place, id = definition.place, definition.id
    for name, function in zip(("score", "learn"), definition.functions, strict=True):
        _check_arguments(function, name, f"{place}{name} of '{id}'", f"take ({', '.join(TAKES[name])})")
    score, learn = map(interpret, definition.functions)
    arrays, p = definition.make_arrays(4), _read_only(definition)
    for t, (columns, values, y) in enumerate(_list_rows(), start=1):
        before = [each.copy() for each in arrays]
        try:
            with np.errstate(all="ignore"):
                f = score(arrays, columns, values, t, p)
                is_changed = not all(map(np.array_equal, before, arrays, [True] * len(before)))
                found = learn(arrays, columns, values, np.float64(y), t, p)
        except Exception as error:
            raise UserError(f"{_locate(error, definition)}'{id}' fails: {describe_error(error)}") from None
        if not isinstance(f, float | int | np.number):
            raise UserError(f"{place}score of '{id}' returns {f!r}; it must return a number")
        if is_changed:
            raise UserError(f"{place}score of '{id}' changes its arrays; only learn may do so")
        if isinstance(found, bool) or found not in (0, 1, 2):
            raise UserError(
                f"{place}learn of '{id}' returns {found!r}; it must return 0 (no loss), 1 (a loss, nothing "
                "changed) or 2 (changed)"
            )


def has_constant_gain(definition: "Definition") -> bool:
    """Return whether a second-order rule adds the same precision c whatever the variance v, in rounds tried.

    Rounds without loss do not count. The rule runs in plain Python: no compiler is needed to list algorithms.
    """
    gains: dict[tuple[Any, ...], set[float]] = {}
    for (m, _, *others), found in _play(definition):
        if _is_answer(found, "second") and found[0] > 0.0:
            gains.setdefault((m, *others), set()).add(found[2])
    return bool(gains) and all(len(found) == 1 for found in gains.values())


@cache
def interpret(function: Any) -> Any:
    """Return a function in plain Python that calls plain versions of the compiled functions it names."""
    if not isinstance(function, FunctionType):
        return function
    scope, code = dict(function.__globals__), function.__code__
    copy = FunctionType(code, scope, function.__name__, function.__defaults__, function.__closure__)
    for name in code.co_names:
        called = getattr(scope.get(name), "py_func", None)
        if called is not None:
            scope[name] = copy if called is function else interpret(called)
    return copy


def _play(definition: "Definition") -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield the arguments of each round, and what the rule returns in plain Python, or its error."""
    plain, p = interpret(definition.rule), _read_only(definition)
    for margin, size, mistake, t in itertools.product(_MARGINS, _SIZES, (False, True), _ROUNDS):
        # Numbers of NumPy may be divided by zero.
        state = (t,) if definition.order == "second" else (np.float64(1.0), t, t - 1)
        call = (np.float64(margin), np.float64(size), mistake, *state)
        try:
            with np.errstate(all="ignore"):
                found = plain(*call, p)
        except Exception as error:
            found = error
        is_tuple = isinstance(found, tuple)
        yield call, tuple(map(_as_plain, found)) if is_tuple else _as_plain(found)


def _as_plain(found: Any) -> Any:
    return found.item() if isinstance(found, np.generic) else found


def _is_answer(found: Any, order: str) -> bool:
    numbers = isinstance(found, tuple) and all(isinstance(each, int | float) for each in found)
    return numbers and len(found) == len(GIVES[order])


def _check_arguments(function: Any, kind: str, what: str, form: str) -> None:
    given = list(inspect.signature(function, follow_wrapped=False).parameters)
    if len(given) != len(TAKES[kind]):
        raise UserError(f"{what} takes ({', '.join(given)}); it must {form}")


def _read_only(definition: "Definition") -> Any:
    p = definition.rule_constants(definition.resolve({}))
    p.flags.writeable = False
    return p


def _locate(error: Exception, definition: "Definition") -> str:
    line = find_line(error, definition.file)
    return f"{definition.file}:{line}: " if line else definition.place


def _list_rows() -> Iterator[tuple[Any, Any, float]]:
    """Yield full, sparse and empty rows of four features, which are read-only, with their labels."""
    rng = np.random.default_rng(0)
    for t in range(40):
        columns = np.flatnonzero(rng.random(4) < (0.0, 0.4, 1.0)[t % 3]).astype(np.uint32)
        values = rng.standard_normal(columns.size)
        columns.flags.writeable = values.flags.writeable = False
        yield columns, values, rng.choice((-1.0, 1.0))


def _describe(found: Any) -> str:
    if isinstance(found, tuple):
        return count(len(found), "value") if all(isinstance(x, int | float) for x in found) else repr(found)
    return "nothing" if found is None else f"one value, {found!r}"
