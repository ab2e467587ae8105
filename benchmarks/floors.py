"""Floors: what a pass cannot be faster than on this machine, whoever writes it.

Each floor is a pass that does one kind of the work of a whole one, as fast as the machine can. The largest of
them bounds the pass; where it is close to it, nothing is left to gain.

- arithmetic: all its multiplications and additions, on vectors that stay in the nearest cache
- memory: its rows are fetched and nothing is done with them
- chain: in every round that changes the state the margin waits for the mean of the round before. This is the
  sum of a margin, in the order of all kernels, and the change of the mean, again and again.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import float64, int64, void

from olbench.algorithms.algorithm import Algorithm
from olbench.kernels.blocked import ROWS_PER_SWEEP
from olbench.kernels.compile import (
    READ_1D,
    READ_2D,
    READ_INT64,
    READ_UINT32,
    ROWS,
    WRITE_1D,
    WRITE_2D,
    kernel,
)
from olbench.kernels.first_order import add_row
from olbench.kernels.matrix import inner
from olbench.kernels.rows import LINE, announce
from olbench.kernels.vectors import WIDEST, add_products, empty_block, write_block
from olbench.learners.examples import as_examples

#: Steps between two stores of a tile: enough to make them negligible, few enough for the nearest cache.
DEPTH = 64


@kernel(void(READ_2D, READ_2D, WRITE_2D, int64))
def multiply_tiles(left: Any, right: Any, target: Any, times: int) -> None:
    """Multiply and add in registers only, as many chains at a time as a sweep over Sigma has."""
    for _ in range(times):
        block = empty_block(ROWS_PER_SWEEP, WIDEST)
        for k in range(left.shape[0]):
            block = add_products(block, left, (k, 0), right, (k, 0))
        write_block(block, target, (0, 0))


@kernel(float64(READ_UINT32, READ_1D, WRITE_1D, int64))
def follow_chain(columns: Any, x: Any, mu: Any, times: int) -> Any:
    """Compute a margin and move the mean towards a margin of one, again and again."""
    f = 0.0
    for _ in range(times):
        f = inner(mu, x, 0)
        add_row(mu, 1e-3 * (1.0 - f), columns, 0, x, 0, x.size)
    return f


@kernel(float64(ROWS, READ_1D, READ_INT64))
def touch_rows(rows: Any, y: Any, order: Any) -> Any:
    """Load one entry of every cache line of the rows of `order`, and their labels and norms."""
    dense, data, columns, indptr, norms = rows[0], rows[1], rows[2], rows[3], rows[4]
    total = 0.0
    for now in range(order.size):
        i = order[now]
        announce(rows, y, order, now)
        total += y[i] + norms[i]
        if dense.shape[0] > 0:
            for j in range(0, dense.shape[1], LINE):
                total += dense[i, j]
            total += dense[i, dense.shape[1] - 1]
            continue
        begin, end = indptr[i], indptr[i + 1]
        for k in range(begin, end, LINE):
            total += data[k]
        for k in range(begin, end, 2 * LINE):
            total += columns[k]
        if begin < end:
            total += data[end - 1] + columns[end - 1]
    return total


def fetch_rows(X: Any, y: Any, order: Any) -> Callable[[], object]:
    """Return a pass that fetches the rows in this order and does nothing else."""
    rows = as_examples(X).rows()
    return lambda: touch_rows(rows, y, order)


def find_floors(
    algorithm: Algorithm, X: Any, y: Any, changes: int, classes: int = 0
) -> dict[str, Callable[[], object]]:
    """Return the floors of a pass in natural order that changes the state so often, by their names.

    With `classes`, the labels are the numbers of that many classes.
    """
    n, d = X.shape
    entries = X.nnz if hasattr(X, "nnz") else X.size
    width = max(1, round(entries / n))
    # A change of one of two classes moves both of them.
    parts = 2 if classes else 1
    flops = 2 * entries * max(1, classes)
    if algorithm.definition.order == "first":
        flops += changes * parts * 2 * width
    elif algorithm.covariance == "diag":
        # The variance of every round; in a change, the mean and the variance of each feature.
        flops += 3 * entries + changes * parts * 8 * width
    else:
        # Sigma x; the change of Sigma, half of it thanks to symmetry; the mean and the vector of the change.
        flops += changes * parts * (2 * width * d + d * d + 3 * d)
    left, right = np.ones((DEPTH, ROWS_PER_SWEEP)), np.ones((DEPTH, WIDEST))
    target, times = np.empty((ROWS_PER_SWEEP, WIDEST)), flops // (2 * left.size * WIDEST)
    x, columns = np.full(width, width**-0.5), np.arange(width, dtype=np.uint32)
    return {
        "arithmetic": lambda: multiply_tiles(left, right, target, times),
        "memory": fetch_rows(X, y, np.arange(n)),
        "chain": lambda: follow_chain(columns, x, np.zeros(width), changes),
    }
