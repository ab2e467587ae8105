"""Test accuracy with the constraint on the deviation against that on the variance (cw2008, Figure 2 (c))."""

from collections.abc import Iterator

from olbench.quantities import TEST_ERROR
from olbench.report.figures.contrasts import Contrast, contrast_figures, contrast_table, find_contrasts
from olbench.report.grid import Grid
from olbench.report.model import Report
from olbench.report.sections import Figures, Section, register


def contrasts(report: Report) -> list[Contrast]:
    """Return each variant of `cw` with the same variant of `cw-var`."""
    if TEST_ERROR not in report.protocol.quantities:
        return []
    return find_contrasts(report.results, TEST_ERROR, "algorithm", "cw-var", "cw")


def applies(report: Report) -> bool:
    """Tell whether there is such a pair."""
    return bool(contrasts(report))


def parts(report: Report) -> Iterator[Grid]:
    """Yield a table per pair under the config's first tuning."""
    for contrast in contrasts(report):
        if not contrast.tuning:
            yield contrast_table(contrast, "Test accuracy")


def figures(report: Report) -> Figures:
    """Return the scatter of each tuning."""
    return contrast_figures(contrasts(report), "constraint", "test accuracy")


register(Section("constraint", "Deviation against variance", parts, applies, figures=figures))
