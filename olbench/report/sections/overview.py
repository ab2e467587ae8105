"""The overview: every data set and algorithm in one table, ours beside what the paper reports."""

from collections.abc import Iterator

from olbench.report.grid import Box, Grid, capitalise, left, right
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
    yield Grid(
        capitalise(report.headline.title) + (", ours / the paper's" if report.judgements else ""),
        (*left("data set"), *right(*labels)),
        tuple(
            (Box(dataset), *(_box(entries.get((dataset, label)), report) for label in labels))
            for dataset in datasets
        ),
        _note(report),
    )


def _box(entry: Entry | None, report: Report) -> Box:
    if entry is None:
        return Box("")
    judgement = report.judgements_of(entry).get(report.headline.name)
    ours = report.headline.text(entry.mean(report.headline))
    return Box(beside_text(judgement, report.headline) if judgement else ours, report.results.is_best(entry))


def _note(report: Report) -> str:
    if not report.judgements:
        return bold_note(report)
    doubt = " Question mark: the printed number is unexplained." if suspects(report.judgements) else ""
    return f"{bold_note(report)} {legend(report)}.{doubt}"


register(Section("overview", "Overview", parts))
