"""Passes that take advice: a weight vector w and, for every advice set, a vector u >= 0 of its inequalities.

A round moves w towards the example and towards r, the mean of the estimates of w by the sets, and then each
u towards the new w. How u moves is the step, a first-class function; everything else is here. A round costs
sweeps over w and r, d each, and over the inequalities of all sets; the example costs nnz.
"""

import numpy as np
from numba import float64, int64, types, void

from olbench.kernels.compile import (
    READ_1D,
    READ_INT64,
    READ_UINT32,
    WRITE_1D,
    WRITE_INT64,
    kernel,
    pass_kernel,
)
from olbench.kernels.counters import EFFECTIVE, ROUNDS, ROW, UPDATES
from olbench.kernels.helpers import helper
from olbench.kernels.losses import excess
from olbench.kernels.margins import count_breakdown, count_round, is_unlearned
from olbench.kernels.rows import dot, locate, open_rows
from olbench.papers.adviceptron2010.kernels.cone import add_row, factor_system, substitute

#: Advice sets: values, columns, row ends (CSR of all D), d, the first row of each set (and the end of the
#: last), the signs z, then per set the columns of B = (I + mu D D')^-1 from a corner on, B d and
#: c = mu / (1 + mu d'B d), and |D_j|^2 per row
SETS = types.Tuple(
    (READ_1D, READ_UINT32, READ_INT64, READ_1D, READ_INT64, READ_1D, READ_1D, READ_INT64, *3 * (READ_1D,))
)
#: (the set, all sets, the parameters, w, u, scratch): moves the u of one set in place
ADVICE_STEP = void(int64, SETS, READ_1D, READ_1D, WRITE_1D, WRITE_1D)


@helper
def summarise(sets, u, r):
    """Set r to the mean of -z D'u over the sets: the estimate of w by the advice."""
    starts, signs = sets[4], sets[5]
    r[:] = 0.0
    for i in range(signs.size):
        factor = -signs[i] / signs.size
        for j in range(starts[i], starts[i + 1]):
            # Most inequalities of a rule with many do not bind.
            if u[j] != 0.0:
                add_row(sets, j, factor * u[j], r)


@helper
def mix(w, r, nu):
    """Set w to nu w + (1 - nu) r and return whether that changed it."""
    changed = False
    for j in range(w.size):
        moved = nu * w[j] + (1.0 - nu) * r[j]
        changed |= moved != w[j]
        w[j] = moved
    return changed


@helper
def consult(step, p, w, r, u, sets, scratch):
    """Move the u of every set towards w, sum them up in r, and return whether a u changed."""
    old = scratch[scratch.size - u.size :]
    old[:] = u
    for i in range(sets[5].size):
        step(i, sets, p, w, u, scratch)
    changed = False
    for j in range(u.size):
        changed |= u[j] != old[j]
    if changed:
        summarise(sets, u, r)
    return changed


@kernel(void(SETS, float64, int64, WRITE_1D, WRITE_1D, WRITE_1D))
def prepare(sets, mu, d, inverse, directions, factors):
    """Write B = (I + mu D D')^-1, B d and mu / (1 + mu d'B d) of every set, where `sets` has them.

    Compiled for its fixed order of sums: the bits of a pass must not depend on a BLAS.
    """
    bounds, starts, corners = sets[3], sets[4], sets[7]
    for i in range(factors.size):
        first, end = starts[i], starts[i + 1]
        size = end - first
        root = factor_system(i, sets, mu, 0.0, d, np.arange(size))
        for j in range(size):
            column = inverse[corners[i] + j * size : corners[i] + (j + 1) * size]
            column[:] = 0.0
            column[j] = 1.0
            substitute(root, column)
        directions[first:end] = bounds[first:end]
        substitute(root, directions[first:end])
        total = 0.0
        for j in range(first, end):
            total += bounds[j] * directions[j]
        factors[i] = mu / (1.0 + mu * total)


@pass_kernel(ADVICE_STEP, WRITE_1D, WRITE_1D, WRITE_1D, SETS, WRITE_1D, WRITE_INT64)
def run(step, p, rows, y, order, w, r, u, sets, scratch, counters, margins):
    """Run the examples of `order` with p = (lam, mu); a round costs nnz, with advice d as well."""
    columns, values, storage = open_rows(rows)
    norms = rows[4]
    advised = sets[5].size > 0
    nu = 1.0 / (1.0 + sets[5].size * p[1])
    for entry in order:
        i = entry & ROW
        n, at, o = locate(storage, i)
        f = dot(w, columns, at, values, o, n)
        count_round(counters, margins, entry, f, y[i])
        if is_unlearned(entry):
            continue
        s = norms[i]
        # The margin of nu w + (1 - nu) r, where w would move without the example.
        m = y[i] * f
        if advised:
            m = nu * m + (1.0 - nu) * y[i] * dot(r, columns, at, values, o, n)
        if not np.isfinite(m) or (n > 0 and not 0.0 < s < np.inf):
            count_breakdown(counters, entry, counters[ROUNDS])
            continue
        loss = excess(1.0, m)
        counters[UPDATES] += loss > 0.0
        alpha = loss / (1.0 / p[0] + nu * s)
        changed = alpha > 0.0 and n > 0
        if changed:
            for k in range(n):
                w[columns[at + k]] += alpha * y[i] * values[o + k]
        if advised:
            changed |= mix(w, r, nu)
            changed |= consult(step, p, w, r, u, sets, scratch)
        counters[EFFECTIVE] += changed
