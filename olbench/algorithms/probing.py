"""The checks of a user's rule before it is compiled: its signature, and a few rounds in plain Python.

What these rounds do not reach fails during a pass: compiled code has bounds checks, see `learners.own_rules`.
"""

import inspect
import itertools
import math
import re
from collections.abc import Callable, Iterator
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np

from olbench.errors import UserError, count, describe_error, find_line

TAKES = {"first": ("m", "s", "mistake", "q", "t", "k", "p"), "second": ("m", "v", "mistake", "t", "p")}
GIVES = {"first": ("loss", "shrink", "tau"), "second": ("loss", "alpha", "c")}
PASSIVE = {"first": (0.0, 1.0, 0.0), "second": (0.0, 0.0, 0.0)}
#: Rounds that reach the branches of most rules: margins, norms or variances, mistakes, early and late.
_MARGINS, _SIZES, _ROUNDS = (-2.0, -0.1, 0.0, 0.3, 1.0, 5.0), (0.01, 1.0, 40.0), (1, 100)
#: How Python's `math` complains about a number for which a function is not defined, in any version.
_DOMAIN = re.compile("math domain error|expected a (nonnegative|positive|finite|noninteger|number)")


def check_rule(
    id: str, order: str, rule: Callable[..., Any], constants: Any, file: str, passive_above: float = math.inf
) -> None:
    """Refuse a rule that takes or gives something else, or fails.

    It is also refused if it does something at a margin above `passive_above`.
    """
    line = rule.__code__.co_firstlineno if hasattr(rule, "__code__") else 0
    place = f"{file}:{line}" if line else file
    form = f"({', '.join(TAKES[order])}) -> ({', '.join(GIVES[order])})"
    given = [each.name for each in inspect.signature(rule, follow_wrapped=False).parameters.values()]
    if len(given) != len(TAKES[order]):
        raise UserError(f"{place}: the rule of '{id}' takes ({', '.join(given)}); it must be {form}")
    undefined, rounds, plain = [], list(_rounds(order)), interpret(rule)
    p = np.array(constants, dtype=np.float64)
    p.flags.writeable = False
    for call in rounds:
        try:
            with np.errstate(all="ignore"):
                found = _as_plain(plain(*call, p))
        except Exception as error:
            if _is_undefined(error):
                undefined.append(error)  # compiled code gives infinity or NaN, which a pass counts
                continue
            raise UserError(
                f"{_place_of(error, file) or place}: the rule of '{id}' fails: {describe_error(error)}"
            ) from None
        numbers = isinstance(found, tuple) and all(isinstance(each, int | float) for each in found)
        if not numbers or len(found) != len(GIVES[order]):
            raise UserError(f"{place}: the rule of '{id}' returns {_describe(found)}; it must be {form}")
        if order != "first" and found[2] < 0.0:
            m, v = call[:2]
            raise UserError(
                f"{place}: the rule of '{id}' returns c = {found[2]:g} at m = {m:g}, v = {v:g}; c must not "
                "be negative, because the inverse of Sigma grows by c x x'"
            )
        if passive_above < call[0] and not call[2] and found != PASSIVE[order]:
            raise UserError(
                f"{place}: the rule of '{id}' is declared passive above a margin of {passive_above:g}, "
                f"but at {call[0]:g} it returns {found}; passive is {PASSIVE[order]}"
            )
    if len(undefined) == len(rounds):
        raise UserError(
            f"{_place_of(undefined[0], file) or place}: the rule of '{id}' fails in every round that was "
            f"tried, whatever the margin: {describe_error(undefined[0])}"
        )


def has_constant_gain(rule: Callable[..., Any], constants: Any) -> bool:
    """Return whether a second-order rule adds the same precision c whatever the variance v, in rounds tried.

    Rounds without loss do not count. The rule runs in plain Python: no compiler is needed to list algorithms.
    """
    gains: dict[tuple[Any, ...], set[float]] = {}
    plain = interpret(rule)
    for m, v, mistake, t in _rounds("second"):
        try:
            with np.errstate(all="ignore"):
                loss, _, c = plain(m, v, mistake, t, np.array(constants, dtype=np.float64))
        except Exception as error:
            if not _is_undefined(error):
                return False  # the checks of the rule will say why
            continue
        if loss > 0.0:
            gains.setdefault((m, mistake, t), set()).add(float(c))
    return bool(gains) and all(len(found) == 1 for found in gains.values())


@cache
def interpret(function: Callable[..., Any]) -> Callable[..., Any]:
    if not isinstance(function, FunctionType):
        return function
    scope, code = dict(function.__globals__), function.__code__
    copy = FunctionType(code, scope, function.__name__, function.__defaults__, function.__closure__)
    for name in code.co_names:
        called = getattr(scope.get(name), "py_func", None)
        if called is not None:
            scope[name] = copy if called is function else interpret(called)
    return copy


def _place_of(error: Exception, file: str) -> str:
    line = find_line(error, file)
    return f"{file}:{line}" if line else ""


def _rounds(order: str) -> Iterator[tuple[Any, ...]]:
    """Yield the arguments of the rounds, without the parameters; NumPy's numbers may be divided by zero."""
    for margin, size, mistake, t in itertools.product(_MARGINS, _SIZES, (False, True), _ROUNDS):
        m, s = np.float64(margin), np.float64(size)
        yield (m, s, mistake, t) if order == "second" else (m, s, mistake, np.float64(1.0), t, t - 1)


def _is_undefined(error: Exception) -> bool:
    """Return whether an error stands for a number that is not defined, such as a root of -1."""
    domain = isinstance(error, ValueError) and _DOMAIN.match(str(error)) is not None
    return domain or isinstance(error, ArithmeticError)


def _as_plain(found: Any) -> Any:
    if isinstance(found, tuple):
        return tuple(_as_plain(each) for each in found)
    return found.item() if isinstance(found, np.generic) else found


def _describe(found: Any) -> str:
    if isinstance(found, tuple):
        return count(len(found), "value") if all(isinstance(x, int | float) for x in found) else repr(found)
    return "nothing" if found is None else f"one value, {found!r}"
