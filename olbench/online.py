"""One pass over the examples: predict, count, learn."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from olbench.examples import Floats, Ints, as_examples, as_labels, as_order
from olbench.learners import Algorithm, Learner

#: Seconds for which a pass may hold its thread before it asks whether to stop, and rows in any case.
SLICE_SECONDS, SLICE_ROWS = 0.1, 20_000


class StoppedError(Exception):
    """A pass was asked to stop before its end."""


@dataclass(frozen=True)
class Curve:
    """Cumulative counts and seconds after t examples, at a few t."""

    t: Ints
    mistakes: Ints
    updates: Ints
    seconds: Floats


@dataclass(frozen=True)
class PassResult:
    """What one pass measured. The seconds exclude compilation and the checks of the input."""

    n: int
    mistakes: int
    updates: int
    effective_updates: int
    breakdowns: int
    seconds: float
    cpu_seconds: float
    curve: Curve
    weights: Floats
    learner: Learner

    @property
    def mistake_rate(self) -> float:
        """Mistakes per example."""
        return self.mistakes / self.n if self.n else 0.0


def online_pass(
    algorithm: Algorithm,
    X: Any,
    y: ArrayLike,
    order: ArrayLike | None = None,
    curve: int = 50,
    stopped: Callable[[], bool] | None = None,
) -> PassResult:
    """Run an algorithm once over the examples and count its mistakes before each of them is learnt.

    X is an array or a SciPy sparse matrix, y holds -1 and +1, `order` lists row numbers (default: as they
    stand) and `curve` is the number of points at which the counters and the clock are read. Where `stopped`
    is given it is asked a few times a second, and a true answer ends the pass with a StoppedError.

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
    clock = _Clock(learner, examples.rows(), labels, stopped)
    counts = np.zeros((points.size, 2), dtype=np.int64)
    seconds = np.zeros(points.size)
    begin, cpu_started = 0, time.thread_time()
    for k, end in enumerate(points):
        clock.run(rows_in_order[begin:end])
        counts[k] = learner.mistakes, learner.updates
        seconds[k] = clock.seconds
        begin = end
    cpu_seconds = time.thread_time() - cpu_started
    return PassResult(
        n=rows_in_order.size,
        mistakes=learner.mistakes,
        updates=learner.updates,
        effective_updates=learner.effective_updates,
        breakdowns=learner.breakdowns,
        seconds=clock.seconds,
        cpu_seconds=cpu_seconds,
        curve=Curve(points, counts[:, 0], counts[:, 1], seconds),
        weights=learner.weights,
        learner=learner,
    )


class _Clock:
    """Runs a learner in slices and adds up what they take; between slices a pass can be stopped."""

    def __init__(
        self, learner: Learner, rows: tuple[Any, ...], labels: Floats, stopped: Callable[[], bool] | None
    ):
        self.learner, self.rows, self.labels, self.stopped = learner, rows, labels, stopped
        self.seconds = 0.0
        self.seen = 0
        #: Rows that take about SLICE_SECONDS, by those seen so far; few at first.
        self.size = 16

    def run(self, order: Ints) -> None:
        """Run the examples of `order`, in one slice where nobody may stop it."""
        if self.stopped is None:
            self._slice(order)
            return
        while order.size:
            if self.stopped():
                raise StoppedError
            piece, order = order[: self.size], order[self.size :]
            self._slice(piece)
            self.size = int(min(max(1, SLICE_SECONDS * self.seen / self.seconds), SLICE_ROWS))

    def _slice(self, order: Ints) -> None:
        started = time.perf_counter()
        self.learner.run(self.rows, self.labels, order)
        self.seconds += time.perf_counter() - started
        self.seen += order.size


def curve_points(n: int, count: int) -> Ints:
    """Return up to `count` evenly spaced numbers of examples, the last of which is n."""
    steps = np.arange(1, max(1, count) + 1)
    points = np.unique(np.rint(n * steps / max(1, count)).astype(np.int64))
    return points[points > 0]
