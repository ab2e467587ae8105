"""The critical-difference diagram of Demšar (2006) as coordinates: ranks on an axis, bars over groups."""

from collections.abc import Iterable, Mapping
from typing import Any

WIDTH, MARGIN, AXIS, STEP, BAR = 760, 165, 58, 22, 9
#: The stacked diagram: what a letter takes, the length of its axis, and where its first row is.
LETTER, LENGTH, FIRST = 7.2, 150, 58
#: The most letters of a name, beside the axis and in a row of its own; so many algorithms are drawn at most.
LETTERS_BESIDE, LETTERS_STACKED, MOST_DRAWN = 18, 26, 40


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


def fits_beside(ranks: Mapping[str, float]) -> bool:
    """Tell whether the names are short and few enough to stand on both sides of the axis."""
    return len(ranks) <= MOST_DRAWN and all(len(label) <= LETTERS_BESIDE for label in ranks)


def stack_ranks(
    ranks: Mapping[str, float], groups: Iterable[Iterable[str]], difference: float
) -> dict[str, Any]:
    """Return the diagram with one row per algorithm, best first, for a narrow screen or long names.

    A group is a bar beside the rows of its algorithms. Of very many algorithms, the best are drawn.
    """
    ordered = sorted(ranks, key=lambda label: (ranks[label], label))[:MOST_DRAWN]
    highest = max(2.0, *(ranks[label] for label in ordered))
    # At least the width of the caption of the ruler, "CD 12.34".
    begin = 10 + LETTER * min(LETTERS_STACKED, max(8, *map(len, ordered)))

    def place(rank: float) -> float:
        return round(begin + (rank - 1) / (highest - 1) * LENGTH, 1)

    rows = {label: FIRST + STEP * row for row, label in enumerate(ordered)}
    spans = [[rows[label] for label in group if label in rows] for group in groups]
    bars = [(min(ys), max(ys)) for ys in spans if len(ys) > 1]
    return {
        "width": round(begin + LENGTH + 52 + BAR * len(bars)),
        "height": FIRST + STEP * len(ordered) - 6,
        "axis": FIRST - 18,
        "begin": round(begin, 1),
        "ticks": [{"x": place(rank), "rank": rank} for rank in _whole_ranks(highest)],
        "ruler": {"x1": place(1), "x2": min(place(1 + difference), round(begin + LENGTH, 1))},
        "rows": [
            {"text": _shorten(label), "full": label, "rank": ranks[label], "x": place(ranks[label]), "y": y}
            for label, y in rows.items()
        ],
        "bars": [
            {"x": round(begin + LENGTH + 50 + BAR * number, 1), "y1": top - 6, "y2": bottom + 6}
            for number, (top, bottom) in enumerate(bars)
        ],
    }


def _whole_ranks(highest: float) -> list[int]:
    """Return whole ranks for the ticks, no more than eight."""
    step = -(-int(highest) // 8)
    return list(range(1, int(highest) + 1, step))


def _shorten(label: str) -> str:
    return (
        label if len(label) <= LETTERS_STACKED else f"{label[: LETTERS_STACKED - 1]}\N{HORIZONTAL ELLIPSIS}"
    )
