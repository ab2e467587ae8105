"""What a user's rule promises, compared with what it answers on the first rows of a pass."""

from typing import Any

import numpy as np

from olbench.algorithms.probing import check_promises
from olbench.kernels.counters import ROW
from olbench.learners.examples import Floats, Ints
from olbench.learners.schedules import predicted_rows
from olbench.learners.state import Learner, find_family

#: Rows that are compared, and bytes that their rounds may read; a power of two.
COMPARED, MOST_BYTES = 512, 2**32


def compare_promises(learner: Learner, rows: tuple[Any, ...], y: Floats, order: Ints) -> None:
    """Refuse a user's rule that breaks a promise at a margin or variance of a binary pass over these rows.

    Every round before the first in which a promise makes a difference is the same without it, so this finds
    whether passes with and without the promises part. It is done once for each setting of the parameters.
    """
    algorithm, definition = learner.algorithm, learner.algorithm.definition
    promises = definition.passive_above or definition.monotone or definition.scale_free
    if not (promises and definition.is_own) or (setting := repr(algorithm)) in definition.compared:
        return
    definition.compared.add(setting)
    kind = find_family(algorithm)
    n = min(COMPARED, MOST_BYTES // max(1, kind.plan_bytes(algorithm, learner.d, 1) or 0))
    twin, entries = kind(algorithm, learner.d), order[:n]
    twin.warm_up()
    ring = np.zeros((COMPARED, 3 if twin.has_variances else 2))
    twin.keep_margins(ring)
    twin.run(rows, np.where(y > 0.0, 1.0, -1.0), entries)
    seen = predicted_rows(entries) & ROW
    margins, exponents = ring[: seen.size, 0], -ring[: seen.size, 1].astype(np.int64)
    sizes = np.ldexp(ring[: seen.size, 2], 2 * exponents) if twin.has_variances else rows[4][seen]
    signed = np.where(y[seen] > 0.0, 1.0, -1.0) * np.ldexp(margins, exponents)
    usable = np.isfinite(signed) & (sizes > 0.0) & np.isfinite(sizes)
    check_promises(definition, algorithm.params, zip(signed[usable], sizes[usable], strict=True))
