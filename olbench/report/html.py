"""The report as one HTML file that needs nothing else: no network, no fonts, no other file."""

import base64
import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

from olbench.report import latex
from olbench.report.build import Report
from olbench.report.data import render_csv
from olbench.report.page import VERDICTS, payload
from olbench.report.tables import sections

FOLDER = Path(__file__).with_name("page")
DASH = "\N{EN DASH}"
TYPES = {"csv": "text/csv", "tex": "application/x-tex", "yaml": "application/yaml"}


def render(report: Report) -> str:
    """Return the page of a report, which offers its tables and its config for download."""
    shown = payload(report)
    texts = {
        f"{shown['name']}.csv": render_csv(report),
        f"{shown['name']}.tex": latex.render(sections(report)),
        f"{shown['name']}.yaml": shown["config"],
    }
    drawn = {name: shown[name] for name in ("curves", "styles")}
    scripts = [_plotly(), _text("page.js")]
    page: str = _template().render(
        **shown,
        style=_text("page.css"),
        scripts=scripts,
        policy=_policy(scripts),
        data_json=_json_in_html(drawn),
        downloads={name: _address(name, text) for name, text in texts.items()},
    )
    return page


def _text(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


@cache
def _plotly() -> str:
    """Return the only bundle that plotly's package ships; it has no smaller one."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


def _policy(scripts: list[str]) -> str:
    """Return a policy under which the browser runs these scripts alone and asks the network for nothing."""
    hashes = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts)
    allowed = " ".join(f"'sha256-{each}'" for each in hashes)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:"


def _json_in_html(value: Any) -> str:
    """Return JSON that cannot end the script element it stands in, whatever the names say."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _address(name: str, text: str) -> str:
    kind = TYPES.get(name.rpartition(".")[2], "text/plain")
    return f"data:{kind};charset=utf-8;base64,{base64.b64encode(text.encode()).decode()}"


@cache
def _template() -> Any:
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
        p_value=_p_value,
        p_words=_p_words,
        rank=_rank,
        slug=_slug,
        letter=_letter,
        ratio=_ratio,
        grouped=_grouped,
    )
    return environment.get_template("page.html.j2")


def _fixed(value: float | None, digits: int) -> str:
    """Return the number with a true minus sign, or a dash where there is none."""
    return DASH if value is None else f"{value:.{digits}f}".replace("-", "\N{MINUS SIGN}")


def _grouped(value: int | None) -> str:
    return DASH if value is None else f"{value:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def _ratio(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2g}"


def _p_value(value: float | None) -> str:
    return DASH if value is None else "< 0.0001" if value < 1e-4 else f"{value:.4f}"


def _p_words(value: float | None) -> str:
    return "unknown" if value is None else f"{'' if value < 1e-4 else '= '}{_p_value(value)}"


def _slug(verdict: str) -> str:
    return verdict.replace(" ", "-")


def _letter(verdict: str) -> str:
    return {name: letter for name, letter, _ in VERDICTS}[verdict]


def _rank(verdict: str) -> int:
    """Return the place of a verdict from good to bad, to sort by."""
    return [name for name, *_ in VERDICTS].index(verdict)
