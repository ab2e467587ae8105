"""The report as one self-contained HTML file: no network, no fonts, no other files."""

import base64
import gzip
import hashlib
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olbench.errors import plural
from olbench.report import words
from olbench.report.document import Document
from olbench.report.grid import Grid, capitalise, count, highlight
from olbench.report.renderers import Format, Screen, get_format
from olbench.report.renderers.json import make_finite
from olbench.report.sections import Subject

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = Path(__file__).parents[1] / "page"
PLAIN = "section.html.j2"
DASH = "\N{EN DASH}"
TYPES = {"csv": "text/csv", "tex": "application/x-tex", "yaml": "application/yaml", "gz": "application/gzip"}
DRAWN = ("curves", "styles", "series", "along")
SCREEN = Screen(160)


def render(document: Document[Subject]) -> str:
    values = section_values(document)
    drawn = {key: values["curves"].get(key, {}) for key in DRAWN} if "curves" in values else {}
    scripts = [*([read_part("plot.js")] if drawn else []), read_part("common.js") + read_part("page.js")]
    rendered = {file: get_format(form).render(document, SCREEN) for file, form in document.downloads.items()}
    files = {file: text.encode() for file, text in {**rendered, **document.attachments}.items()}
    sections, shared = [], {"about": document.subject, "large": document.large}
    for each in (each for each in document.sections if each.on_page):
        names = {"id": each.id, "title": each.title}
        template = PLAIN if each.page is None else f"{each.id}.html.j2"
        sections.append({**names, "html": _fill(template, **(names | shared | values[each.id]))})
    hashes = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts)
    allowed = " ".join(f"'sha256-{each}'" for each in hashes)
    data = json.dumps(drawn, separators=(",", ":"), allow_nan=False)
    return _fill(
        "page.html.j2",
        document=document,
        sections=sections,
        style=read_part("page.css"),
        scripts=scripts,
        policy=f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:",
        # Whatever the names contain, it must not close the script element around it.
        data_json=data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"),
        downloads={file: _address(file, content) for file, content in files.items()},
    )


def section_values(document: Document[Subject]) -> dict[str, dict[str, Any]]:
    values: dict[str, dict[str, Any]] = {}
    for section in (each for each in document.sections if each.on_page):
        if section.page is not None:
            values[section.id] = make_finite(dict(section.page(document.subject)))
            continue
        parts = highlight(section.parts(document.subject), document.highlighted)
        figures = section.figures(document.subject)
        values[section.id] = {
            "parts": [{"grid": p} if isinstance(p, Grid) else {"paragraphs": p.splitlines()} for p in parts],
            "figures": [_figure(name, draw()) for name, draw in figures.items()],
        }
    return values


def _figure(name: str, figure: "Figure") -> dict[str, str]:
    """Return a figure as an image inside the page: an SVG of its own, whose style and ids stay its own."""
    from olbench.report.figures.canvas import as_bytes

    address = f"data:image/svg+xml;base64,{base64.b64encode(as_bytes(figure, 'svg')).decode()}"
    return {"name": name, "caption": str(figure.get_label()), "address": address}


def _compress(content: bytes) -> bytes:
    """Return the content as a gzip file without a date, so that bytes repeat."""
    return gzip.compress(content, 9, mtime=0)


def _pack(html: Any, large: bool) -> Any:
    """Return a part of a large page as a script that is no script: `page.js` puts its content in place."""
    from markupsafe import Markup

    if not large:
        return html
    content = base64.b64encode(_compress(str(html).encode())).decode()
    return Markup(f'<script type="application/gzip" class="packed">{content}</script>')


def read_part(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _address(name: str, content: bytes) -> str:
    kind = TYPES.get(name.rpartition(".")[2], "text/plain")
    content = _compress(content) if name.endswith(".gz") else content
    return f"data:{kind};charset=utf-8;base64,{base64.b64encode(content).decode()}"


def _fill(template: str, **values: Any) -> str:
    return str(make_environment().get_template(template).render(values))


@cache
def make_environment(*folders: Path) -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader([*folders, FOLDER]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(FILTERS)
    environment.globals["words"] = words
    return environment


def _minus(text: str) -> str:
    return text.replace("-", "\N{MINUS SIGN}")


def _p_value(value: float | None) -> str:
    return DASH if value is None else "< 0.0001" if value < 1e-4 else f"{value:.4f}"


FILTERS: dict[str, Any] = {
    "fixed": lambda value, digits: DASH if value is None else _minus(f"{value:.{digits}f}"),
    "pack": _pack,
    "minus": _minus,
    "p_value": _p_value,
    "p_words": lambda p: "unknown" if p is None else f"{'' if p < 1e-4 else '= '}{_p_value(p)}",
    "slug": lambda verdict: verdict.replace(" ", "-"),
    "ratio": lambda value: (
        f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2g}"
    ),
    "grouped": lambda value: DASH if value is None else f"{value:,}",
    "plural": count,
    "many": plural,
    "capitalised": capitalise,
}
FORMAT = Format("report.html", "the page, for a browser", lambda document, screen: render(document))
