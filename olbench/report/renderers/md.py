"""Tables in GitHub's Markdown."""

from collections.abc import Iterable

from olbench.report.grid import Box, Grid, Part
from olbench.report.renderers import Format

SIDES = {"left": ":--", "right": "--:", "center": ":-:"}


def render(parts: Iterable[Part]) -> str:
    return "\n\n".join(_grid(part) if isinstance(part, Grid) else escape(part) for part in parts) + "\n"


def _grid(grid: Grid) -> str:
    heading = _line(_format(Box(each.heading, each.highlighted)) for each in grid.columns)
    rule = "|" + "|".join(SIDES[column.side] for column in grid.columns) + "|"
    rows = [_line(map(_format, row)) for row in grid.rows]
    lines = [f"**{escape(grid.title)}**", "", heading, rule, *rows]
    return "\n".join(lines + (["", escape(grid.note)] if grid.note else []))


def _line(texts: Iterable[str]) -> str:
    return "| " + " | ".join(texts) + " |"


def _format(box: Box) -> str:
    text = escape(box.text)
    return f"**{text}**" if (box.bold or box.highlighted) and text else text


def escape(text: str) -> str:
    for sign in ("\\", "|", "*", "_", "`", "<", "["):
        text = text.replace(sign, "\\" + sign)
    return text


FORMAT = Format("report.md", "all tables in Markdown", lambda document, screen: render(document.parts()))
