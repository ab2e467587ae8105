"""The report as one self-contained HTML file: no network, no fonts, no other files."""

import base64
import gzip
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from olbench.papers import Paper
from olbench.report import comparison
from olbench.report.grid import Grid, Part, count
from olbench.report.model import Report
from olbench.report.renderers import comparison_page, latex
from olbench.report.renderers.data import make_finite, render_csv, write_csv
from olbench.report.results import Results
from olbench.report.sections import Section, all_parts, sections_of
from olbench.report.sections.provenance import config_yaml

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = Path(__file__).parents[1] / "page"
#: The template of a section that has none of its own: its tables and paragraphs.
PLAIN = "section.html.j2"
DASH = "\N{EN DASH}"
TYPES = {"csv": "text/csv", "tex": "application/x-tex", "yaml": "application/yaml", "gz": "application/gzip"}
#: What the script of the page draws the curves from.
DRAWN = ("curves", "styles", "series", "along")
#: The sections of a comparison.
COMPARED = {"changes": "Changes", "differences": "What differs", "side": "Side by side", "curves": "Curves"}
#: A page with more rows has its tables compressed, and unpacks each when it is looked at.
MANY_ROWS = 2000


def render(report: Report) -> str:
    """Return the page of a report, which offers its tables and its config for download."""
    values = section_values(report)
    drawn = {key: values.get("curves", {}).get(key, {}) for key in DRAWN}
    return _page(
        name=report.results.name,
        lead=_lead(report),
        sections=[_section(each, values[each.id], is_large(report)) for each in sections_of(report)],
        made=report.made,
        paper=report.paper,
        drawn=drawn if "curves" in values else None,
        downloads=_files(report),
    )


def _page(
    name: str,
    lead: str,
    sections: list[dict[str, Any]],
    kicker: str = "olbench report",
    made: str = "",
    paper: Paper | None = None,
    drawn: dict[str, Any] | None = None,
    downloads: Mapping[str, bytes] = MappingProxyType({}),
) -> str:
    """Return a whole page around its sections; `drawn` is what its curves are drawn from."""
    scripts = [_text(each) for each in (("plot.js", "page.js") if drawn else ("page.js",))]
    page: str = (
        _environment()
        .get_template("page.html.j2")
        .render(
            name=name,
            kicker=kicker,
            made=made,
            lead=lead,
            paper=paper,
            sections=sections,
            style=_text("page.css"),
            scripts=scripts,
            policy=_policy(scripts),
            data_json=_json_in_html(drawn or {}),
            downloads={file: _address(file, content) for file, content in downloads.items()},
        )
    )
    return page


def is_large(report: Report) -> bool:
    """Tell whether a report has so many rows that its page is compressed."""
    return len(report.rows) > MANY_ROWS


def _files(report: Report) -> dict[str, bytes]:
    """Return the files that a page offers; a large one leaves out LaTeX, which no one would print."""
    name = report.results.name
    table, config = render_csv(report).encode(), {f"{name}.yaml": config_yaml(report).encode()}
    if is_large(report):
        return {f"{name}.csv.gz": _compress(table), **config}
    return {f"{name}.csv": table, f"{name}.tex": latex.render(all_parts(report)).encode(), **config}


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


def render_plain(title: str, lead: str, parts: Iterable[Part]) -> str:
    """Return a page of tables and paragraphs alone, one section each, in the style of a report."""
    sections = []
    for number, part in enumerate(parts):
        heading = part.title if isinstance(part, Grid) else "Summary"
        shown = {"parts": [_part(part)], "figures": []}
        sections.append(_render(PLAIN, f"part-{number}", heading, False, shown))
    return _page(title, lead, sections, kicker="olbench summary")


