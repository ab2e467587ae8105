"""Functions that kernels and rules call; importing them, and so listing algorithms, does not import numba."""

from collections.abc import Callable
from functools import cached_property, update_wrapper
from pkgutil import resolve_name
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])


class Helper:
    """A function that is compiled with the first kernel or rule that calls it.

    It becomes part of its callers and is cached with them.
    """

    def __init__(self, function: Callable[..., Any], **how: Any):
        self.py_func = function
        self.how = how
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        return self._compiled(*arguments)

    @cached_property
    def _compiled(self) -> Any:
        from numba import njit

        return njit(error_model="numpy", **self.how)(self.py_func)

    @cached_property
    def _part(self) -> Any:
        from olbench.kernels.parts import compile_part

        return compile_part(self.py_func, **self.how)

    @property
    def _numba_type_(self) -> Any:
        """The type of the function compiled as a part of its callers."""
        return self._part._numba_type_


def helper(function: Function) -> Function:
    return cast(Function, Helper(function))


def inlined(function: Function, **how: Any) -> Function:
    """Compile a function that kernels call in every round; it may neither make nor return an array.

    The caller holds a reference to every array, so none is counted here: counting would take longer than a
    short round. The code becomes part of the caller, which keeps the fields of arrays in registers.
    """
    return cast(Function, Helper(function, forceinline=True, _nrt=False, **how))


class Deferred(Helper):
    """A function whose compiled form is elsewhere, so that importing it needs no compiler.

    The function itself is its plain Python version.
    """

    def __init__(self, function: Callable[..., Any], place: str):
        super().__init__(function)
        self.place = place

    def __call__(self, *arguments: Any) -> Any:
        return resolve_name(self.place)(*arguments)

    @property
    def _numba_type_(self) -> Any:
        return resolve_name(self.place)._numba_type_


def deferred(place: str) -> Callable[[Function], Function]:
    """Let compiled code call "module:name" instead of the decorated function."""

    def decorate(function: Function) -> Function:
        return cast(Function, Deferred(function, place))

    return decorate


@deferred("olbench.kernels.compiled:dot")
def dot(vector: Any, columns: Any, values: Any) -> float:
    """Return the sum of vector[columns[k]] * values[k]; a full row, with as many values, needs no columns."""
    return float((vector if values.size == vector.size else vector[columns]) @ values)


@deferred("olbench.kernels.compiled:add")
def add(vector: Any, columns: Any, values: Any, step: float) -> None:
    """Add step * values[k] to vector[columns[k]]; a full row, with as many values, needs no columns."""
    vector[columns if values.size < vector.size else slice(None)] += step * values


@deferred("olbench.kernels.compiled:project")
def project(matrix: Any, columns: Any, values: Any, target: Any) -> None:
    """Set target to the sum of values[k] * matrix[columns[k]]: to Sigma x for a symmetric Sigma."""
    target[:] = values @ matrix[columns]
