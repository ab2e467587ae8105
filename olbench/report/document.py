"""Documents, which every format is made from: reports, comparisons, summaries of papers, findings."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from olbench.analysis.published import Paper
from olbench.report.formats import write_csv
from olbench.report.model import Report
from olbench.report.table import Part, Table
from olbench.report.tables import Figures, all_items, find_table
from olbench.report.tables.curves import curve_data
from olbench.report.tables.facts import config_yaml
from olbench.report.tables.results import results
from olbench.report.tables.summary import list_notices, winner_sentence


@dataclass(frozen=True)
class Section:
    """A heading of the page and what is below it."""

    title: str
    parts: Sequence[Part] = ()
    figures: Figures = field(default_factory=dict)
    #: The data of the curves that the page draws.
    curves: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Document:
    name: str
    #: The parts of text, Markdown and LaTeX, the sections of the page, the rows of CSV, the content of JSON.
    parts: Callable[[], Sequence[Part]]
    sections: Callable[[], Sequence[Section]]
    content: Callable[[], Any]
    records: Callable[[], list[dict[str, Any]]] = list
    # On the page: the lines above and below the title, and files to download.
    kicker: str = ""
    lead: str = ""
    made: str = ""
    paper: Paper | None = None
    #: The sentences below the title: the main result first; then what qualifies it.
    opening: Callable[[], Sequence[str]] = list
    notices: Callable[[], Sequence[str]] = list
    downloads: Callable[[], Mapping[str, str]] = dict


def report_document(report: Report) -> Document:
    run = report.results
    return Document(
        run.name,
        parts=lambda: [part for item in all_items() for part in item.parts(report)],
        sections=lambda: page_sections(report),
        content=lambda: report_content(report),
        records=lambda: results(report).records(),
        kicker="olbench report",
        lead=report.size,
        made=report.made,
        paper=report.paper,
        opening=lambda: list(filter(None, (winner_sentence(report), *report.verdict_lines))),
        notices=lambda: list_notices(report),
        downloads=lambda: {
            f"{run.name}.csv": write_csv(results(report).records()),
            f"{run.name}.yaml": config_yaml(report),
        },
    )


def table_document(report: Report, id: str) -> Document:
    """Return one table of a report, by the name of the function that makes it."""
    table = find_table(report, id)
    return Document(
        table.caption,
        parts=lambda: [table],
        sections=lambda: [Section(table.caption, [table])],
        content=lambda: table,
        records=table.records,
    )


def page_sections(report: Report) -> list[Section]:
    found: dict[str, Section] = {}
    for item in all_items():
        parts = list(item.parts(report)) if item.on_page else []
        figures = item.figures(report) if item.on_page else {}
        curves = curve_data(report) if item.id == "curves" else {}
        if parts or figures or curves:
            own = found.get(item.section, Section(item.section))
            found[item.section] = Section(
                item.section, [*own.parts, *parts], {**own.figures, **figures}, {**own.curves, **curves}
            )
    return list(found.values())


def report_content(report: Report) -> dict[str, Any]:
    content: dict[str, Any] = {
        "name": report.results.name,
        "protocol": report.protocol.id,
        "paper": report.paper.id if report.paper else None,
        "made": report.made,
    }
    # A table that does not apply still has its keys, with empty values: scripts can rely on them.
    for item in all_items():
        content |= item.data(report)
    tables = {
        item.id: [each for each in item.parts(report) if isinstance(each, Table)] for item in all_items()
    }
    # The rows are the results.
    return content | {"tables": {id: own for id, own in tables.items() if own and id != "results"}}
