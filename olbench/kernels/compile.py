"""Numba types of rules and kernels, and typed fronts for its decorator.

Rules reach the kernels as first-class functions with one explicit signature, so one compiled kernel serves
every rule, and numba's cache on disk holds both. Arrays that a kernel only reads are declared read-only: that
type accepts memory maps and ordinary arrays alike.

No reduction is left to the compiler. Sums are written in a fixed order, and numba's default (no fastmath)
keeps fused multiply-add off, so a pass gives the same bits whatever the width of the machine's vectors.
"""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numba
from numba import boolean, float64, int64, types, uint32, void
from numba.core.ccallback import CFunc
from numba.core.compiler_lock import global_compiler_lock

from olbench.errors import UserError
from olbench.kernels.cache import choose_cache, find_folder
from olbench.kernels.helpers import Function, Helper

if numba.config.DISABLE_JIT:
    raise UserError(
        "NUMBA_DISABLE_JIT is set, but olbench runs compiled code only: its kernels take each other's "
        "addresses; unset the variable"
    )

READ_1D = types.Array(float64, 1, "C", readonly=True)
READ_2D = types.Array(float64, 2, "C", readonly=True)
# Unsigned, because a signed index makes numba test on every use whether it counts from the end.
READ_UINT32 = types.Array(uint32, 1, "C", readonly=True)
READ_INT64 = types.Array(int64, 1, "C", readonly=True)
WRITE_1D = types.Array(float64, 1, "C")
WRITE_2D = types.Array(float64, 2, "C")
WRITE_3D = types.Array(float64, 3, "C")
WRITE_INT64 = types.Array(int64, 1, "C")
WRITE_UINT32 = types.Array(uint32, 1, "C")
WRITE_2D_INT64 = types.Array(int64, 2, "C")

#: dense (no rows if the storage is CSR), data, columns, indptr, ||x||^2, and whether dense rows hold zeros
ROWS = types.Tuple((READ_2D, READ_1D, READ_UINT32, READ_INT64, READ_1D, boolean))

#: (m, s, mistake, q, t, k, p) -> (loss, shrink, tau)
FIRST_ORDER_RULE = types.UniTuple(float64, 3)(float64, float64, boolean, float64, int64, int64, READ_1D)
#: (m, v, mistake, t, p) -> (loss, alpha, c)
SECOND_ORDER_RULE = types.UniTuple(float64, 3)(float64, float64, boolean, int64, READ_1D)
#: (m, v, p) -> (loss, unit, A, b0, b1, K), the terms of the equation in olbench.kernels.exact
EXACT_RULE = types.UniTuple(float64, 6)(float64, float64, READ_1D)
#: (m, v_y, v_s, p) -> (alpha, c), the step over the covariances of two classes
PAIR_RULE = types.UniTuple(float64, 2)(float64, float64, float64, READ_1D)
#: (negatives, positives, last label, p) -> margin
BASELINE_RULE = float64(int64, int64, float64, READ_1D)
#: The rule of an algorithm by its order.
RULES = {"first": FIRST_ORDER_RULE, "second": SECOND_ORDER_RULE, "baseline": BASELINE_RULE}


#: How kernels are compiled.
HOW = {"nogil": True}


class LazyKernel(Helper):
    """A pass over examples, compiled or loaded from numba's cache when it is first used.

    Importing a module compiles nothing, so a command compiles only what it runs.
    """

    def __init__(self, function: Callable[..., Any], signature: Any):
        super().__init__(function)
        self.signature = signature

    @cached_property
    def _compiled(self) -> Any:
        return _compile(numba.njit, self.py_func, self.signature, **HOW)

    @property
    def _numba_type_(self) -> Any:
        """The type of the kernel that Python calls, too: it is not compiled twice."""
        return self._compiled._numba_type_

    @property
    def overloads(self) -> Any:
        return self._compiled.overloads

    def warm_up(self) -> None:
        _ = self._compiled

    @property
    def is_ready(self) -> bool:
        if "_compiled" in vars(self):
            return True
        file = Path(self.py_func.__code__.co_filename)
        folder = find_folder(self.py_func, str(HOW))
        return folder is not None and any(folder.rglob(f"{file.stem}.{self.py_func.__qualname__}-*.nbi"))


def kernel(signature: Any) -> Callable[[Function], Function]:
    """Compile a pass over examples for one signature, or later if None; it releases the GIL and is cached.

    The NumPy error model makes a division by zero infinite: raising would cost a branch in every division.
    """

    def decorate(function: Function) -> Function:
        if signature is None:
            return cast(Function, _compile(numba.njit, function, None, **HOW))
        return cast(Function, LazyKernel(function, signature))

    return decorate


def pass_kernel(rule: Any, *state: Any) -> Callable[[Function], Function]:
    """Compile a pass over rule, p, rows, y and order; then come arguments of these types, then margins."""
    return kernel(void(types.FunctionType(rule), READ_1D, ROWS, READ_1D, READ_INT64, *state, WRITE_2D))


class Rule(CFunc):
    """A first-class function; unlike numba's own class, it keeps the environment of its code."""

    @global_compiler_lock  # type: ignore[untyped-decorator]
    def compile(self: Any) -> None:
        result = self._cache.load_overload(self._sig, self._targetdescr.target_context)
        self._cache_hits = int(result is not None)
        if result is None:
            result = self._compile_uncached()
            self._cache.save_overload(self._sig, result)
        self.overloads, self._library = {self._sig: result}, result.library
        self._wrapper_name = result.fndesc.llvm_cfunc_wrapper_name
        self._wrapper_address = self._library.get_pointer_to_function(self._wrapper_name)


def rule(signature: Any, function: Callable[..., Any], **how: Any) -> Any:
    """Compile a rule as a first-class function, cached on disk if its source is a file."""
    return _compile(_compile_rule, function, signature, **how)


def _compile_rule(signature: Any, cache: bool, **options: Any) -> Callable[[Any], Rule]:
    def decorate(function: Any) -> Rule:
        compiled = Rule(function, (signature.args, signature.return_type), {}, options)
        if cache:
            compiled.enable_caching()
        compiled.compile()
        return compiled

    return decorate


def _compile(compiler: Callable[..., Any], function: Callable[..., Any], signature: Any, **how: Any) -> Any:
    with choose_cache(function, str(how)) as is_cached:
        compiled = compiler(signature, cache=is_cached, error_model="numpy", **how)(function)
    for result in compiled.overloads.values():
        # To print or to format a message, code reads its environment. Numba sets none for a new rule or a
        # new part of a learner, and such code never releases the GIL.
        for environment in result._find_referenced_environments():
            result.library.codegen.set_env(environment.env_name, environment)
    return compiled
