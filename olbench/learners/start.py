"""Starting learners: the family of an algorithm, by its order, makes the learner that holds its state."""

from olbench.algorithms.algorithm import Algorithm
from olbench.errors import UserError
from olbench.learners import compiled, contestants, learners  # noqa: F401  they register their families
from olbench.learners.classes import find_class_family
from olbench.learners.state import ClassLearner, Learner, add_weights, find_family
from olbench.learners.state import family as family


def start(algorithm: Algorithm, d: int) -> Learner:
    """Return a learner for d features that has seen no example yet."""
    if algorithm.definition.only_native:
        raise UserError(f"{algorithm.id} learns several classes: it needs labels='all'")
    return find_family(algorithm)(algorithm, d)


def start_classes(algorithm: Algorithm, d: int, classes: int) -> ClassLearner:
    """Return a learner of several classes that has seen no example yet."""
    return find_class_family(algorithm)(algorithm, d, classes)


def count_state_bytes(algorithm: Algorithm, d: int, classes: int = 1) -> int | None:
    """Return the `Learner.state_bytes` of an algorithm without starting it; 1 class: a binary learner.

    None for a Python object, another family and a kernel, whose state depends on more than its form.
    """
    kind = find_class_family(algorithm) if classes > 1 else find_family(algorithm)
    return kind.plan_bytes(algorithm, d, classes)


def count_memory_bytes(algorithm: Algorithm, d: int, classes: int = 1) -> int:
    """Return the bytes of a learner and of the weights that it returns; roughly if not known."""
    state = count_state_bytes(algorithm, d, classes)
    return add_weights(16 * d * classes if state is None else state, d, classes)
