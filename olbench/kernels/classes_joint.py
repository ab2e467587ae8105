"""Second-order passes over several classes with one covariance of all classes together, of (K d)^2 entries.

Each round is one of a binary kernel, on Phi = (e_y - e_s) (x) x with the label +1. It is the reference for
the other covariances, and too large for anything else.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from olbench.kernels.classes import count_prediction, find_rival, predict_class
from olbench.kernels.compile import WRITE_1D, WRITE_2D, WRITE_2D_INT64, WRITE_INT64, kernel
from olbench.kernels.counters import BREAKDOWNS, EFFECTIVE, ROW, UPDATES
from olbench.kernels.margins import is_unlearned
from olbench.kernels.rows import dot_row, locate, open_rows
from olbench.kernels.trace import bind_kernel


@kernel(None)
def _run(
    kernel: Any, rule: Any, p: Any, rows: Any, y: Any, order: Any, state: Any,
    mu: Any, joint_counters: Any, confusion: Any, counters: Any, margins: Any,
) -> None:  # fmt: skip
    """Run the examples of `order`; mu has the means of all classes, one after another."""
    columns, values, storage = open_rows(rows)
    classes, norms = confusion.shape[0], rows[4]
    d = mu.size // classes
    means, scores = mu.reshape((classes, d)), np.empty(classes)
    data, places, ends = np.empty(2 * d), np.empty(2 * d, np.uint32), np.zeros(2, np.int64)
    norm, positive, first = np.empty(1), np.ones(1), np.zeros(1, np.int64)
    phi = (np.empty((0, mu.size)), data, places, ends, norm, False)
    for now in range(order.size):
        entry = order[now]
        i = entry & ROW
        n, at, o = locate(storage, i)
        truth = int(y[i])
        for k in range(classes):
            scores[k] = dot_row(means, k, columns, at, values, o, n)
        rival = find_rival(scores, classes, truth)
        predicted = predict_class(scores, truth, rival)
        count_prediction(counters, confusion, margins, entry, truth, predicted)
        if is_unlearned(entry):
            continue
        # The columns of a row ascend, so the smaller of the two classes comes first.
        for part in range(2):
            k = min(truth, rival) if part == 0 else max(truth, rival)
            for j in range(n):
                data[part * n + j] = values[o + j] if k == truth else -values[o + j]
                places[part * n + j] = k * d + columns[at + j]
        ends[1], norm[0] = 2 * n, 2.0 * norms[i]
        kernel(rule, p, phi, positive, first, *state)
    counters[UPDATES] = joint_counters[UPDATES]
    counters[EFFECTIVE] = joint_counters[EFFECTIVE]
    counters[BREAKDOWNS] = joint_counters[BREAKDOWNS]


@cache
def runner(kernel: Any) -> Callable[..., None]:
    """Return the compiled `_run` of a binary kernel, a function of all that it takes after the kernel."""
    return bind_kernel(_run, kernel, WRITE_1D, WRITE_INT64, WRITE_2D_INT64, WRITE_INT64, WRITE_2D)
