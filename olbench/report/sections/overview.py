"""The overview: every data set and algorithm in one table, ours beside what the paper reports."""

from collections.abc import Iterator

from olbench.report.grid import Box, Grid, boxes, capitalise, left, right
from olbench.report.model import Report
from olbench.report.results import Entry
from olbench.report.sections import Section, register
from olbench.report.sections.results import bold_note
from olbench.report.sections.verdicts import beside_text, legend
from olbench.report.verdicts import suspects


def parts(report: Report) -> Iterator[Grid]:
    """Yield one row per data set and one column per algorithm, for the headline quantity."""
    entries = {(e.dataset, e.label): e for e in report.rows if report.results.is_contestant(e)}
    labels = list(dict.fromkeys(label for _, label in entries))
    datasets = list(dict.fromkeys(dataset for dataset, _ in entries))
    shown = {place: _box(entry, report) for place, entry in entries.items()}
    title, note = capitalise(report.headline.title), bold_note(report)
    if report.judgements:
        title += ", ours / the paper's"
        note += f" {legend(report)}."
    if suspects(report.judgements):
        note += " Question mark: the printed number is unexplained."
    rows = [boxes(dataset, *(shown.get((dataset, label), "") for label in labels)) for dataset in datasets]
    yield Grid(title, left("data set") + right(*labels), rows, note)


def _box(entry: Entry, report: Report) -> Box:
    judgement = report.judgements_of(entry).get(report.headline.name)
    ours = report.headline.text(entry.mean(report.headline))
    return Box(beside_text(judgement, report.headline) if judgement else ours, report.results.is_best(entry))


register(Section("overview", "Overview", parts))
