"""Test accuracy by epoch (cw2012, Figures 3 and 4)."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import ceil

from olbench.analysis.results import Entry, Results
from olbench.protocols.definition import Series
from olbench.report.contrasts import accuracy, split_label, tunings_of, with_tuning
from olbench.report.grid import Box, Grid, boxes, left, right
from olbench.report.model import Report
from olbench.report.sections import Figures, Section, register

SERIES = "test_error"
Blocks = Mapping[str, Sequence[Entry]]
#: The algorithms of the paper's figures: shown alone if a run has two of them.
FOLLOWED = ("cw-var", "cw", "pa")


def series_of(report: Report) -> Series | None:
    return next((each for each in report.protocol.series if each.name == SERIES), None)


def entries_by_epoch(results: Results, tuning: str) -> dict[str, list[Entry]]:
    found = {
        dataset: [
            entry
            for entry in results.of(dataset)
            if entry.points.size > 1 and split_label(entry.label)[1] == tuning
        ]
        for dataset in results.datasets
    }
    labels = {entry.label for entries in found.values() for entry in entries if entry.algorithm in FOLLOWED}
    shown = {
        dataset: [entry for entry in entries if len(labels) < 2 or entry.label in labels]
        for dataset, entries in found.items()
    }
    return {dataset: entries for dataset, entries in shown.items() if entries}


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
    from olbench.papers.cw2012.figures import PANELS, epochs_figure

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


register(Section("epochs", "Accuracy by epoch", 130, parts, applies, figures=figures))
