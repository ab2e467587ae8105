"""Schedules: when each example of a stream is predicted, and when its label is there to be learnt.

A schedule is an order for a pass. A row number alone is predicted and then learnt at once; with ONLY_PREDICT
or ONLY_LEARN added, it is one or the other. Whatever the schedule, predictions come in the order of the rows.
"""

import numpy as np
from numpy.typing import NDArray

from olbench.kernels.counters import ONLY_LEARN, ONLY_PREDICT, ROW
from olbench.learn.examples import Ints


def is_predicted(schedule: Ints) -> NDArray[np.bool_]:
    """Return which entries of a schedule make a prediction."""
    return schedule < ONLY_LEARN


def count_predictions(schedule: Ints) -> int:
    """Return how many predictions a schedule makes."""
    if not schedule.size or schedule.max() < ONLY_PREDICT:
        return schedule.size
    return int(np.count_nonzero(is_predicted(schedule)))


def predicted_rows(schedule: Ints) -> Ints:
    """Return the rows of the predictions, in their order."""
    return schedule[is_predicted(schedule)] & ROW


def make_schedule(
    rows: Ints,
    arrivals: Ints | None = None,
    predicted: NDArray[np.bool_] | None = None,
    times: Ints | None = None,
) -> Ints:
    """Return the schedule of rows some of which are predicted, and whose labels are learnt when they arrive.

    The label of the k-th row arrives once arrivals[k] rows have come, in the order of the rows among equals;
    never if there are fewer rows. By default it is k + 1: there is no delay. It is then learnt times[k]
    times, by default once. All rows are predicted unless `predicted` says otherwise.

    >>> [int(entry & ROW) for entry in make_schedule(np.arange(4), np.arange(4) + 2)]
    [0, 1, 0, 2, 1, 3, 2]
    """
    n = rows.size
    arrivals = np.arange(1, n + 1) if arrivals is None else arrivals
    predicted = np.ones(n, bool) if predicted is None else predicted
    times = np.ones(n, np.int64) if times is None else times
    if predicted.all() and (times == 1).all() and np.array_equal(arrivals, np.arange(1, n + 1)):
        return rows
    foretold = np.flatnonzero(predicted)
    learnt = np.repeat(np.arange(n), np.where(arrivals <= n, times, 0))
    # The prediction of row k comes after all labels that arrive once k rows have come, or earlier.
    places = np.concatenate([foretold, arrivals[learnt] - 0.5])
    entries = np.concatenate([rows[foretold] | ONLY_PREDICT, rows[learnt] | ONLY_LEARN])
    return np.ascontiguousarray(entries[np.argsort(places, kind="stable")])
