"""How many bytes the state of a learner has, from its form alone: no learner is started.

Memory is planned with it, and reports show it for records that do not say. `tests/test_state.py` compares it
with the arrays of every algorithm in every form.
"""

from olbench.algorithms.algorithm import Algorithm
from olbench.algorithms.compiled import CompiledDefinition
from olbench.kernels.sizes import BLOCKED_FROM, TILE, choose_depth, count_blocks, count_columns, spread_rows


def count_state_bytes(algorithm: Algorithm, d: int, classes: int = 1) -> int | None:
    """Return the bytes of the learner that `start` makes, as `Learner.state_bytes`; 1 class: a binary one.

    None for a Python object, another family and a kernel, whose state depends on more than its form.
    """
    definition = algorithm.definition
    if isinstance(definition, CompiledDefinition):
        return 8 * classes * definition.count_numbers(d)
    if definition.order not in ("first", "second", "baseline") or algorithm.kernel is not None:
        return None
    if classes > 1 and algorithm.multiclass == "native":
        return 8 * _count_native(algorithm, d, classes)
    return 8 * classes * _count_binary(algorithm, d)


def count_memory_bytes(algorithm: Algorithm, d: int, classes: int = 1) -> int:
    """Return the bytes of a learner and of the weights that it returns; roughly if not known."""
    state = count_state_bytes(algorithm, d, classes)
    return add_weights(16 * d * classes if state is None else state, d, classes)


def add_weights(state: int, d: int, classes: int) -> int:
    return state + 8 * d * classes


def _count_binary(algorithm: Algorithm, d: int) -> int:
    definition = algorithm.definition
    if definition.order == "baseline":
        return 3
    if definition.order == "first":
        vectors, scalars = (2, 3) if definition.averaged else (1, 2)
        return vectors * d + scalars + (count_blocks(d) if definition.reads_norm else 0)
    if algorithm.covariance == "diag":
        return 2 * d + (d if algorithm.forgetting < 1.0 else 0) + 3
    if algorithm.form == "root":
        return d * d + 4 * d + 4
    side, length = (d, d) if d < BLOCKED_FROM else (_pad(d), spread_rows(_pad(d)))
    return (side + choose_depth(d)) * length + 2 * d + 2


def _count_native(algorithm: Algorithm, d: int, classes: int) -> int:
    means = d * count_columns(classes)
    if algorithm.definition.order == "first":
        return means + 2 + (count_blocks(d) if algorithm.definition.reads_norm else 0)
    if algorithm.covariance == "diag":
        return 2 * means
    count = 1 if algorithm.covariance == "shared" else classes
    if algorithm.form == "root":
        return means + count * (d * d + d + 2)
    side = _pad(d)
    return means + count * ((side + choose_depth(d)) * spread_rows(side) + d + 4)


def _pad(d: int) -> int:
    return -(-d // TILE) * TILE
