"""What a drift costs: how far the accuracy falls, how long it takes to recover, and what that loses."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olbench.errors import UserError
from olbench.structs import with_schema
from olbench.yaml_lines import Node

#: The word for drifts that are looked for.
DETECT = "detect"
#: An accuracy within this of what it was before a drift counts as recovered.
RECOVERED = 0.02


def read_drifts(node: Node, name: str) -> tuple[int, ...] | str:
    """Return rows in ascending order, or the word `detect`."""
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
    read_drifts,
    {"anyOf": [{"const": DETECT}, {"type": "array", "items": {"type": "integer", "minimum": 1}}]},
)


def measure_drifts(right: NDArray[np.bool_], rows: Sequence[int], window: int) -> dict[str, list[Any]]:
    """Return the effects of drifts at these rows, given which predictions were right.

    Before a drift the accuracy is that of the window before it. After it, accuracies are over the last tenth
    of a window, at most from the drift on. The depth is by how much the lowest of them is below the accuracy
    before; the recovery is after how many examples one is first as high again, within two points; lost is how
    many more predictions were wrong until then than the accuracy before would have meant. A drift without a
    recovery before the next one, or the end, has None, and everything up to there is lost.

    >>> right = np.array([True] * 100 + [False] * 30 + [True] * 100)
    >>> measure_drifts(right, [100], 100)
    {'row': [100], 'before': [1.0], 'depth': [1.0], 'recovery': [40], 'lost': [30.0]}
    """
    total = np.concatenate([[0], np.cumsum(right)])
    short = max(1, window // 10)
    effects: dict[str, list[Any]] = {name: [] for name in ("row", "before", "depth", "recovery", "lost")}
    for row, end in pairwise([*rows, right.size]):
        first = max(0, row - window)
        if row >= right.size or first == row:
            continue
        before = float(total[row] - total[first]) / (row - first)
        at = np.arange(min(row + short, end), end + 1)
        levels = (total[at] - total[at - min(short, end - row)]) / min(short, end - row)
        fallen = int(np.argmin(levels))
        back = np.flatnonzero(levels[fallen:] >= before - RECOVERED)
        recovery = int(at[fallen + back[0]]) - row if back.size else None
        until = end if recovery is None else row + recovery
        effects["row"].append(int(row))
        effects["before"].append(before)
        effects["depth"].append(max(0.0, before - float(levels[fallen])))
        effects["recovery"].append(recovery)
        effects["lost"].append(round(before * (until - row) - float(total[until] - total[row]), 6))
    return effects


def find_drifts(right: NDArray[np.bool_]) -> list[int]:
    """Return where ADWIN (Bifet and Gavaldà, SDM 2007), as River has it, sees the accuracy change."""
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
