"""What a drift costs: how far the accuracy falls, how long it takes to recover, and what that loses."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olbench.errors import UserError
from olbench.learners.examples import Ints
from olbench.structs import Node, with_schema

DETECT = "detect"
#: An accuracy that is lower by less than this has not fallen.
LEAST_FALL = 0.02


def read_drifts(node: Node, name: str) -> tuple[int, ...] | str:
    if node.value == DETECT:
        return DETECT
    rows = [item.value for item in node.items(name)]
    for row in rows:
        if isinstance(row, bool) or not isinstance(row, int) or row < 1:
            raise node.fail(f"{name} must be a list of rows, from 1, or the word detect")
    if rows != sorted(set(rows)):
        raise node.fail(f"{name} must be in ascending order")
    return tuple(rows)


with_schema(
    read_drifts, {"anyOf": [{"const": DETECT}, {"type": "array", "items": {"type": "integer", "minimum": 1}}]}
)


def measure_drifts(right: NDArray[np.bool_], rows: Sequence[int], window: int) -> dict[str, list[Any]]:
    """Return the effects of drifts at these rows, given which predictions were right.

    A fall ends, at the recovery, where the mistakes beyond an accuracy lower by a tolerance are most. The
    tolerance is two standard errors of the accuracy before, at least two points. A drift without
    a recovery before the next one, or the end, has None.

    >>> right = np.array([True] * 100 + [False] * 30 + [True] * 100)
    >>> measure_drifts(right, [100], 100)
    {'row': [100], 'before': [1.0], 'depth': [1.0], 'recovery': [30], 'lost': [30.0]}
    """
    total = np.concatenate([[0], np.cumsum(right)])
    effects: dict[str, list[Any]] = {name: [] for name in ("row", "before", "depth", "recovery", "lost")}
    for row, end in pairwise([*rows, right.size]):
        first = max(0, row - window)
        if row >= right.size or first == row:
            continue
        before = float(total[row] - total[first]) / (row - first)
        tolerance = max(LEAST_FALL, 2.0 * math.sqrt(before * (1.0 - before) / (row - first)))
        lost = before * np.arange(end - row + 1) - (total[row : end + 1] - total[row])
        fall = int(np.argmax(lost - tolerance * np.arange(end - row + 1)))
        effects["row"].append(int(row))
        effects["before"].append(before)
        effects["depth"].append(_lowest_below(total, row, row + fall, max(1, window // 5), before))
        effects["recovery"].append(fall if row + fall < end else None)
        effects["lost"].append(round(float(lost[fall]), 6))
    return effects


def _lowest_below(total: Ints, row: int, end: int, width: int, before: float) -> float:
    width = min(width, end - row)
    if not width:
        return 0.0
    ends = np.arange(row + width, end + 1)
    return max(0.0, before - float((total[ends] - total[ends - width]).min()) / width)


def find_drifts(right: NDArray[np.bool_]) -> list[int]:
    try:
        from river.drift import ADWIN
    except ImportError:
        raise UserError(
            'drifts: detect needs River; install it with `pip install "olbench[peers]"`'
        ) from None
    detector, found = ADWIN(), []
    for t, value in enumerate(right.tolist()):
        detector.update(not value)
        if detector.drift_detected:
            found.append(t + 1)
    return found
