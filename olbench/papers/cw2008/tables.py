"""Mistakes and test errors over runs with new samples; CW-Stdev against CW-Var (cw2008, Figure 2)."""

from functools import partial

from olbench.papers.contrasts import Pairing, add_contrasts
from olbench.records.quantities import TEST_ERROR
from olbench.report.model import Report
from olbench.report.tables import Figures, figures

SERIES = "mistakes"


@figures("Mistakes and test errors", 160)
def runs(report: Report) -> Figures:
    from olbench.papers.cw2008.figures import errors_figure, mistakes_figure
    from olbench.report.formats import file_names

    results, protocol = report.results, report.protocol
    if TEST_ERROR not in protocol.quantities or all(series.name != SERIES for series in protocol.series):
        return {}
    found = {}
    for dataset, name in file_names([each for each in results.datasets if results.of(each)]).items():
        found[f"mistakes-{name}"] = partial(mistakes_figure, results, dataset)
        found[f"test-error-{name}"] = partial(errors_figure, results, dataset)
    return found


# Figure 2 (c)
CONSTRAINTS = Pairing(TEST_ERROR, "algorithm", "cw-var", "cw")
add_contrasts("constraint", "Deviation against variance", 150, "test accuracy", CONSTRAINTS, __name__)
