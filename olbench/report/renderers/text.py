"""Tables for a terminal."""

import io
from collections.abc import Iterable
from dataclasses import replace

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from olbench.report.grid import Box, Column, Grid, Part
from olbench.report.renderers import Format

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


class Widths:
    """The smallest widths of a table's columns, measured once: every choice of columns asks for them."""

    def __init__(self, grid: Grid):
        self.starred = any(box.bold for row in grid.rows for box in row)
        self.headings = [cell_len(column.heading) for column in grid.columns]
        #: Of each column, the width of its longest text.
        self.longest = [max(map(cell_len, texts), default=0) for texts in _texts_by_column(grid)]
        pairs = list(zip(grid.columns, self.longest, strict=True))
        #: Of each column, whether it wraps.
        self.wraps = [length > LONG and column.side == "left" for column, length in pairs]
        self.least = [self._least(number, column) for number, column in enumerate(grid.columns)]

    def _least(self, number: int, column: Column) -> int:
        """Return the width of the longest text of a column, or LEAST if it wraps."""
        if self.wraps[number]:
            return max(LEAST, self.headings[number])
        mark = int(self.starred and column.side == "right") if self.longest[number] else 0
        return max(self.headings[number], self.longest[number] + mark)

    def total(self, kept: list[int]) -> int:
        """Return the width of a table with these columns."""
        return sum(self.least[number] for number in kept) + GAP * max(0, len(kept) - 1)

    def squeeze(self, grid: Grid, width: int) -> None:
        """Wrap words and headings, from the right, as far as it takes to fit; numbers never wrap."""
        texts = _texts_by_column(grid)
        for number in reversed(range(len(grid.columns))):
            excess = self.total(list(range(len(grid.columns)))) - width
            if excess <= 0:
                return
            if grid.columns[number].side == "left" or not any(" " in text for text in texts[number]):
                words = " ".join((grid.columns[number].heading, *texts[number])).split()
                longest = max(map(cell_len, words), default=0)
                self.least[number] = max(longest, self.least[number] - excess)
                self.wraps[number] = True


def _texts_by_column(grid: Grid) -> list[list[str]]:
    return [[row[number].text for row in grid.rows] for number in range(len(grid.columns))]


def fit(grid: Grid, width: int) -> Grid:
    """Return a table without the columns that do not fit into the width; its note names them.

    Columns are dropped in the order of their `drop`; those that are KEPT stay.
    """
    kept, dropped = list(range(len(grid.columns))), []
    widths = Widths(grid)
    while widths.total(kept) > width:
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
    widths = Widths(grid)
    for number in range(len(names), len(grid.columns)):
        if len(pieces[-1]) > len(names) and widths.total([*pieces[-1], number]) > width:
            pieces.append(names.copy())
        pieces[-1].append(number)
    return [grid.keep(piece) for piece in pieces]


def _count_names(grid: Grid) -> int:
    """Return how many columns name a row: those on the left of the numbers, or one if there are none."""
    return next((number for number, column in enumerate(grid.columns) if column.side != "left"), 1) or 1


def _print_grid(console: Console, grid: Grid, width: int) -> None:
    narrow = fit(grid, width)
    if grid.title:
        console.print(Text(grid.title, style="bold"))
    for number, piece in enumerate(stack(narrow, width)):
        widths = Widths(piece)
        widths.squeeze(piece, width)
        if number:
            console.print()
        if console.is_terminal or any(widths.wraps) or not _is_plain(piece):
            console.print(_table(piece, widths), crop=False, overflow="ignore", no_wrap=True)
        else:
            console.file.write(_align(piece, widths))
    if narrow.note:
        console.print(Text(narrow.note, style="dim"))


def _is_plain(grid: Grid) -> bool:
    """Return whether every text takes one line and nothing but visible characters."""
    return bool(grid.rows) and all(text.isprintable() for texts in _texts_by_column(grid) for text in texts)


def _align(grid: Grid, widths: Widths) -> str:
    """Return a table without wrapping and styles, as rich lays it out; rich itself is slow on many rows."""
    lines = [[column.heading for column in grid.columns]]
    starred = [widths.starred and column.side == "right" for column in grid.columns]
    lines += [[_mark(box, star) for box, star in zip(row, starred, strict=True)] for row in grid.rows]
    texts = [
        (" " * GAP)
        .join(
            _pad(text, width, column.side)
            for text, width, column in zip(line, widths.least, grid.columns, strict=True)
        )
        .rstrip()
        for line in lines
    ]
    return "\n".join([texts[0], "─" * widths.total(list(range(len(grid.columns)))), *texts[1:], ""])


def _pad(text: str, width: int, side: str) -> str:
    text = text.rstrip() if side != "left" else text
    spare = width - cell_len(text)
    before = {"left": 0, "right": spare, "center": spare // 2}[side]
    return " " * before + text + " " * (spare - before)


def _table(grid: Grid, widths: Widths) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    for number, column in enumerate(grid.columns):
        least, wraps = widths.least[number], widths.wraps[number]
        table.add_column(Text(column.heading), justify=column.side, no_wrap=not wraps, min_width=least)
    for row in grid.rows:
        table.add_row(*(_text(box, widths.starred and column.side == "right")
                        for box, column in zip(row, grid.columns, strict=True)))  # fmt: skip
    return table


def _text(box: Box, starred: bool) -> Text:
    return Text(_mark(box, starred), style="bold" if box.bold else "")


def _mark(box: Box, starred: bool) -> str:
    """Return the text of a box, with a star or the room for one in a column that has stars."""
    return box.text + ("*" if box.bold else " ") if starred else box.text


FORMAT = Format(
    "report.txt", "all tables, for a terminal", lambda document, screen: render(document.parts(), *screen)
)
