"""Bounds on the variance, which spare rounds without loss the sum over Sigma; and the variance itself.

A round that cannot trigger costs nnz. The bounds cost d^2, but only once in d changes of the state.
"""

import math

import numpy as np

from olbench.kernels.compile import inlined
from olbench.kernels.helpers import helper
from olbench.kernels.matrix import inner, inner_first, residual_sums, row_sums
from olbench.kernels.rows import dot, dot_row

# A gathered read of a large matrix takes about as long as four streamed ones.
GATHER_COST = 4
# Allowance for rounding in a bound, as a share of Sigma's largest row sum: far above the error of d
# additions.
SLACK = 1e-9
# The axis is used if removing it at least halves Sigma's largest row sum; otherwise its product with x does
# not pay.
WORTHWHILE = 0.5


@inlined
def gathered_variance(sigma, columns, c, values, o, n):
    """Return x' Sigma x from the entries of Sigma that x touches.

    Only those on and below the diagonal are read, because Sigma is symmetric: row k is multiplied with the
    first k entries of x and counted twice.
    """
    v = 0.0
    for k in range(n):
        i, x = columns[c + k], values[o + k]
        v += x * (sigma[i, i] * x + 2.0 * dot_row(sigma, i, columns, c, values, o, k))
    return v


@helper
def tighten(sigma, mu, axis, bound, sums):
    """Set the axis and the bounds that hold for every later Sigma; `sums` is working memory.

    Examples with a large margin trigger no update. Where features have similar scales, Sigma therefore stays
    long in the direction of mu and shrinks in all others. Subtracting the outer product of the axis
    a = Sigma mu / sqrt(mu' Sigma mu) leaves a matrix that is positive semi-definite (Schur complement) and
    small. Sigma only shrinks, so both bounds hold until they are next computed.
    """
    for j in range(mu.size):
        axis[j] = inner_first(sigma, j, mu, 0, mu.size)
    length = math.sqrt(inner(axis, mu, 0))
    for j in range(mu.size):
        axis[j] /= length
    row_sums(sigma, sums)
    largest = sums.max()
    bound[0] = min(bound[0], (1.0 + SLACK) * largest)
    residual_sums(sigma, axis, sums)
    rest = sums.max() + SLACK * largest
    bound[1] = rest if rest < WORTHWHILE * bound[0] else np.inf


@inlined
def largest_variance(axis, bound, s, columns, c, values, o, n):
    """Return an upper bound of v for an x with ||x||^2 = s.

    v = x' (Sigma - a a') x + (a.x)^2, and the first term is at most bound[1] s.
    """
    limit = bound[0] * s
    if bound[1] < np.inf:
        along = dot(axis, columns, c, values, o, n)
        closer = bound[1] * s + along * along
        limit = closer if closer < limit else limit
    return limit


@inlined
def has_no_loss(rule, p, m, limit, mistake, t, top):
    """Return whether a rule does nothing at the margin m, whatever the variance is up to `limit`.

    A rule that promises to do nothing above some margin, `top`, is not called: its loss does not
    depend on the variance, so below that margin the limit would tell no more.
    """
    if top < np.inf:
        return m > top
    loss, alpha, c = rule(m, limit, mistake, t, p)
    return loss <= 0.0 and alpha == 0.0 and c == 0.0
