"""First-order passes: w = shrink w + tau y x, at a cost of nnz per round.

Most rounds change nothing. Such a round is bound by w.x alone if the rule has promised it: it ends after the
margin, without a call. A round that changes w is bound by the chain from one margin to the next: the branch
that was predicted wrongly, the rule, w itself. Long rows and a random order are bound by reading the rows,
which are prefetched. The weights are a common factor times an array, so shrinking all of them is one
multiplication.
"""

from typing import Any

import numpy as np
from numba import float64, types, void

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
from olbench.kernels.vectors import add, load, multiply, spread, store, zeros

# Below this, the common factor is multiplied into w. Two such factors still multiply to a normal number, so
# neither the factor nor a step divided by it can leave the range of doubles.
SMALLEST_SCALE = 1e-100
LARGEST = np.finfo(np.float64).max


@inlined
def multiply_out(w: Any, scale: Any) -> None:
    """Multiply the common factor into w."""
    for j in range(w.size):
        w[j] *= scale


@inlined
def add_row(w: Any, step: Any, columns: Any, c: Any, values: Any, o: Any, n: Any) -> None:
    """Add step times a row to w.

    A full row is added in the runs of four that the next margin loads: a load that spans several stores has
    to wait until they have reached the cache.
    """
    if n == w.size:
        whole = n - n % 4
        for j in range(0, whole, 4):
            x = load(zeros(4), values, (o + j,))
            store(add(load(x, w, (j,)), multiply(spread(x, step), x)), w, (j,))
        for j in range(whole, n):
            w[j] += step * values[o + j]
        return
    for k in range(n):
        w[columns[c + k]] += step * values[o + k]


@kernel(
    void(
        types.FunctionType(FIRST_ORDER_RULE), READ_1D, ROWS, READ_1D, READ_INT64,
        WRITE_1D, WRITE_1D, WRITE_INT64, float64, WRITE_2D,
    )
)  # fmt: skip
def run(
    rule: Any, p: Any, rows: Any, y: Any, order: Any, w: Any, scalars: Any, counters: Any,
    passive_above: Any, margins: Any,
) -> None:  # fmt: skip
    """Run the examples of `order`; the weights are scalars[0] * w, their squared norm is scalars[1].

    At a margin above `passive_above`, which is not negative, the rule has no loss and changes nothing.
    """
    packed_columns, packed_values = buffers(rows)
    columns, values = sources(rows, packed_columns, packed_values)
    dense, indptr, norms, has_zeros = rows[0], rows[3], rows[4], rows[5]
    # The counts stay in registers; a rule sees the rounds and the updates so far.
    before, mistakes, updates, effective, breakdowns = counters[0], 0, counters[2], 0, 0
    scale, q = scalars[0], scalars[1]
    for now in range(order.size):
        i = order[now]
        announce(rows, y, order, now)
        n, at, o = locate(dense, indptr, has_zeros, i, packed_columns, packed_values)
        f = scale * dot(w, columns, at, values, o, n)
        m = y[i] * f
        keep_margin(margins, before + now + 1, f, 0)
        s = norms[i]
        # A positive margin is no mistake, and the number of the round is counted by the loop: nothing is left
        # to do. Compared with infinity, LLVM would take apart the bits of s instead.
        if passive_above < m <= LARGEST and 0.0 < s <= LARGEST:
            continue
        mistake = (f >= 0.0) != (y[i] > 0.0)
        mistakes += mistake
        # A squared norm that over- or underflows gives no usable step; a row of zeros is no such case.
        if not np.isfinite(f) or (n > 0 and not 0.0 < s < np.inf):
            breakdowns += 1
            continue
        loss, shrink, tau = rule(m, s, mistake, q, before + now + 1, updates, p)
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
    counters[0] += order.size
    counters[1] += mistakes
    counters[2] = updates
    counters[3] += effective
    counters[4] += breakdowns
