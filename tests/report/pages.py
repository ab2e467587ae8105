"""Documents in their formats, as `olbench report --format` writes them."""

from olbench.report import formats
from olbench.report.document import Document, report_document
from olbench.report.model import Report


def render(subject: Report | Document, form: str = "html", width: int = 160) -> str:
    document = report_document(subject) if isinstance(subject, Report) else subject
    return formats.render(document, form, width)
