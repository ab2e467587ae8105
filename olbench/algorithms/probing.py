"""The checks of a user's rule before it is compiled.

Compiled code does not check the index of an array: a rule that reads p[3] and has one parameter would read
stray memory, and return a plausible rate. So its source may read the parameters by constant indices only, and
the rule is called in plain Python on a few rounds. If it reads other arrays, it is compiled with a check.
"""

import ast
import inspect
import itertools
import math
import re
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numpy as np

from olbench.errors import UserError, count, describe_error, find_line

#: What a rule of each order takes and gives, by the names that the documents use; of second order, also one
#: that sees the label and has a state.
TAKES = {
    "first": ("m", "s", "mistake", "q", "t", "k", "p"),
    "second": ("m", "v", "mistake", "t", "p"),
    "labelled": ("m", "v", "y", "mistake", "t", "p", "s"),
}
GIVES = {
    "first": ("loss", "shrink", "tau"),
    "second": ("loss", "alpha", "c"),
    "labelled": ("loss", "alpha", "c", "decay"),
}
#: What a rule gives that does nothing.
PASSIVE = {"first": (0.0, 1.0, 0.0), "second": (0.0, 0.0, 0.0)}
#: Rounds that reach the branches of most rules: margins, norms or variances, mistakes, early and late.
_MARGINS, _SIZES, _ROUNDS = (-2.0, -0.1, 0.0, 0.3, 1.0, 5.0), (0.01, 1.0, 40.0), (1, 100)
#: How Python's `math` complains about a number for which a function is not defined, in any version.
_DOMAIN = re.compile("math domain error|expected a (nonnegative|positive|finite|noninteger|number)")
#: What compiled code ignores, and what would talk or wait in every round.
_EXCEPTIONS = {ast.Raise: "raise", ast.Assert: "assert"}
_TALK = frozenset({"print", "input", "open", "exit", "quit", "breakpoint"})


