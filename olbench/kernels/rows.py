"""One example as a list of (index, value) pairs, whatever the storage.

A row is `n` entries of two arrays, each starting at its own offset: a kernel would count references to views,
which costs more than a short sum. CSR rows and dense rows without zeros are read in place; a dense row with
zeros is packed first. Dense and CSR storage therefore give the same order of sums and the same bits.
"""

import numpy as np
from numba import void

from olbench.kernels.compile import READ_1D, READ_INT64, ROWS, WRITE_1D, kernel
from olbench.kernels.counters import LINE, ROW
from olbench.kernels.helpers import helper, inlined
from olbench.kernels.matrix import inner
from olbench.kernels.vectors import add, four, load, multiply, pack_four, prefetch, zeros

# Rows are prefetched this many rounds before they are read: a cache miss takes as long as several short
# rounds.
AHEAD = 8


@helper
def open_rows(rows):
    """Return the arrays of all indices and of all values, and what `locate` needs to find a row in them.

    A dense row with zeros is packed into two arrays of its own; the indices start as those of a dense row
    without zeros. CSR rows need no such arrays: sparse data may have billions of features.
    """
    dense, has_zeros = rows[0], rows[5]
    d = dense.shape[1] if dense.shape[0] > 0 else 0
    packed_columns, packed_values = np.arange(d).astype(np.uint32), np.empty(d)
    storage = (dense, rows[3], has_zeros, packed_columns, packed_values)
    if dense.shape[0] == 0:
        return rows[2], rows[1], storage
    if has_zeros:
        return packed_columns, packed_values, storage
    return packed_columns, dense.ravel(), storage


@inlined
def locate(storage, i):
    """Return the number of entries of row i and the offsets of its indices and values."""
    dense, indptr, has_zeros, packed_columns, packed_values = storage
    d = dense.shape[1]
    if dense.shape[0] == 0:
        n, c, o = indptr[i + 1] - indptr[i], indptr[i], indptr[i]
    elif has_zeros:
        n, c, o = pack(dense, i, packed_columns, packed_values), 0, 0
    else:
        n, c, o = d, 0, i * d
    return n, c, o


@inlined
def read_round(rows, y, order, now, storage):
    """Return the entry of the order, its row and what `locate` finds; prefetch for a later round."""
    entry = order[now]
    i = entry & ROW
    announce(rows, y, order, now)
    n, c, o = locate(storage, i)
    return entry, i, n, c, o


@inlined
def announce(rows, y, order, now):
    """Prefetch what round now + AHEAD will read: the hardware cannot predict a random order.

    Rows in the order of memory are left to the hardware. Where a sparse row begins must be known by then, so
    that is prefetched as long before. A row need not begin with a line, so its last entry may be on one more.
    """
    dense, data, columns, indptr, norms = rows[0], rows[1], rows[2], rows[3], rows[4]
    if now + AHEAD >= order.size:
        return
    i = order[now + AHEAD] & ROW
    if i == (order[now] & ROW) + AHEAD:
        return
    prefetch(y, (i,))
    prefetch(norms, (i,))
    if dense.shape[0] > 0:
        for j in range(0, dense.shape[1], LINE):
            prefetch(dense, (i, j))
        prefetch(dense, (i, dense.shape[1] - 1))
        return
    if now + 2 * AHEAD < order.size:
        prefetch(indptr, (order[now + 2 * AHEAD] & ROW,))
    begin, end = indptr[i], indptr[i + 1]
    if begin == end:
        return
    for k in range(begin, end, LINE):
        prefetch(data, (k,))
    # An index takes half of a double.
    for k in range(begin, end, 2 * LINE):
        prefetch(columns, (k,))
    prefetch(data, (end - 1,))
    prefetch(columns, (end - 1,))


@inlined
def pack(dense, i, packed_columns, packed_values):
    count = 0
    # Every entry is written and only the count depends on its value: a branch would be mispredicted often.
    for j in range(dense.shape[1]):
        packed_columns[count] = j
        packed_values[count] = dense[i, j]
        count += dense[i, j] != 0.0
    return count


@inlined
def dot(vector, columns, c, values, o, n):
    """Return vector . x, summed in four lanes by position.

    Entry k of the row goes to lane k % 4 and the remainder to lane 0, with or without gathering. Four lanes
    hide the latency of an addition.
    """
    if n == vector.size:
        return inner(vector, values, o)
    whole = n - n % 4
    total = zeros(4)
    for k in range(0, whole, 4):
        b = c + k
        j0, j1, j2, j3 = columns[b], columns[b + 1], columns[b + 2], columns[b + 3]
        w = pack_four(vector[j0], vector[j1], vector[j2], vector[j3])
        total = add(total, multiply(w, load(total, values, (o + k,))))
    s0, s1, s2, s3 = four(total)
    for k in range(whole, n):
        s0 += vector[columns[c + k]] * values[o + k]
    return (s0 + s1) + (s2 + s3)


@inlined
def dot_row(matrix, i, columns, c, values, o, n):
    """Return matrix[i] . x. In a kernel itself, numba would count references to the view."""
    return dot(matrix[i], columns, c, values, o, n)


@inlined
def squared_norm(values, o, n):
    """Return the sum of squares of n values starting at offset o, in the order of `dot`."""
    whole = n - n % 4
    total = zeros(4)
    for k in range(o, o + whole, 4):
        x = load(total, values, (k,))
        total = add(total, multiply(x, x))
    s0, s1, s2, s3 = four(total)
    for k in range(o + whole, o + n):
        s0 += values[k] * values[k]
    return (s0 + s1) + (s2 + s3)


@kernel(void(ROWS, READ_INT64, READ_1D, WRITE_1D))
def score_rows(rows, order, vector, scores):
    """Set scores[k] to vector . x of row order[k], summed as in a pass."""
    columns, values, storage = open_rows(rows)
    for k in range(order.size):
        n, c, o = locate(storage, order[k])
        scores[k] = dot(vector, columns, c, values, o, n)


@kernel(void(ROWS, WRITE_1D))
def measure_norms(rows, norms):
    _, values, storage = open_rows(rows)
    for i in range(norms.size):
        n, _, o = locate(storage, i)
        norms[i] = squared_norm(values, o, n)
