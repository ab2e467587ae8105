"""What makes a mutant: another comparison, sign, constant, condition or range, or a lost statement."""

import ast
import copy
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: The decorators that declare algorithms. Others say how functions are compiled or cached.
DECLARE = ("first_order", "second_order", "advice", "batch_contestant")

COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult,
}  # fmt: skip
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "floor": "ceil", "ceil": "floor"}


@dataclass(frozen=True)
class Mutant:
    """One change of a module: the bytes of its source from `begin` to `end` become `text`."""

    module: str
    scope: str
    line: int
    begin: int
    end: int
    old: str
    text: str
    #: Which of several equal changes in the same function it is.
    number: int = 0

    @property
    def key(self) -> str:
        """The name of the mutant, which changes elsewhere in the file leave as it is."""
        more = f" ({self.number})" if self.number else ""
        return f"{self.module} {self.scope}: {self.old} -> {self.text}{more}"

    def apply(self, source: bytes) -> bytes:
        """Return the changed source."""
        return source[: self.begin] + self.text.encode() + source[self.end :]


def find_mutants(module: str, source: bytes) -> list[Mutant]:
    """Return every mutant of a module."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    seen: Counter[tuple[str, str, str]] = Counter()
    mutants = []
    for scope, node, text in _walk(ast.parse(source), "module"):
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        old = ast.unparse(node)
        mutants.append(Mutant(module, scope, node.lineno, begin, end, old, text, seen[scope, old, text]))
        seen[scope, old, text] += 1
    return mutants


def _walk(node: ast.AST, scope: str) -> Iterator[tuple[str, Any, str]]:
    """Yield (function, node, new text) for all that may be changed: no annotations, messages or types."""
    if isinstance(node, ast.Raise | ast.Import | ast.ImportFrom | ast.JoinedStr | ast.Assert):
        return
    if isinstance(node, ast.keyword) and node.arg == "strict":  # says that two lengths are equal, as they are
        return
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        if node.name == "__repr__":
            return
        scope = node.name if scope == "module" else f"{scope}.{node.name}"
    for text in _changes(node):
        yield scope, node, text
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        yield scope, node.test, f"(not ({ast.unparse(node.test)}))"
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            declares = isinstance(child, ast.Call) and ast.unparse(child.func) in DECLARE
            if isinstance(child, ast.AST) and (name != "decorator_list" or declares):
                yield from _walk(child, scope)


def _changes(node: Any) -> Iterator[str]:
    """Yield what to write instead of a node."""
    match node:
        case ast.Compare():
            for k, each in enumerate(node.ops):
                yield _with(
                    node, lambda new, k=k, each=each: new.ops.__setitem__(k, COMPARISONS[type(each)]())
                )
        case ast.BinOp() if type(node.op) in ARITHMETIC:
            yield _with(node, lambda new: setattr(new, "op", ARITHMETIC[type(new.op)]()))
        case ast.BoolOp():
            other = ast.Or if isinstance(node.op, ast.And) else ast.And
            yield _with(node, lambda new: setattr(new, "op", other()))
            for k in range(len(node.values)):
                yield _with(node, lambda new, k=k: new.values.pop(k))
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield f"({ast.unparse(node.operand)})"
        case ast.Constant(value=bool()):
            yield str(not node.value)
        case ast.Constant(value=int() | float()) if node.value == node.value:
            yield repr({0: 1, 1: 2, 2: 1, 0.5: 1.0}.get(node.value, 2 * node.value) * type(node.value)(1))
        case ast.Call(func=ast.Name(id="range")):
            yield _with(node, lambda new: _move(new.args, min(1, len(new.args) - 1), ast.Sub()))
            if len(node.args) > 1:
                yield _with(node, lambda new: _move(new.args, 0, ast.Add()))
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in NAMES:
            field = "id" if isinstance(node.func, ast.Name) else "attr"
            yield _with(node, lambda new: setattr(new.func, field, NAMES[name]))
        case ast.Slice():
            for end in ("lower", "upper"):
                if (bound := getattr(node, end)) is not None:
                    changed = ast.BinOp(bound, ast.Add(), ast.Constant(1))
                    yield _with(
                        node, lambda new, end=end, changed=changed: setattr(new, end, changed), bare=True
                    )
        case ast.AugAssign():
            yield "pass"
            if type(node.op) in ARITHMETIC:
                yield _with(node, lambda new: setattr(new, "op", ARITHMETIC[type(new.op)]()), bare=True)
        case ast.Expr(value=ast.Call()) | ast.Continue() | ast.Break():
            yield "pass"
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            yield "pass"
        case ast.Return(value=ast.Tuple(elts=parts)):
            for k, part in enumerate(parts):
                if not isinstance(part, ast.Constant):
                    zero = ast.Constant(0.0)
                    yield _with(
                        node, lambda new, k=k, zero=zero: new.value.elts.__setitem__(k, zero), bare=True
                    )


def _with(node: Any, change: Any, bare: bool = False) -> str:
    """Return the text of a node after a change."""
    new = copy.deepcopy(node)
    change(new)
    if isinstance(new, ast.BoolOp) and len(new.values) == 1:
        new = new.values[0]
    text = ast.unparse(new)
    return text if bare else f"({text})"


def _move(places: list[Any], k: int, op: ast.operator) -> None:
    places[k] = ast.BinOp(places[k], op, ast.Constant(1))


def choose(seed: int, count: int, modules: dict[str, Path]) -> list[Mutant]:
    """Return about `count` mutants: from each module as many as the square root of what it offers.

    The seed orders the mutants of a module by their names, so a change of the package moves few of them.
    """
    found = {module: find_mutants(module, path.read_bytes()) for module, path in modules.items()}
    total = sum(len(mutants) ** 0.5 for mutants in found.values())
    chosen: list[Mutant] = []
    for mutants in found.values():
        mutants.sort(key=lambda mutant: hashlib.sha256(f"{seed} {mutant.key}".encode()).digest())
        share = mutants[: round(count * len(mutants) ** 0.5 / total)]
        chosen += sorted(share, key=lambda mutant: mutant.begin)
    return chosen
