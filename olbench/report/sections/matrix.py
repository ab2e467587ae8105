"""The matrix of a paper's main table: one row per data set, one column per algorithm, our numbers alone."""

from collections.abc import Iterator

from olbench.records.quantities import MISTAKES, NO_CHANGE_MISTAKES
from olbench.report.figures.palette import display_name
from olbench.report.grid import Box, Column, Grid, boxes, capitalise, left
from olbench.report.model import Report
from olbench.report.sections import Section, register
from olbench.report.sections.results import bold_note, number_text

#: With more algorithms, nobody reads a row of it.
MOST = 40


def parts(report: Report) -> Iterator[Grid]:
    quantity, results = report.headline, report.results
    shown = {
        (entry.dataset, entry.label): Box(number_text(entry, quantity), results.is_best(entry))
        for entry in report.rows
        if results.is_contestant(entry)
    }
    labels = _labels(report)
    rows = [
        boxes(dataset, *(shown.get((dataset, label), "") for label in labels))
        for dataset in results.datasets
        if results.of(dataset)
    ]
    columns = (*left("data set"), *(Column(label, printed=display_name(label)) for label in labels))
    yield Grid(f"{capitalise(quantity.title)} by data set and algorithm", columns, rows, bold_note(report))


def _labels(report: Report) -> list[str]:
    return list(dict.fromkeys(each.label for each in report.rows if report.results.is_contestant(each)))


def applies(report: Report) -> bool:
    # Streams, which pass over the rows in one order, have other tables.
    counted = (
        e for e in report.rows if MISTAKES.name in e.columns and NO_CHANGE_MISTAKES.name not in e.columns
    )
    return any(counted) and len(report.results.datasets) > 1 and 1 < len(_labels(report)) <= MOST


register(Section("matrix", "Matrix", 70, parts, applies, on_page=False))
