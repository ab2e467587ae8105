"""One example as a list of (index, value), whatever the storage.

Dense and CSR rows are copied into the same list before any arithmetic, so both give the same bits; the copy
costs less than the reference counts that a view would.
"""

from typing import Any

import numpy as np

from olbench.kernels.compile import helper


@helper
def buffers(d: int) -> Any:
    """Return room for the indices and values of a row; the indices are right for a row without zeros."""
    return np.arange(d).astype(np.int32), np.empty(d)


@helper
def fetch(rows: Any, i: int, indices: Any, values: Any) -> Any:
    """Copy the non-zero entries of row i and return their number."""
    dense, data, columns, indptr, has_zeros = rows
    if dense.shape[0] == 0:
        begin = indptr[i]
        count = indptr[i + 1] - begin
        for k in range(count):
            indices[k] = columns[begin + k]
            values[k] = data[begin + k]
        return count
    d = dense.shape[1]
    if not has_zeros:
        for j in range(d):
            values[j] = dense[i, j]
        return d
    count = 0
    for j in range(d):
        indices[count] = j
        values[count] = dense[i, j]
        count += dense[i, j] != 0.0
    return count


@helper
def dot(vector: Any, indices: Any, values: Any, n: Any) -> Any:
    """Return vector . x for the first n entries of x, summed in four lanes by position."""
    whole = n - n % 4
    s0 = s1 = s2 = s3 = 0.0
    for k in range(0, whole, 4):
        s0 += vector[indices[k]] * values[k]
        s1 += vector[indices[k + 1]] * values[k + 1]
        s2 += vector[indices[k + 2]] * values[k + 2]
        s3 += vector[indices[k + 3]] * values[k + 3]
    for k in range(whole, n):
        s0 += vector[indices[k]] * values[k]
    return (s0 + s1) + (s2 + s3)


@helper
def inner(left: Any, right: Any, n: Any) -> Any:
    """Return left . right over the first n entries of two vectors, summed in four lanes by position."""
    whole = n - n % 4
    s0 = s1 = s2 = s3 = 0.0
    for k in range(0, whole, 4):
        s0 += left[k] * right[k]
        s1 += left[k + 1] * right[k + 1]
        s2 += left[k + 2] * right[k + 2]
        s3 += left[k + 3] * right[k + 3]
    for k in range(whole, n):
        s0 += left[k] * right[k]
    return (s0 + s1) + (s2 + s3)


@helper
def add_scaled(target: Any, scale: float, indices: Any, values: Any, n: Any) -> None:
    """Add scale * x to a dense vector."""
    for k in range(n):
        target[indices[k]] += scale * values[k]
