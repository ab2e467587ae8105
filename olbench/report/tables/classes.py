"""Confusion of several classes, and the costs of concept drift in streams."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olbench.analysis.results import Entry, Results
from olbench.report import table as t
from olbench.report.formats import file_names
from olbench.report.model import Report
from olbench.report.table import Column, Format, Table, columns
from olbench.report.tables import Figures, figures, table

ARRAY = "confusion"
#: A matrix of more classes does not fit a terminal; then the pairs confused most often are listed.
WIDEST, PAIRS = 12, 10
DRIFTS_NOTE = (
    "Before: the accuracy in the window before a drift. Depth: how far the accuracy falls below that, over "
    "a fifth of a window. Recovery: examples until the fall ends, over drifts with a recovery. Lost: "
    "additional mistakes until then, or until the next drift. All are means over drifts. A fall is larger "
    "than two standard errors of the accuracy before, and at least two points."
)
#: The most drifts that are listed.
MOST = 8
FOUND_NOTE = "Rows at which ADWIN detects a change of a learner's accuracy; they are marked in the curves."


def trials_with(array: str, entry: Entry) -> list[int]:
    stored = zip(entry.columns["number"].tolist(), entry.columns["arrays"], strict=True)
    return [number for number, arrays in stored if isinstance(arrays, dict) and array in arrays]


def matrix_of(results: Results, entry: Entry) -> NDArray[np.int64] | None:
    matrices = [results.array(entry, number, ARRAY) for number in trials_with(ARRAY, entry)]
    return np.asarray(np.sum(matrices, axis=0), np.int64) if matrices else None


def best_matrices(report: Report) -> dict[str, tuple[str, NDArray[np.int64], list[str]]]:
    """Return, by data set, the best algorithm, its matrix, and the labels or the numbers of the classes."""
    found = {}
    for best, _ in report.winners:
        if (matrix := matrix_of(report.results, best)) is not None:
            names = report.results.run.data[best.dataset].classes
            known = names if len(names) == len(matrix) else map(str, range(len(matrix)))
            found[best.dataset] = best.label, matrix, list(known)
    return found


def confusion_data(report: Report) -> Mapping[str, Any]:
    found: dict[str, dict[str, Any]] = {}
    for entry in report.rows:
        if (matrix := matrix_of(report.results, entry)) is not None:
            found.setdefault(entry.dataset, {})[entry.label] = matrix.tolist()
    return {"confusion": found} if found else {}


@table("Confusion", 90, data=confusion_data)
def confusion(report: Report) -> Iterator[Table]:
    for dataset, (label, matrix, names) in best_matrices(report).items():
        is_numbered = names != [*report.results.run.data[dataset].classes]
        note = "Classes are numbered from 0 in the order of their labels." if is_numbered else ""
        shares = 100 * matrix / np.maximum(1, matrix.sum(axis=1, keepdims=True))
        if len(matrix) <= WIDEST:
            rows: list[Any] = [[name, *row] for name, row in zip(names, shares.tolist(), strict=True)]
            shown = (Column("true class"), *columns(*names, format=t.number(1)))
            title = f"{dataset}: predictions of {label}, the best algorithm, in % of each true class"
        else:
            wrong = matrix * ~np.eye(len(matrix), dtype=bool)
            order = np.argsort(-wrong, axis=None, kind="stable")[:PAIRS]
            pairs = [tuple(map(int, np.unravel_index(place, wrong.shape))) for place in order]
            rows = [[names[k], names[j], int(wrong[k, j]), float(shares[k, j])] for k, j in pairs]
            shown = columns("true class", "predicted", format=t.RIGHT)
            shown += (Column("times", t.COUNT), Column("% of the class", t.number(1)))
            title = f"{dataset}: classes that {label}, the best algorithm, confuses most often"
        yield Table(title, shown, rows, note)


@figures("Confusion", 90)
def confusion_figures(report: Report) -> Figures:
    from olbench.report.figures.run import confusion_figure

    found = best_matrices(report)
    names = file_names(found)
    return {f"confusion-{names[key]}": partial(confusion_figure, key, *own) for key, own in found.items()}


def drifts_of(entry: Entry) -> list[dict[str, list[Any]]]:
    return [each for each in entry.columns.get("drifts", ()) if isinstance(each, dict) and each.get("row")]


def drift_data(report: Report) -> Mapping[str, Any]:
    found: dict[str, dict[str, Any]] = {}
    for entry in report.rows:
        if trials := drifts_of(entry):
            found.setdefault(entry.dataset, {})[entry.label] = trials
    return {"drifts": found} if any("drifts" in entry.columns for entry in report.rows) else {}


@table("Drifts", 120, data=drift_data)
def drifts(report: Report) -> Iterator[Table]:
    """Yield the costs of known drifts for each algorithm, or the drifts that a detector found."""
    for dataset in report.results.datasets:
        entries = [entry for entry in report.block(dataset) if drifts_of(entry)]
        known = [entry for entry in entries if "depth" in drifts_of(entry)[0]]
        if known:
            shown = (
                Column("algorithm", t.ALGORITHM),
                *columns("before (%)", "depth (%)", format=t.number(2)),
                Column("recovered", t.RIGHT),
                *columns("recovery", "lost", format=t.number(0)),
            )
            title = f"Drifts of {dataset} at rows {_show_rows(drifts_of(known[0])[0]['row'])}"
            yield Table(title, shown, [(entry.label, *_mean_effects(entry)) for entry in known], DRIFTS_NOTE)
        elif entries:
            rows = [drifts_of(entry)[0]["row"] for entry in entries]
            cells = [(entry.label, len(own), own) for entry, own in zip(entries, rows, strict=True)]
            format = Format(partial(_show_rows, most=MOST), "left")
            shown = (Column("algorithm", t.ALGORITHM), Column("drifts", t.COUNT), Column("rows", format))
            yield Table(f"Drifts found on {dataset}", shown, cells, FOUND_NOTE)


def _show_rows(rows: Sequence[int], most: int | None = None) -> str:
    return ", ".join(f"{row:,}" for row in rows[:most]) + (", …" if most and len(rows) > most else "")


def _mean_effects(entry: Entry) -> list[Any]:
    trials = drifts_of(entry)
    values = {name: [value for each in trials for value in each[name]] for name in trials[0]}
    recoveries = [value for value in values["recovery"] if value is not None]
    recovery = float(np.mean(recoveries)) if recoveries else float("nan")
    shares = [100 * float(np.mean(values[name])) for name in ("before", "depth")]
    recovered = f"{len(recoveries)} of {len(values['recovery'])}"
    return [*shares, recovered, recovery, float(np.mean(values["lost"]))]
