"""What a rule of one's own is checked for before it is compiled.

Compiled code does not check the index of an array: a rule that reads p[3] and has one parameter would read
stray memory, and return a plausible rate. So its source is searched for such an index, and the rule is called
in plain Python on a few rounds, which checks every index that is computed.
"""

import ast
import inspect
import itertools
import math
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np

from olbench.errors import UserError, find_line

#: What a rule of each order takes and gives, by the names that the documents use.
TAKES = {"first": ("m", "s", "mistake", "q", "t", "k", "p"), "second": ("m", "v", "mistake", "t", "p")}
GIVES = {"first": ("loss", "shrink", "tau"), "second": ("loss", "alpha", "c")}
#: Rounds that reach the branches of most rules: margins, norms or variances, mistakes, early and late.
_MARGINS, _SIZES, _ROUNDS = (-2.0, -0.1, 0.0, 0.3, 1.0, 5.0), (0.01, 1.0, 40.0), (1, 100)


def check_rule(
    id: str,
    order: str,
    rule: Callable[..., Any],
    constants: Any,
    file: str,
    passive_above: float = math.inf,
) -> None:
    """Refuse a rule that takes or gives something else, or reads a parameter that it does not have.

    A first-order rule is also refused if it does something at a margin above `passive_above`.
    """
    line = rule.__code__.co_firstlineno if hasattr(rule, "__code__") else 0
    place = f"{file}:{line}" if line else file
    form = f"({', '.join(TAKES[order])}) -> ({', '.join(GIVES[order])})"
    given = [each.name for each in inspect.signature(rule).parameters.values()]
    if len(given) != len(TAKES[order]):
        raise UserError(f"{place}: the rule of '{id}' takes ({', '.join(given)}); it must be {form}")
    _check_indices(id, rule, given[-1], len(constants), file)
    for call in _rounds(order):
        try:
            with np.errstate(all="ignore"):
                found = rule(*call, np.array(constants, dtype=np.float64))
        except IndexError:
            raise UserError(
                f"{place}: the rule of '{id}' reads a parameter that it does not have; "
                f"it has {len(constants)}"
            ) from None
        except (ArithmeticError, ValueError):
            continue  # compiled code gives infinity or NaN here, which a pass counts as a breakdown
        except Exception as error:
            failed = find_line(error, file)
            where = f"{file}:{failed}" if failed else place
            reason = f"{type(error).__name__}: {error}"
            raise UserError(f"{where}: the rule of '{id}' fails: {reason}") from None
        numbers = isinstance(found, tuple) and all(
            isinstance(each, int | float | np.number) for each in found
        )
        if not numbers or len(found) != len(GIVES[order]):
            raise UserError(f"{place}: the rule of '{id}' returns {_describe(found)}; it must be {form}")
        if passive_above < call[0] and not call[2] and found != (0.0, 1.0, 0.0):
            raise UserError(
                f"{place}: the rule of '{id}' is declared passive above a margin of {passive_above:g}, "
                f"but at {call[0]:g} it returns {found}; passive is (0.0, 1.0, 0.0)"
            )


def _rounds(order: str) -> Any:
    """Yield the arguments of the rounds, without the parameters."""
    for m, size, mistake, t in itertools.product(_MARGINS, _SIZES, (False, True), _ROUNDS):
        yield (m, size, mistake, t) if order == "second" else (m, size, mistake, 1.0, t, t - 1)


def _check_indices(id: str, rule: Callable[..., Any], name: str, count: int, file: str) -> None:
    """Refuse a constant index of the parameters that is out of range, and exceptions, wherever they are."""
    try:
        lines, start = inspect.getsourcelines(rule)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return  # typed into a shell, or otherwise without a source
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise | ast.Assert):
            word = "raise" if isinstance(node, ast.Raise) else "assert"
            raise UserError(
                f"{file}:{start + node.lineno - 1}: the rule of '{id}' has `{word}`, which compiled code "
                "ignores; return numbers in every case, zeros for no update"
            )
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == name:
            index = _read_index(node.slice)
            if index is not None and not -count <= index < count:
                raise UserError(
                    f"{file}:{start + node.lineno - 1}: the rule of '{id}' reads {name}[{index}], but has "
                    f"{count} parameter{'' if count == 1 else 's'}, {name}[0] being the first"
                )


def _read_index(node: ast.expr) -> int | None:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if isinstance(value, int) else None


def _describe(found: Any) -> str:
    if isinstance(found, tuple):
        return (
            f"{len(found)} values"
            if all(isinstance(x, int | float | np.number) for x in found)
            else repr(found)
        )
    return "nothing" if found is None else f"one value, {found!r}"
