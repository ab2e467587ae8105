"""Where a pass of the package parts from the reference, and how far its weights are from it."""

import numpy as np

from olbench import make_algorithm, online_pass
from olbench.learners.examples import as_examples, as_labels
from olbench.learners.start import start
from tests.reference.compiled import find_error

#: Points at which the counts of a pass are compared; where they differ, every round between two points is.
POINTS = 200


def compare(algorithm, data, order, exact):
    """Run an algorithm; return its counts, the first round that differs from the reference, and its error.

    The round is counted from 1, and 0 if the pass predicts and updates as the reference does at every point.
    """
    ours = online_pass(algorithm, data.X, data.y, order=order, curve=POINTS)
    counts = ours.mistakes, ours.updates, ours.breakdowns
    expected = count_up(exact)
    apart = np.flatnonzero(
        differ(np.column_stack([ours.curve.mistakes, ours.curve.updates]), expected, ours.curve.t)
    )
    parted = 0
    if apart.size:
        begin = ours.curve.t[apart[0] - 1] if apart[0] else 0
        parted = find_round(algorithm, data, order, expected, begin, ours.curve.t[apart[0]])
    exponent = getattr(ours.learner, "scale_exponent", 0)
    return counts, parted, find_error(ours.weights, exact.weights, exponent)


def count_up(exact):
    return np.cumsum(np.column_stack([exact.bits & 1, exact.bits >> 1 & 1]), axis=0, dtype=np.int64)


def differ(counts, expected, t):
    return (counts[:, :2] != expected[t - 1]).any(axis=1)


def find_round(algorithm, data, order, expected, begin, end):
    examples = as_examples(data.X)
    learner = start(algorithm, examples.d)
    learner.warm_up()
    t = np.arange(begin + 1, end + 1)
    counts, _ = learner.run_curve(examples.rows(), as_labels(data.y, examples.n), order[:end], t)
    return int(t[np.flatnonzero(differ(counts, expected, t))[0]])


def make(id, params, options, advice=None):
    """Return the algorithm; only learners that take advice are given any."""
    given = {"advice": advice} if advice is not None else {}
    return make_algorithm(id, **params, **options, **given)
