"""First-order passes: w = shrink w + tau y x, at a cost of nnz per round.

Most rounds change nothing. If the rule has promised it, such a round ends after the margin, without a call. A
round that changes w is bound by the chain from one margin to the next: the branch that was predicted wrongly,
the rule, w itself. Long rows and a random order are bound by reading the rows, which are prefetched. The
weights are a common factor times an array, so shrinking all of them is one multiplication.
"""

from typing import Any

import numpy as np
from numba import float64

from olbench.kernels.compile import BASELINE_RULE, FIRST_ORDER_RULE, WRITE_1D, WRITE_INT64, pass_kernel
from olbench.kernels.counters import BLOCK, EFFECTIVE, ONLY_LEARN, ONLY_PREDICT, ROW
from olbench.kernels.helpers import helper, inlined
from olbench.kernels.margins import (
    MARGIN,
    count_breakdown,
    count_by_group,
    count_round,
    is_unlearned,
    is_usable,
    judge,
    keep,
    read_counts,
    write_counts,
)
from olbench.kernels.rows import dot, open_rows, read_round, squared_norm
from olbench.kernels.vectors import add, four, load, multiply, spread, store, zeros

# Beyond these, the common factor is multiplied into w. Two such factors still multiply to a normal number, so
# neither the factor nor a step divided by it can leave the range of doubles. The factor is a product of k
# shrinks, each rounded once, so k 2^-53 bounds its relative error, as it would for each weight by itself.
SMALLEST_SCALE, LARGEST_SCALE = 1e-100, 1e100
# With a mean, the sum is settled below this scale, which costs d. S w is larger than the sum by about one
# over the scale, so this bounds the digits that the difference loses: three. S has positive terms only.
SMALLEST_AVERAGED = 2.0**-10
LARGEST = np.finfo(np.float64).max


@inlined
def multiply_out(w, scale, squares, width=1):
    """Multiply the common factor into w, and sum its squares anew where they are kept."""
    for j in range(w.size):
        w[j] *= scale
    for block in range(squares.size):
        sum_block(w, squares, block, width)


@inlined
def sum_block(w, squares, block, width):
    """Set squares[block] to the sum of the squares of its weights; a feature has `width` of them."""
    first = block * BLOCK * width
    squares[block] = squared_norm(w, first, min(BLOCK * width, w.size - first))


@inlined
def renew_norm(w, squares, columns, c, n, width=1):
    """Return the sum of the squares of w after a row of n entries was added; 0 where no sums are kept.

    A rule such as ROMMA's multiplies every error of ||w||^2: carried from round to round by a formula, the
    norm was off by fifteen orders of magnitude after 140,000 rounds. Every sum is therefore computed from the
    present weights, and (BLOCK + d / BLOCK) 2^-54 bounds its relative error, however long the pass.
    """
    if squares.size == 0:
        return 0.0
    if squares.size == 1:
        sum_block(w, squares, 0, width)
        return squares[0]
    last = -1
    for k in range(n):
        block: Any = np.int64(columns[c + k]) // BLOCK
        # Columns ascend, so each block is summed once, after the last of its weights has changed.
        if block != last:
            sum_block(w, squares, block, width)
            last = block
    whole = squares.size - squares.size % 4
    total = zeros(4)
    for block in range(0, whole, 4):
        total = add(total, load(total, squares, (block,)))
    s0, s1, s2, s3 = four(total)
    for block in range(whole, squares.size):
        s0 += squares[block]
    return (s0 + s1) + (s2 + s3)


@inlined
def add_full(w, step, values, o):
    """Add step times as many values to w, in the runs of four that the next margin loads.

    A load that spans several smaller stores has to wait until they have reached the cache.
    """
    whole = w.size - w.size % 4
    for j in range(0, whole, 4):
        x = load(zeros(4), values, (o + j,))
        store(add(load(x, w, (j,)), multiply(spread(x, step), x)), w, (j,))
    for j in range(whole, w.size):
        w[j] += step * values[o + j]


@inlined
def add_row(w, step, columns, c, values, o, n):
    """Add step times a row to w."""
    if n == w.size:
        add_full(w, step, values, o)
        return
    for k in range(n):
        w[columns[c + k]] += step * values[o + k]


