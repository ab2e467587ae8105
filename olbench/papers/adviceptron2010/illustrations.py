"""Examples, rules and learners in the plane (adviceptron2010, Figure 1), from the run that ships."""

from olbench.papers.adviceptron2010.tables import figures
from olbench.records.shipped import runs
from olbench.report.model import make_report

ILLUSTRATIONS = {
    "adviceptron2010-figure-1": lambda: figures(make_report(runs()["advice"]))["rules-advice-synthetic"]()
}
