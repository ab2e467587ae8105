"""Sums over the rows of a square matrix, written so that the compiler can vectorise them.

Each entry of the result has a sum of its own with a fixed order, so vectorising over entries changes no bits.
"""

from olbench.kernels.helpers import helper, inlined
from olbench.kernels.vectors import add, four, load, multiply, spread, store, zeros

# Up to this many entries (128 KiB, within a second-level cache) rows are summed in panels of columns. A panel
# reads a stretch of every row, which a larger matrix would have to fetch from memory once for each panel.
PANELS_UP_TO = 2**14


@inlined
def project(matrix, columns, c, values, o, n, target):
    """Set target to matrix' x: the sum of the matrix rows that x has entries for, weighted by its values.

    Every entry is one sum in the order of x, whichever way it is computed, here or in `blocked`.
    """
    # In this order LLVM's code for the panels is a tenth faster at d = 50 to 60.
    if n * target.size > PANELS_UP_TO:
        target[:] = 0.0
        for k in range(0, n, 8):
            add_eight(matrix, columns, c, values, o, k, n, target)
    else:
        sum_panels(matrix, columns, c, values, o, n, target)


@inlined
def add_eight(matrix, columns, c, values, o, k, n, target):
    """Add the rows of the entries from k on, at most eight, in one sweep over the target.

    They share one load and one store of it. Neighbouring entries hide the latency of the chain of additions.
    """
    i0, w0 = entry(columns, c, values, o, k, n)
    i1, w1 = entry(columns, c, values, o, k + 1, n)
    i2, w2 = entry(columns, c, values, o, k + 2, n)
    i3, w3 = entry(columns, c, values, o, k + 3, n)
    i4, w4 = entry(columns, c, values, o, k + 4, n)
    i5, w5 = entry(columns, c, values, o, k + 5, n)
    i6, w6 = entry(columns, c, values, o, k + 6, n)
    i7, w7 = entry(columns, c, values, o, k + 7, n)
    for j in range(target.size):
        low = (target[j] + w0 * matrix[i0, j]) + w1 * matrix[i1, j]
        low = (low + w2 * matrix[i2, j]) + w3 * matrix[i3, j]
        high = (low + w4 * matrix[i4, j]) + w5 * matrix[i5, j]
        target[j] = (high + w6 * matrix[i6, j]) + w7 * matrix[i7, j]


@inlined
def entry(columns, c, values, o, k, n):
    """Return the k-th (index, value) of a row of n entries, or (an index, 0) beyond its end."""
    if k < n:
        return columns[c + k], values[o + k]
    return columns[c], 0.0


@inlined
def sum_panels(matrix, columns, c, values, o, n, target):
    """Project in panels of columns, each summed in registers; a full row needs no `columns`.

    The last panel ends at d and may overlap the one before. It then computes a few sums twice, with the same
    result, instead of leaving columns to a scalar loop.
    """
    d, rest = target.size, target.size % 32
    if d < 8:
        target[:] = 0.0
        for k in range(n):
            for j in range(d):
                target[j] += values[o + k] * matrix[k if columns is None else columns[c + k], j]
        return
    if d < 16:
        sum_panel(matrix, columns, c, values, o, n, target, 0, zeros(8))
        if d > 8:
            sum_panel(matrix, columns, c, values, o, n, target, d - 8, zeros(8))
        return
    if d < 32:
        sum_panel(matrix, columns, c, values, o, n, target, 0, zeros(16))
        if d > 16:
            sum_panel(matrix, columns, c, values, o, n, target, d - 16, zeros(16))
        return
    # 32 doubles take half of the registers of AVX2, which leaves room for the row and its weight.
    for j in range(0, d - rest, 32):
        sum_panel(matrix, columns, c, values, o, n, target, j, zeros(32))
    if rest > 24:
        sum_panel(matrix, columns, c, values, o, n, target, d - 32, zeros(32))
    elif rest > 16:
        sum_panel(matrix, columns, c, values, o, n, target, d - 24, zeros(24))
    elif rest > 8:
        sum_panel(matrix, columns, c, values, o, n, target, d - 16, zeros(16))
    elif rest > 0:
        sum_panel(matrix, columns, c, values, o, n, target, d - 8, zeros(8))


@inlined
def sum_panel(matrix, columns, c, values, o, n, target, j, total):
    """Set the entries of target from j on, as many as `total` has lanes.

    Rows are added one by one in the order of x, so a column has the same bits in a panel of any width.
    """
    for k in range(n):
        row = load(total, matrix, (k if columns is None else columns[c + k], j))
        total = add(total, multiply(spread(total, values[o + k]), row))
    store(total, target, (j,))


@inlined
def inner(vector, values, o):
    """Return the inner product of a vector with the values from offset o on, in the order of `rows.dot`."""
    whole = vector.size - vector.size % 4
    total = zeros(4)
    for j in range(0, whole, 4):
        total = add(total, multiply(load(total, vector, (j,)), load(total, values, (o + j,))))
    return finish(vector, values, o, whole, total)


@inlined
def inner_four(matrix, i, vector):
    """Return `inner` of a vector with rows i to i + 3: four chains of additions, one load of it."""
    whole = vector.size - vector.size % 4
    t0 = t1 = t2 = t3 = zeros(4)
    for j in range(0, whole, 4):
        x = load(t0, vector, (j,))
        t0 = add(t0, multiply(load(x, matrix, (i, j)), x))
        t1 = add(t1, multiply(load(x, matrix, (i + 1, j)), x))
        t2 = add(t2, multiply(load(x, matrix, (i + 2, j)), x))
        t3 = add(t3, multiply(load(x, matrix, (i + 3, j)), x))
    low = finish(vector, matrix[i], 0, whole, t0), finish(vector, matrix[i + 1], 0, whole, t1)
    return *low, finish(vector, matrix[i + 2], 0, whole, t2), finish(vector, matrix[i + 3], 0, whole, t3)


@inlined
def finish(vector, values, o, whole, total):
    """Return the inner product whose first `whole` products are summed in the lanes of `total`."""
    s0, s1, s2, s3 = four(total)
    for j in range(whole, vector.size):
        s0 += vector[j] * values[o + j]
    return (s0 + s1) + (s2 + s3)


@helper
def row_sums(matrix, sums):
    """Set sums[i] to the sum of absolute values in row i.

    By Gershgorin's theorem the largest of them bounds the eigenvalues of a symmetric matrix.
    """
    whole = matrix.shape[1] - matrix.shape[1] % 4
    for i in range(matrix.shape[0]):
        s0 = s1 = s2 = s3 = 0.0
        for j in range(0, whole, 4):
            s0 += abs(matrix[i, j])
            s1 += abs(matrix[i, j + 1])
            s2 += abs(matrix[i, j + 2])
            s3 += abs(matrix[i, j + 3])
        for j in range(whole, matrix.shape[1]):
            s0 += abs(matrix[i, j])
        sums[i] = (s0 + s1) + (s2 + s3)


@helper
def residual_sums(matrix, axis, sums):
    """Set sums as `row_sums` would for a symmetric matrix minus the outer product of an axis with itself.

    Symmetry allows sums over columns instead, which the compiler vectorises in the order of memory.
    """
    sums[:] = 0.0
    for i in range(axis.size):
        for j in range(axis.size):
            sums[j] += abs(matrix[i, j] - axis[i] * axis[j])


@helper
def largest_column_sum(matrix, sums):
    """Return the largest sum of absolute values in a column; `sums` is working memory."""
    sums[:] = 0.0
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            sums[j] += abs(matrix[i, j])
    return sums.max()
