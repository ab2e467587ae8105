"""Passes that ask for few labels: every example is predicted, and those in doubt are asked for and learnt.

The strategy is the variable uncertainty of Žliobaitė, Bifet, Pfahringer and Holmes (IEEE TNNLS 2014). The
share of labels asked for lately must be below the budget, and the prediction less certain than a threshold,
which falls with every label and grows with every prediction that is certain enough. The certainty is the
margin |f|, or |f| / sqrt(v), which Dredze and Crammer proposed for confidence-weighted learning (ACL 2008).
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import boolean, int64

from olbench.kernels.compile import WRITE_1D, WRITE_2D, WRITE_INT64, kernel
from olbench.kernels.counters import ONLY_LEARN, ONLY_PREDICT, ROUNDS
from olbench.kernels.helpers import helper
from olbench.kernels.margins import MARGIN, VARIANCE
from olbench.kernels.trace import bind_kernel

# How many examples "lately" are, and by which share the threshold moves: the values of the paper.
MEMORY, STEP = 100.0, 0.01
# The places in `doubt`: the budget, the labels asked for lately, and the threshold.
BUDGET, SPENT, THRESHOLD = 0, 1, 2


@helper
def is_asked(doubt: Any, certainty: Any) -> Any:
    """Return whether the label of a prediction with this certainty is asked for, and keep account of it.

    A budget of 1 pays for every label.
    """
    if doubt[BUDGET] >= 1.0:
        return True
    asked = False
    if doubt[SPENT] < doubt[BUDGET] * MEMORY:
        asked = certainty < doubt[THRESHOLD]
        doubt[THRESHOLD] *= 1.0 - STEP if asked else 1.0 + STEP
    doubt[SPENT] = doubt[SPENT] * (1.0 - 1.0 / MEMORY) + asked
    return asked


@helper
def certainty_of(margin: Any, by_confidence: Any) -> Any:
    """Return how certain a kept prediction is; one that has no variance is as certain as can be."""
    size = abs(margin[MARGIN])
    if not by_confidence or size == 0.0:
        return size
    return size / math.sqrt(margin[VARIANCE]) if margin[VARIANCE] > 0.0 else np.inf


@kernel(None)
def _query(
    kernel: Any, rule: Any, p: Any, rows: Any, y: Any, order: Any, state: Any,
    first: Any, delay: Any, by_confidence: Any, doubt: Any, asked: Any, counters: Any, margins: Any,
) -> None:  # fmt: skip
    """Predict the examples of `order` from the position `first` on, and learn those asked for `delay` later.

    asked[t] is 1 if the label at position t was asked for; those before `first` are from an earlier call.
    """
    entry = np.empty(1, np.int64)
    for t in range(first, order.size):
        entry[0] = order[t] | ONLY_PREDICT
        kernel(rule, p, rows, y, entry, *state)
        place = (counters[ROUNDS] - 1) & (margins.shape[0] - 1)
        asked[t] = is_asked(doubt, certainty_of(margins[place], by_confidence))
        if t >= delay and asked[t - delay]:
            entry[0] = order[t - delay] | ONLY_LEARN
            kernel(rule, p, rows, y, entry, *state)


@cache
def querier(kernel: Any) -> Callable[..., None]:
    """Return the compiled `_query` of a kernel, a function of all that it takes after the kernel."""
    return bind_kernel(_query, kernel, int64, int64, boolean, WRITE_1D, WRITE_INT64, WRITE_INT64, WRITE_2D)
