"""Tables for a terminal."""

import io
from collections.abc import Callable, Iterable
from dataclasses import replace

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from olbench.report.grid import Box, Grid, Part
from olbench.report.renderers import Format

GAP = 3
#: A column with a text longer than this wraps.
LONG = 40
LEAST = 24
POINTER = "> "


def new_console(width: int, colour: bool) -> Console:
    return Console(
        file=io.StringIO(),
        width=width,
        force_terminal=colour,
        no_color=not colour,
        highlight=False,
        color_system="standard" if colour else None,
    )


def printed_text(console: Console) -> str:
    file = console.file
    assert isinstance(file, io.StringIO)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()).rstrip() + "\n"


def render(parts: Iterable[Part], width: int = 140, colour: bool = False) -> str:
    console = new_console(width, colour)
    for part in parts:
        if isinstance(part, Grid):
            _print_grid(console, part, width)
        else:
            console.print(Text(part))
        console.print()
    return printed_text(console)


class Widths:
    """The smallest widths of a table's columns, measured once: every choice of columns asks for them."""

    def __init__(self, grid: Grid):
        starred = any(box.bold and not box.highlighted for row in grid.rows for box in row)
        #: Of each column, whether its texts have a star or the room for one.
        self.stars = [starred and column.side == "right" for column in grid.columns]
        longest = [max(map(cell_len, texts), default=0) for texts in grid.texts_by_column()]
        pairs = zip(grid.columns, longest, strict=True)
        self.wraps = [length > LONG and column.side == "left" for column, length in pairs]
        texts = [
            LEAST if wraps else length + (star and length > 0)
            for length, star, wraps in zip(longest, self.stars, self.wraps, strict=True)
        ]
        #: Of each column, the width of its longest text with its star, or LEAST if it wraps.
        self.least = list(map(max, texts, (cell_len(column.heading) for column in grid.columns)))

    def total(self, kept: list[int]) -> int:
        return sum(self.least[number] for number in kept) + GAP * max(0, len(kept) - 1)

    def squeeze(self, grid: Grid, width: int) -> None:
        texts = grid.texts_by_column()
        for number in reversed(range(len(grid.columns))):
            excess = self.total(list(range(len(grid.columns)))) - width
            if excess <= 0:
                return
            if grid.columns[number].side == "left" or not any(" " in text for text in texts[number]):
                words = " ".join((grid.columns[number].heading, *texts[number])).split()
                longest = max(map(cell_len, words), default=0)
                self.least[number] = max(longest, self.least[number] - excess)
                self.wraps[number] = True


def fit(grid: Grid, width: int) -> Grid:
    """Columns are dropped in the order of their `drop`, and named in the note; those that are KEPT stay."""
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


def stack(grid: Grid, width: int, total: Callable[[list[int]], float] | None = None) -> list[Grid]:
    """Each part has the columns of names; `total` returns the width of a table with these columns."""
    # The columns on the left of the numbers name a row, or the first one does.
    named = next((number for number, column in enumerate(grid.columns) if column.side != "left"), 1) or 1
    names = list(range(named))
    pieces = [names.copy()]
    measure = total or Widths(grid).total
    for number in range(len(names), len(grid.columns)):
        if len(pieces[-1]) > len(names) and measure([*pieces[-1], number]) > width:
            pieces.append(names.copy())
        pieces[-1].append(number)
    return [grid.keep(piece) for piece in pieces]


def _point(grid: Grid) -> Grid:
    columns = tuple(
        replace(each, heading=POINTER + each.heading) if each.highlighted else each for each in grid.columns
    )
    rows = [
        tuple(replace(box, text=POINTER + box.text, bold=True) if box.highlighted else box for box in row)
        for row in grid.rows
    ]
    return replace(grid, columns=columns, rows=rows)


def _print_grid(console: Console, grid: Grid, width: int) -> None:
    narrow = fit(_point(grid), width)
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
    return bool(grid.rows) and all(box.text.isprintable() for row in grid.rows for box in row)


def _align(grid: Grid, widths: Widths) -> str:
    """Return a table without wrapping and styles, as rich lays it out; rich itself is slow on many rows."""
    lines = [[column.heading for column in grid.columns]]
    lines += [list(map(_mark, row, widths.stars)) for row in grid.rows]
    sides = [column.side for column in grid.columns]
    texts = [(" " * GAP).join(map(_pad, line, widths.least, sides)).rstrip() for line in lines]
    return "\n".join([texts[0], "─" * widths.total(list(range(len(sides)))), *texts[1:], ""])


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
        texts = map(_mark, row, widths.stars)
        table.add_row(*(Text(text, "bold" if box.bold else "") for text, box in zip(texts, row, strict=True)))
    return table


def _mark(box: Box, starred: bool) -> str:
    return box.text + ("*" if box.bold else " ") if starred else box.text


FORMAT = Format(
    "report.txt", "all tables, for a terminal", lambda document, screen: render(document.parts(), *screen)
)
