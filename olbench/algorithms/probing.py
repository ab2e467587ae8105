"""The checks of a user's rule or compiled learner before it is compiled: a few rounds in plain Python.

What these rounds do not reach fails during a pass: compiled rules have bounds checks, see
`learners.own_rules`.
"""

import inspect
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from olbench.errors import UserError, count, describe_error, find_line

if TYPE_CHECKING:
    from olbench.algorithms.compiled import CompiledDefinition
    from olbench.algorithms.definition import Definition, Parameter

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
#: How many settings of all parameters are drawn, and how many margins above that of `passive_above`.
_DRAWS, _ABOVE = 12, 8
#: The exponents of two at which a rule that is scale-free has to do the same, and how nearly.
_SCALES, _NEARLY = (-3, 5), 1e-9
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
    defaults = definition.resolve({})
    is_defined = False
    for call, found in _play(definition, defaults):
        m, size = call[:2]
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
    if not is_defined:
        raise UserError(
            f"{_locate(undefined, definition)}{what} fails in every round that was tried, whatever the "
            f"margin: {describe_error(undefined)}"
        )
    for params in _settings(definition):
        check_promises(definition, params, itertools.product(_MARGINS, _SIZES))


def check_promises(
    definition: "Definition", params: Mapping[str, Any], rounds: Iterable[tuple[float, float]]
) -> None:
    """Refuse a rule that breaks a promise with these parameters at a margin and a norm or variance."""
    top = definition.find_passive_margin(params)
    ask = _make_asker(definition, params)
    rng = np.random.default_rng(0)
    above = top + max(1.0, top) * 10.0 ** rng.uniform(-4.0, 1.0, _ABOVE) if top < math.inf else ()
    given = {name: value for name, value in params.items() if value != definition.resolve({}).get(name)}
    named = " with " + ", ".join(f"{name}={value!r}" for name, value in given.items()) if given else ""
    what = f"{definition.place}the rule of '{definition.id}' is declared"
    for (m, size), t in itertools.product([*rounds, *itertools.product(above, _SIZES)], _ROUNDS):
        found = ask(m, size, t)
        if top < m and found not in (None, PASSIVE[definition.order]):
            raise UserError(
                f"{what} passive above a margin of {top:g}{named}, but at {m:g} it returns {found}; passive "
                f"is {PASSIVE[definition.order]}"
            )
        if found is None or definition.order == "first":
            continue
        wider = ask(m, 4.0 * size, t) if definition.monotone else None
        if wider is not None and wider[0] < found[0] - _NEARLY * abs(found[0]):
            raise UserError(
                f"{what} monotone, but at m = {m:g}{named} its loss falls from {found[0]:g} to {wider[0]:g} "
                f"as v grows from {size:g} to {4.0 * size:g}"
            )
        for scale in (2.0**k for k in _SCALES if definition.scale_free):
            scaled = ask(scale * m, scale * scale * size, t)
            wanted = found[1] / scale, found[2] / scale**2
            if scaled and not (
                (scaled[0] > 0.0) == (found[0] > 0.0) and np.allclose(scaled[1:], wanted, _NEARLY, 0.0)
            ):
                raise UserError(
                    f"{what} scale-free, but at m = {m:g}, v = {size:g}{named} it returns {found}, and "
                    f"{scaled} at {scale:g} m, {scale * scale:g} v"
                )


def _make_asker(definition: "Definition", params: Mapping[str, Any]) -> Any:
    """Return a function of m, s or v, and t that returns what the rule answers; None if not defined."""
    plain, p = interpret(definition.rule), _read_only(definition, params)

    def ask(m: float, size: float, t: int) -> tuple[float, ...] | None:
        state = (t,) if definition.order == "second" else (np.float64(1.0), t, t - 1)
        with suppress(*_UNDEFINED), np.errstate(all="ignore"):
            found = plain(np.float64(m), np.float64(size), m < 0.0, *state, p)
            answer = tuple(map(_as_plain, found)) if isinstance(found, tuple) else found
            return answer if _is_answer(answer, definition.order) and np.isfinite(answer).all() else None
        return None

    return ask


def _settings(definition: "Definition") -> Iterator[dict[str, Any]]:
    """Yield the defaults and, of a user's rule, each value of its grid and some drawn at random."""
    given: list[dict[str, Any]] = [{}]
    if definition.is_own:
        rng = np.random.default_rng(0)
        given += [
            {each.name: value} for each in definition.parameters for value in (*each.grid, *each.choices)
        ]
        plain = [each for each in definition.parameters if not each.instead_of]
        given += [{each.name: _draw(each, rng) for each in plain} for _ in range(_DRAWS if plain else 0)]
    for number, settings in enumerate(given):
        # What the author did not choose may be refused by `constants` or `passive_above`.
        with suppress(*([UserError] if number else [])):
            params = definition.resolve(settings)
            definition.rule_constants(params), definition.find_passive_margin(params)
            yield params


def _draw(parameter: "Parameter", rng: np.random.Generator) -> Any:
    """Return a word, or a number between its bounds; without an upper one, of the size of its default."""
    low, high, default = parameter.low, parameter.high, parameter.default
    if parameter.choices:
        return str(rng.choice(parameter.choices))
    if math.isfinite(low) and math.isfinite(high):
        return float(rng.uniform(low, high))
    start = low if math.isfinite(low) else 0.0
    return min(high, start + (abs(float(default) - start) or 1.0) * 10.0 ** rng.uniform(-2.0, 2.0))


def _check_learner(definition: "CompiledDefinition") -> None:
    """Run a compiled learner over a few examples in plain Python, where every index is checked."""
    place, id = definition.place, definition.id
    for name, function in zip(("score", "learn"), definition.functions, strict=True):
        _check_arguments(function, name, f"{place}{name} of '{id}'", f"take ({', '.join(TAKES[name])})")
    score, learn = map(interpret, definition.functions)
    arrays, p = definition.make_arrays(4), _read_only(definition, definition.resolve({}))
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
    for params in _settings(definition):
        for (m, _, *others), found in _play(definition, params):
            if _is_answer(found, "second") and found[0] > 0.0:
                gains.setdefault((*params.values(), m, *others), set()).add(found[2])
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


def _play(definition: "Definition", params: Mapping[str, Any]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield the arguments of each round, and what the rule returns in plain Python, or its error."""
    plain, p = interpret(definition.rule), _read_only(definition, params)
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


def _read_only(definition: "Definition", params: Mapping[str, Any]) -> Any:
    p = definition.rule_constants(params)
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
