"""Schedules: when each example of a stream is predicted, and when its label is there to be learnt.

A schedule is an order for a pass. A plain row number is predicted and then learnt at once; with ONLY_PREDICT
or ONLY_LEARN added, it is one or the other. Whatever the schedule, predictions come in the order of the rows.
"""

import numpy as np
from numpy.typing import NDArray

from olbench.kernels.counters import GROUP, GROUPS, ONLY_LEARN, ONLY_PREDICT, ROW
from olbench.learners.examples import Groups, Ints


def is_predicted(schedule: Ints) -> NDArray[np.bool_]:
    return schedule < ONLY_LEARN


def count_predictions(schedule: Ints) -> int:
    return predicted_entries(schedule).size


def predicted_entries(schedule: Ints) -> Ints:
    """Return the entries that predict; the schedule itself, without a copy, if nothing is late."""
    if not schedule.size or schedule.max() < ONLY_PREDICT:
        return schedule
    return schedule[is_predicted(schedule)]


def predicted_rows(schedule: Ints) -> Ints:
    """Return the rows of the predictions."""
    return np.asarray(predicted_entries(schedule) & ROW)


def predicted_groups(schedule: Ints) -> Groups:
    return (predicted_entries(schedule) >> GROUP & GROUPS - 1).astype(np.uint8)


def with_groups(rows: Ints, groups: Groups) -> Ints:
    """Return rows as entries that carry the group of each: a pass counts mistakes by group too."""
    entries = groups.astype(np.int64)
    entries <<= GROUP
    entries |= rows
    return entries


def make_schedule(arrivals: Ints) -> Ints:
    """Return the schedule of rows in their order whose labels are learnt when they arrive.

    The label of row k arrives once arrivals[k] rows have come, in the order of the rows among equals; never
    if there are fewer rows. Without any delay that is k + 1.

    >>> [int(entry & ROW) for entry in make_schedule(np.arange(4) + 2)]
    [0, 1, 0, 2, 1, 3, 2]
    """
    n = arrivals.size
    rows = np.arange(n)
    if np.array_equal(arrivals, rows + 1):
        return rows
    learnt = np.flatnonzero(arrivals <= n)
    # The prediction of row k comes after all labels that arrive once k rows have come, or earlier.
    places = np.concatenate([rows, arrivals[learnt] - 0.5])
    entries = np.concatenate([rows | ONLY_PREDICT, learnt | ONLY_LEARN])
    return np.ascontiguousarray(entries[np.argsort(places, kind="stable")])
