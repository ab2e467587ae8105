"""Mistakes and test errors over runs with samples of their own; CW with deviations (cw2008, Figure 2)."""

from functools import partial

from olbench.protocols.definition import find_quantity
from olbench.records.quantities import TEST_ERROR
from olbench.report.contrasts import Pairing, contrast_section
from olbench.report.model import Report
from olbench.report.sections import Figures, Section, register

SERIES = "mistakes"


def applies(report: Report) -> bool:
    counted = any(series.name == SERIES for series in report.protocol.series)
    tested = any(quantity.name == TEST_ERROR.name for quantity in report.protocol.quantities)
    return counted and tested and any(entry.done for entry in report.results.entries)


def figures(report: Report) -> Figures:
    from olbench.papers.cw2008.figures import errors_figure, mistakes_figure
    from olbench.report.figures.curves import file_names

    results = report.results
    quantity = find_quantity(report.protocol, TEST_ERROR.name)
    drawn = [dataset for dataset in results.datasets if results.of(dataset)]
    found = {}
    for dataset, name in file_names(drawn).items():
        found[f"mistakes-{name}"] = partial(mistakes_figure, results, dataset)
        found[f"test-error-{name}"] = partial(errors_figure, results, dataset, quantity)
    return found


# Figure 2 (c)
CONSTRAINTS = Pairing(TEST_ERROR, "algorithm", "cw-var", "cw")
register(contrast_section("constraint", "Deviation against variance", 150, "test accuracy", CONSTRAINTS))
register(Section("runs", "Mistakes and test errors", 160, applies=applies, figures=figures))
