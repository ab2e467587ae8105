"""One example as a list of (index, value), whatever the storage.

Dense and CSR rows become the same list before any arithmetic, so both give the same bits.
"""

from typing import Any

from olbench.kernels.compile import helper


@helper
def fetch(rows: Any, i: int) -> Any:
    """Return the indices and values of row i without its zeros; no buffers: no zeros to look for."""
    dense, data, indices, indptr, identity, packed_indices, packed_values = rows
    if dense.shape[0] == 0:
        return indices[indptr[i] : indptr[i + 1]], data[indptr[i] : indptr[i + 1]]
    row = dense[i]
    if packed_values.size == 0:
        return identity, row
    zeros = 0
    for j in range(row.size):
        zeros += row[j] == 0.0
    if zeros == 0:
        return identity, row
    count = 0
    for j in range(row.size):
        packed_indices[count] = j
        packed_values[count] = row[j]
        count += row[j] != 0.0
    return packed_indices[:count], packed_values[:count]


@helper
def dot(vector: Any, indices: Any, values: Any) -> Any:
    """Return vector . x, summed in four lanes by position."""
    n = values.size
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
def inner(left: Any, right: Any) -> Any:
    """Return left . right for two dense vectors, summed in four lanes by position."""
    n = left.size
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
def squared_norm(values: Any) -> Any:
    """Return ||x||^2."""
    return inner(values, values)


@helper
def add_scaled(target: Any, scale: float, indices: Any, values: Any) -> None:
    """Add scale * x to a dense vector."""
    for k in range(values.size):
        target[indices[k]] += scale * values[k]
