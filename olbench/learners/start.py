"""Starting learners: the family of an algorithm, by its order, makes the learner that holds its state."""

from collections.abc import Callable
from typing import TypeVar

from olbench.algorithms.algorithm import Algorithm
from olbench.errors import UserError
from olbench.learners.compiled import CompiledLearner
from olbench.learners.contestants import ObjectLearner, refuse_batch
from olbench.learners.learners import BaselineLearner, Learner, start_first_order, start_second_order

Maker = TypeVar("Maker", bound=Callable[[Algorithm, int], Learner])
#: What makes a learner for d features, by the order of its algorithm.
FAMILIES: dict[str, Callable[[Algorithm, int], Learner]] = {
    "first": start_first_order,
    "second": start_second_order,
    "compiled": CompiledLearner,
    "baseline": BaselineLearner,
    "object": ObjectLearner,
    "batch": refuse_batch,
}


def family(order: str) -> Callable[[Maker], Maker]:
    """Register a class of learners, or a function that makes one, for algorithms of an order."""

    def register(maker: Maker) -> Maker:
        FAMILIES[order] = maker
        return maker

    return register


def start(algorithm: Algorithm, d: int) -> Learner:
    """Return a learner for d features that has seen no example yet."""
    if algorithm.definition.only_native:
        raise UserError(f"{algorithm.id} learns several classes: it needs labels='all'")
    return FAMILIES[algorithm.definition.order](algorithm, d)
