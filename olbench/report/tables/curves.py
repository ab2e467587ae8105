"""The curves that trials record, for the page and as figures."""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olbench.analysis.results import Entry, Floats, drift_rows
from olbench.protocols.definition import Series
from olbench.report.figures.palette import line_styles
from olbench.report.formats import file_names
from olbench.report.model import Report
from olbench.report.table import capitalise
from olbench.report.tables import Figures, figures

#: Enough digits for a screen, on which a curve is some 1000 pixels wide.
DIGITS = 4
#: The most numbers in the curves of a page: some two megabytes.
MOST = 300_000
FEWEST_POINTS = 25
#: The windows of a pass: fewer would hide changes, more would show noise.
WINDOWS = 25
#: Of more than FEW curves, only FRONT are coloured, because more colours cannot be distinguished.
FEW, FRONT = 8, 5


def curve_data(report: Report) -> Mapping[str, Any]:
    if 2 * sum(bool(entry.points.size) for entry in report.rows) <= len(report.rows):
        return {}
    results, series = report.results, report.protocol.series
    lines, points = budget(results.entries, series)
    shown = {name: _best(results.of(name), lines, report) for name in results.datasets if results.of(name)}
    labels = {entry.label for entries in shown.values() for entry in entries}
    styles = line_styles(results.labels, results.highlighted, results.among)
    best = [each.label for each in report.standings if each.label in labels][:FRONT]
    front = [label for label in results.highlighted if label in labels] or best
    return {
        **describe_series(series),
        "curves": {
            name: {**curves_of(entries, points), "marks": drift_rows(entries)}
            for name, entries in shown.items()
        },
        "styles": {label: style for label, style in styles.items() if label in labels},
        "most": lines if any(len(results.of(name)) > lines for name in shown) else None,
        "grey": [label for label in labels if label not in front] if len(labels) > FEW else [],
        "numbered": report.protocol.numbered,
        "single": "blocks" in results.overs,
        "marked": any(map(drift_rows, shown.values())),
        "paper": report.paper is not None,
    }


def describe_series(series: Sequence[Series]) -> dict[str, Any]:
    about, buttons, names = {}, {}, [each.quantity.title for each in series]
    for each in series:
        quantity, name = each.quantity, capitalise(each.quantity.title)
        rate = name if each.per_example else f"{name} per example"
        button = name if names.count(quantity.title) == 1 else capitalise(each.title)
        buttons[each.name] = "Time" if each.timed else button
        about[each.name] = {
            "title": capitalise(each.title),
            "windowed": f"{rate} within each window" if is_counted(each) else "",
            "per_example": each.per_example,
            "level": each.is_level,
            "timed": each.timed,
            "factor": quantity.factor,
            "top": quantity.top if quantity.is_rate else None,
        }
    shown = {"series": about, "buttons": buttons, "along": capitalise(series[0].along_title)}
    return {**shown, "most": None, "marked": False, "paper": False}


def is_counted(series: Series) -> bool:
    """Return whether a series is a growing count, so that each window has a rate."""
    return not (series.level or series.timed)


def budget(entries: Iterable[Entry], series: Sequence[Series]) -> tuple[int, int]:
    entries = [entry for entry in entries if entry.done]
    datasets = len({entry.dataset for entry in entries})
    points = max(entry.points.size for entry in entries)
    # A curve is a mean and a deviation; its windows are no more than its points.
    per_point = 2 * (len(series) + sum(map(is_counted, series)))
    points = max(min(points, FEWEST_POINTS), min(points, MOST // (per_point * len(entries))))
    return max(1, MOST // max(1, per_point * points * datasets)), points


def _best(entries: list[Entry], most: int, report: Report) -> list[Entry]:
    if len(entries) <= most:
        return entries
    ranked = sorted(entries, key=lambda entry: report.headline.loss(entry.mean(report.headline)))
    labels = {entry.label for entry in ranked[:most]}
    return [entry for entry in entries if entry.label in labels]


def thin(size: int, most: int) -> NDArray[np.int64]:
    """Return the places of at most `most` points of a curve, with even gaps and the last point.

    >>> thin(10, 4).tolist(), thin(3, 4).tolist()
    ([1, 4, 6, 9], [0, 1, 2])
    """
    kept = min(size, most)
    return (np.arange(1, kept + 1) * size) // max(kept, 1) - 1


def curves_of(entries: list[Entry], most: int) -> dict[str, Any]:
    """Return the mean and standard deviation of every algorithm; `w` has the ends of windows, from 0."""
    shared = entries[0].points
    return {
        **_points(entries[0], most),
        "shared_time": not all(entry.exclusive for entry in entries),
        "algorithms": {
            entry.label: _curve(entry, most)
            | ({} if np.array_equal(entry.points, shared) else _points(entry, most))
            for entry in entries
        },
    }


def _points(entry: Entry, most: int) -> dict[str, list[int]]:
    points = entry.points
    return {
        "t": points[thin(points.size, most)].tolist(),
        "w": points[thin(points.size, min(most, WINDOWS))].tolist(),
    }


def _curve(entry: Entry, most: int) -> dict[str, Any]:
    places = thin(entry.points.size, most)
    counted = [each.name for each in entry.protocol.series if is_counted(each)]
    return {name: _band(values[:, places]) for name, values in entry.curves.items()} | {
        "windows": {name: _band(window_rates(entry, name, min(most, WINDOWS))) for name in counted}
    }


def window_rates(entry: Entry, name: str, most: int) -> Floats:
    ends = thin(entry.points.size, most)
    # A curve that begins before the first example has no window before its first point.
    widths = np.maximum(np.diff(entry.points[ends], prepend=0), 1)
    return np.asarray(np.diff(entry.curves[name][:, ends], prepend=0, axis=1) / widths)


def _band(values: Floats) -> list[list[float | None]]:
    deviation = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1])
    return [[_round(value) for value in line] for line in (values.mean(axis=0), deviation)]


def _round(value: float) -> float | None:
    """Round to DIGITS digits; whole numbers become integers, which are shorter in JSON."""
    if not math.isfinite(value):
        return None
    number = float(f"{value:.{DIGITS}g}")
    return int(number) if number.is_integer() else number


@figures("Curves", 110, on_page=False)
def curves(report: Report) -> Figures:
    from olbench.report.figures.run import curves_figure, overview_figure

    results = report.results
    datasets = [name for name in results.datasets if any(entry.points.size for entry in results.of(name))]
    found = {
        f"curves-{name}": partial(curves_figure, results, dataset, band=report.band)
        for dataset, name in file_names(datasets).items()
    }
    return {**found, "overview": partial(overview_figure, results, band=report.band)} if datasets else {}
