"""Which classes are taken for which, on data with several."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olbench.analysis.results import Entry, Results
from olbench.report.grid import Grid, boxes, left, right
from olbench.report.model import Report
from olbench.report.sections import Figures, Section, register
from olbench.report.standings import winners

ARRAY = "confusion"
#: A matrix of more classes does not fit a terminal; then the pairs that are confused most are listed.
WIDEST, PAIRS = 12, 10


def trials_with(array: str, entry: Entry) -> list[int]:
    """Return the numbers of the trials of an entry that stored this array."""
    stored = zip(entry.columns["number"].tolist(), entry.columns["arrays"], strict=True)
    return [number for number, arrays in stored if isinstance(arrays, dict) and array in arrays]


def matrix_of(results: Results, entry: Entry) -> NDArray[np.int64] | None:
    matrices = [results.array(entry, number, ARRAY) for number in trials_with(ARRAY, entry)]
    return np.asarray(np.sum(matrices, axis=0), np.int64) if matrices else None


def best_matrices(report: Report) -> dict[str, tuple[str, NDArray[np.int64]]]:
    found = ((best, matrix_of(report.results, best)) for best, _ in winners(report))
    return {best.dataset: (best.label, matrix) for best, matrix in found if matrix is not None}


def applies(report: Report) -> bool:
    return any(trials_with(ARRAY, entry) for entry in report.rows)


def parts(report: Report) -> Iterator[Grid]:
    for dataset, (label, matrix) in best_matrices(report).items():
        classes = [str(each) for each in range(matrix.shape[0])]
        shares = 100 * matrix / np.maximum(1, matrix.sum(axis=1, keepdims=True))
        note = "Classes are numbered in the order of their labels."
        if len(classes) <= WIDEST:
            rows = [
                boxes(f"class {name}", *(f"{share:.1f}" for share in shares[k]))
                for k, name in enumerate(classes)
            ]
            title = f"{dataset}: what {label}, the best, predicts for each true class (%)"
            yield Grid(title, left("true class") + right(*classes), rows, note)
            continue
        wrong = matrix * ~np.eye(len(classes), dtype=bool)
        order = np.argsort(-wrong, axis=None, kind="stable")[:PAIRS]
        pairs = [np.unravel_index(place, wrong.shape) for place in order]
        rows = [boxes(str(k), str(j), f"{wrong[k, j]:,}", f"{shares[k, j]:.1f}") for k, j in pairs]
        title = f"{dataset}: what {label}, the best, confuses most"
        yield Grid(title, right("true class", "predicted", "times", "% of the class"), rows, note)


def data(report: Report) -> Mapping[str, Any]:
    found: dict[str, dict[str, Any]] = {}
    for entry in report.rows:
        if (matrix := matrix_of(report.results, entry)) is not None:
            found.setdefault(entry.dataset, {})[entry.label] = matrix.tolist()
    return {"confusion": found} if found else {}


def figures(report: Report) -> Figures:
    from olbench.report.figures.confusion import confusion_figure
    from olbench.report.figures.curves import file_names

    found = best_matrices(report)
    names = file_names(list(found))
    return {
        f"confusion-{names[dataset]}": partial(confusion_figure, dataset, *own)
        for dataset, own in found.items()
    }


register(Section("confusion", "Confusion", 90, parts, applies, data, figures=figures))
