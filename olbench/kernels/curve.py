"""A pass that reads its counters and the clock along the way without leaving compiled code.

The kernel is a first-class function, as its rule is. Numba's cache on disk notices changes only of the file
that a function is in; a kernel linked into the function below could change unnoticed.
"""

import time
import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from numba import int32, types, void
from numba.core.errors import NumbaExperimentalFeatureWarning

from olbench.kernels.compile import READ_INT64, WRITE_1D, WRITE_2D_INT64, WRITE_INT64, kernel
from olbench.kernels.counters import FALSE_ALARMS, MISTAKES, POSITIVES, UNLEARNED, UPDATES
from olbench.kernels.helpers import helper

_clock_gettime = types.ExternalFunction("clock_gettime", int32(int32, types.voidptr))
# The clock of time.perf_counter.
_MONOTONIC = time.CLOCK_MONOTONIC


@helper
def nanoseconds(room):
    """Return the time of a monotonic clock; `room` receives its seconds and nanoseconds."""
    _clock_gettime(_MONOTONIC, room.ctypes)
    return 1_000_000_000 * room[0] + room[1]


@kernel(None)
def _run(kernel, rule, p, rows, y, order, state, ends, counters, counts, seconds):
    """Run the examples of `order`; after ends[k] of them write the counts and seconds to row k.

    `ends` has one entry per point of a curve, so the calls and clock readings are few beside the rounds.
    """
    room = np.empty(2, np.int64)
    started = nanoseconds(room)
    begin = 0
    for k in range(ends.size):
        kernel(rule, p, rows, y, order[begin : ends[k]], *state)
        begin = ends[k]
        seconds[k] = 1e-9 * (nanoseconds(room) - started)
        counts[k, 0] = counters[MISTAKES]
        counts[k, 1] = counters[UPDATES]
        counts[k, 2] = counters[POSITIVES]
        counts[k, 3] = counters[FALSE_ALARMS]
        counts[k, 4] = counters[UNLEARNED]


class Address:
    """A compiled function as an argument, so that numba does not search for it by its types on every call."""

    def __init__(self, owner: Any, address: int):
        self.owner = owner  # keeps the machine code alive
        self.address = address

    def __wrapper_address__(self) -> int:
        return self.address


def bind_kernel(function: Any, kernel: Any, *more: Any) -> Callable[..., None]:
    """Return a function compiled for a kernel, its first argument, and for types that follow the state.

    It does not check the types of its arguments, which would take longer than a short pass. Learners pass
    only arrays that they created or that olbench.learners.examples has checked.
    """
    [(arguments, compiled)] = kernel.overloads.items()
    rule, p, rows, y, order, *state = arguments
    kind = types.FunctionType(compiled.signature)
    arguments = (kind, rule, p, rows, y, order, types.Tuple(state), *more)
    with warnings.catch_warnings():
        # Numba warns that function types as arguments are experimental.
        warnings.simplefilter("ignore", NumbaExperimentalFeatureWarning)
        function.compile(void(*arguments))
    name = compiled.fndesc.llvm_cfunc_wrapper_name
    address = Address(kernel, compiled.library.get_pointer_to_function(name))
    return partial(function.overloads[arguments].entry_point, address)


@cache
def compile_pass(kernel: Any) -> Callable[..., None]:
    """Return the compiled pass of a kernel: a function of the arguments of `_run` after the kernel."""
    return bind_kernel(_run, kernel, READ_INT64, WRITE_INT64, WRITE_2D_INT64, WRITE_1D)
