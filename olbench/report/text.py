"""Tables for a terminal."""

import io
from collections.abc import Iterable
from dataclasses import replace

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from olbench.report.grid import Box, Grid, Part

#: Spaces between columns.
GAP = 3
#: A column with a text longer than this wraps.
LONG = 40
#: The smallest width of a column that wraps.
LEAST = 24


def render(parts: Iterable[Part], width: int = 140, colour: bool = False) -> str:
    """Return tables and paragraphs as text: the best in bold if the terminal can, and always with a star."""
    console = Console(
        file=io.StringIO(), width=width, force_terminal=colour, no_color=not colour, highlight=False,
        color_system="standard" if colour else None,
    )  # fmt: skip
    for part in parts:
        if isinstance(part, Grid):
            _print_grid(console, part, width)
        else:
            console.print(Text(part))
        console.print()
    file = console.file
    assert isinstance(file, io.StringIO)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()).rstrip() + "\n"


def fit(grid: Grid, width: int) -> Grid:
    """Return a table without the columns that do not fit into the width; its note names them.

    Columns are dropped in the order of their `drop`; those that are KEPT stay.
    """
    kept, dropped = list(range(len(grid.columns))), []
    while _width(grid, kept) > width:
        droppable = [number for number in kept if grid.columns[number].drop]
        if not droppable:
            break
        last = max(droppable, key=lambda number: (grid.columns[number].drop, number))
        kept.remove(last)
        dropped.append(last)
    if not dropped:
        return grid
    names = ", ".join(grid.columns[number].heading for number in sorted(dropped))
    narrow = grid.keep(kept)
    return replace(narrow, note=f"{grid.note} Not shown in this width: {names}.".strip())


def stack(grid: Grid, width: int) -> list[Grid]:
    """Return a table as one or several that fit, each with the columns of names, which are never cut."""
    names = list(range(_count_names(grid)))
    pieces = [names.copy()]
    for number in range(len(names), len(grid.columns)):
        if len(pieces[-1]) > len(names) and _width(grid, [*pieces[-1], number]) > width:
            pieces.append(names.copy())
        pieces[-1].append(number)
    return [grid.keep(piece) for piece in pieces]


def _count_names(grid: Grid) -> int:
    """Return how many columns name a row: those on the left of the numbers, or one if there are none."""
    return next((number for number, column in enumerate(grid.columns) if column.side != "left"), 1) or 1


def _is_starred(grid: Grid) -> bool:
    return any(box.bold for row in grid.rows for box in row)


def _width(grid: Grid, kept: list[int]) -> int:
    return sum(_least(grid, number) for number in kept) + GAP * max(0, len(kept) - 1)


def _wraps(grid: Grid, number: int) -> bool:
    """Tell whether a column wraps."""
    longest = max((cell_len(row[number].text) for row in grid.rows), default=0)
    return longest > LONG and grid.columns[number].side == "left"


def _least(grid: Grid, number: int) -> int:
    """Return the smallest width of a column: that of its longest text, or LEAST if it wraps."""
    heading = cell_len(grid.columns[number].heading)
    if _wraps(grid, number):
        return max(LEAST, heading)
    mark = int(_is_starred(grid) and grid.columns[number].side == "right")
    return max(heading, *(cell_len(row[number].text) + mark for row in grid.rows), 0)


def _print_grid(console: Console, grid: Grid, width: int) -> None:
    narrow = fit(grid, width)
    console.print(Text(grid.title, style="bold"))
    for piece in stack(narrow, width):
        console.print(_table(piece), crop=False, overflow="ignore", no_wrap=True)
    if narrow.note:
        console.print(Text(narrow.note, style="dim"))


def _table(grid: Grid) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    for number, column in enumerate(grid.columns):
        least, wraps = _least(grid, number), _wraps(grid, number)
        table.add_column(Text(column.heading), justify=column.side, no_wrap=not wraps, min_width=least)
    starred = _is_starred(grid)
    for row in grid.rows:
        table.add_row(*(_text(box, starred and column.side == "right")
                        for box, column in zip(row, grid.columns, strict=True)))  # fmt: skip
    return table


def _text(box: Box, starred: bool) -> Text:
    mark = ("*" if box.bold else " ") if starred else ""
    return Text(box.text + mark, style="bold" if box.bold else "")
