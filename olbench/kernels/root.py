"""Second-order passes with a full covariance, kept as a square root: Sigma = R R'.

The variance is a sum of squares, so it cannot turn negative however far Sigma shrinks (Potter's form of the
Kalman filter). A round costs nnz d for a = R' x; a change of state sweeps R once.
"""

import math
from typing import Any

import numpy as np
from numba import boolean, types, void

from olbench.kernels.compile import (
    READ_1D,
    READ_INT64,
    ROWS,
    SECOND_ORDER_RULE,
    WRITE_1D,
    WRITE_2D,
    WRITE_INT64,
    helper,
    kernel,
)
from olbench.kernels.matrix import inner_row, largest_column_sum, largest_row_sum, project
from olbench.kernels.rows import buffers, dot, locate, sources, squared_norm

# A variance this far below ||x||^2 asks for a rescaling of scale-free learners,
SMALLEST_RATIO = 2.0**-200
# which multiplies R and mu by this power of two while no entry of R exceeds its inverse.
STEP = 64


@helper
def rescale(root: Any, mu: Any) -> Any:
    """Multiply R and mu by 2^STEP if R stays below one; return the exponent used."""
    factor = 2.0**STEP
    if np.abs(root).max() * factor > 1.0:
        return 0
    for i in range(mu.size):
        for j in range(mu.size):
            root[i, j] *= factor
    for j in range(mu.size):
        mu[j] *= factor
    return STEP


@kernel(
    void(
        types.FunctionType(SECOND_ORDER_RULE), READ_1D, ROWS, READ_1D, READ_INT64,
        WRITE_1D, WRITE_2D, WRITE_1D, WRITE_INT64, boolean, boolean,
    )
)  # fmt: skip
def run(
    rule: Any, p: Any, rows: Any, y: Any, order: Any,
    mu: Any, root: Any, bound: Any, counters: Any, screened: bool, scale_free: bool,
) -> None:  # fmt: skip
    """Run the examples of `order`; counters: rounds, mistakes, updates, effective, breakdowns, exponent.

    `bound` and `screened` are as in the covariance form. A `scale_free` learner does the same whatever the
    common scale of mu and R, so both are multiplied by a power of two (its exponent is counted) before they
    underflow.
    """
    d = mu.size
    packed_columns, packed_values = buffers(d)
    columns, values = sources(rows, packed_columns, packed_values)
    dense, indptr, norms, has_zeros = rows[0], rows[3], rows[4], rows[5]
    a = np.empty(d)
    for i in order:
        n, at, o = locate(dense, indptr, has_zeros, i, packed_columns, packed_values)
        f = dot(mu, columns, at, values, o, n)
        mistake = (f >= 0.0) != (y[i] > 0.0)
        m = y[i] * f
        counters[0] += 1
        t = counters[0]
        counters[1] += mistake
        if not np.isfinite(f):
            counters[4] += 1
            continue
        s = norms[i]
        if screened:
            loss, alpha, c = rule(m, bound[0] * s, mistake, t, p)
            if loss <= 0.0 and alpha == 0.0 and c == 0.0:
                continue
        project(root, columns, at, values, o, n, a)
        v = squared_norm(a, 0, d)
        if s > 0.0 and not 0.0 < v < np.inf:
            counters[4] += 1
            v = 0.0
        loss, alpha, c = rule(m, v, mistake, t, p)
        counters[2] += loss > 0.0
        if v == 0.0 or (alpha == 0.0 and c == 0.0):
            continue
        if not (np.isfinite(alpha) and 0.0 <= c < np.inf):
            counters[4] += 1
            continue
        counters[3] += 1
        h = math.sqrt(1.0 + c * v)
        g = c / (h * (h + 1.0))
        for j in range(d):
            z = inner_row(root, j, a)
            mu[j] += alpha * y[i] * z
            weight = g * z
            for k in range(d):
                root[j, k] -= weight * a[k]
        if screened and counters[3] % d == 0:
            bound[0] = min(bound[0], (1.0 + 1e-9) * largest_row_sum(root) * largest_column_sum(root, a))
        if scale_free and v < SMALLEST_RATIO * s:
            exponent = rescale(root, mu)
            bound[0] *= 2.0 ** (2 * exponent)
            counters[5] += exponent
