"""Mean ranks over data sets, as papers print them: ours, and those of the paper's numbers."""

from collections.abc import Iterator, Mapping
from typing import Any

from olbench.analysis.published import PrintedRanks
from olbench.analysis.stats import mean_ranks
from olbench.analysis.verdicts import NOT_COMPARABLE
from olbench.report.grid import Grid, boxes, count, left, right
from olbench.report.model import Report
from olbench.report.sections import Section, register

Means = Mapping[str, Mapping[str, float]]
NOTE = "The mean over data sets of the rank on each; equals share {} of their ranks."


def parts(report: Report) -> Iterator[Grid]:
    if report.ranks:
        yield all_algorithms(report)
    for printed in report.paper.ranks if report.paper else ():
        yield beside_printed(report, printed)


def all_algorithms(report: Report) -> Grid:
    ranks, ordered = report.ranks, sorted(report.ranks, key=lambda label: report.ranks[label])
    return Grid(
        f"Mean ranks of all {len(ranks)} algorithms, {report.headline.title}, "
        f"{count(report.complete, 'data set')}",
        (*left("algorithm"), *right("mean rank")),
        [boxes(label, f"{ranks[label]:.2f}") for label in ordered],
        NOTE.format("the average"),
    )


def beside_printed(report: Report, printed: PrintedRanks) -> Grid:
    means = _means(report, printed)
    both, every = len(means[0]), len(printed.datasets)
    ranks = [mean_ranks(each, report.headline.better, ties="min") for each in means]
    return Grid(
        f"{printed.where}: mean ranks",
        (*left("algorithm"), *right(f"ours ({both})", f"paper ({both})", f"paper ({every})", "printed")),
        [
            boxes(row, *(f"{each[row]:.2f}" if row in each else "" for each in ranks), text)
            for row, text in printed.printed.items()
        ],
        f"{NOTE.format('the smallest')} In brackets: over how many data sets. Ours are over those on "
        "which every row is comparable; the paper's numbers are ranked on these and on all of its own.",
    )


def _means(report: Report, printed: PrintedRanks) -> tuple[Means, Means, Means]:
    """Return our numbers where all are comparable, the paper's on the same data sets, and all of its own."""
    ours: dict[str, dict[str, float]] = {}
    theirs: dict[str, dict[str, float]] = {}
    for dataset in printed.datasets:
        row = [report.by_place[dataset, name, printed.quantity] for name in printed.printed]
        theirs[dataset] = {each.algorithm: each.reported.mean for each in row}
        means = {e.algorithm: e.mean for e in row if e.mean is not None and e.verdict != NOT_COMPARABLE}
        if len(means) == len(row):
            ours[dataset] = means
    return ours, {dataset: theirs[dataset] for dataset in ours}, theirs


def data(report: Report) -> Mapping[str, Any]:
    if not report.is_cross_validated:
        return {}
    tables = []
    for printed in report.paper.ranks if report.paper else ():
        names = ("ours", "paper_on_the_same", "paper_on_all")
        ranks = [mean_ranks(means, report.headline.better, ties="min") for means in _means(report, printed)]
        about = {"where": printed.where, "printed": dict(printed.printed)}
        tables.append({**about, **dict(zip(names, ranks, strict=True))})
    return {"mean_ranks": report.ranks, "printed_ranks": tables}


def applies(report: Report) -> bool:
    """Whether at least two algorithms have ranks: on a data set that has all of them."""
    return report.is_cross_validated and len(report.ranks) > 1


register(Section("ranks", "Ranks", 50, parts, applies, data))
