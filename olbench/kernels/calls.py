"""What Python calls: a pass along a curve, and the rule of one round.

A pass reads its counters and the clock along the way without leaving compiled code. Its kernel is a
first-class function, as its rule is.
"""

import time
import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from numba import int32, int64, types, void
from numba.core.errors import NumbaExperimentalFeatureWarning

from olbench.kernels.compile import (
    EXACT_RULE,
    FIRST_ORDER_RULE,
    READ_2D,
    READ_INT64,
    ROWS,
    SECOND_ORDER_RULE,
    WRITE_1D,
    WRITE_2D_INT64,
    WRITE_INT64,
    kernel,
)
from olbench.kernels.counters import CURVE_COUNTS
from olbench.kernels.exact import find_step, measure_shares
from olbench.kernels.helpers import Function, helper
from olbench.kernels.rows import locate, open_rows

_clock_gettime = types.ExternalFunction("clock_gettime", int32(int32, types.voidptr))
# The clock of time.perf_counter.
_MONOTONIC = time.CLOCK_MONOTONIC
CURVE_PLACES = tuple(CURVE_COUNTS.values())


@helper
def nanoseconds(scratch):
    """Return the time of a monotonic clock; `scratch` receives its seconds and nanoseconds."""
    _clock_gettime(_MONOTONIC, scratch.ctypes)
    return 1_000_000_000 * scratch[0] + scratch[1]


@kernel(None)
def _run(kernel, rule, p, rows, y, order, state, ends, counters, counts, seconds):
    """Run the examples of `order`; after ends[k] of them write the counts and seconds to row k.

    `ends` has one entry per point of a curve, so calls and clock readings are rare.
    """
    scratch = np.empty(2, np.int64)
    started = nanoseconds(scratch)
    begin = 0
    for k in range(ends.size):
        kernel(rule, p, rows, y, order[begin : ends[k]], *state)
        begin = ends[k]
        seconds[k] = 1e-9 * (nanoseconds(scratch) - started)
        for j in range(len(CURVE_PLACES)):
            counts[k, j] = counters[CURVE_PLACES[j]]


class Address:
    """A compiled function as an argument, so that numba does not search for it by its types on every call."""

    def __init__(self, owner: Any, address: int):
        self.owner = owner  # keeps the machine code alive
        self.address = address

    def __wrapper_address__(self) -> int:
        return self.address


@cache
def compile_pass(kernel: Any) -> Callable[..., None]:
    """Return the compiled pass of a kernel: a function of the arguments of `_run` after the kernel.

    It does not check the types of its arguments, which would take longer than a short pass. Learners pass
    only arrays that they created or that olbench.learners.examples has checked.
    """
    run: Any = _run
    [(arguments, compiled)] = kernel.overloads.items()
    rule, p, rows, y, order, *state = arguments
    curve = (READ_INT64, WRITE_INT64, WRITE_2D_INT64, WRITE_1D)
    kind = types.FunctionType(compiled.signature)
    arguments = (kind, rule, p, rows, y, order, types.Tuple(state), *curve)
    with warnings.catch_warnings():
        # Numba warns that function types as arguments are experimental.
        warnings.simplefilter("ignore", NumbaExperimentalFeatureWarning)
        run.compile(void(*arguments))
    name = compiled.fndesc.llvm_cfunc_wrapper_name
    address = Address(kernel, compiled.library.get_pointer_to_function(name))
    return partial(run.overloads[arguments].entry_point, address)


def question(rule: Any, *more: Any) -> Callable[[Function], Function]:
    """Compile a function that asks a rule again about a round; it writes the answer to its last argument.

    A kernel keeps the margin and the variance of a round, not what its rule answered. Compiled code gives the
    same answer to the same question.
    """
    return kernel(void(types.FunctionType(rule), *rule.args, *more, WRITE_1D))


@question(FIRST_ORDER_RULE)
def ask_first_order(rule, m, s, mistake, q, t, k, p, answer):
    """Set the answer to loss, shrink and tau."""
    answer[0], answer[1], answer[2] = rule(m, s, mistake, q, t, k, p)


@question(SECOND_ORDER_RULE)
def ask_second_order(rule, m, v, mistake, t, p, answer):
    """Set the answer to loss, alpha and c."""
    answer[0], answer[1], answer[2] = rule(m, v, mistake, t, p)


@question(EXACT_RULE, ROWS, int64, READ_2D)
def ask_exact(rule, m, v, p, rows, i, moments, answer):
    """Set the answer to loss, alpha and c of the exact diagonal step for row i."""
    columns, values, storage = open_rows(rows)
    n, at, o = locate(storage, i)
    loss, unit, A, b0, b1, K = rule(m, v, p)
    answer[0] = loss
    answer[1] = answer[2] = 0.0
    if v == 0.0 or loss <= 0.0:
        return
    shares = np.empty(moments.shape[0])
    measure_shares(moments, 1, columns, at, values, o, n, v, shares, 0)
    answer[1], answer[2] = find_step(shares, n, m, v, unit, A, b0, b1, K)
