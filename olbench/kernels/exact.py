"""Diagonal second-order passes whose step is the optimum over diagonal covariances.

A round that changes the state is bound by the divisions of Newton's method, one per entry and step.

The step meets the rule's constraint for the diagonal Sigma that it leaves behind, so it depends on the whole
row and not only on m and v. Let w_j = Sigma_j x_j^2 / v, which sum to one, and measure margins in a unit that
the rule chooses: r = m / unit is the margin before the step, g the gain, s = r + g the margin after it. The
rules of this family all lead to

    s = sum_j A w_j / (b + g K w_j),    b = b0 + b1 s,

with numbers A, b0, b1, K >= 0 from the rule, then alpha = g unit / v and c = g K / (b v).
"""

import math

import numpy as np

from olbench.kernels.compile import EXACT_RULE, WRITE_1D, WRITE_2D, WRITE_INT64, pass_kernel
from olbench.kernels.counters import UPDATES
from olbench.kernels.diagonal import predict_round, update_row
from olbench.kernels.helpers import inlined
from olbench.kernels.margins import is_effective
from olbench.kernels.rows import open_rows, read_round, squared_norm
from olbench.kernels.vectors import add, divide, four, load, multiply, spread, zeros

# The last step may change the solution by this fraction: convergence is quadratic, so what is left is
# rounding.
CLOSE = 1e-7
# Below this fraction of A the residual of the equation is rounding, however small the step itself may be.
NOISE = 1e-14
# Five steps are the most that random rows of up to 300 entries need. The bound only guards against a NaN.
MOST_STEPS = 60


@inlined
def measure_shares(variances, k, columns, c, values, o, n, v, shares, first):
    """Set shares[first + j] to w_j of a row by column k of the variances.

    The shares are read once in every step of the solver; here they become neighbours in memory.
    """
    scale = 1.0 / v
    for j in range(n):
        x = values[o + j]
        shares[first + j] = variances[columns[c + j], k] * (x * x) * scale


@inlined
def harmonic_mean(shares, n, b, slope, b1, K):
    """Return R, the mean of b + slope w_j weighted harmonically by w_j, and its derivative along g.

    1 / R is the sum of w_j / (b + slope w_j). One division of four lanes at a time decides the cost.
    """
    whole = n - n % 4
    total = slopes = zeros(4)
    one, base = spread(total, 1.0), spread(total, b)
    steep, b_slope, k_slope = spread(total, slope), spread(total, b1), spread(total, K)
    for k in range(0, whole, 4):
        w = load(total, shares, (k,))
        inverse = divide(one, add(base, multiply(steep, w)))
        term = multiply(w, inverse)
        total = add(total, term)
        slopes = add(slopes, multiply(multiply(term, inverse), add(b_slope, multiply(k_slope, w))))
    s0, s1, s2, s3 = four(total)
    d0, d1, d2, d3 = four(slopes)
    for k in range(whole, n):
        w = shares[k]
        inverse = 1.0 / (b + slope * w)
        s0 += w * inverse
        d0 += w * inverse * inverse * (b1 + K * w)
    total = (s0 + s1) + (s2 + s3)
    R = 1.0 / total
    return R, ((d0 + d1) + (d2 + d3)) * R * R


@inlined
def solve_linear(r, A, x, R, slope):
    """Return the solution of s (R + slope (g - g_now)) = A in the unknown that is `x` now.

    The unknown is s for r < 0 and g otherwise: the smaller of the two, so that neither is a difference of
    nearly equal numbers. Of the two forms of the root, the one without cancellation is used.
    """
    offset = R - slope * x
    b, c = (offset, A) if r < 0.0 else (offset + slope * r, A - r * offset)
    root = math.sqrt(b * b + 4.0 * slope * c)
    return 2.0 * c / (b + root) if b > 0.0 else (root - b) / (2.0 * slope)


@inlined
def solve_gain(shares, n, r, A, b0, b1, K):
    """Return (g, s), the gain in margin and the margin that solve the equation of this module.

    With R the harmonic mean, the equation is s R(g) = A, and R is concave and increasing in g. Newton's
    method replaces R by its tangent, which lies above it, so every iterate is a lower bound of the solution
    and the iterates increase: they need no further safeguard. The first line above R is the arithmetic mean b
    + g K sum w^2, which is R itself if all shares are equal, as they are for binary features at the start.
    """
    x = solve_linear(r, A, min(r, 0.0), b0 + b1 * r, b1 + K * squared_norm(shares, 0, n))
    for _ in range(MOST_STEPS):
        s, g = (x, x - r) if r < 0.0 else (r + x, x)
        R, slope = harmonic_mean(shares, n, b0 + b1 * s, g * K, b1, K)
        before = x
        x = solve_linear(r, A, before, R, slope)
        change = abs(x - before)
        if not (change > CLOSE * x and change * (R + s * slope) > NOISE * A):
            break
    return (x - r, x) if r < 0.0 else (x, r + x)


@inlined
def find_step(shares, n, m, v, unit, A, b0, b1, K):
    g, s = solve_gain(shares, n, m / unit, A, b0, b1, K)
    return g * unit / v, g * K / ((b0 + b1 * s) * v)


@pass_kernel(EXACT_RULE, WRITE_2D, WRITE_1D, WRITE_1D, WRITE_INT64)
def run(rule, p, rows, y, order, moments, marks, clock, counters, margins):
    """Run the examples of `order`, with the arguments of `diagonal.run`."""
    columns, values, storage = open_rows(rows)
    shares = np.empty(moments.shape[0])
    for now in range(order.size):
        entry, i, n, at, o = read_round(rows, y, order, now, storage)
        f, v, _, _, learns = predict_round(
            moments, marks, clock, columns, at, values, o, n, y[i], entry, counters, margins
        )
        if not learns:
            continue
        m = y[i] * f
        loss, unit, A, b0, b1, K = rule(m, v, p)
        counters[UPDATES] += loss > 0.0
        if v == 0.0 or loss <= 0.0:
            continue
        measure_shares(moments, 1, columns, at, values, o, n, v, shares, 0)
        alpha, c = find_step(shares, n, m, v, unit, A, b0, b1, K)
        if is_effective(counters, entry, np.isfinite(alpha) and 0.0 <= c < np.inf):
            update_row(moments, 0, moments, 1, columns, at, values, o, n, alpha * y[i], c, 0.0, True)
