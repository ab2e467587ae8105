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
#: A column of longer texts than this breaks its lines instead of being as wide as its longest text.
LONG = 40
#: The narrowest that a column of long texts may become.
LEAST = 24


def render(parts: Iterable[Part], width: int = 140, colour: bool = False) -> str:
    """Return tables and paragraphs as text: bold where the terminal has it, a star in any case."""
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
    """Return a table without the columns that would make it wider than a terminal; a note names them.

    Columns go in the order that their `drop` says; those that are always kept stay.
    """
    kept, dropped = list(range(len(grid.columns))), []
    while _width(grid, kept) > width:
        droppable = [number for number in kept if grid.columns[number].drop]
        if not droppable:
            break
        next_out = max(droppable, key=lambda number: (grid.columns[number].drop, number))
        kept.remove(next_out)
        dropped.append(next_out)
    if not dropped:
        return grid
    names = ", ".join(grid.columns[number].heading for number in sorted(dropped))
    narrow = grid.keep(kept)
    return replace(narrow, note=f"{grid.note} Too narrow to show: {names}.".strip())


def stack(grid: Grid, width: int) -> list[Grid]:
    """Return a table as one or several that fit, each with the first column: names never drop or shrink."""
    pieces: list[list[int]] = [[0]]
    for number in range(1, len(grid.columns)):
        if len(pieces[-1]) > 1 and _width(grid, [*pieces[-1], number]) > width:
            pieces.append([0])
        pieces[-1].append(number)
    return [grid.keep(piece) for piece in pieces]


def _is_starred(grid: Grid) -> bool:
    return any(box.bold for row in grid.rows for box in row)


def _width(grid: Grid, kept: list[int]) -> int:
    return sum(_least(grid, number) for number in kept) + GAP * max(0, len(kept) - 1)


def _wraps(grid: Grid, number: int) -> bool:
    """Tell whether a column breaks its lines."""
    longest = max((cell_len(row[number].text) for row in grid.rows), default=0)
    return longest > LONG and grid.columns[number].side == "left"


def _least(grid: Grid, number: int) -> int:
    """Return the narrowest that a column can be: its longest text, or LEAST where it breaks its lines."""
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
