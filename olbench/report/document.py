"""What a renderer turns into a file: a report, a comparison of runs, a summary of papers, findings."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic

from olbench.analysis.published import Paper
from olbench.report.grid import Part, highlight
from olbench.report.model import Report
from olbench.report.sections import Section, Subject, all_sections, sections_of
from olbench.report.sections.provenance import config_yaml
from olbench.report.sections.results import flat_records

#: A page with more rows has its tables compressed, and unpacks each when it is looked at.
MANY_ROWS = 2000


@dataclass(frozen=True)
class Document(Generic[Subject]):
    subject: Subject
    sections: Sequence[Section[Subject]]
    parts: Callable[[], Iterable[Part]]
    content: Callable[[], Any]
    records: Callable[[], list[dict[str, Any]]] = list
    # The page: its title, what is above and below the title, and the files that it offers.
    name: str = ""
    kicker: str = ""
    lead: str = ""
    made: str = ""
    paper: Paper | None = None
    large: bool = False
    highlighted: Sequence[str] = ()
    downloads: Mapping[str, str] = field(default_factory=dict)
    attachments: Mapping[str, str] = field(default_factory=dict)


def report_document(report: Report) -> Document[Report]:
    results, large = report.results, len(report.rows) > MANY_ROWS
    # A large page leaves out LaTeX, which no one would print.
    files = {"csv.gz": "csv"} if large else {"csv": "csv", "tex": "latex"}
    return Document(
        report,
        sections_of(report),
        parts=lambda: all_parts(report),
        content=lambda: _content(report),
        records=lambda: flat_records(report),
        name=results.name,
        kicker="olbench report",
        lead=report.size,
        made=report.made,
        paper=report.paper,
        large=large,
        highlighted=results.highlighted,
        downloads={f"{results.name}.{end}": form for end, form in files.items()},
        attachments={f"{results.name}.yaml": config_yaml(report)},
    )


def all_parts(report: Report) -> Iterable[Part]:
    for section in sections_of(report):
        yield from highlight(section.parts(report), report.results.highlighted)


def _content(report: Report) -> dict[str, Any]:
    content: dict[str, Any] = {
        "name": report.results.name,
        "protocol": report.protocol.id,
        "paper": report.paper.id if report.paper else None,
        "made": report.made,
    }
    # A section that does not apply still has its keys, with empty values: scripts can rely on them.
    for section in all_sections():
        content |= section.data(report)
    return content
