"""Advice sets as kernels read them, and the steps of u that do not need a pass.

The inequalities of all sets lie below each other as CSR rows, so that a condition on one of many features
costs one entry. What depends on mu alone is prepared once, by the learner. `step.SETS` says what each
part of `sets` is.
"""

from olbench.kernels.helpers import helper


@helper
def product(sets, j, vector):
    """Return the product of inequality j with a vector, summed in the order of the columns."""
    values, columns, ends = sets[0], sets[1], sets[2]
    total = 0.0
    for k in range(ends[j], ends[j + 1]):
        total += values[k] * vector[columns[k]]
    return total


@helper
def add_row(sets, j, factor, vector):
    values, columns, ends = sets[0], sets[1], sets[2]
    for k in range(ends[j], ends[j + 1]):
        vector[columns[k]] += factor * values[k]


@helper
def solve(i, sets, p, w, u, room):
    """Set room to v = B (u - mu z D w) with B = (I + mu D D')^-1, and return 1 + d'v.

    v minimises |v - u|^2 + mu |D'v + z w|^2. With the term mu (1 + d'v)^2 the minimum is v - c (1 + d'v) B d,
    by the inverse of a matrix changed by d d', and 1 + d'v has the same sign at both.
    """
    bounds, starts, signs, inverse, corners = sets[3], sets[4], sets[5], sets[6], sets[7]
    first, size = starts[i], starts[i + 1] - starts[i]
    for j in range(size):
        room[size + j] = u[first + j] - p[1] * signs[i] * product(sets, first + j, w)
    gap = 1.0
    for j in range(size):
        corner = corners[i] + j * size
        total = 0.0
        for k in range(size):
            total += inverse[corner + k] * room[size + k]
        room[j] = total
        gap += bounds[first + j] * total
    return gap


@helper
def truncate(i, sets, gap, u, room):
    """Set u to (v - c gap B d)_+, where room holds v."""
    starts, directions, factors = sets[4], sets[8], sets[9]
    first = starts[i]
    for j in range(starts[i + 1] - first):
        u[first + j] = max(0.0, room[j] - factors[i] * gap * directions[first + j])
