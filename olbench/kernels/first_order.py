"""First-order passes: w = shrink w + tau y x, at a cost of nnz per round.

The weights are a common factor times an array, so shrinking all of them is one multiplication.
"""

from typing import Any

import numpy as np
from numba import types, void

from olbench.kernels.compile import (
    FIRST_ORDER_RULE,
    READ_1D,
    READ_INT64,
    ROWS,
    WRITE_1D,
    WRITE_INT64,
    inlined,
    kernel,
)
from olbench.kernels.rows import buffers, dot, locate, sources

# Below this, the common factor is multiplied into w. Two such factors still multiply to a normal number, so
# neither the factor nor a step divided by it can leave the range of doubles.
SMALLEST_SCALE = 1e-100


@inlined
def multiply_out(w: Any, scalars: Any) -> None:
    """Multiply the common factor into w and set it to one."""
    for j in range(w.size):
        w[j] *= scalars[0]
    scalars[0] = 1.0


@kernel(
    void(
        types.FunctionType(FIRST_ORDER_RULE), READ_1D, ROWS, READ_1D, READ_INT64,
        WRITE_1D, WRITE_1D, WRITE_INT64,
    )
)  # fmt: skip
def run(rule: Any, p: Any, rows: Any, y: Any, order: Any, w: Any, scalars: Any, counters: Any) -> None:
    """Run the examples of `order`; the weights are scalars[0] * w, their squared norm is scalars[1]."""
    packed_columns, packed_values = buffers(w.size)
    columns, values = sources(rows, packed_columns, packed_values)
    dense, indptr, norms, has_zeros = rows[0], rows[3], rows[4], rows[5]
    for i in order:
        n, at, o = locate(dense, indptr, has_zeros, i, packed_columns, packed_values)
        f = scalars[0] * dot(w, columns, at, values, o, n)
        mistake = (f >= 0.0) != (y[i] > 0.0)
        m = y[i] * f
        counters[0] += 1
        counters[1] += mistake
        s = norms[i]
        # A squared norm that over- or underflows gives no usable step; a row of zeros is no such case.
        if not np.isfinite(f) or (n > 0 and not 0.0 < s < np.inf):
            counters[4] += 1
            continue
        loss, shrink, tau = rule(m, s, mistake, scalars[1], counters[0], counters[2], p)
        counters[2] += loss > 0.0
        if n == 0 or (shrink == 1.0 and tau == 0.0):
            continue
        if not (np.isfinite(shrink) and np.isfinite(tau)):
            counters[4] += 1
            continue
        counters[3] += 1
        if shrink != 1.0:
            scalars[0] *= shrink
            if abs(scalars[0]) < SMALLEST_SCALE:
                multiply_out(w, scalars)
        step = tau * y[i] / scalars[0]
        for k in range(n):
            w[columns[at + k]] += step * values[o + k]
        # ||w||^2 is carried along: a new sum would cost d. Rounding must not make it negative.
        scalars[1] = max(0.0, shrink * shrink * scalars[1] + tau * (2.0 * shrink * m + tau * s))
