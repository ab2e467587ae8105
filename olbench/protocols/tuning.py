"""Which candidates to try next, and which one wins. A search keeps no state; callers repeat it."""

import itertools
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from olbench.algorithms.definition import Parameter, Value
from olbench.errors import UserError

Item = TypeVar("Item")
Choice = Mapping[str, Value]
Grid = Mapping[str, Sequence[Value]]
#: The score of a candidate, lower is better: None while unknown, infinite if it failed.
Score = Callable[[Choice], float | None]
#: The score of a candidate whose measure is undefined: it loses to any other that did not fail.
UNDEFINED = sys.float_info.max
SMALLEST, LARGEST = "smallest", "largest"
#: How far a grid goes on beyond each of its ends.
MOST_STEPS = 6


@dataclass(frozen=True)
class Step:
    asked: tuple[Choice, ...]
    chosen: Choice | None
    #: What is searched, with the values beyond the ends of the given grid.
    grid: Grid = field(default_factory=dict)


class Edge(NamedTuple):
    """A chosen value at an end of what was searched."""

    name: str
    value: float
    side: str


def search(
    kind: str,
    grid: Grid,
    start: Choice,
    score: Score,
    ties: str,
    extended: Mapping[str, Parameter] | None = None,
) -> Step:
    """Advance a search as far as the known scores allow. A single candidate is chosen without a trial.

    The grids of `extended` parameters go on beyond an end while a value there is better than all others.
    """
    if math.prod(len(values) for values in grid.values()) == 1:
        return Step((), {**start, **{name: values[0] for name, values in grid.items()}}, grid)
    # Coordinates are searched one after the other; the others are at their best so far or default (LIBOL).
    parts = [{name: values} for name, values in grid.items()] if kind == "coordinate" else [grid]
    asked: tuple[Choice, ...] = ()
    searched, current = dict(grid), dict(start)
    for part in parts:
        step = _search_products(part, current, score, ties, extended or {})
        asked, searched = asked + step.asked, searched | dict(step.grid)
        if step.chosen is None:
            return Step(asked, None, searched)
        current = dict(step.chosen)
    return Step(asked, current, searched)


def _search_products(
    given: Grid, start: Choice, score: Score, ties: str, extended: Mapping[str, Parameter]
) -> Step:
    grid = dict(given)
    while True:
        candidates = tuple({**start, **values} for values in products(grid))
        chosen = best(candidates, score, ties)
        beyond = {} if chosen is None else dict(_go_on(given, grid, candidates, chosen, score, extended))
        if not beyond:
            return Step(candidates, chosen, grid)
        grid |= beyond


def _go_on(
    given: Grid,
    grid: Grid,
    candidates: Sequence[Choice],
    chosen: Choice,
    score: Score,
    extended: Mapping[str, Parameter],
) -> Iterator[tuple[str, tuple[Value, ...]]]:
    """Yield the grids that go on: those with a value at an end that is strictly better than all others."""
    known: Any = score
    least = known(chosen)
    for name in grid.keys() & extended.keys():
        side = find_side(grid[name], chosen[name])
        others = (each for each in candidates if each[name] != chosen[name])
        if side and all(least < known(other) for other in others):
            value = _step_beyond(given[name], grid[name], side, extended[name])
            if value is not None:
                first, last = grid[name][0], grid[name][-1]
                leads = (side == SMALLEST) == (first < last)  # type: ignore[operator]
                yield name, (value, *grid[name]) if leads else (*grid[name], value)


def find_side(values: Sequence[Value], value: Value) -> str:
    """Return the end of a grid of numbers at which a value is, or ""."""
    if len(values) < 2 or any(isinstance(each, str) for each in (*values, value)):
        return ""
    ends: Any = values
    return {min(ends): SMALLEST, max(ends): LARGEST}.get(value, "")


def _step_beyond(given: Sequence[Any], values: Sequence[Any], side: str, parameter: Parameter) -> Any:
    """Return the value after an end, by the step or the ratio of the given grid; None if there is none.

    A grid of equal steps goes on in steps, as does one of two values if its parameter is bounded above.
    """
    ordered = sorted(given, reverse=side == SMALLEST)
    *_, inner, outer = ordered
    end = min(values) if side == SMALLEST else max(values)
    if sum(value < min(given) if side == SMALLEST else value > max(given) for value in values) >= MOST_STEPS:
        return None
    steps = [b - a for a, b in itertools.pairwise(ordered)]
    is_even = all(math.isclose(each, steps[0], rel_tol=1e-6) for each in steps)
    if min(inner, outer) <= 0 or (is_even and (len(given) > 2 or parameter.high < math.inf)):
        value = end + (outer - inner)
    else:
        value = end * (outer / inner)
    rounded = float(f"{value:.12g}")
    value = rounded if math.isclose(rounded, value, rel_tol=1e-14) else value
    with suppress(UserError):
        return parameter.check(value, parameter.name)
    return None


def find_edges(choice: Choice, grid: Grid, parameters: Mapping[str, Parameter]) -> list[Edge]:
    """Return the chosen values at an end of their grid, except where the parameter has its bound."""
    found = []
    for name, values in grid.items():
        value = choice.get(name, "")
        side, parameter = find_side(values, value), parameters.get(name)
        if side and (parameter is None or value not in (parameter.low, parameter.high)):
            found.append(Edge(name, float(value), side))
    return found


def unite(name: str, grids: Iterable[Grid]) -> tuple[Value, ...]:
    """Return every value of a parameter in several grids, numbers in ascending order."""
    values: Any = dict.fromkeys(value for grid in grids for value in grid[name])
    return tuple(values if any(isinstance(each, str) for each in values) else sorted(values))


def most_frequent(choices: Iterable[Item | None]) -> Item | None:
    """Return the most frequent of several choices, of equally frequent ones the first; skip None."""
    made = [each for each in choices if each is not None]
    return max(made, key=made.count, default=None)


def products(grid: Grid) -> list[dict[str, Value]]:
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


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
