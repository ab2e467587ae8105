"""Second-order passes in the feature space of a Mercer kernel.

Mean and covariance are combinations of the support examples x_1, ..., x_n, those that changed the state:

    mu = sum_j nu_j x_j,    Sigma^-1 = I / a + sum_j c_j x_j x_j',

so Sigma = a I - a^2 X' M^-1 X with M = diag(1 / c_j) + a K and K the kernel matrix of the support. The
matrix of coefficients of Sigma would lose digits in updates; the Cholesky factor L of M is kept. With k the
kernel values of x and the support, and u = L^-1 (a k):

    v = a K(x, x) - u.u,    Sigma x = a x - a sum_j b_j x_j,  b = L^-T u,

and a new support example appends the row (u, sqrt(1 / c + v)) to L. No other row changes. A round costs nnz
for each support example, n^2 / 2 if its variance is needed and as much again if it changes the state. With a
large support, reading L bounds a round.
"""

import math

import numpy as np
from numba import boolean, float64, types, void

from olbench.kernels.compile import (
    READ_1D,
    READ_INT64,
    READ_UINT32,
    ROWS,
    SECOND_ORDER_RULE,
    WRITE_1D,
    WRITE_INT64,
    WRITE_UINT32,
    kernel,
    pass_kernel,
)
from olbench.kernels.counters import EXTRA, ROUNDS, ROW
from olbench.kernels.covariance import has_no_loss
from olbench.kernels.first_order import add_full
from olbench.kernels.helpers import inlined
from olbench.kernels.margins import (
    VARIANCE,
    count_breakdown,
    count_round,
    is_change,
    is_unlearned,
    keep,
    keeps_variance,
)
from olbench.kernels.rows import dot, locate, open_rows, squared_norm
from olbench.kernels.vectors import add, four, load, multiply, zeros

LINEAR, RBF, POLY = 0.0, 1.0, 2.0
EPSILON = 2.0**-52

#: kind, gamma, degree, coef0
SHAPE = types.UniTuple(float64, 4)
#: data, columns, indptr and ||x||^2 of the support examples
SUPPORT = types.Tuple((READ_1D, READ_UINT32, READ_INT64, READ_1D))
GROWING = (WRITE_1D, WRITE_UINT32, WRITE_INT64, WRITE_1D)


@inlined
def evaluate(shape, product, s, t):
    """Return K(x, z) for x.z = product, ||x||^2 = s and ||z||^2 = t."""
    kind, gamma, degree, coef0 = shape
    if kind == LINEAR:
        return product
    if kind == RBF:
        # Rounding can make the squared distance of nearly equal rows negative.
        return math.exp(-gamma * max(0.0, (s + t) - 2.0 * product))
    base = gamma * product + coef0
    power = 1.0
    # The degree is small and whole, and repeated products have the same bits on every machine.
    for _ in range(int(degree)):
        power *= base
    return power


@inlined
def evaluate_row(shape, support, size, columns, c, values, o, n, s, scattered, k):
    """Set k[j] to the kernel of a row of n entries and ||x||^2 = s with support example j.

    The row is scattered into an array of zeros of length d, so an inner product costs only the entries of the
    support example. The same entries are cleared afterwards, which is cheaper than clearing d of them.
    """
    data, indices, indptr, norms = support
    for e in range(n):
        scattered[columns[c + e]] = values[o + e]
    for j in range(size):
        begin = indptr[j]
        product = dot(scattered, indices, begin, data, begin, indptr[j + 1] - begin)
        k[j] = evaluate(shape, product, s, norms[j])
    for e in range(n):
        scattered[columns[c + e]] = 0.0


@inlined
def inner_from(left, o, right, n):
    """Return the inner product of left[o : o + n] with right[:n].

    Rows of L are long: sixteen lanes hide the latency of the additions.
    """
    long, whole = n - n % 16, n - n % 4
    t0 = t1 = t2 = t3 = zeros(4)
    for j in range(0, long, 16):
        t0 = add(t0, multiply(load(t0, left, (o + j,)), load(t0, right, (j,))))
        t1 = add(t1, multiply(load(t1, left, (o + j + 4,)), load(t1, right, (j + 4,))))
        t2 = add(t2, multiply(load(t2, left, (o + j + 8,)), load(t2, right, (j + 8,))))
        t3 = add(t3, multiply(load(t3, left, (o + j + 12,)), load(t3, right, (j + 12,))))
    for j in range(long, whole, 4):
        t0 = add(t0, multiply(load(t0, left, (o + j,)), load(t0, right, (j,))))
    s0, s1, s2, s3 = four(add(add(t0, t1), add(t2, t3)))
    for j in range(whole, n):
        s0 += left[o + j] * right[j]
    return (s0 + s1) + (s2 + s3)


@inlined
def solve_forward(factor, size, a, k, u):
    """Set u to L^-1 (a k), row by row; row j of L starts at entry j (j + 1) / 2 of `factor`."""
    o = 0
    for j in range(size):
        u[j] = (a * k[j] - inner_from(factor, o, u, j)) / factor[o + j]
        o += j + 1


