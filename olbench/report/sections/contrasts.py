"""Two variants of an algorithm on all data sets (cw2008, Figure 2 (c), and cw2012, Figure 5)."""

from collections.abc import Iterator
from functools import partial

from olbench.report.figures.contrasts import Contrast, find_contrasts, with_tuning
from olbench.report.grid import Grid, boxes, capitalise, left, right
from olbench.report.model import Report
from olbench.report.sections import Figures, Section, register


def contrasts(id: str, report: Report) -> list[Contrast]:
    pairing = report.protocol.pairings.get(id)
    return find_contrasts(report.results, pairing) if pairing else []


def parts(id: str, measured: str, report: Report) -> Iterator[Grid]:
    for each in contrasts(id, report):
        if not each.tuning:
            yield Grid(
                f"{capitalise(measured)} (%) of {each.y} and {each.x}: {each.y} is higher on {each.above} of "
                f"{len(each.points)}",
                (*left("data set"), *right(each.y, each.x, "difference")),
                [
                    boxes(dataset, f"{y:.2f}", f"{x:.2f}", f"{y - x:+.2f}")
                    for dataset, (x, y) in each.points.items()
                ],
            )


def figures(id: str, measured: str, report: Report) -> Figures:
    from olbench.report.figures.accuracy import contrast_figure

    found, drawn = contrasts(id, report), {}
    for tuning in dict.fromkeys(each.tuning for each in found):
        own = [each for each in found if each.tuning == tuning]
        title = f" (tuning: {tuning})" if tuning else ""
        drawn[with_tuning(id, tuning)] = partial(contrast_figure, own, measured, title)
    return drawn


for id, title, measured in (
    ("training", "Training accuracy", "training accuracy"),
    ("constraint", "Deviation against variance", "test accuracy"),
):
    show, draw = partial(parts, id, measured), partial(figures, id, measured)
    register(Section(id, title, show, partial(contrasts, id), figures=draw))
