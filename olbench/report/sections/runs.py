"""Mistakes and test errors over runs that draw their own samples (cw2008, Figure 2 (a) and (b))."""

from functools import partial

from olbench.records.quantities import TEST_ERROR
from olbench.report.model import Report
from olbench.report.sections import Figures, Section, register

SERIES = "mistakes"


def applies(report: Report) -> bool:
    counted = any(series.name == SERIES for series in report.protocol.series)
    tested = any(quantity.name == TEST_ERROR.name for quantity in report.protocol.quantities)
    return counted and tested and any(entry.done for entry in report.results.entries)


def figures(report: Report) -> Figures:
    from olbench.report.figures.curves import file_names
    from olbench.report.figures.runs import errors_figure, mistakes_figure

    results = report.results
    quantity = report.protocol.quantity(TEST_ERROR.name)
    drawn = [dataset for dataset in results.datasets if results.of(dataset)]
    found = {}
    for dataset, name in file_names(drawn).items():
        found[f"mistakes-{name}"] = partial(mistakes_figure, results, dataset)
        found[f"test-error-{name}"] = partial(errors_figure, results, dataset, quantity)
    return found


register(Section("runs", "Mistakes and test errors", applies=applies, figures=figures))
