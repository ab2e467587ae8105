"""A learner that pays for labels: it asks for those of examples that it is in doubt about."""

from typing import Any

import numpy as np

from olbench.errors import UserError
from olbench.kernels.counters import ONLY_LEARN, ONLY_PREDICT
from olbench.learn.examples import Floats, Ints
from olbench.learn.learners import CHUNK, KernelLearner, Learner

#: How the labels to ask for are chosen: by chance, by small margins, or by small margins for their variance.
QUERIES = ("random", "margin", "confidence")
#: Where the threshold of certainty starts; it adapts within some hundred examples.
FIRST_THRESHOLD = 1.0


class QueryingLearner(Learner):
    """Another learner, which predicts every example and learns those whose label it asks for.

    See `olbench.kernels.querying`. The label arrives `delay` examples later. Labels of examples that are
    still waited for at the end are never learnt.
    """

    def __init__(self, learner: Learner, budget: float, query: str, delay: int = 0):
        self.by_confidence = query == "confidence"
        if self.by_confidence and not learner.has_variances:
            raise UserError(
                f"{learner.algorithm.id} has no variances, so it cannot ask by confidence; use query: margin"
            )
        self.learner, self.delay = learner, delay
        self.algorithm, self.d, self.p = learner.algorithm, learner.d, learner.p
        self.counters: Ints = learner.counters
        self.doubt: Floats = np.array([budget, 0.0, FIRST_THRESHOLD])
        self.waiting: Ints = np.empty(0, np.int64)
        self.asked: Ints = np.empty(0, np.int64)
        self.keep_margins(np.zeros((1, 2)))

    @property
    def has_variances(self) -> bool:  # type: ignore[override]
        """Whether a pass can keep the variance of each margin."""
        return self.learner.has_variances

    @property
    def state_bytes(self) -> int | None:
        """The bytes of the learner, without the examples whose labels it waits for."""
        return self.learner.state_bytes

    def keep_margins(self, ring: Floats) -> None:
        """Keep the margins of predictions, and the variances if the queries need them."""
        columns = 3 if self.by_confidence else ring.shape[1]
        self.learner.keep_margins(np.zeros((ring.shape[0], columns)))

    @property
    def margins(self) -> Floats:  # type: ignore[override]
        """The ring of the learner."""
        return self.learner.margins

    def warm_up(self) -> None:
        """Compile what both need."""
        self.learner.warm_up()
        if isinstance(self.learner, KernelLearner):
            from olbench.kernels.querying import querier

            querier(self.learner.kernel_state()[0])

    def probabilities(self, margins: Floats, variances: Floats | None) -> Floats | None:
        """Return the probabilities of the learner."""
        return self.learner.probabilities(margins, variances)

    def _learn(self, rows: tuple[Any, ...], y: Floats, order: Ints) -> None:
        for begin in range(0, order.size, CHUNK):
            self._learn_chunk(rows, y, order[begin : begin + CHUNK])

    def _learn_chunk(self, rows: tuple[Any, ...], y: Floats, order: Ints) -> None:
        first = self.waiting.size
        whole = np.concatenate([self.waiting, order])
        asked = np.concatenate([self.asked, np.zeros(order.size, np.int64)])
        if isinstance(self.learner, KernelLearner):
            self._query(self.learner, rows, y, whole, first, asked)
        else:
            self._query_object(rows, y, whole, first, asked)
        kept = max(0, whole.size - self.delay)
        self.waiting, self.asked = whole[kept:].copy(), asked[kept:].copy()

    def _query(
        self, learner: KernelLearner, rows: tuple[Any, ...], y: Floats, order: Ints, first: int, asked: Ints
    ) -> None:
        from olbench.kernels.querying import querier
        from olbench.kernels.trace import Address

        learner.reserve(rows, order)
        kernel, state = learner.kernel_state()
        rule = learner.compiled_rule
        querier(kernel)(
            Address(rule, rule.address), learner.p, rows, y, order, state, first, self.delay,
            self.by_confidence, self.doubt, asked, self.counters, learner.margins,
        )  # fmt: skip

    def _query_object(self, rows: tuple[Any, ...], y: Floats, order: Ints, first: int, asked: Ints) -> None:
        """Do the same for a Python object, one call at a time."""
        from olbench.kernels.querying import certainty_of, is_asked

        for t in range(first, order.size):
            self.learner.run(rows, y, order[t : t + 1] | ONLY_PREDICT)
            last = self.margins[(self.rounds - 1) & (self.margins.shape[0] - 1)]
            asked[t] = is_asked(self.doubt, certainty_of(last, self.by_confidence))
            if t >= self.delay and asked[t - self.delay]:
                late = order[t - self.delay : t - self.delay + 1]
                self.learner.run(rows, y, late | ONLY_LEARN)

    @property
    def weights(self) -> Floats:
        """The weights of the learner."""
        return self.learner.weights

    def scores(self, rows: tuple[Any, ...], order: Ints) -> Floats:
        """Return the scores of the learner."""
        return self.learner.scores(rows, order)
