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
    kernel,
)
from olbench.kernels.rows import buffers, fetch, inner


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
    indices, values = buffers(moments.shape[0])
    for i in order:
        n = fetch(rows, i, indices, values)
        f = v = 0.0
        for k in range(n):
            x = values[k]
            j = indices[k]
            f += moments[j, 0] * x
            v += moments[j, 1] * x * x
        mistake = (f >= 0.0) != (y[i] > 0.0)
        m = y[i] * f
        counters[0] += 1
        counters[1] += mistake
        if not np.isfinite(f):
            counters[4] += 1
            continue
        if not 0.0 < v < np.inf:
            counters[4] += inner(values, values, n) > 0.0
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
            x = values[k]
            j = indices[k]
            sigma = moments[j, 1]
            moments[j, 0] += step * sigma * x
            if kl:
                moments[j, 1] = sigma / (1.0 + c * sigma * x * x)
            else:
                moments[j, 1] = sigma * (1.0 - beta * sigma * x * x)
