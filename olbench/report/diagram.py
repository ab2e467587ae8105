"""The critical-difference diagram of Demšar (2006); figures draw the layout in inches, the page in pixels."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from olbench.report.grid import shorten

#: Pixels: the page's diagram, its margins for names, its axis, and the height of a row.
WIDTH, MARGIN, AXIS, STEP = 760, 165, 58, 22
#: Rows: the first bar below the axis, and the distance of the next.
FIRST_BAR, NEXT_BAR = 0.8, 0.55
#: The stacked diagram: what a letter takes, the length of its axis, where its first row is, and between bars.
LETTER, LENGTH, FIRST, GAP = 7.2, 150, 58, 9
#: The most letters of a name, beside the axis and in a row of its own; the most algorithms that are drawn.
LETTERS_BESIDE, LETTERS_STACKED, MOST_DRAWN = 18, 26, 40


class RankedName(NamedTuple):
    label: str
    rank: float
    y: float
    left: bool


class RankDiagram(NamedTuple):
    """The names, the bars (both ends, and rows below the axis), and how many rows all of it takes."""

    names: list[RankedName]
    bars: list[tuple[float, float, float]]
    height: float


def lay_out(ranks: Mapping[str, float], groups: Iterable[Iterable[str]]) -> RankDiagram:
    """The better half is named on the left; best and worst have the shortest lines."""
    ordered = order_ranks(ranks)
    half = (len(ordered) + 1) // 2
    spans = [[ranks[label] for label in group] for group in groups]
    wide = [each for each in spans if len(each) > 1]
    bars = [(min(each), max(each), FIRST_BAR + NEXT_BAR * i) for i, each in enumerate(wide)]
    top = 1 + NEXT_BAR * len(bars)
    sides = ((ordered[:half], True), (ordered[half:][::-1], False))
    names = [
        RankedName(label, ranks[label], top + row, left)
        for side, left in sides
        for row, label in enumerate(side)
    ]
    return RankDiagram(names, bars, top + half)


def order_ranks(ranks: Mapping[str, float]) -> list[str]:
    return sorted(ranks, key=lambda label: (ranks[label], label))


def critical_difference(
    ranks: Mapping[str, float], groups: Iterable[Iterable[str]], difference: float
) -> dict[str, Any]:
    names, bars, height = lay_out(ranks, groups)
    highest = len(ranks)

    def place(rank: float) -> float:
        return round(MARGIN + (rank - 1) / max(highest - 1, 1) * (WIDTH - 2 * MARGIN), 1)

    def down(rows: float) -> float:
        return round(AXIS + STEP * rows, 1)

    return {
        "width": WIDTH,
        "height": down(height),
        "axis": AXIS,
        "ticks": [{"x": place(rank), "rank": rank} for rank in range(1, highest + 1)],
        "ruler": {"x1": place(1), "x2": place(1 + difference)},
        "labels": [
            {
                "text": each.label,
                "rank": each.rank,
                "x": place(each.rank),
                "y": down(each.y),
                "end": MARGIN - 20 if each.left else WIDTH - MARGIN + 20,
                "left": each.left,
            }
            for each in names
        ],
        "bars": [{"x1": place(low) - 4, "x2": place(high) + 4, "y": down(y)} for low, high, y in bars],
    }


def fits_beside(ranks: Mapping[str, float]) -> bool:
    return len(ranks) <= MOST_DRAWN and all(len(label) <= LETTERS_BESIDE for label in ranks)


def stack_ranks(
    ranks: Mapping[str, float], groups: Iterable[Iterable[str]], difference: float
) -> dict[str, Any]:
    """One row per algorithm, best first, for narrow screens or long names; of very many, the best."""
    ordered = order_ranks(ranks)[:MOST_DRAWN]
    highest = max(2.0, *(ranks[label] for label in ordered))
    # At least the width of the caption of the ruler, "CD 12.34".
    begin = 10 + LETTER * min(LETTERS_STACKED, max(8, *map(len, ordered)))

    # Whole ranks at the ticks, no more than eight.
    step = -(-int(highest) // 8)

    def place(rank: float) -> float:
        return round(begin + (rank - 1) / (highest - 1) * LENGTH, 1)

    rows = {label: FIRST + STEP * row for row, label in enumerate(ordered)}
    spans = [[rows[label] for label in group if label in rows] for group in groups]
    bars = [(min(ys), max(ys)) for ys in spans if len(ys) > 1]
    return {
        "width": round(begin + LENGTH + 52 + GAP * len(bars)),
        "height": FIRST + STEP * len(ordered) - 6,
        "axis": FIRST - 18,
        "begin": round(begin, 1),
        "ticks": [{"x": place(rank), "rank": rank} for rank in range(1, int(highest) + 1, step)],
        "ruler": {"x1": place(1), "x2": min(place(1 + difference), round(begin + LENGTH, 1))},
        "rows": [
            {"text": shorten(label, LETTERS_STACKED), "full": label, "rank": rank, "x": place(rank), "y": y}
            for (label, y), rank in zip(rows.items(), map(ranks.__getitem__, rows), strict=True)
        ],
        "bars": [
            {"x": round(begin + LENGTH + 50 + GAP * number, 1), "y1": top - 6, "y2": bottom + 6}
            for number, (top, bottom) in enumerate(bars)
        ],
    }
