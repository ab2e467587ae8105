"""Learning curves on a test set: right predictions as learning goes on."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from olbench.algorithms.algorithm import Algorithm
from olbench.learners.examples import Floats, as_examples
from olbench.learners.start import start
from olbench.protocols.scores import Scores

#: Examples, labels, and how often each example occurs, if equal ones were merged.
Counted = tuple[Floats, Floats, Floats]


def follow(
    algorithm: Algorithm, X: Floats, y: Floats, tested: Counted, times: Sequence[int]
) -> tuple[Scores, Floats]:
    """Run an algorithm once over the examples and score a test set after each of these numbers of examples.

    Return the scores, one row per number, and the final weights.

    >>> from olbench import make_algorithm
    >>> X, y = np.array([[1.0, 0.0], [0.0, 1.0]] * 3), np.array([1.0, -1.0] * 3)
    >>> scores, weights = follow(make_algorithm("pa"), X, y, (X, y, np.ones(6)), range(7))
    >>> scores.accuracy.tolist()
    [0.5, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    from olbench.papers.adviceptron2010.kernels.step import score

    X_test, y_test, counts = map(np.ascontiguousarray, tested)
    learner: Any = start(algorithm, X.shape[1])
    # The weights that predict the next example score the test set, unless the algorithm predicts with a mean.
    is_plain = hasattr(learner, "w") and not algorithm.definition.averaged
    rows, test_rows, hits, done = (
        as_examples(X).rows(),
        as_examples(X_test).rows(),
        np.empty((len(times), 2)),
        0,
    )
    for place, time in enumerate(times):
        learner.run(rows, y, np.arange(done, time))
        done = time
        w, factor = learner.weights, 1.0
        if is_plain:
            w, factor = learner.w, float(getattr(learner, "scalars", [1.0])[0])
        score(w, factor, test_rows, y_test, counts, hits[place])
    positives = counts[y_test > 0].sum()
    return Scores(hits, np.array([counts.sum() - positives, positives])), learner.weights
