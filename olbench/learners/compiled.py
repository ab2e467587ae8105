"""The learner of an algorithm that declares its arrays: see `olbench.algorithms.compiled`."""

from collections import namedtuple
from functools import partial
from typing import Any

import numpy as np

from olbench.algorithms.algorithm import Algorithm
from olbench.algorithms.compiled import SHAPES, CompiledDefinition
from olbench.kernels.counters import ONLY_PREDICT
from olbench.learners.examples import Floats, Ints
from olbench.learners.learners import write_diagonal
from olbench.learners.own_rules import describe_failure
from olbench.learners.state import Array, Arrays, KernelLearner, family

#: Rows that are scored at a time, a power of two.
SCORED = 2**14
#: Prefix of its arrays, to keep them apart from the attributes of every learner.
PREFIX = "array_"


@family("compiled")
class CompiledLearner(KernelLearner):
    """The arrays of a compiled learner, each an attribute with the prefix `array_`."""

    question = "squared_norm"

    @classmethod
    def declare(cls, algorithm: Algorithm, d: int, classes: int) -> Arrays:
        definition = algorithm.definition
        assert isinstance(definition, CompiledDefinition)
        own = {}
        for name, (shape, start) in definition.arrays.items():
            begin = partial(write_diagonal, start, d) if shape == "d x d" else start
            own[PREFIX + name] = Array(SHAPES[shape](d), begin)
        return super().declare(algorithm, d, classes) | own

    @property
    def state(self) -> Any:
        """Its arrays by name, as its functions see them."""
        names = [name.removeprefix(PREFIX) for name in self.arrays if name.startswith(PREFIX)]
        _, (arrays, _) = self._kernel()
        return namedtuple("Arrays", names)(*arrays)

    def _kernel(self) -> tuple[Any, tuple[Any, ...]]:
        own = tuple(getattr(self, name) for name in self.arrays if name.startswith(PREFIX))
        return self.compiled_rule, (own, self.counters)

    def _point_to_rule(self) -> int:
        """Return 0: the rule is part of the kernel."""
        return 0

    def prepare_question(self, rows: tuple[Any, ...], row: int, answer: Floats) -> Any:
        return lambda m, s, mistake: None

    @property
    def weights(self) -> Floats:
        """The scores of unit vectors."""
        d = self.d
        ones, places = np.ones(d), np.arange(d + 1)
        rows = np.empty((0, d)), ones, places[:d].astype(np.uint32), places, ones, False
        return self.scores(rows, places[:d])

    def scores(self, rows: tuple[Any, ...], order: Ints) -> Floats:
        """Return the score of each row of `order`: a pass that only predicts, and counts for nothing."""
        self._own_arrays()
        kernel, (arrays, _) = self._kernel()
        scores, labels = np.empty(order.size), np.ones(max(rows[0].shape[0], rows[3].size - 1))
        for begin in range(0, order.size, SCORED):
            slice_ = order[begin : begin + SCORED]
            counters, ring = self.counters.copy(), np.empty((SCORED, 2))
            first = self.rounds
            try:
                kernel(0, self.p, rows, labels, slice_ | ONLY_PREDICT, arrays, counters, ring)
            except Exception as error:
                raise describe_failure(self.algorithm.definition, error) from error
            scores[begin : begin + SCORED] = ring[(first + np.arange(slice_.size)) & (SCORED - 1), 0]
        return scores
