"""Second-order passes with a diagonal covariance: a round costs nnz, whatever d is.

Mean and variance of a feature lie side by side, so that a round touches one cache line a feature.
"""

from typing import Any

import numpy as np
from numba import boolean, types, void

from olbench.kernels.compile import (
    READ_1D,
    READ_INT64,
    ROWS,
    SECOND_ORDER_RULE,
    WRITE_2D,
    WRITE_INT64,
    helper,
    kernel,
)
from olbench.kernels.rows import buffers, locate, sources


@helper
def margin_and_variance(moments: Any, columns: Any, c: Any, values: Any, o: Any, n: Any) -> Any:
    """Return mu . x and x' Sigma x, each summed in two lanes by position."""
    whole = n - n % 2
    f0 = f1 = v0 = v1 = 0.0
    for k in range(0, whole, 2):
        i, j = columns[c + k], columns[c + k + 1]
        x, z = values[o + k], values[o + k + 1]
        f0 += moments[i, 0] * x
        f1 += moments[j, 0] * z
        v0 += moments[i, 1] * (x * x)
        v1 += moments[j, 1] * (z * z)
    if whole < n:
        i, x = columns[c + whole], values[o + whole]
        f0 += moments[i, 0] * x
        v0 += moments[i, 1] * (x * x)
    return f0 + f1, v0 + v1


@kernel(
    void(
        types.FunctionType(SECOND_ORDER_RULE), READ_1D, ROWS, READ_1D, READ_INT64,
        WRITE_2D, WRITE_INT64, boolean,
    )
)  # fmt: skip
def run(rule: Any, p: Any, rows: Any, y: Any, order: Any, moments: Any, counters: Any, kl: bool) -> None:
    """Run the examples of `order`; moments[j] is (mu_j, Sigma_j).

    The full update is projected back to a diagonal: `kl` adds c x_j^2 to each precision (the Kullback-Leibler
    projection), otherwise the diagonal of Sigma - beta z z' is kept (the Euclidean one).
    """
    packed_columns, packed_values = buffers(moments.shape[0])
    columns, values = sources(rows, packed_columns, packed_values)
    dense, indptr, has_zeros = rows[0], rows[3], rows[5]
    for i in order:
        n, at, o = locate(dense, indptr, has_zeros, i, packed_columns, packed_values)
        f, v = margin_and_variance(moments, columns, at, values, o, n)
        mistake = (f >= 0.0) != (y[i] > 0.0)
        m = y[i] * f
        counters[0] += 1
        counters[1] += mistake
        if not np.isfinite(f):
            counters[4] += 1
            continue
        if not 0.0 < v < np.inf:
            counters[4] += n > 0
            v = 0.0
        loss, alpha, c = rule(m, v, mistake, counters[0], p)
        counters[2] += loss > 0.0
        if v == 0.0 or (alpha == 0.0 and c == 0.0):
            continue
        if not (np.isfinite(alpha) and 0.0 <= c < np.inf):
            counters[4] += 1
            continue
        counters[3] += 1
        step = alpha * y[i]
        beta = c / (1.0 + c * v)
        for k in range(n):
            x = values[o + k]
            j = columns[at + k]
            sigma = moments[j, 1]
            moments[j, 0] += step * sigma * x
            if kl:
                moments[j, 1] = sigma / (1.0 + c * sigma * x * x)
            else:
                moments[j, 1] = sigma * (1.0 - beta * sigma * x * x)
