"""Online performance against the number of samples (scw2012, Figure 1), from the run that ships."""

from functools import cache

from olbench.analysis.published import load_paper
from olbench.analysis.results import Results, load_results
from olbench.records.shipped import runs
from olbench.report.figures.run import curves_figure


@cache
def _load_run() -> Results:
    return load_results(runs()["scw"])


#: By the name of the file, the function that draws it: one figure per data set of the paper.
ILLUSTRATIONS = {
    f"scw2012-figure-1-{dataset}": lambda dataset=dataset: curves_figure(_load_run(), dataset)
    for dataset in load_paper("scw2012").datasets
}
