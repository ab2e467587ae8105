"""The compiled loops of `rows`, apart from it: a report needs its storage, and never numba."""

from typing import Any

from numba import boolean, float64, int32, int64, types

from olbench.kernels.compile import kernel

WRITE_INT32 = types.Array(int32, 1, "C")
READ_BOOLEANS = types.Array(boolean, 1, "C", readonly=True)


@kernel(
    types.UniTuple(int64, 2)(
        READ_BOOLEANS, types.Array(int64, 1, "C"), WRITE_INT32, types.Array(float64, 1, "C")
    )
)
def keep(mask: Any, indptr: Any, indices: Any, data: Any) -> Any:
    """Move the non-zero entries of the masked rows to the front; return how many rows and entries remain."""
    rows, entries, begin = 0, 0, 0
    for i in range(mask.size):
        end = indptr[i + 1]
        if mask[i]:
            for k in range(begin, end):
                if data[k] != 0.0:
                    data[entries], indices[entries] = data[k], indices[k]
                    entries += 1
            rows += 1
            indptr[rows] = entries
        begin = end
    return rows, entries


@kernel(types.void(types.Array(int64, 1, "C"), WRITE_INT32, types.Array(float64, 1, "C"), int64))
def spread(indptr: Any, indices: Any, data: Any, d: Any) -> Any:
    """From the last row to the first, so that no entry is overwritten before it is moved."""
    for i in range(indptr.size - 2, -1, -1):
        k = indptr[i + 1] - 1
        for column in range(d - 1, -1, -1):
            if k >= indptr[i] and indices[k] == column:
                data[i * d + column] = data[k]
                k -= 1
            else:
                data[i * d + column] = 0.0
