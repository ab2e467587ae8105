"""The features of a part of the data, and sums of models over such features."""

from numba import int64

from olbench.kernels.compile import (
    READ_2D,
    READ_INT64,
    READ_UINT32,
    ROWS,
    WRITE_2D,
    WRITE_INT64,
    WRITE_UINT32,
    kernel,
)
from olbench.kernels.rows import locate, open_rows


@kernel(int64(ROWS, READ_INT64, WRITE_INT64, WRITE_UINT32))
def count_features(rows, order, counts, touched):
    """Add to counts[j] how many rows of `order` have feature j; list the new features; return how many.

    A feature is new if its count was zero. They are listed as they first occur, which avoids a scan of all d
    counts: a part of the data has few of them.
    """
    columns, _, storage = open_rows(rows)
    new = 0
    for t in range(order.size):
        n, c, _ = locate(storage, order[t])
        for k in range(c, c + n):
            j = columns[k]
            if counts[j] == 0:
                touched[new] = j
                new += 1
            counts[j] += 1
    return new


@kernel(int64(READ_UINT32, READ_2D, READ_UINT32, READ_2D, WRITE_UINT32, WRITE_2D))
def merge_sums(one, one_sums, other, other_sums, columns, sums):
    """Add two lists of sums by feature, each sorted by feature; return the length of the result.

    Every feature has one row of sums. A row that only one list has is copied, so adding nothing changes no
    bit, and each sum has at most two terms: the calling tree gives their order.
    """
    i = j = size = 0
    width = sums.shape[1]
    while i < one.size or j < other.size:
        if j == other.size or (i < one.size and one[i] < other[j]):
            columns[size] = one[i]
            for k in range(width):
                sums[size, k] = one_sums[i, k]
            i += 1
        elif i == one.size or other[j] < one[i]:
            columns[size] = other[j]
            for k in range(width):
                sums[size, k] = other_sums[j, k]
            j += 1
        else:
            columns[size] = one[i]
            for k in range(width):
                sums[size, k] = one_sums[i, k] + other_sums[j, k]
            i += 1
            j += 1
        size += 1
    return size
