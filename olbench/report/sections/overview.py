"""The overview: every data set and algorithm in one table, ours beside what the paper reports."""

from collections.abc import Iterator

from olbench.analysis.verdicts import suspects
from olbench.report.grid import Box, Grid, boxes, capitalise, left, right
from olbench.report.model import Report
from olbench.report.sections import Section, register
from olbench.report.sections.results import bold_note
from olbench.report.sections.verdicts import beside_text, legend


def parts(report: Report) -> Iterator[Grid]:
    entries = {(e.dataset, e.label): e for e in report.rows if report.results.is_contestant(e)}
    labels = list(dict.fromkeys(label for _, label in entries))
    datasets = list(dict.fromkeys(dataset for dataset, _ in entries))
    shown, quantity = {}, report.headline
    for place, entry in entries.items():
        judgement = report.judgements_of(entry).get(quantity.name)
        text = beside_text(judgement, quantity) if judgement else quantity.text(entry.mean(quantity))
        shown[place] = Box(text, report.results.is_best(entry))
    title, note = capitalise(quantity.title), bold_note(report)
    if report.judgements:
        title += ", ours / the paper's"
        note += f" {legend(report)}."
    if suspects(report.judgements):
        note += " Question mark: the printed number is unexplained."
    rows = [boxes(dataset, *(shown.get((dataset, label), "") for label in labels)) for dataset in datasets]
    yield Grid(title, left("data set") + right(*labels), rows, note)


register(Section("overview", "Overview", 20, parts, lambda report: report.is_cross_validated))
