"""Test accuracy by epoch (cw2012, Figures 3 and 4)."""

from collections.abc import Callable, Iterator
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from olbench.analysis.results import Entry, Results
from olbench.papers.contrasts.pairs import accuracy, split_label, tunings_of, with_tuning
from olbench.protocols.definition import Series
from olbench.report import table as t
from olbench.report.model import Report
from olbench.report.table import Table, mark
from olbench.report.tables import Figures, figures, table
from olbench.report.tables.results import by_dataset

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SERIES = "test_error"
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


@table("Accuracy by epoch", 130)
def epochs(report: Report) -> Iterator[Table]:
    blocks = entries_by_epoch(report.results, "") if series_of(report) else {}
    for place, when in ((0, "first"), (-1, "last")):
        cells: dict[tuple[str, str], Any] = {}
        for dataset, entries in blocks.items():
            means = {e.label: accuracy(float(e.curves[SERIES][:, place].mean())) for e in entries}
            best = max(means.values())
            cells |= {(dataset, label): mark(mean, mean == best) for label, mean in means.items()}
        note = "Means over the folds. * or bold: the highest."
        yield by_dataset(f"Test accuracy (%) after the {when} epoch", t.number(2), cells, note)


@figures("Accuracy by epoch", 130)
def epoch_figures(report: Report) -> Figures:
    from olbench.papers.cw2012.figures import PANELS, epochs_figure

    series = series_of(report)
    results = report.results
    found: dict[str, Callable[[], Figure]] = {}
    if series is None:
        return {}
    for tuning in tunings_of(results.entries):
        blocks = entries_by_epoch(results, tuning)
        count = ceil(len(blocks) / PANELS)
        # Of pages that are not equally full, the first have one more.
        pages = np.array_split(np.array(list(blocks), dtype=object), count) if blocks else []
        title = f" (tuning: {tuning})" if tuning else ""
        for number, page in enumerate(pages, 1):
            name = with_tuning("epochs", tuning) + (f"-{number}" if len(pages) > 1 else "")
            shown = {dataset: blocks[dataset] for dataset in page}
            found[name] = partial(epochs_figure, shown, series, results.labels, title, results.highlighted)
    return found
