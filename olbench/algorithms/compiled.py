"""Compiled learners: algorithms that are more than a rule, as two functions over arrays that they declare."""

import hashlib
from collections import namedtuple
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from olbench.algorithms.definition import Definition, check_keywords, register
from olbench.algorithms.probing import TAKES
from olbench.errors import UserError, shorten

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
    def functions(self) -> tuple[Any, ...]:
        return self.score, self.rule

    def make_arrays(self, d: int) -> Any:
        """Return its arrays for d features as they start, by name: a number is the diagonal of a matrix."""
        made = [
            np.diag(np.full(d, start)) if shape == "d x d" else np.full(SHAPES[shape](d), start)
            for shape, start in self.arrays.values()
        ]
        return namedtuple("Arrays", self.arrays)(*made)

    @cached_property
    def compiled_rule(self) -> Any:
        """The loop with both functions in it."""
        from olbench.kernels.cache import digest_parts
        from olbench.kernels.compiled import bind

        self.check()
        shapes = {name: shape for name, (shape, _) in self.arrays.items()}
        # Numba stores the name of the module too, and that of a user's file depends on its path. A file may
        # define several learners with the same arrays.
        parts = [digest_parts(each) for each in self.functions]
        what = repr((self.module, self.id, shapes, self.sources, parts))
        digest = hashlib.sha256(what.encode()).hexdigest()[:16]
        functions = dict(zip(("score", "learn"), self.functions, strict=True))
        is_kept = Path(self.file).is_file()
        loop = bind(f"run_{digest}", shapes, functions, is_kept, **self.checks)
        with self.explain_errors():
            loop.warm_up()
        return loop


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

    numba compiles both functions into one loop. They cannot allocate arrays: declare every array they need.
    Use `olbench.dot`, `olbench.add` and `olbench.project` for sums; they are as fast as the built-in loops.

    Further keywords are the fields of Definition: parameters, constants, traits and version.
    """

    check_keywords(id, declared)

    def define(owner: type) -> CompiledDefinition:
        learner = CompiledDefinition(
            id=id,
            title=title or id,
            order="compiled",
            source=source,
            score=_find_function(owner, id, "score"),
            rule=_find_function(owner, id, "learn"),
            arrays=MappingProxyType({name: _read_array(id, name, given) for name, given in arrays.items()}),
            **{"doc": owner.__doc__ or "", **declared},
        )
        register(learner)
        return learner

    return define


def _find_function(owner: type, id: str, name: str) -> Any:
    found: Any = vars(owner).get(name)
    found = getattr(found, "__func__", found)
    found = getattr(found, "py_func", found)
    if not callable(found):
        raise UserError(f"'{id}' needs a function {name}({', '.join(TAKES[name])})")
    return found


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
