"""Examples, rules and learners in the plane (adviceptron2010, Figure 1), from the run that ships."""

from matplotlib.figure import Figure

from olbench.papers.adviceptron2010.tables import rule_figures
from olbench.records.shipped import runs
from olbench.report.model import make_report


def draw_plane() -> Figure:
    return rule_figures(make_report(runs()["advice"]))["rules-advice-synthetic"]()


ILLUSTRATIONS = {"adviceptron2010-figure-1": draw_plane}
