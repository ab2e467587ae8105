"""Examples, rules and learners in the plane (adviceptron2010, Figure 1), from the run that ships."""

from matplotlib.figure import Figure

from olbench.report.model import make_report
from olbench.report.sections.advice import figures
from olbench.shipped import runs


def advice_figure() -> Figure:
    return figures(make_report(runs()["advice"]))["rules-advice-synthetic"]()


ILLUSTRATIONS = {"adviceptron2010-figure-1": advice_figure}
