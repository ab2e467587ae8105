"""Learning curves on a test set: right predictions before and after every example."""

from typing import Any

import numpy as np

from olbench.algorithms.algorithm import Algorithm
from olbench.errors import UserError, count
from olbench.learners.contestants import ObjectLearner
from olbench.learners.examples import Floats, as_examples, as_labels, as_order
from olbench.learners.start import start
from olbench.learners.state import Learner
from olbench.protocols.scores import Scores

_ONE = np.ones(1)
_Labelled = tuple[Any, Floats, Any]


def follow(
    algorithm: Algorithm, X: Any, y: Any, X_test: Any, y_test: Any, order: Any = None, counts: Any = None
) -> tuple[Scores, Floats]:
    """Run an algorithm once over the examples and score a test set before the first and after every one.

    Return the scores, one row per number of examples, and the weights after the last. `counts` says how often
    each test example occurs, where equal ones were put together.

    >>> from olbench import make_algorithm
    >>> X, y = np.array([[1.0, 0.0], [0.0, 1.0]] * 3), np.array([1, -1] * 3)
    >>> scores, weights = follow(make_algorithm("pa"), X, y, X, y)
    >>> scores.accuracy.tolist()
    [0.5, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    examples, tests = as_examples(X), as_examples(X_test)
    labels, test_labels = as_labels(y, examples.n), as_labels(y_test, tests.n)
    rows_in_order = as_order(order, examples.n)
    if tests.d != examples.d:
        raise UserError(f"the test examples have {count(tests.d, 'feature')}, the others {examples.d}")
    occurrences = np.ones(tests.n) if counts is None else np.ascontiguousarray(counts, dtype=np.float64)
    if not tests.n or occurrences.shape != (tests.n,) or not (occurrences > 0).all():
        raise UserError("there must be test examples, and a count above zero for each")
    learner = start(algorithm, examples.d)
    learner.warm_up()
    stream, target = (examples.rows(), labels, rows_in_order), (tests.rows(), test_labels, occurrences)
    hits = np.empty((rows_in_order.size + 1, 2))
    # The weights that predict the next example are those that score the test set, unless they are a mean.
    is_plain = hasattr(learner, "w") and not algorithm.definition.averaged
    score = _score_compiled if is_plain else _score_slices
    score(learner, stream, target, hits)
    positives = occurrences[test_labels > 0].sum()
    return Scores(hits, np.array([occurrences.sum() - positives, positives])), learner.weights


def _score_compiled(learner: Any, stream: _Labelled, target: _Labelled, hits: Floats) -> None:
    from olbench.kernels.calls import Address
    from olbench.papers.adviceptron2010.kernels.follow import follower

    kernel, state = learner.kernel_state()
    rule, scalars = learner.algorithm.definition.compiled_rule, getattr(learner, "scalars", _ONE)
    address = Address(rule, rule.address)
    follower(kernel)(address, learner.p, *stream, state, state[0], scalars, *target, hits)


def _score_slices(learner: Learner, stream: _Labelled, target: _Labelled, hits: Floats) -> None:
    from olbench.papers.adviceptron2010.kernels.follow import score_once

    if isinstance(learner, ObjectLearner):
        raise UserError(f"{learner.algorithm.id}: objects show no weights to score a test set with")
    rows, labels, order = stream
    for t in range(order.size + 1):
        if t:
            learner.run(rows, labels, order[t - 1 : t])
        score_once(learner.weights, *target, hits[t : t + 1])
