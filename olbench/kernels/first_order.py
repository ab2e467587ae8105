"""First-order passes: w = shrink w + tau y x, at a cost of nnz per round.

Short rows are bound by the call of the rule, long ones and a random order by reading the rows, which are
prefetched. The weights are a common factor times an array, so shrinking all of them is one multiplication.
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
    WRITE_2D,
    WRITE_INT64,
    inlined,
    kernel,
)
from olbench.kernels.margins import keep_margin
from olbench.kernels.rows import announce, buffers, dot, locate, sources

# Below this, the common factor is multiplied into w. Two such factors still multiply to a normal number, so
# neither the factor nor a step divided by it can leave the range of doubles.
SMALLEST_SCALE = 1e-100


@inlined
def multiply_out(w: Any, scale: Any) -> None:
    """Multiply the common factor into w."""
    for j in range(w.size):
        w[j] *= scale


@inlined
def add_row(w: Any, step: Any, columns: Any, c: Any, values: Any, o: Any, n: Any) -> None:
    """Add step times a row to w; a full row is added in vectors."""
    if n == w.size:
        for j in range(n):
            w[j] += step * values[o + j]
        return
    for k in range(n):
        w[columns[c + k]] += step * values[o + k]


@kernel(
    void(
        types.FunctionType(FIRST_ORDER_RULE), READ_1D, ROWS, READ_1D, READ_INT64,
        WRITE_1D, WRITE_1D, WRITE_INT64, WRITE_2D,
    )
)  # fmt: skip
def run(
    rule: Any, p: Any, rows: Any, y: Any, order: Any, w: Any, scalars: Any, counters: Any, margins: Any
) -> None:
    """Run the examples of `order`; the weights are scalars[0] * w, their squared norm is scalars[1]."""
    packed_columns, packed_values = buffers(rows)
    columns, values = sources(rows, packed_columns, packed_values)
    dense, indptr, norms, has_zeros = rows[0], rows[3], rows[4], rows[5]
    # The counts stay in registers; a rule sees the rounds and the updates so far.
    t, mistakes, updates, effective, breakdowns = counters[0], 0, counters[2], 0, 0
    scale, q = scalars[0], scalars[1]
    for now in range(order.size):
        i = order[now]
        announce(rows, y, order, now)
        n, at, o = locate(dense, indptr, has_zeros, i, packed_columns, packed_values)
        f = scale * dot(w, columns, at, values, o, n)
        mistake = (f >= 0.0) != (y[i] > 0.0)
        m = y[i] * f
        t += 1
        keep_margin(margins, t, f, 0)
        mistakes += mistake
        s = norms[i]
        # A squared norm that over- or underflows gives no usable step; a row of zeros is no such case.
        if not np.isfinite(f) or (n > 0 and not 0.0 < s < np.inf):
            breakdowns += 1
            continue
        loss, shrink, tau = rule(m, s, mistake, q, t, updates, p)
        updates += loss > 0.0
        if n == 0 or (shrink == 1.0 and tau == 0.0):
            continue
        if not (np.isfinite(shrink) and np.isfinite(tau)):
            breakdowns += 1
            continue
        effective += 1
        if shrink != 1.0:
            scale *= shrink
            if abs(scale) < SMALLEST_SCALE:
                multiply_out(w, scale)
                scale = 1.0
        add_row(w, tau * y[i] / scale, columns, at, values, o, n)
        # ||w||^2 is carried along: a new sum would cost d. Rounding must not make it negative.
        q = max(0.0, shrink * shrink * q + tau * (2.0 * shrink * m + tau * s))
    scalars[0], scalars[1] = scale, q
    counters[0] = t
    counters[1] += mistakes
    counters[2] = updates
    counters[3] += effective
    counters[4] += breakdowns
