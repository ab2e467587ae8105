"""A report in a format, without a detour over the command line."""

from typing import Any

from olbench.report.document import Document, report_document
from olbench.report.model import Report
from olbench.report.renderers import Screen, get_format, html


def render(about: Report | Document[Any], form: str = "html") -> str:
    document = report_document(about) if isinstance(about, Report) else about
    return get_format(form).render(document, Screen(160))


def section_values(report: Report) -> dict[str, dict[str, Any]]:
    return html.section_values(report_document(report))


def render_csv(report: Report) -> str:
    return render(report, "csv")
