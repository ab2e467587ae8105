"""A pass that reads its counters and the clock on the way, without leaving compiled code.

The kernel comes as a first-class function, as its rule does: numba's cache on disk notices a change of the
file a function is in, and would not notice one of a kernel that was linked into this one.
"""

import time
import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from numba import int32, types, void
from numba.core.errors import NumbaExperimentalFeatureWarning

from olbench.kernels.compile import READ_INT64, WRITE_1D, WRITE_2D_INT64, WRITE_INT64, helper, kernel

_clock_gettime = types.ExternalFunction("clock_gettime", int32(int32, types.voidptr))
# as time.perf_counter has it
_MONOTONIC = time.CLOCK_MONOTONIC


@helper
def nanoseconds(room: Any) -> Any:
    """Return the time of a clock that never goes back; `room` is for its two numbers."""
    _clock_gettime(_MONOTONIC, room.ctypes)
    return 1_000_000_000 * room[0] + room[1]


@kernel(None)
def _trace(
    kernel: Any, rule: Any, p: Any, rows: Any, y: Any, order: Any, state: Any,
    ends: Any, counters: Any, counts: Any, seconds: Any,
) -> None:  # fmt: skip
    """Run the examples of `order`; after ends[k] of them note mistakes, updates and seconds in row k."""
    room = np.empty(2, np.int64)
    started = nanoseconds(room)
    begin = 0
    for k in range(ends.size):
        kernel(rule, p, rows, y, order[begin : ends[k]], *state)
        begin = ends[k]
        seconds[k] = 1e-9 * (nanoseconds(room) - started)
        counts[k, 0] = counters[1]
        counts[k, 1] = counters[2]


class Address:
    """A compiled function for an argument that is one: numba would look it up by all its types every time."""

    def __init__(self, owner: Any, address: int):
        self.owner = owner  # the code lives as long as it does
        self.address = address

    def __wrapper_address__(self) -> int:
        return self.address


@cache
def tracer(kernel: Any) -> Callable[..., None]:
    """Return the compiled trace of a kernel, a function of all that `_trace` takes after the kernel.

    It does not look at the types of its arguments, which would cost more than a short pass: learners only
    pass arrays that they made or that olbench.examples has checked.
    """
    [(arguments, compiled)] = kernel.overloads.items()
    rule, p, rows, y, order, *state = arguments
    arguments = (
        types.FunctionType(compiled.signature), rule, p, rows, y, order, types.Tuple(state),
        READ_INT64, WRITE_INT64, WRITE_2D_INT64, WRITE_1D,
    )  # fmt: skip
    trace: Any = _trace
    with warnings.catch_warnings():
        # numba calls an argument list that begins with a function experimental
        warnings.simplefilter("ignore", NumbaExperimentalFeatureWarning)
        trace.compile(void(*arguments))
    name = compiled.fndesc.llvm_cfunc_wrapper_name
    address = Address(kernel, compiled.library.get_pointer_to_function(name))
    return partial(trace.overloads[arguments].entry_point, address)