def check_rule(
    id: str,
    order: str,
    rule: Callable[..., Any],
    constants: Any,
    file: str,
    passive_above: float = math.inf,
    state: tuple[float, ...] | None = None,
) -> None:
    """Refuse a rule that takes or gives something else, or reads a parameter that it does not have.

    It is also refused if it does something at a margin above `passive_above`. With a `state` it is one that
    sees the label.
    """
    order = order if state is None else "labelled"
    line = rule.__code__.co_firstlineno if hasattr(rule, "__code__") else 0
    place = f"{file}:{line}" if line else file
    form = f"({', '.join(TAKES[order])}) -> ({', '.join(GIVES[order])})"
    given = [each.name for each in inspect.signature(rule, follow_wrapped=False).parameters.values()]
    if len(given) != len(TAKES[order]):
        raise UserError(f"{place}: the rule of '{id}' takes ({', '.join(given)}); it must be {form}")
    is_known = check_source(id, rule, len(constants), file, None if state is None else len(state))
    undefined, rounds = [], list(_rounds(order))
    # The numbers of a rule go through the rounds as through a pass.
    kept = () if state is None else (np.array(state, dtype=np.float64),)
    for call in rounds:
        try:
            with np.errstate(all="ignore"):
                found = _as_plain(rule(*call, np.array(constants, dtype=np.float64), *kept))
        except Exception as error:
            if _is_undefined(error):
                undefined.append(error)  # compiled code gives infinity or NaN, which a pass counts
                continue
            if isinstance(error, IndexError) and not is_known:
                raise UserError(
                    f"{place}: the rule of '{id}' reads a parameter{' or a number' if kept else ''} that it "
                    f"does not have; it has {len(constants)}{f' and {len(kept[0])}' if kept else ''}"
                ) from None
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
        if order == "labelled" and (found[3] <= 0.0 or found[3] > 1.0):
            raise UserError(
                f"{place}: the rule of '{id}' returns decay = {found[3]:g} at m = {call[0]:g}; it must lie "
                "in (0, 1], because variances grow by its inverse"
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
    plain = _without_compiler(rule)
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


def _without_compiler(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Return a copy of a rule that calls compiled functions of its file as plain Python."""
    if not isinstance(rule, FunctionType):
        return rule
    known = {name: getattr(value, "py_func", value) for name, value in rule.__globals__.items()}
    return FunctionType(rule.__code__, known, rule.__name__, rule.__defaults__, rule.__closure__)


def _place_of(error: Exception, file: str) -> str:
    """Return the file and the line in it where an error arose, or an empty text."""
    line = find_line(error, file)
    return f"{file}:{line}" if line else ""


def check_source(
    id: str, rule: Callable[..., Any], parameters: int, file: str, state: int | None = None
) -> bool:
    """Refuse what a rule must not have, wherever it is, if there is a source; return whether there is one.

    The last argument is the parameters, or the `state` of that many numbers, and the one before parameters.
    """
    sources = list(_find_sources(rule))
    for node in sources:
        names = _arrays_of(node, state is not None)
        if state is not None:
            _check_uses(id, node, names[1], state, file, "number")
        _check_uses(id, node, names[0], parameters, file, "parameter")
        _check_statements(id, rule, node, file, set())
    return bool(sources)


def reads_arrays(rule: Callable[..., Any], has_state: bool) -> bool:
    """Return whether a rule reads elements of anything but its arguments; without a source, it may."""
    sources = list(_find_sources(rule))
    return not sources or any(
        not any(_is_name(node.value, name) for name in _arrays_of(source, has_state))
        for source in sources
        for node in _indices(source)
    )


def _indices(source: ast.FunctionDef | ast.Lambda) -> Iterator[ast.Subscript]:
    return (node for node in _walk_body(source) if isinstance(node, ast.Subscript))


def _arrays_of(source: ast.FunctionDef | ast.Lambda, has_state: bool) -> list[str]:
    """Return the names under which a rule has its parameters and, if there is a state, its numbers."""
    names = [each.arg for each in (*source.args.posonlyargs, *source.args.args)]
    return names[-2:] if has_state else names[-1:]


def _rounds(order: str) -> Iterator[tuple[Any, ...]]:
    """Yield the arguments of the rounds, without the parameters; NumPy's numbers may be divided by zero."""
    if order == "labelled":
        # One pass: t counts its rounds, and the margin and the label decide what is a mistake.
        rounds = itertools.product(range(2), _MARGINS, _SIZES, (1.0, -1.0))
        for t, (_, margin, size, y) in enumerate(rounds, start=1):
            yield np.float64(margin), np.float64(size), np.float64(y), (y * margin >= 0.0) != (y > 0.0), t
        return
    for margin, size, mistake, t in itertools.product(_MARGINS, _SIZES, (False, True), _ROUNDS):
        m, s = np.float64(margin), np.float64(size)
        yield (m, s, mistake, t) if order == "second" else (m, s, mistake, np.float64(1.0), t, t - 1)


def _is_undefined(error: Exception) -> bool:
    """Return whether an error stands for a number that is not defined, such as a root of -1."""
    domain = isinstance(error, ValueError) and _DOMAIN.match(str(error)) is not None
    return domain or isinstance(error, ArithmeticError)


def _find_sources(function: Callable[..., Any]) -> Iterator[ast.FunctionDef | ast.Lambda]:
    """Yield the source of a function; of lambdas in one line with the same arguments, that of each."""
    try:
        code = function.__code__
        tree = ast.parse("".join(inspect.findsource(code)[0]))
    except (AttributeError, OSError, TypeError, SyntaxError):
        return  # typed into a shell, or otherwise without a source
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
            names = tuple(each.arg for each in (*node.args.posonlyargs, *node.args.args))
            if first == code.co_firstlineno and names == code.co_varnames[: code.co_argcount]:
                yield node


def _walk_body(node: ast.FunctionDef | ast.Lambda) -> Iterator[ast.AST]:
    for statement in node.body if isinstance(node.body, list) else [node.body]:
        yield from ast.walk(statement)


def _check_statements(
    id: str, function: Callable[..., Any], source: ast.FunctionDef | ast.Lambda, file: str, seen: set[str]
) -> None:
    """Refuse exceptions and talk, in a rule and in the compiled functions of its file that it calls."""
    for node in _walk_body(source):
        if type(node) in _EXCEPTIONS:
            raise _refuse(
                id, file, node, f"has `{_EXCEPTIONS[type(node)]}`, which compiled code ignores; return "
                "numbers in every case, zeros for no update",
            )  # fmt: skip
        if not isinstance(node, ast.Name) or node.id in seen:
            continue
        known = function.__globals__.get(node.id)
        if node.id in _TALK and known is None:
            raise _refuse(
                id, file, node, f"has `{node.id}`, which would run in every round; take it out: a rule only "
                "returns numbers",
            )  # fmt: skip
        called = getattr(known, "py_func", None)
        if called is not None and called.__code__.co_filename == function.__code__.co_filename:
            seen.add(node.id)
            is_checked = getattr(known, "targetoptions", {}).get("boundscheck")
            for each in _find_sources(called):
                _check_statements(id, called, each, file, seen)
                for index in () if is_checked else _indices(each):
                    raise _refuse(
                        id, file, index, f"calls `{node.id}`, which reads an array at an index that compiled "
                        "code does not check; write @numba.njit(boundscheck=True)",
                    )  # fmt: skip


def _check_uses(
    id: str, source: ast.FunctionDef | ast.Lambda, name: str, size: int, file: str, noun: str
) -> None:
    """Refuse uses of an array but p[0], p[1] and so on, within range, and a, b = p.

    The array has the parameters, or the numbers of a rule, which it may change.
    """
    has = f"has {count(size, noun)}{f', {name}[0] being the first' if size else ''}"
    checked: set[ast.AST] = set()
    for node in _walk_body(source):
        if isinstance(node, ast.Subscript) and _is_name(node.value, name):
            index = _read_index(node.slice)
            if not isinstance(node.ctx, ast.Load) and noun == "parameter":
                raise _refuse(
                    id, file, node, f"changes {name}, but parameters cannot be changed; give what it "
                    "computes another name",
                )  # fmt: skip
            if index is not None and not -size <= index < size:
                verb = "reads" if isinstance(node.ctx, ast.Load) else "sets"
                raise _refuse(id, file, node, f"{verb} {name}[{index}], but {has}")
            if index is not None and not isinstance(node.ctx, ast.Del):
                checked.add(node.value)
        elif isinstance(node, ast.Assign) and _is_name(node.value, name):
            for target in node.targets:
                if isinstance(target, ast.Tuple | ast.List) and not _has_star(target):
                    if len(target.elts) != size:
                        raise _refuse(
                            id, file, node, f"reads {len(target.elts)} values from {name}, but {has}"
                        )
                    checked.add(node.value)
    for node in _walk_body(source):
        is_other = _is_name(node, name) and node not in checked
        if is_other or (isinstance(node, ast.arg) and node.arg == name):
            raise _refuse(
                id, file, node, f"uses {name} in a way that compiled code does not check; "
                f"{'read' if noun == 'parameter' else 'use'} its {noun}s one by one, as {name}[0], {name}[1] "
                "and so on",
            )  # fmt: skip


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _has_star(target: ast.Tuple | ast.List) -> bool:
    return any(isinstance(each, ast.Starred) for each in target.elts)


def _refuse(id: str, file: str, node: Any, reason: str) -> UserError:
    return UserError(f"{file}:{node.lineno}: the rule of '{id}' {reason}")


def _read_index(node: ast.expr) -> int | None:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _as_plain(found: Any) -> Any:
    """Return the values of a rule with Python's numbers in place of NumPy's."""
    if isinstance(found, tuple):
        return tuple(_as_plain(each) for each in found)
    return found.item() if isinstance(found, np.generic) else found


def _describe(found: Any) -> str:
    if isinstance(found, tuple):
        return f"{len(found)} values" if all(isinstance(x, int | float) for x in found) else repr(found)
    return "nothing" if found is None else f"one value, {found!r}"
