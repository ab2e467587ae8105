"""Test accuracy by epoch (cw2012, Figures 3 and 4)."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import ceil

from olbench.analysis.results import Entry
from olbench.protocols.definition import Series
from olbench.report.figures.contrasts import accuracy, entries_by_epoch, tunings_of, with_tuning
from olbench.report.grid import Box, Grid, boxes, left, right
from olbench.report.model import Report
from olbench.report.sections import Figures, Section, register

SERIES = "test_error"
Blocks = Mapping[str, Sequence[Entry]]


def series_of(report: Report) -> Series | None:
    return next((each for each in report.protocol.series if each.name == SERIES), None)


def applies(report: Report) -> bool:
    return series_of(report) is not None and bool(entries_by_epoch(report.results, ""))


def parts(report: Report) -> Iterator[Grid]:
    blocks = entries_by_epoch(report.results, "")
    yield _table(blocks, 0, "Test accuracy (%) after the first epoch")
    yield _table(blocks, -1, "Test accuracy (%) after the last epoch")


def _table(blocks: Blocks, place: int, title: str) -> Grid:
    labels = list(dict.fromkeys(entry.label for entries in blocks.values() for entry in entries))
    rows = []
    for dataset, entries in blocks.items():
        means = {entry.label: accuracy(float(entry.curves[SERIES][:, place].mean())) for entry in entries}
        best = max(means.values())
        shown = {label: Box(f"{mean:.2f}", mean == best) for label, mean in means.items()}
        rows.append(boxes(dataset, *(shown.get(label, "") for label in labels)))
    note = "Means over the folds. * or bold: the highest."
    return Grid(title, left("data set") + right(*labels), rows, note)


def figures(report: Report) -> Figures:
    from olbench.report.figures.accuracy import PANELS, epochs_figure

    series = series_of(report)
    assert series is not None
    found = {}
    for tuning in tunings_of(report.results.entries):
        blocks = entries_by_epoch(report.results, tuning)
        pages = list(_pages(blocks, PANELS))
        title = f" (tuning: {tuning})" if tuning else ""
        for number, page in enumerate(pages, 1):
            name = with_tuning("epochs", tuning) + (f"-{number}" if len(pages) > 1 else "")
            found[name] = partial(epochs_figure, page, series, report.results.labels, title)
    return found


def _pages(blocks: Blocks, most: int) -> Iterator[Blocks]:
    left_over, pages = list(blocks), ceil(len(blocks) / most)
    for page in range(pages, 0, -1):
        size = ceil(len(left_over) / page)
        yield {dataset: blocks[dataset] for dataset in left_over[:size]}
        left_over = left_over[size:]


register(Section("epochs", "Accuracy by epoch", parts, applies, figures=figures))
