"""One pass over the examples: predict, count, learn."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from olbench.examples import Floats, Ints, as_examples, as_labels, as_order
from olbench.learners import Algorithm, Learner


@dataclass(frozen=True)
class Curve:
    """Cumulative counts and seconds after t examples, at a few t."""

    t: Ints
    mistakes: Ints
    updates: Ints
    seconds: Floats


@dataclass(frozen=True)
class PassResult:
    """What one pass measured. `seconds` excludes compilation and the checks of the input."""

    n: int
    mistakes: int
    updates: int
    effective_updates: int
    breakdowns: int
    seconds: float
    curve: Curve
    weights: Floats
    learner: Learner

    @property
    def mistake_rate(self) -> float:
        """Mistakes per example."""
        return self.mistakes / self.n if self.n else 0.0


def online_pass(
    algorithm: Algorithm, X: Any, y: ArrayLike, order: ArrayLike | None = None, curve: int = 50
) -> PassResult:
    """Run an algorithm once over the examples and count its mistakes before each of them is learnt.

    X is an array or a SciPy sparse matrix, y holds -1 and +1, `order` lists row numbers (default: as they
    stand) and `curve` is the number of points at which the counters and the clock are read.

    >>> import numpy as np
    >>> from olbench import make_algorithm
    >>> X, y = np.array([[1.0, 0.0], [0.0, 1.0]] * 50), np.array([1, -1] * 50)
    >>> online_pass(make_algorithm("arow", r=1.0), X, y).mistakes
    1
    """
    examples = as_examples(X)
    labels = as_labels(y, examples.n)
    rows_in_order = as_order(order, examples.n)
    learner = algorithm.start(examples.d)
    learner.warm_up()
    points = curve_points(rows_in_order.size, curve)
    rows = examples.rows()
    counts = np.zeros((points.size, 2), dtype=np.int64)
    seconds = np.zeros(points.size)
    begin, elapsed = 0, 0.0
    for k, end in enumerate(points):
        started = time.perf_counter()
        learner.run(rows, labels, rows_in_order[begin:end])
        elapsed += time.perf_counter() - started
        counts[k] = learner.mistakes, learner.updates
        seconds[k] = elapsed
        begin = end
    return PassResult(
        n=rows_in_order.size,
        mistakes=learner.mistakes,
        updates=learner.updates,
        effective_updates=learner.effective_updates,
        breakdowns=learner.breakdowns,
        seconds=elapsed,
        curve=Curve(points, counts[:, 0], counts[:, 1], seconds),
        weights=learner.weights,
        learner=learner,
    )


def curve_points(n: int, count: int) -> Ints:
    """Return up to `count` evenly spaced numbers of examples, the last of which is n."""
    steps = np.arange(1, max(1, count) + 1)
    points = np.unique(np.rint(n * steps / max(1, count)).astype(np.int64))
    return points[points > 0]
