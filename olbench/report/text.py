"""Tables for a terminal."""

import io
from collections.abc import Iterable

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from olbench.report.grid import Cell, Grid


def render(parts: Iterable[Grid | str], width: int = 140, colour: bool = False) -> str:
    """Return tables and paragraphs as text: bold where the terminal has it, a star in any case."""
    console = Console(
        file=io.StringIO(), width=width, force_terminal=colour, no_color=not colour, highlight=False,
        color_system="standard" if colour else None,
    )  # fmt: skip
    for part in parts:
        if isinstance(part, Grid):
            _print(console, part)
        else:
            console.print(Text(part))
        console.print()
    file = console.file
    assert isinstance(file, io.StringIO)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()).rstrip() + "\n"


def _print(console: Console, grid: Grid) -> None:
    console.print(Text(grid.title, style="bold"))
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    for column in grid.columns:
        table.add_column(Text(column.heading), justify=column.side, no_wrap=column.side == "right")
    starred = any(cell.bold for row in grid.rows for cell in row)
    for row in grid.rows:
        table.add_row(*(_cell(cell, starred and column.side == "right")
                        for cell, column in zip(row, grid.columns, strict=True)))  # fmt: skip
    console.print(table)
    if grid.note:
        console.print(Text(grid.note, style="dim"))


def _cell(cell: Cell, starred: bool) -> Text:
    mark = ("*" if cell.bold else " ") if starred else ""
    return Text(cell.text + mark, style="bold" if cell.bold else "")
