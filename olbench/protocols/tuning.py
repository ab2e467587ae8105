"""Which candidates to try next, and which one wins. A search keeps no state; callers repeat it."""

import itertools
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from olbench.algorithms.definition import Value

Item = TypeVar("Item")
Choice = Mapping[str, Value]
Grid = Mapping[str, Sequence[Value]]
#: The score of a candidate, lower is better: None while unknown, infinite if it failed.
Score = Callable[[Choice], float | None]
#: The score of a candidate whose measure is undefined: it loses to any other that did not fail.
UNDEFINED = sys.float_info.max


@dataclass(frozen=True)
class Step:
    asked: tuple[Choice, ...]
    chosen: Choice | None


def search(kind: str, grid: Grid, start: Choice, score: Score, ties: str) -> Step:
    """Advance a search as far as the known scores allow. A single candidate is chosen without a trial."""
    if math.prod(len(values) for values in grid.values()) == 1:
        return Step((), {**start, **{name: values[0] for name, values in grid.items()}})
    if kind == "coordinate":
        return _search_coordinates(grid, start, score, ties)
    candidates = tuple({**start, **values} for values in products(grid))
    return Step(candidates, best(candidates, score, ties))


def products(grid: Grid) -> list[dict[str, Value]]:
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def _search_coordinates(grid: Grid, start: Choice, score: Score, ties: str) -> Step:
    """Search one parameter after the other; the others are at their best so far or default (LIBOL)."""
    asked: tuple[Choice, ...] = ()
    current: Choice | None = start
    for name, values in grid.items():
        candidates = tuple({**(current or start), name: value} for value in values)
        asked += candidates
        current = best(candidates, score, ties)
        if current is None:
            break
    return Step(asked, current)


def best(candidates: tuple[Choice, ...], score: Score, ties: str) -> Choice | None:
    """Return the candidate with the lowest score; None if a score is unknown or all candidates failed."""
    scores = [score(candidate) for candidate in candidates]
    known = [value for value in scores if value is not None]
    if len(known) < len(scores) or min(known) == math.inf:
        return None
    winners = [c for c, value in zip(candidates, known, strict=True) if value == min(known)]
    return pick(winners, ties)


def pick(winners: Sequence[Item], ties: str) -> Item:
    """Return one of several equally good candidates: the first, the last or the middle one.

    >>> [pick("abc", ties) for ties in ("last", "first", "middle")]
    ['c', 'a', 'b']
    """
    places = {"first": 0, "last": -1, "middle": len(winners) // 2}
    return winners[places[ties]]


def count_candidates(kind: str, grid: Grid, start: Choice) -> int:
    sizes = [len(values) for values in grid.values()]
    if math.prod(sizes) == 1:
        return 0
    if kind != "coordinate":
        return math.prod(sizes)
    # The winner for one parameter is again a candidate for the next, with that one's default.
    return sum(sizes) - sum(start[name] in grid[name] for name in list(grid)[1:])
