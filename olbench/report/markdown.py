"""Tables in Markdown, as GitHub reads it."""

from collections.abc import Iterable

from olbench.report.grid import Cell, Grid

SIDES = {"left": ":--", "right": "--:", "center": ":-:"}


def render(parts: Iterable[Grid | str]) -> str:
    """Return tables and paragraphs as Markdown."""
    return "\n\n".join(_grid(part) if isinstance(part, Grid) else _escaped(part) for part in parts) + "\n"


def _grid(grid: Grid) -> str:
    heading = _line(_escaped(column.heading) for column in grid.columns)
    rule = "|" + "|".join(SIDES[column.side] for column in grid.columns) + "|"
    rows = [_line(map(_cell, row)) for row in grid.rows]
    lines = [f"**{_escaped(grid.title)}**", "", heading, rule, *rows]
    return "\n".join(lines + (["", _escaped(grid.note)] if grid.note else []))


def _line(texts: Iterable[str]) -> str:
    return "| " + " | ".join(texts) + " |"


def _cell(cell: Cell) -> str:
    text = _escaped(cell.text)
    return f"**{text}**" if cell.bold and text else text


def _escaped(text: str) -> str:
    """Keep what a name may contain from becoming markup."""
    for sign in ("\\", "|", "*", "_", "`", "<", "["):
        text = text.replace(sign, "\\" + sign)
    return text