@inlined
def solve_backward(factor, size, b):
    """Replace b by L^-T b.

    L' is solved from its last entry on. What an entry contributes to those before it is a row of L, so memory
    is read along its rows here too, and every entry of b has its terms in the same order.
    """
    o = size * (size + 1) // 2
    for step in range(size):
        j = size - 1 - step
        o -= j + 1
        b[j] /= factor[o + j]
        add_full(b[:j], -b[j], factor, o)


@pass_kernel(SECOND_ORDER_RULE, SHAPE, float64, WRITE_1D, WRITE_1D, *GROWING, WRITE_INT64, boolean)
def run(
    rule, p, rows, y, order, shape, a, nu, factor, data, indices, indptr, norms, counters, screened, margins
):
    """Run the examples of `order`; counters[EXTRA] is the size of the support.

    The arrays must have room for every row of `order` as a support example. v is a difference; where it is
    within rounding of zero, the round is a breakdown and changes nothing. With `screened` the rule promises
    that its loss does not fall as v grows, so a round without loss at v = a K(x, x), which v never exceeds,
    needs no v.
    """
    columns, values, storage = open_rows(rows)
    scattered = np.zeros(rows[0].shape[1])
    k, u, b = np.empty(nu.size), np.empty(nu.size), np.empty(nu.size)
    support = (data, indices, indptr, norms)
    for entry in order:
        i = entry & ROW
        n, at, o = locate(storage, i)
        size, s = counters[EXTRA], rows[4][i]
        evaluate_row(shape, support, size, columns, at, values, o, n, s, scattered, k)
        f = inner_from(nu, 0, k, size)
        t, mistake = count_round(counters, margins, entry, f, y[i])
        m = y[i] * f
        top = a * evaluate(shape, s, s, s)
        # An empty row is the origin: with a linear kernel nothing can be learnt from it, with others it can.
        if not np.isfinite(f) or (n > 0 and not 0.0 < s < np.inf) or not 0.0 <= top < np.inf:
            count_breakdown(counters, entry, counters[ROUNDS])
            continue
        passive = is_unlearned(entry)
        if screened and not passive:
            passive = has_no_loss(rule, p, m, top, mistake, t, np.inf)
        if passive and not keeps_variance(margins):
            continue
        solve_forward(factor, size, a, k, u)
        v = top - squared_norm(u, 0, size)
        # Rounding in u.u grows with the number of its terms, which are at most `top` in sum.
        if not v > EPSILON * (size + 1) * top:
            v = 0.0
        keep(margins, entry, counters[ROUNDS], VARIANCE, v)
        if passive:
            continue
        if v == 0.0 and top > 0.0:
            count_breakdown(counters, entry, counters[ROUNDS])
        loss, alpha, c = rule(m, v, mistake, t, p)
        if not is_change(counters, entry, v, loss, alpha, c):
            continue
        step = a * alpha * y[i]
        b[:size] = u[:size]
        solve_backward(factor, size, b)
        for j in range(size):
            nu[j] -= step * b[j]
        nu[size] = step
        start = size * (size + 1) // 2
        for j in range(size):
            factor[start + j] = u[j]
        # c = 0 changes only the mean: an infinite diagonal keeps the example out of Sigma.
        factor[start + size] = math.sqrt(1.0 / c + v)
        begin = indptr[size]
        for e in range(n):
            indices[begin + e] = columns[at + e]
            data[begin + e] = values[o + e]
        indptr[size + 1] = begin + n
        norms[size] = s
        counters[EXTRA] += 1


@kernel(void(ROWS, READ_INT64, SHAPE, SUPPORT, READ_1D, WRITE_1D))
def score_rows(rows, order, shape, support, nu, scores):
    columns, values, storage = open_rows(rows)
    norms = rows[4]
    scattered, k = np.zeros(rows[0].shape[1]), np.empty(nu.size)
    for e in range(order.size):
        i = order[e]
        n, at, o = locate(storage, i)
        evaluate_row(shape, support, nu.size, columns, at, values, o, n, norms[i], scattered, k)
        scores[e] = inner_from(nu, 0, k, nu.size)


@kernel(void(ROWS, SHAPE, SUPPORT, float64, READ_1D, WRITE_1D))
def measure_variances(rows, shape, support, a, factor, variances):
    columns, values, storage = open_rows(rows)
    norms = rows[4]
    size = support[3].size
    scattered, k, u = np.zeros(rows[0].shape[1]), np.empty(size), np.empty(size)
    for i in range(variances.size):
        n, at, o = locate(storage, i)
        evaluate_row(shape, support, size, columns, at, values, o, n, norms[i], scattered, k)
        solve_forward(factor, size, a, k, u)
        top = a * evaluate(shape, norms[i], norms[i], norms[i])
        variances[i] = max(0.0, top - squared_norm(u, 0, size))
