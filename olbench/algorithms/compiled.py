"""Compiled learners: algorithms that are more than a rule, as two functions over arrays that they declare."""

import hashlib
import inspect
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olbench.algorithms.definition import REGISTRY, Definition, register
from olbench.algorithms.probing import interpret
from olbench.errors import UserError, describe_error, find_line, shorten
from olbench.plugins import digest_syntax, read_source

TAKES = {
    "score": ("arrays", "columns", "values", "t", "p"),
    "learn": ("arrays", "columns", "values", "y", "t", "p"),
}
#: The shapes of arrays, by the words that declare them.
SHAPES: dict[str, Callable[[int], tuple[int, ...]]] = {
    "d": lambda d: (d,),
    "d x d": lambda d: (d, d),
    "1": lambda d: (1,),
}


@dataclass(frozen=True)
class CompiledDefinition(Definition):
    """An algorithm as `compiled_learner` declares it; its `rule` is `learn`."""

    score: Callable[..., Any] | None = None
    #: By the name of each array, its shape and the number that it starts with.
    arrays: Mapping[str, tuple[str, float]] = field(default_factory=dict)

    @property
    def _functions(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        assert self.score is not None
        assert self.rule is not None
        return self.score, self.rule

    @cached_property
    def _source(self) -> bytes:
        """The file of its functions; in a notebook their own lines."""
        parts = (read_source(each) for each in self._functions)
        return b"\n".join(dict.fromkeys(part.encode() if isinstance(part, str) else part for part in parts))

    @cached_property
    def code(self) -> str:
        source = b"" if REGISTRY.is_installed(self.module) else self._source
        return digest_syntax(source) if source else str(self.version)

    def make_arrays(self, d: int) -> dict[str, NDArray[np.float64]]:
        """Return its arrays for d features as they start: a number is the diagonal of a matrix."""
        made = {name: np.zeros(SHAPES[shape](d)) for name, (shape, _) in self.arrays.items()}
        for name, (shape, start) in self.arrays.items():
            if shape == "d x d":
                np.fill_diagonal(made[name], start)
            else:
                made[name][:] = start
        return made

    def count_numbers(self, d: int) -> int:
        """Return how many numbers the arrays have for d features."""
        return sum(int(np.prod(SHAPES[shape](d))) for shape, _ in self.arrays.values())

    @cached_property
    def compiled_rule(self) -> Any:
        """The loop with both functions in it."""
        from olbench.kernels.compiled import bind

        self.check()
        shapes = {name: shape for name, (shape, _) in self.arrays.items()}
        # What numba keeps names the module too, and that of a user's file depends on its path.
        digest = hashlib.sha256(self._source + repr((self.module, shapes)).encode()).hexdigest()[:16]
        loop = bind(f"run_{digest}", shapes, *self._functions, is_kept=Path(self.file).is_file())
        with self.explain_errors():
            loop.warm_up()
        return loop

    def check(self) -> None:
        """Run a user's learner over a few examples in plain Python, where every index is checked."""
        if self.module.startswith("olbench."):
            return
        for name, function in zip(TAKES, self._functions, strict=True):
            given = list(inspect.signature(function, follow_wrapped=False).parameters)
            if len(given) != len(TAKES[name]):
                raise UserError(
                    f"{self.place}{name} of '{self.id}' takes ({', '.join(given)}); it must take "
                    f"({', '.join(TAKES[name])})"
                )
        try:
            with np.errstate(all="ignore"):
                self._probe()
        except UserError:
            raise
        except Exception as error:
            line = find_line(error, self.file)
            place = f"{self.file}:{line}: " if line else self.place
            raise UserError(f"{place}'{self.id}' fails: {describe_error(error)}") from None

    def _probe(self) -> None:
        score, learn = map(interpret, self._functions)
        p = self.rule_constants(self.resolve({}))
        p.flags.writeable = False
        made = self.make_arrays(4)
        arrays = namedtuple("Arrays", made)(**made)
        for t, (columns, values, y) in enumerate(_list_rows(), start=1):
            before = [each.copy() for each in arrays]
            f = score(arrays, columns, values, t, p)
            if not isinstance(f, float | int | np.number):
                raise UserError(f"{self.place}score of '{self.id}' returns {f!r}; it must return a number")
            if not all(map(np.array_equal, before, arrays, [True] * len(before))):
                raise UserError(f"{self.place}score of '{self.id}' changes its arrays; only learn may do so")
            found = learn(arrays, columns, values, np.float64(y), t, p)
            if isinstance(found, bool) or found not in (0, 1, 2):
                raise UserError(
                    f"{self.place}learn of '{self.id}' returns {found!r}; it must return 0 (no loss), 1 (a "
                    "loss, nothing changed) or 2 (changed)"
                )


def _list_rows() -> Iterator[tuple[Any, Any, float]]:
    """Yield rows of four features with their labels: full, sparse and empty ones, which are read-only."""
    rng = np.random.default_rng(0)
    for t in range(40):
        columns = np.flatnonzero(rng.random(4) < (0.0, 0.4, 1.0)[t % 3]).astype(np.uint32)
        values = rng.standard_normal(columns.size)
        columns.flags.writeable = values.flags.writeable = False
        yield columns, values, rng.choice((-1.0, 1.0))


def compiled_learner(
    id: str, *, title: str = "", source: str = "", arrays: Mapping[str, Any], **declared: Any
) -> Callable[[type], CompiledDefinition]:
    """Define an algorithm by a class with the functions `score` and `learn` over named arrays.

    `arrays` has the shape of each array: "d", "d x d" or "1", for d features. It starts with zeros, or with
    a number: ("d x d", 1.0) starts with the identity. `score(arrays, columns, values, t, p)` returns the
    score of a row, whose sign is the prediction; `learn(arrays, columns, values, y, t, p)` learns its label
    y, +1 or -1, and returns 0 (no loss), 1 (a loss, nothing changed) or 2 (changed). A row is its non-zero
    values and their columns, in ascending order; t = 1, 2, ... counts the examples learnt, with this one;
    p has the parameters in the order of their declaration. The weights are the scores of unit vectors.

    numba compiles both functions into one loop. They cannot make arrays: declare those that they need. Use
    `olbench.dot` and `olbench.add` for sums over a row; they are as fast as the built-in loops.

    Further keywords are the fields of Definition: parameters, constants, traits and version.
    """

    def define(owner: type) -> CompiledDefinition:
        score, learn = (_find_function(owner, id, name) for name in TAKES)
        definition = CompiledDefinition(
            id=id,
            title=title or id,
            order="compiled",
            source=source,
            rule=learn,
            score=score,
            arrays=MappingProxyType({name: _read_array(id, name, given) for name, given in arrays.items()}),
            **{"doc": owner.__doc__ or "", **declared},
        )
        register(definition)
        return definition

    return define


def _find_function(owner: type, id: str, name: str) -> Callable[..., Any]:
    found: Any = vars(owner).get(name)
    found = getattr(found, "__func__", found)
    found = getattr(found, "py_func", found)
    if not callable(found):
        raise UserError(f"'{id}' needs a function {name}({', '.join(TAKES[name])})")
    function: Callable[..., Any] = found
    return function


def _read_array(id: str, name: Any, given: Any) -> tuple[str, float]:
    if not isinstance(name, str) or not name.isidentifier() or name.startswith("_"):
        raise UserError(f"'{id}': an array cannot be named {shorten(repr(name))}; use a word like w")
    shape, start = given if isinstance(given, tuple) and len(given) == 2 else (given, 0.0)
    if shape not in SHAPES or isinstance(start, bool) or not isinstance(start, int | float):
        raise UserError(
            f"'{id}': the array {name} must have one of the shapes {', '.join(map(repr, SHAPES))}, or a "
            f"shape and a number, not {shorten(repr(given))}"
        )
    return shape, float(start)
