"""Training accuracy of the exact diagonal step against that of the projection l2 (cw2012, Figure 5)."""

from collections.abc import Iterator

from olbench.quantities import TRAINING_ERROR
from olbench.report.figures.contrasts import Contrast, contrast_figures, contrast_table, find_contrasts
from olbench.report.grid import Grid
from olbench.report.model import Report
from olbench.report.sections import Figures, Section, register


def contrasts(report: Report) -> list[Contrast]:
    """Return each exact variant with the l2 variant of the same algorithm."""
    if TRAINING_ERROR not in report.protocol.quantities:
        return []
    return find_contrasts(report.results, TRAINING_ERROR, "projection", "l2", "exact")


def applies(report: Report) -> bool:
    """Tell whether there is such a pair."""
    return bool(contrasts(report))


def parts(report: Report) -> Iterator[Grid]:
    """Yield a table per pair under the config's first tuning."""
    for contrast in contrasts(report):
        if not contrast.tuning:
            yield contrast_table(contrast, "Training accuracy")


def figures(report: Report) -> Figures:
    """Return the scatter of each tuning."""
    return contrast_figures(contrasts(report), "training", "training accuracy")


register(Section("training", "Training accuracy", parts, applies, figures=figures))
