"""Schedules: when each example of a stream is predicted, and when its label is there to be learnt.

A schedule is an order for a pass. A row number alone is predicted and then learnt at once; with ONLY_PREDICT
or ONLY_LEARN added, it is one or the other. Whatever the schedule, predictions come in the order of the rows.
"""

import numpy as np
from numpy.typing import NDArray

from olbench.kernels.counters import ONLY_LEARN, ONLY_PREDICT
from olbench.learn.examples import Ints


def count_predictions(schedule: Ints) -> int:
    """Return how many predictions a schedule makes."""
    if not schedule.size or schedule.max() < ONLY_PREDICT:
        return schedule.size
    return int(np.count_nonzero(is_predicted(schedule)))


def is_predicted(schedule: Ints) -> NDArray[np.bool_]:
    """Return which entries of a schedule make a prediction."""
    return schedule < ONLY_LEARN


def is_learnt(schedule: Ints) -> NDArray[np.bool_]:
    """Return which entries of a schedule learn a label."""
    return (schedule < ONLY_PREDICT) | (schedule >= ONLY_LEARN)


def delay_labels(rows: Ints, arrivals: Ints) -> Ints:
    """Return the schedule of rows whose labels are learnt late.

    The label of row k is learnt once arrivals[k] rows have been predicted, in the order of the rows among
    equals; never if there are fewer rows than that. arrivals[k] = k + 1 is no delay.

    >>> [int(row & ROW) for row in delay_labels(np.arange(4), np.arange(4) + 2)]
    [0, 1, 0, 2, 1, 3, 2]
    """
    n = rows.size
    if np.array_equal(arrivals, np.arange(1, n + 1)):
        return rows
    learnt = np.flatnonzero(arrivals <= n)
    learnt = learnt[np.argsort(arrivals[learnt], kind="stable")]
    # The prediction of row k comes after all labels that arrive once k rows are predicted, or earlier.
    places = np.concatenate([np.arange(n), arrivals[learnt] - 0.5])
    entries = np.concatenate([rows | ONLY_PREDICT, rows[learnt] | ONLY_LEARN])
    return np.ascontiguousarray(entries[np.argsort(places, kind="stable")])


def split_roles(rows: Ints, predicted: NDArray[np.bool_], learnt: NDArray[np.bool_]) -> Ints:
    """Return the schedule of rows that are predicted, learnt, both or neither."""
    role = np.where(learnt, np.where(predicted, 0, ONLY_LEARN), ONLY_PREDICT)
    return np.ascontiguousarray((rows | role)[predicted | learnt])


def repeat_learning(rows: Ints, times: Ints) -> Ints:
    """Return the schedule of rows that are predicted once and then learnt several times, or not at all."""
    first = np.where(times > 0, rows, rows | ONLY_PREDICT)
    copies = np.repeat(rows | ONLY_LEARN, np.maximum(times, 1))
    starts = np.cumsum(np.maximum(times, 1)) - np.maximum(times, 1)
    copies[starts] = first
    return copies
