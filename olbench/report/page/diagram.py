"""The critical-difference diagram of Demšar (2006) as coordinates: ranks on an axis, bars over groups."""

from collections.abc import Iterable, Mapping
from typing import Any

WIDTH, MARGIN, AXIS, STEP, BAR = 760, 165, 58, 22, 9


def critical_difference(
    ranks: Mapping[str, float], groups: Iterable[Iterable[str]], difference: float
) -> dict[str, Any]:
    """Return the coordinates of axis, labels and bars; the better half is labelled on the left."""
    highest = len(ranks)
    places = {label: _place(rank, highest) for label, rank in ranks.items()}
    bars = [
        {"x1": min(xs) - 4, "x2": max(xs) + 4, "y": AXIS + 12 + BAR * number}
        for number, xs in enumerate([places[label] for label in group] for group in groups)
        if len(xs) > 1
    ]
    top = AXIS + 22 + BAR * len(bars)
    ordered = sorted(ranks, key=lambda label: (ranks[label], label))
    half = (len(ordered) + 1) // 2
    left = [
        _label(label, ranks, places, top + STEP * row, left=True) for row, label in enumerate(ordered[:half])
    ]
    # The worst algorithm gets the shortest line on the right, as the best does on the left.
    right = [
        _label(label, ranks, places, top + STEP * row, left=False)
        for row, label in enumerate(reversed(ordered[half:]))
    ]
    return {
        "width": WIDTH,
        "height": top + STEP * half,
        "axis": AXIS,
        "ticks": [{"x": _place(rank, highest), "rank": rank} for rank in range(1, highest + 1)],
        "ruler": {"x1": _place(1, highest), "x2": _place(1 + difference, highest)},
        "labels": left + right,
        "bars": bars,
    }


def _place(rank: float, highest: int) -> float:
    return round(MARGIN + (rank - 1) / max(highest - 1, 1) * (WIDTH - 2 * MARGIN), 1)


def _label(
    label: str, ranks: Mapping[str, float], places: Mapping[str, float], y: float, left: bool
) -> dict[str, Any]:
    end = MARGIN - 20 if left else WIDTH - MARGIN + 20
    return {"text": label, "rank": ranks[label], "x": places[label], "y": y, "end": end, "left": left}