def render_comparison(runs: Sequence[Results]) -> str:
    """Return the page of several runs side by side: what changed, what differs between them, and curves."""
    shown = comparison_page.values(runs)
    large = len(shown["side"]["rows"]) > MANY_ROWS
    drawn = {key: shown["curves"][key] for key in DRAWN} if "curves" in shown else None
    first, *others = comparison.names(runs)
    rows, datasets = len(shown["side"]["rows"]), len(shown["side"]["datasets"])
    return _page(
        name=" and ".join([", ".join([first, *others[:-1]]), others[-1]]),
        lead=f"{count(rows, 'row')} on {count(datasets, 'data set')}",
        sections=[
            _render(f"{id}.html.j2", id, COMPARED[id], large, make_finite(values))
            for id, values in shown.items()
        ],
        kicker="olbench comparison",
        drawn=drawn and make_finite(drawn),
        downloads={"comparison.csv": write_csv(comparison.records(runs)).encode()},
    )


def section_values(report: Report) -> dict[str, dict[str, Any]]:
    """Return what the page shows for each section, as plain values."""
    return {section.id: _values(section, report) for section in sections_of(report)}


def _lead(report: Report) -> str:
    return (
        f"{count(len(report.results.datasets), 'data set')}, {count(len(report.results.names), 'algorithm')}"
    )


def _values(section: Section, report: Report) -> dict[str, Any]:
    """Return what the template of a section shows, as plain values.

    By default these are its figures, tables and paragraphs.
    """
    if section.page is not None:
        shown: dict[str, Any] = make_finite(dict(section.page(report)))
        return shown
    return {
        "parts": [_part(part) for part in section.parts(report)],
        "figures": [_figure(name, draw()) for name, draw in section.figures(report).items()],
    }


def _part(part: Any) -> dict[str, Any]:
    return {"grid": part} if isinstance(part, Grid) else {"paragraphs": part.splitlines()}


def _figure(name: str, figure: "Figure") -> dict[str, str]:
    """Return a figure as an image inside the page: an SVG of its own, whose style and ids stay its own."""
    from olbench.report.figures.canvas import svg_bytes

    address = f"data:image/svg+xml;base64,{base64.b64encode(svg_bytes(figure)).decode()}"
    return {"name": name, "caption": str(figure.get_label()), "address": address}


def _section(section: Section, values: dict[str, Any], large: bool) -> dict[str, Any]:
    template = PLAIN if section.page is None else f"{section.id}.html.j2"
    return _render(template, section.id, section.title, large, values)


def _render(template: str, id: str, title: str, large: bool, values: dict[str, Any]) -> dict[str, Any]:
    html = _environment().get_template(template).render(id=id, title=title, large=large, **values)
    return {"id": id, "title": title, "html": html}


def _text(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _policy(scripts: list[str]) -> str:
    """Return a policy that lets the browser run these scripts only, and use no network."""
    hashes = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts)
    allowed = " ".join(f"'sha256-{each}'" for each in hashes)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:"


def _json_in_html(value: Any) -> str:
    """Return JSON that cannot close the script element around it, whatever the names contain."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _address(name: str, content: bytes) -> str:
    kind = TYPES.get(name.rpartition(".")[2], "text/plain")
    return f"data:{kind};charset=utf-8;base64,{base64.b64encode(content).decode()}"


@cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        fixed=_fixed,
        pack=_pack,
        minus=_minus,
        p_value=_p_value,
        p_words=_p_words,
        slug=_slug,
        ratio=_ratio,
        grouped=_grouped,
        plural=count,
        capitalised=_capitalise,
    )
    return environment


def _fixed(value: float | None, digits: int) -> str:
    """Return a number with a true minus sign, or a dash for a missing one."""
    return DASH if value is None else f"{value:.{digits}f}".replace("-", "\N{MINUS SIGN}")


def _minus(text: str) -> str:
    """Return a number with a true minus sign."""
    return text.replace("-", "\N{MINUS SIGN}")


def _grouped(value: int | None) -> str:
    return DASH if value is None else f"{value:,}"


def _capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]


def _ratio(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2g}"


def _p_value(value: float | None) -> str:
    return DASH if value is None else "< 0.0001" if value < 1e-4 else f"{value:.4f}"


def _p_words(value: float | None) -> str:
    return "unknown" if value is None else f"{'' if value < 1e-4 else '= '}{_p_value(value)}"


def _slug(verdict: str) -> str:
    return verdict.replace(" ", "-")
