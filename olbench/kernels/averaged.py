"""First-order passes that also keep the mean of the weights over all rounds, at a cost of nnz per round.

Short rows are bound by the call of the rule, long ones by reading the row, w and the deficit.
After round t the weights are scale_t w_t. Their sum over the rounds is not touched in every round. Let S be
the sum of the scales so far. A change of w by delta in round k is missing from the rounds before it, so

    sum over t of scale_t w_t = S w - deficit,    deficit = sum over changes of (S before round k) delta.
"""

from olbench.kernels.compile import FIRST_ORDER_RULE, WRITE_1D, WRITE_INT64, inlined, pass_kernel
from olbench.kernels.counters import ROW, UPDATES
from olbench.kernels.first_order import LARGEST_SCALE, multiply_out, renew_norm
from olbench.kernels.margins import count_round, is_lost, is_shift, is_unlearned
from olbench.kernels.rows import dot, locate, open_rows

# Below this scale the sum is settled, which costs d. S w is larger than the sum by about one over the scale,
# so this bounds the digits that the difference loses: three. S itself is a sum of positive terms.
SMALLEST_SCALE = 2.0**-10


@inlined
def settle(w, scalars, squares, deficit):
    """Move the sum so far into the deficit, so that S starts again at zero, and make the scale one."""
    for j in range(w.size):
        deficit[j] -= scalars[2] * w[j]
    scalars[2] = 0.0
    multiply_out(w, scalars[0], squares)
    scalars[0] = 1.0


@pass_kernel(FIRST_ORDER_RULE, WRITE_1D, WRITE_1D, WRITE_1D, WRITE_1D, WRITE_INT64)
def run(rule, p, rows, y, order, w, scalars, squares, deficit, counters, margins):
    """Run the examples of `order`, predicting with the weights themselves.

    The weights are scalars[0] * w, scalars[1] and `squares` are as in `first_order.run`, and S is scalars[2].
    A round that changes nothing, or that breaks down, counts towards the mean with the weights as they are.
    """
    columns, values, storage = open_rows(rows)
    norms = rows[4]
    for entry in order:
        i = entry & ROW
        n, at, o = locate(storage, i)
        f = scalars[0] * dot(w, columns, at, values, o, n)
        t, mistake = count_round(counters, margins, entry, f, y[i])
        if is_unlearned(entry):
            continue
        m = y[i] * f
        s = norms[i]
        if is_lost(counters, entry, f, n, s):
            scalars[2] += scalars[0]
            continue
        q = scalars[0] * scalars[0] * scalars[1]
        loss, shrink, tau = rule(m, s, mistake, q, t, counters[UPDATES], p)
        if not is_shift(counters, entry, n, loss, shrink, tau):
            scalars[2] += scalars[0]
            continue
        if shrink != 1.0:
            scalars[0] *= shrink
            # A scale below zero would let the sum of the scales cancel.
            if not SMALLEST_SCALE <= scalars[0] <= LARGEST_SCALE:
                settle(w, scalars, squares, deficit)
        step = tau * y[i] / scalars[0]
        missing = scalars[2] * step
        for k in range(n):
            j, x = columns[at + k], values[o + k]
            w[j] += step * x
            deficit[j] += missing * x
        scalars[1] = renew_norm(w, squares, columns, at, n)
        scalars[2] += scalars[0]
