"""The learner of an algorithm that declares its arrays: see `olbench.algorithms.compiled`."""

from collections import namedtuple
from typing import TYPE_CHECKING, Any

import numpy as np

from olbench.algorithms.compiled import CompiledDefinition
from olbench.kernels.counters import ONLY_PREDICT
from olbench.learners.examples import Floats, Ints
from olbench.learners.learners import KernelLearner, refuse_wide

if TYPE_CHECKING:
    from olbench.algorithms.algorithm import Algorithm

#: Rows that are scored at a time, a power of two.
SCORED = 2**14


class CompiledLearner(KernelLearner):
    """The arrays of a compiled learner, each an attribute with the prefix `array_`."""

    def __init__(self, algorithm: "Algorithm", d: int):
        super().__init__(algorithm, d)
        refuse_wide(algorithm, d)
        for name, array in self.definition.make_arrays(d).items():
            setattr(self, f"array_{name}", array)

    @property
    def definition(self) -> CompiledDefinition:
        definition = self.algorithm.definition
        assert isinstance(definition, CompiledDefinition)
        return definition

    @property
    def state(self) -> Any:
        """Its arrays by name, as its functions see them."""
        names = list(self.definition.arrays)
        return namedtuple("Arrays", names)(*(getattr(self, f"array_{name}") for name in names))

    def _kernel(self) -> tuple[Any, tuple[Any, ...]]:
        return self.compiled_rule, (tuple(self.state), self.counters)

    def _trace(
        self, rows: tuple[Any, ...], y: Floats, order: Ints, ends: Ints, counts: Ints, seconds: Floats
    ) -> None:
        from olbench.kernels.trace import tracer

        kernel, state = self.kernel_state()
        tracer(kernel)(0, self.p, rows, y, order, state, ends, self.counters, counts, seconds)

    @property
    def weights(self) -> Floats:
        """The scores of unit vectors."""
        d = self.d
        ones, places = np.ones(d), np.arange(d + 1)
        rows = np.empty((0, d)), ones, places[:d].astype(np.uint32), places, ones, False
        return self.scores(rows, places[:d])

    def scores(self, rows: tuple[Any, ...], order: Ints) -> Floats:
        """Return the score of each row of `order`: a pass that only predicts, and counts for nothing."""
        # joblib maps large arrays into its processes, read-only.
        arrays = tuple(each if each.flags.writeable else each.copy() for each in map(np.asarray, self.state))
        kernel = self.compiled_rule
        scores, labels = np.empty(order.size), np.ones(max(rows[0].shape[0], rows[3].size - 1))
        for begin in range(0, order.size, SCORED):
            slice_ = order[begin : begin + SCORED]
            counters, ring = self.counters.copy(), np.empty((SCORED, 2))
            first = self.rounds
            kernel(0, self.p, rows, labels, slice_ | ONLY_PREDICT, arrays, counters, ring)
            scores[begin : begin + SCORED] = ring[(first + np.arange(slice_.size)) & (SCORED - 1), 0]
        return scores
