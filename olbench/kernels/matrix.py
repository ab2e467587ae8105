"""Sums over the rows of a square matrix, written so that the compiler can use the machine's vectors."""

from typing import Any

from olbench.kernels.compile import helper


@helper
def add_eight(
    target: Any, matrix: Any,
    i0: Any, i1: Any, i2: Any, i3: Any, i4: Any, i5: Any, i6: Any, i7: Any,
    w0: Any, w1: Any, w2: Any, w3: Any, w4: Any, w5: Any, w6: Any, w7: Any,
) -> None:  # fmt: skip
    """Add eight weighted rows of a matrix in one sweep over the target; the order of the sum is fixed."""
    r0, r1, r2, r3 = matrix[i0], matrix[i1], matrix[i2], matrix[i3]
    r4, r5, r6, r7 = matrix[i4], matrix[i5], matrix[i6], matrix[i7]
    for j in range(target.size):
        low = (w0 * r0[j] + w1 * r1[j]) + (w2 * r2[j] + w3 * r3[j])
        high = (w4 * r4[j] + w5 * r5[j]) + (w6 * r6[j] + w7 * r7[j])
        target[j] += low + high


@helper
def entry(indices: Any, values: Any, n: Any, k: Any) -> Any:
    """Return the k-th (index, value) of a row of n, or one that adds nothing when the row has ended."""
    if k < n:
        return indices[k], values[k]
    return indices[0], 0.0


@helper
def project(matrix: Any, indices: Any, values: Any, n: Any, target: Any) -> None:
    """Set target to the sum over k < n of values[k] * matrix[indices[k]]."""
    target[:] = 0.0
    whole = n - n % 8
    for k in range(0, whole, 8):
        add_eight(
            target, matrix,
            indices[k], indices[k + 1], indices[k + 2], indices[k + 3],
            indices[k + 4], indices[k + 5], indices[k + 6], indices[k + 7],
            values[k], values[k + 1], values[k + 2], values[k + 3],
            values[k + 4], values[k + 5], values[k + 6], values[k + 7],
        )  # fmt: skip
    if whole < n:
        i0, w0 = entry(indices, values, n, whole)
        i1, w1 = entry(indices, values, n, whole + 1)
        i2, w2 = entry(indices, values, n, whole + 2)
        i3, w3 = entry(indices, values, n, whole + 3)
        i4, w4 = entry(indices, values, n, whole + 4)
        i5, w5 = entry(indices, values, n, whole + 5)
        i6, w6 = entry(indices, values, n, whole + 6)
        i7, w7 = entry(indices, values, n, whole + 7)
        add_eight(target, matrix, i0, i1, i2, i3, i4, i5, i6, i7, w0, w1, w2, w3, w4, w5, w6, w7)


@helper
def largest_row_sum(matrix: Any) -> Any:
    """Return the largest sum of absolute values in a row: no eigenvalue of a symmetric matrix exceeds it."""
    largest = 0.0
    for i in range(matrix.shape[0]):
        row, s0, s1, s2, s3 = matrix[i], 0.0, 0.0, 0.0, 0.0
        whole = row.size - row.size % 4
        for j in range(0, whole, 4):
            s0 += abs(row[j])
            s1 += abs(row[j + 1])
            s2 += abs(row[j + 2])
            s3 += abs(row[j + 3])
        for j in range(whole, row.size):
            s0 += abs(row[j])
        largest = max(largest, (s0 + s1) + (s2 + s3))
    return largest


@helper
def largest_column_sum(matrix: Any, sums: Any) -> Any:
    """Return the largest sum of absolute values in a column; `sums` is room to work in."""
    sums[:] = 0.0
    for i in range(matrix.shape[0]):
        row = matrix[i]
        for j in range(row.size):
            sums[j] += abs(row[j])
    return sums.max()
