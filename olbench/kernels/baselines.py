"""Passes of baselines, which look at the labels that were learnt and at no example."""

from olbench.kernels.compile import BASELINE_RULE, WRITE_1D, WRITE_INT64, pass_kernel
from olbench.kernels.counters import EFFECTIVE, ROW
from olbench.kernels.margins import count_round, is_unlearned


@pass_kernel(BASELINE_RULE, WRITE_INT64, WRITE_1D, WRITE_INT64)
def run(rule, p, rows, y, order, seen, last, counters, margins):
    """Run the labels of `order`; `seen` counts negative and positive ones, last[0] is the last of them."""
    for entry in order:
        label = y[entry & ROW]
        count_round(counters, margins, entry, rule(seen[0], seen[1], last[0], p), label)
        if is_unlearned(entry):
            continue
        seen[int(label > 0.0)] += 1
        last[0] = label
        counters[EFFECTIVE] += 1