@helper
def average(w, scalars, squares, deficit, scale, shrink, change, t, columns, c, values, o, n):
    """Add a change of w in round t to the sum of the weights; return the new scale.

    Not inlined: inlined, it slowed learners that are not averaged by 5 %, because registers ran out.
    """
    total = scalars[2] + scale * (t - 1 - scalars[3])
    if shrink != 1.0:
        scale *= shrink
        # A scale below zero would let the sum of the scales cancel.
        if not SMALLEST_AVERAGED <= scale <= LARGEST_SCALE:
            for j in range(w.size):
                deficit[j] -= total * w[j]
            multiply_out(w, scale, squares)
            scale, total = 1.0, 0.0
        scalars[2], scalars[3] = total, t - 1
    add_row(deficit, total * (change / scale), columns, c, values, o, n)
    return scale


@pass_kernel(FIRST_ORDER_RULE, *[WRITE_1D] * 4, WRITE_INT64, float64)
def run(rule, p, rows, y, order, w, scalars, squares, deficit, counters, top, margins):
    """Run the examples of `order`; the weights are scalars[0] * w.

    If the rule reads q = ||weights||^2, scalars[1] is the sum of the squares of w and squares[b] that of the
    block b; for all other rules `squares` is empty and q is 0, because it costs at least nnz in every update.
    At a margin above `top`, which is not negative, the rule has no loss and changes nothing.

    With a `deficit` the sum of the weights after each round is kept as well, at no cost in a round that
    changes nothing. Let S be the sum of the scales so far: scalars[2] for the first scalars[3] examples and
    the present scale for each that followed. A change of w by delta in round k is missing from the rounds
    before it, so

        sum over t of scale_t w_t = S w - deficit,    deficit = sum over changes of (S before round k) delta.
    """
    columns, values, storage = open_rows(rows)
    norms = rows[4]
    # The counts stay in registers; a rule sees the examples learnt and the updates so far.
    rounds, unlearned, updates, effective = read_counts(counters)
    positives = 0
    scale, norm, averaged = scalars[0], scalars[1], deficit.size > 0
    for now in range(order.size):
        entry, i, n, at, o = read_round(rows, y, order, now, storage)
        f = scale * dot(w, columns, at, values, o, n)
        label, s = y[i], norms[i]
        m = label * f
        is_predicted = entry < ONLY_LEARN
        rounds += is_predicted
        positives += is_predicted & (label > 0.0)
        keep(margins, entry, rounds, MARGIN, f)
        if entry >= ONLY_PREDICT:
            unlearned += 1 if is_predicted else -1
        # A positive margin is not a mistake: nothing is left to do. Compared with infinity, LLVM would take
        # apart the bits of s instead.
        if top < m <= LARGEST and 0.0 < s <= LARGEST:
            continue
        mistake, _ = judge(f, label)
        if is_predicted:
            count_by_group(counters, entry, mistake, 2, label > 0.0)
            if entry >= ONLY_PREDICT:
                continue
        if not is_usable(f, n, s):
            count_breakdown(counters, entry, rounds)
            continue
        t = rounds - unlearned
        loss, shrink, tau = rule(m, s, mistake, scale * scale * norm, t, updates, p)
        updates += loss > 0.0
        undefined = np.isnan(loss)
        if n == 0 or (shrink == 1.0 and tau == 0.0 and not undefined):
            continue
        if undefined or not (np.isfinite(shrink) and np.isfinite(tau)):
            count_breakdown(counters, entry, rounds)
            continue
        effective += 1
        if averaged:
            change = tau * label
            scale = average(w, scalars, squares, deficit, scale, shrink, change, t, columns, at, values, o, n)
        elif shrink != 1.0:
            scale *= shrink
            if not SMALLEST_SCALE <= abs(scale) <= LARGEST_SCALE:
                multiply_out(w, scale, squares)
                scale = 1.0
        add_row(w, tau * label / scale, columns, at, values, o, n)
        norm = renew_norm(w, squares, columns, at, n)
    scalars[0], scalars[1] = scale, norm
    write_counts(counters, rounds, unlearned, updates, effective, positives)


@pass_kernel(BASELINE_RULE, WRITE_INT64, WRITE_1D, WRITE_INT64)
def run_baseline(rule, p, rows, y, order, seen, last, counters, margins):
    """Run the labels of `order`; `seen` counts negative and positive ones, last[0] is the last of them."""
    for entry in order:
        label = y[entry & ROW]
        count_round(counters, margins, entry, rule(seen[0], seen[1], last[0], p), label)
        if is_unlearned(entry):
            continue
        seen[int(label > 0.0)] += 1
        last[0] = label
        counters[EFFECTIVE] += 1
