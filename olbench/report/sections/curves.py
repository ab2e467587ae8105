"""The curves that trials record: on the page, and as figures of their own."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from olbench.report.build import Report
from olbench.report.page.style import line_styles
from olbench.report.results import Entry, Floats
from olbench.report.sections import Figures, Section, register

#: Enough digits for a screen: a curve is some 1000 pixels wide.
DIGITS = 4


def applies(report: Report) -> bool:
    """Tell whether there are curves."""
    return bool(report.protocol.series) and any(entry.done for entry in report.results.entries)


def page(report: Report) -> Mapping[str, Any]:
    """Return every curve as mean and deviation at its points, and how each algorithm looks."""
    results = report.results
    series = report.protocol.series
    return {
        "curves": {name: _curves_of(results.of(name)) for name in results.datasets if results.of(name)},
        "styles": line_styles(results.labels),
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


def _curves_of(entries: list[Entry]) -> dict[str, Any]:
    """Return the points that the algorithms share, and per algorithm mean and deviation at each of them."""
    shared = entries[0].points
    return {
        "t": shared.tolist(),
        "shared_time": not all(entry.exclusive for entry in entries),
        "algorithms": {
            entry.label: {name: _band(values) for name, values in entry.curves.items()}
            | ({} if np.array_equal(entry.points, shared) else {"t": entry.points.tolist()})
            for entry in entries
        },
    }


def _band(values: Floats) -> list[list[float]]:
    deviation = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1])
    return [[_round(value) for value in line] for line in (values.mean(axis=0), deviation)]


def _round(value: float) -> float:
    """Return the number with DIGITS digits, as an integer where it is one: both are short in JSON."""
    number = float(f"{value:.{DIGITS}g}")
    return int(number) if number.is_integer() else number


def figures(report: Report) -> Figures:
    """Return one figure per data set, and one for all of them."""
    from olbench.report.figures import curves_figure, file_names, overview_figure

    results = report.results
    drawn = [dataset for dataset in results.datasets if results.of(dataset)]
    found = {
        f"curves-{name}": partial(curves_figure, results, dataset)
        for dataset, name in file_names(drawn).items()
    }
    return {**found, "overview": partial(overview_figure, results)} if drawn else found


register(Section("curves", "Curves", applies=applies, page=page, figures=figures))
