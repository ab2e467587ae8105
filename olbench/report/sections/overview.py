"""The overview: every data set and algorithm in one table, ours beside what the paper reports."""

from collections.abc import Iterator

from olbench.report.grid import Box, Grid, left, right
from olbench.report.model import Report, Row
from olbench.report.sections import Section, register
from olbench.report.sections.results import bold_note
from olbench.report.sections.verdicts import beside_text, legend
from olbench.report.verdicts import suspects


def parts(report: Report) -> Iterator[Grid]:
    """Yield one row per data set and one column per algorithm, for the headline quantity."""
    rows = {(row.entry.dataset, row.entry.label): row for row in report.rows if is_contestant(row, report)}
    labels = list(dict.fromkeys(label for _, label in rows))
    datasets = list(dict.fromkeys(dataset for dataset, _ in rows))
    title = report.headline.title[0].upper() + report.headline.title[1:]
    yield Grid(
        title + (", ours / the paper's" if report.judgements else ""),
        (*left("data set"), *right(*labels)),
        tuple(
            (Box(dataset), *(_box(rows.get((dataset, label)), report) for label in labels))
            for dataset in datasets
        ),
        _note(report),
    )


def is_contestant(row: Row, report: Report) -> bool:
    """Tell whether a row is of the tuning that is compared."""
    return report.results.tuning_of(row.entry) == report.results.tunings[0]


def _box(row: Row | None, report: Report) -> Box:
    if row is None:
        return Box("")
    judgement = row.judgements.get(report.headline.name)
    if judgement is not None:
        return Box(beside_text(judgement, report.headline), row.bold)
    return Box(report.headline.text(row.spreads[report.headline.name][0]), row.bold)


def _note(report: Report) -> str:
    if not report.judgements:
        return bold_note(report)
    doubt = " Question mark: nothing explains the printed number." if suspects(report.judgements) else ""
    return f"{bold_note(report)} {legend(report)}.{doubt}"


register(Section("overview", "Overview", parts))
