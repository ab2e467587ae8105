"""The curves that trials record: on the page, and as separate figures."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olbench.report.build import Report
from olbench.report.page.style import line_styles
from olbench.report.results import Entry, Floats
from olbench.report.sections import Figures, Section, register

#: Enough digits for a screen: a curve is some 1000 pixels wide.
DIGITS = 4
#: So many numbers the curves of a page have at most: some two megabytes.
MOST = 300_000
#: A curve is thinned to this many points before any curve is left out.
FEWEST_POINTS = 25


def applies(report: Report) -> bool:
    """Tell whether there are curves."""
    return bool(report.protocol.series) and any(entry.done for entry in report.results.entries)


def page(report: Report) -> Mapping[str, Any]:
    """Return every curve as mean and deviation at its points, and the style of each algorithm."""
    results = report.results
    series = report.protocol.series
    lines, points = budget(report)
    shown = {name: _best(results.of(name), lines, report) for name in results.datasets if results.of(name)}
    labels = {entry.label for entries in shown.values() for entry in entries}
    styles = line_styles(results.labels)
    return {
        "curves": {name: _curves_of(entries, points) for name, entries in shown.items()},
        "styles": {label: style for label, style in styles.items() if label in labels},
        "most": lines if any(len(results.of(name)) > lines for name in shown) else None,
        "series": {
            each.name: {
                "button": each.quantity.title[0].upper() + each.quantity.title[1:],
                "title": each.title[0].upper() + each.title[1:],
                "per_example": each.per_example,
                "timed": each.timed,
                "factor": 100 if each.quantity.percent else 1,
            }
            for each in series
        },
        "along": series[0].along_title[0].upper() + series[0].along_title[1:],
        "numbered": report.protocol.numbered,
    }


def budget(report: Report) -> tuple[int, int]:
    """Return how many algorithms of a data set, and how many points of a curve, the page has room for."""
    entries = [entry for entry in report.results.entries if entry.done]
    datasets = len({entry.dataset for entry in entries})
    points = max(entry.points.size for entry in entries)
    # A curve is a mean and a deviation.
    per_point = 2 * len(report.protocol.series)
    points = max(min(points, FEWEST_POINTS), min(points, MOST // (per_point * len(entries))))
    return max(1, MOST // max(1, per_point * points * datasets)), points


def _best(entries: list[Entry], most: int, report: Report) -> list[Entry]:
    """Return the best entries of a data set, in the order of the config."""
    if len(entries) <= most:
        return entries
    ranked = sorted(entries, key=lambda entry: report.headline.loss(entry.mean(report.headline)))
    labels = {entry.label for entry in ranked[:most]}
    return [entry for entry in entries if entry.label in labels]


def thin(size: int, most: int) -> NDArray[np.int64]:
    """Return the places of at most so many points of a curve, with even gaps and the last point.

    >>> thin(10, 4).tolist(), thin(3, 4).tolist()
    ([1, 4, 6, 9], [0, 1, 2])
    """
    kept = min(size, most)
    return (np.arange(1, kept + 1) * size) // max(kept, 1) - 1


def _curves_of(entries: list[Entry], most: int) -> dict[str, Any]:
    """Return the shared points, and mean and deviation of every algorithm at each of them."""
    shared = entries[0].points
    return {
        "t": shared[thin(shared.size, most)].tolist(),
        "shared_time": not all(entry.exclusive for entry in entries),
        "algorithms": {
            entry.label: _curve(entry, thin(entry.points.size, most))
            | ({} if np.array_equal(entry.points, shared) else {"t": _points(entry, most)})
            for entry in entries
        },
    }


def _points(entry: Entry, most: int) -> list[int]:
    kept: list[int] = entry.points[thin(entry.points.size, most)].tolist()
    return kept


def _curve(entry: Entry, places: NDArray[np.int64]) -> dict[str, Any]:
    return {name: _band(values[:, places]) for name, values in entry.curves.items()}


def _band(values: Floats) -> list[list[float]]:
    deviation = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1])
    return [[_round(value) for value in line] for line in (values.mean(axis=0), deviation)]


def _round(value: float) -> float:
    """Return the number rounded to DIGITS digits, as an integer if it is one: short in JSON."""
    number = float(f"{value:.{DIGITS}g}")
    return int(number) if number.is_integer() else number


def figures(report: Report) -> Figures:
    """Return one figure per data set, and one for all of them."""
    from olbench.report.figures import curves_figure, file_names, overview_figure

    results = report.results
    datasets = [dataset for dataset in results.datasets if results.of(dataset)]
    curves = {
        f"curves-{name}": partial(curves_figure, results, dataset)
        for dataset, name in file_names(datasets).items()
    }
    return {**curves, "overview": partial(overview_figure, results)} if datasets else curves


register(Section("curves", "Curves", applies=applies, page=page, figures=figures))
