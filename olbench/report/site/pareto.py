"""Plots of a measure against what it costs, as coordinates for a small SVG."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from olbench.report.grid import shorten

WIDTH, HEIGHT = 560, 330
LEFT, RIGHT, TOP, BOTTOM = 62, 546, 14, 284
LETTER, LINE = 6.3, 13
LONGEST = 26


@dataclass(frozen=True)
class CostPoint:
    label: str
    cost: float
    value: float
    loss: float


def front_of(points: Sequence[CostPoint]) -> list[CostPoint]:
    """Return the points that no other beats in one respect without being worse in the other.

    >>> made = [CostPoint(name, cost, loss, loss) for name, cost, loss in
    ...     [("slow", 9, 1), ("quick", 1, 3), ("neither", 9, 3), ("same", 1, 3)]]
    >>> [each.label for each in front_of(made)]
    ['quick', 'same', 'slow']
    """
    front: list[CostPoint] = []
    for each in sorted(points, key=lambda point: (point.cost, point.loss, point.label)):
        equal = bool(front) and (front[-1].cost, front[-1].loss) == (each.cost, each.loss)
        if not front or each.loss < front[-1].loss or equal:
            front.append(each)
    return front


def draw(points: Sequence[CostPoint], cost_title: str, title: str) -> dict[str, Any] | None:
    known = [each for each in points if each.cost > 0 and math.isfinite(each.cost + each.value)]
    if len(known) < 2 or len({each.cost for each in known}) < 2:
        return None
    costs, values = [each.cost for each in known], [each.value for each in known]
    low, high = _pad(min(values), max(values))
    first, last = min(costs), max(costs)
    x_scale = (RIGHT - 18 - LEFT - 12) / math.log(last / first)

    def x(cost: float) -> int:
        return round(LEFT + 12 + x_scale * math.log(cost / first))

    def y(value: float) -> int:
        return round(BOTTOM - (BOTTOM - TOP) * (value - low) / (high - low))

    front = front_of(known)
    ahead = {each.label for each in front}
    corners = [(x(each.cost), y(each.value)) for each in front]
    behind = [(x(each.cost), y(each.value)) for each in known if each.label not in ahead]
    return {
        "title": title,
        "cost": cost_title,
        "points": [(*place, each.label) for each, place in zip(front, corners, strict=True)],
        "behind": "".join(f"M{a} {b}h0" for a, b in dict.fromkeys(behind)),
        "steps": "".join(f"M{a} {b}" if not place else f"H{a}V{b}" for place, (a, b) in enumerate(corners)),
        "labels": _place_labels([each.label for each in front], corners, behind),
        "x_ticks": [(x(tick), _tick(tick)) for tick in _log_ticks(first, last)],
        "y_ticks": [(y(tick), _tick(tick)) for tick in _ticks(low, high)],
        "front": [each.label for each in front],
    }


def _pad(low: float, high: float) -> tuple[float, float]:
    room = 0.08 * (high - low) or abs(high) or 1.0
    return (max(0.0, low - room) if low >= 0 else low - room), high + room


def _place_labels(
    labels: Sequence[str], corners: Sequence[tuple[float, float]], behind: Sequence[tuple[float, float]]
) -> list[tuple[int, int, str, str]]:
    taken = [(a - 5.0, b - 5.0, a + 5.0, b + 5.0) for a, b in (*corners, *behind)]
    for (a, b), (c, d) in pairwise(corners):
        taken += [(a, b - 1.0, c, b + 1.0), (c - 1.0, min(b, d), c + 1.0, max(b, d))]
    placed = []
    for label, (a, b) in zip(labels, corners, strict=True):
        text = shorten(label, LONGEST)
        width = LETTER * len(text)
        for side, begin, base in (
            ("start", a + 7, b - 6),
            ("start", a + 7, b + 15),
            ("end", a - 7, b + 15),
            ("end", a - 7, b + 4),
            ("end", a - 7, b - 6),
            ("start", a + 7, b + 4),
        ):
            left = begin if side == "start" else begin - width
            box = (left, base - LINE + 3, left + width, base + 2)
            inside = box[0] >= LEFT and box[2] <= WIDTH - 2 and box[1] >= 0 and box[3] <= BOTTOM
            if inside and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                placed.append((round(begin), round(base), side, text))
                break
    return placed


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _ticks(low: float, high: float) -> list[float]:
    raw = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(each * power for each in (1, 2, 2.5, 5, 10) if each * power >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [place * step for place in range(first, math.floor(high / step + 1e-9) + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    decades = math.log10(high / low)
    digits = (1,) if decades > 3 else (1, 2, 5) if decades > 1 else (1, 1.5, 2, 3, 4, 5, 6, 8)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [digit * 10.0**power for power in powers for digit in digits]
    shown = [tick for tick in ticks if low * 0.999 <= tick <= high * 1.001]
    return shown if len(shown) > 1 else [low, high]


def _tick(value: float) -> str:
    """Return a number on an axis.

    >>> _tick(0.25), _tick(2e-05), _tick(3_000_000.0), _tick(1500.0)
    ('0.25', '2e-5', '3e6', '1,500')
    """
    size = abs(value)
    if size and (size < 1e-3 or size >= 1e6):
        digits, power = f"{value:.2e}".split("e")
        return f"{float(digits):g}e{int(power)}"
    return f"{value:,.6g}" if size < 1000 else f"{value:,.0f}"
