"""One example as a list of (index, value), whatever the storage.

A row is `n` entries of two arrays from two offsets on. CSR rows and dense rows without zeros are read where
they lie; a dense row with zeros is packed first. So dense and CSR rows give the same list and the same bits.
Offsets stand in for views because a view of an array costs two counted references, more than a short sum.
"""

from typing import Any

import numpy as np
from numba import void

from olbench.kernels.compile import ROWS, WRITE_1D, helper, kernel
from olbench.kernels.matrix import inner, inner_row


@helper
def buffers(d: int) -> Any:
    """Return room for a packed row; as it is made, the indices are those of a row without zeros."""
    return np.arange(d).astype(np.uint32), np.empty(d)


@helper
def sources(rows: Any, packed_columns: Any, packed_values: Any) -> Any:
    """Return the two arrays that hold the indices and the values of every row."""
    dense = rows[0]
    if dense.shape[0] == 0:
        return rows[2], rows[1]
    if rows[5]:
        return packed_columns, packed_values
    return packed_columns, dense.ravel()


@helper
def locate(dense: Any, indptr: Any, has_zeros: Any, i: int, packed_columns: Any, packed_values: Any) -> Any:
    """Return the number of entries of row i and the offsets of their indices and values in the sources."""
    d = dense.shape[1]
    if dense.shape[0] == 0:
        n, c, o = indptr[i + 1] - indptr[i], indptr[i], indptr[i]
    elif has_zeros:
        n, c, o = pack(dense, i, packed_columns, packed_values), 0, 0
    else:
        n, c, o = d, 0, i * d
    return n, c, o


@helper
def pack(dense: Any, i: int, packed_columns: Any, packed_values: Any) -> Any:
    """Copy the non-zero entries of a dense row and return their number."""
    count = 0
    for j in range(dense.shape[1]):
        packed_columns[count] = j
        packed_values[count] = dense[i, j]
        count += dense[i, j] != 0.0
    return count


@helper
def dot(vector: Any, columns: Any, c: Any, values: Any, o: Any, n: Any) -> Any:
    """Return vector . x, summed in four lanes by position; a row without zeros is read straight on."""
    if n == vector.size:
        return inner(vector, values, o)
    whole = n - n % 4
    s0 = s1 = s2 = s3 = 0.0
    for k in range(0, whole, 4):
        s0 += vector[columns[c + k]] * values[o + k]
        s1 += vector[columns[c + k + 1]] * values[o + k + 1]
        s2 += vector[columns[c + k + 2]] * values[o + k + 2]
        s3 += vector[columns[c + k + 3]] * values[o + k + 3]
    for k in range(whole, n):
        s0 += vector[columns[c + k]] * values[o + k]
    return (s0 + s1) + (s2 + s3)


@helper
def dot_row(matrix: Any, i: Any, columns: Any, c: Any, values: Any, o: Any, n: Any) -> Any:
    """Return matrix[i] . x, summed as `dot` does."""
    if n == matrix.shape[1]:
        return inner_row(matrix, i, values, o)
    whole = n - n % 4
    s0 = s1 = s2 = s3 = 0.0
    for k in range(0, whole, 4):
        s0 += matrix[i, columns[c + k]] * values[o + k]
        s1 += matrix[i, columns[c + k + 1]] * values[o + k + 1]
        s2 += matrix[i, columns[c + k + 2]] * values[o + k + 2]
        s3 += matrix[i, columns[c + k + 3]] * values[o + k + 3]
    for k in range(whole, n):
        s0 += matrix[i, columns[c + k]] * values[o + k]
    return (s0 + s1) + (s2 + s3)


@helper
def squared_norm(values: Any, o: Any, n: Any) -> Any:
    """Return the sum of the squares of n values from offset o on, in four lanes by position."""
    whole = n - n % 4
    s0 = s1 = s2 = s3 = 0.0
    for k in range(o, o + whole, 4):
        s0 += values[k] * values[k]
        s1 += values[k + 1] * values[k + 1]
        s2 += values[k + 2] * values[k + 2]
        s3 += values[k + 3] * values[k + 3]
    for k in range(o + whole, o + n):
        s0 += values[k] * values[k]
    return (s0 + s1) + (s2 + s3)


@kernel(void(ROWS, WRITE_1D))
def measure_norms(rows: Any, norms: Any) -> None:
    """Set norms[i] to ||x_i||^2."""
    dense, indptr, has_zeros = rows[0], rows[3], rows[5]
    packed_columns, packed_values = buffers(dense.shape[1])
    values = sources(rows, packed_columns, packed_values)[1]
    for i in range(norms.size):
        n, _, o = locate(dense, indptr, has_zeros, i, packed_columns, packed_values)
        norms[i] = squared_norm(values, o, n)
