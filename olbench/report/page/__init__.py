"""A document as one self-contained HTML file, without network, fonts or other files."""

import base64
import hashlib
import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olbench.errors import escape_lines, plural

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from olbench.report.document import Document
    from olbench.report.table import Format, Table

FOLDER = Path(__file__).parent
DRAWN = ("curves", "styles", "series", "along", "single")
#: Texts with more letters than LONG are wrapped, in wider lines if there are more than WORDS.
LONG, WORDS = 30, 200
NEGATIVE = re.compile(r"(?<![\w.)])-(?=[\d.])")


def render_page(document: "Document") -> str:
    sections = document.sections()
    curves: dict[str, Any] = next((dict(each.curves) for each in sections if each.curves), {})
    drawn = {key: curves[key] for key in DRAWN} if curves else {}
    scripts = [read_part("page.js"), *([read_part("plot.js")] if drawn else [])]
    hashes = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts)
    allowed = " ".join(f"'sha256-{each}'" for each in hashes)
    data = json.dumps(drawn, separators=(",", ":"), allow_nan=False)
    return fill(
        "page.html.j2",
        document=document,
        sections=sections,
        curves=curves,
        style=read_part("page.css"),
        scripts=scripts,
        policy=f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:",
        # Names must not close the script element.
        data_json=data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"),
        downloads={file: _address(text.encode()) for file, text in document.downloads().items()},
    )


def table_values(table: "Table") -> dict[str, Any]:
    """Return the arguments of the table macro: the table, and its rows as cells with texts and classes."""
    table = table.ranked().printed()
    rows, firsts = [], {rows.start for title, rows in table.blocks() if title}
    for y, (texts, row) in enumerate(zip(table.texts(), table.rows, strict=True)):
        cells = []
        for x, (column, text, value) in enumerate(zip(table.columns, texts, row, strict=True)):
            looks = {"best": (y, x) in table.best, "marked": str(value) in table.highlighted}
            cells.append(_cell(column.format, text, value, **looks))
        classes = _join(first=y in firsts, highlighted=table.is_highlighted(y))
        rows.append({"cells": cells, "classes": classes})
    return {"table": table, "rows": rows}


def _cell(format: "Format", text: str, value: Any, **looks: bool) -> dict[str, Any]:
    number = format.sort_value(value)
    named = format.verdict(value) if format.verdict and value else ""
    is_long = format.side == "left" and len(text) > LONG
    looks |= {"long": is_long, "words": is_long and len(text) > WORDS}
    text, _, deviation = (text, "", "") if named or format.side == "left" else text.partition(" ± ")
    return {
        "text": value if hasattr(value, "__html__") else NEGATIVE.sub("\N{MINUS SIGN}", text),
        "deviation": deviation,
        "classes": _join(format.side, **looks),
        "value": "" if number is None else f"{number:.6g}",
        "tip": format.tip(value) if format.tip and value else "",
        "verdict": named.replace(" ", "-"),
    }


def _join(*names: str, **conditions: bool) -> str:
    return " ".join([*names, *(name for name, is_true in conditions.items() if is_true)])


def render_table(table: "Table") -> str:
    return fill("table.html.j2", **table_values(table))


def _image(figure: "Figure") -> str:
    """Return a data address of a figure in SVG; as an image, its styles and ids do not affect the page."""
    from olbench.report.figures.style import as_bytes

    return _address(as_bytes(figure, "svg"), "image/svg+xml")


def read_part(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _address(content: bytes, kind: str = "text/plain;charset=utf-8") -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def fill(template: str, **values: Any) -> str:
    return str(make_environment().get_template(template).render(values))


def _mark_code(text: str) -> Any:
    """Mark commands in backquotes as code; the page has bold numbers, not stars."""
    from markupsafe import Markup, escape

    shown = escape(escape_lines(text).replace("* or bold", "Bold"))
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(shown)))


@cache
def make_environment(*folders: Path) -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader([*folders, FOLDER]),
        autoescape=True,
        undefined=StrictUndefined,
        # Text, but not markup: its control characters are not allowed in HTML.
        finalize=lambda value: escape_lines(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "slug": lambda title: title.lower().replace(" ", "-"),
        "many": plural,
        "code": _mark_code,
        "cells": table_values,
        "image": _image,
    }
    return environment
