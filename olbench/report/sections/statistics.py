"""The statistics: within each data set over its trials, and across data sets."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from olbench.quantities import Quantity
from olbench.report.build import Report
from olbench.report.grid import Grid, Part, boxes, left, right
from olbench.report.page.diagram import critical_difference
from olbench.report.sections import Figures, Section, register
from olbench.stats import CONDITIONAL, Across, Difference


def parts(report: Report) -> Iterator[Part]:
    """Yield the differences within each data set, then the ranks across all."""
    for dataset in report.within:
        yield within(report, dataset)
    if isinstance(report.across, str):
        yield f"No comparison across data sets: {report.across}"
        return
    yield across(report, report.across)
    yield pairs(report.across)


def within(report: Report, dataset: str) -> Grid:
    """Return the differences to the best on one data set."""
    best, differences = report.within[dataset]
    quantity = report.headline
    rows = tuple(
        boxes(
            d.label, quantity.text(d.mean, sign="+"),
            f"[{quantity.text(d.low, sign='+')}, {quantity.text(d.high, sign='+')}]",
            f"{d.wins}/{d.ties}/{d.losses}", f"{d.p:.3g}",
        )
        for d in differences
    )  # fmt: skip
    return Grid(
        f"Within {dataset}: {quantity.title} minus that of {best}, the {quantity.best}",
        (*left("algorithm"), *right("difference", "95% bootstrap", "wins/ties/losses", "p (paired t)")),
        rows,
        f"Every number here is {CONDITIONAL}.",
    )


def across(report: Report, found: Across) -> Grid:
    """Return the average ranks over data sets."""
    ordered = sorted(found.ranks, key=lambda label: (found.ranks[label], label))
    return Grid(
        f"Across {len(found.datasets)} data sets: average ranks of the {report.headline.title}",
        (*left("algorithm"), *right("average rank")),
        tuple(boxes(label, f"{found.ranks[label]:.2f}") for label in ordered),
        f"Friedman: chi-square {found.statistic:.2f}, p = {found.p:.3g}; Iman-Davenport: F "
        f"{found.iman_davenport:.2f}, p = {found.iman_davenport_p:.3g}; critical difference "
        f"{found.critical_difference:.2f} (Nemenyi, 5%). {found.power}",
    )


def pairs(found: Across) -> Grid:
    """Return the pairs that differ across data sets, after Holm."""
    different = [pair for pair in found.pairs if pair.significant]
    shown = different or sorted(found.pairs, key=lambda pair: pair.p)[:5]
    title = f"{len(different)} of {len(found.pairs)} pairs differ across data sets (Wilcoxon, Holm, 5%)"
    if not different:
        title += "; the nearest are"
    return Grid(
        title,
        (*left("first", "second"), *right("p", "adjusted p")),
        tuple(boxes(pair.first, pair.second, f"{pair.p:.3g}", f"{pair.adjusted:.3g}") for pair in shown),
    )


def data(report: Report) -> Mapping[str, Any]:
    """Return every difference and the whole comparison across data sets."""
    found = report.across
    return {
        "within": {
            dataset: {"best": best, "differences": [vars(difference) for difference in differences]}
            for dataset, (best, differences) in report.within.items()
        },
        "across": found
        if isinstance(found, str)
        else {**vars(found), "pairs": [vars(p) for p in found.pairs]},
    }


def page(report: Report) -> Mapping[str, Any]:
    """Return the differences with the reach of their bars, and the diagram of ranks."""
    quantity = report.headline
    return {
        "within": [_within_page(report, dataset) for dataset in report.within],
        "across": _across_page(report.across),
        "quantity": quantity.title,
        "numbered": report.protocol.numbered,
    }


def _within_page(report: Report, dataset: str) -> dict[str, Any]:
    best, differences = report.within[dataset]
    ends = [end for each in differences for end in (each.low, each.high, each.mean) if end == end]
    sign = -1 if report.headline.better == "higher" else 1
    return {
        "dataset": dataset,
        "best": best,
        "differences": [{**vars(each), **_texts(each, report.headline)} for each in differences],
        "reach": max(map(abs, ends), default=0.0),
        # Bars grow to the right as algorithms get worse, whichever direction that is.
        "sign": sign,
    }


def _texts(difference: Difference, quantity: Quantity) -> dict[str, str]:
    """Return the numbers of a difference as the page shows them."""
    names = ("mean", "low", "high")
    return {f"{name}_text": quantity.text(getattr(difference, name), sign="+") for name in names}


def _across_page(found: Across | str) -> dict[str, Any]:
    if isinstance(found, str):
        return {"note": found}
    pair_tests = [vars(pair) for pair in found.pairs]
    return {
        **vars(found),
        "note": "",
        "datasets": list(found.datasets),
        "ranks": sorted(found.ranks.items(), key=lambda item: item[1]),
        "pairs": pair_tests,
        "significant": sum(pair["significant"] for pair in pair_tests),
        "diagram": critical_difference(found.ranks, found.groups, found.critical_difference),
    }


def figures(report: Report) -> Figures:
    """Return the diagram of average ranks, where there are any."""
    from olbench.report.figures import critical_difference_figure

    if isinstance(report.across, str):
        return {}
    labels, title = report.results.labels, report.headline.title
    return {"ranks": partial(critical_difference_figure, report.across, labels, title)}


register(Section("statistics", "Statistics", parts, data=data, page=page, figures=figures))
