"""The statistics: within each data set over its trials, and across data sets."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from olbench.analysis.stats import POWER, Across, Control, Difference, PairTest
from olbench.records.quantities import Quantity
from olbench.report import words
from olbench.report.diagram import critical_difference, fits_beside, order_ranks, stack_ranks
from olbench.report.grid import Grid, Part, boxes, left, right
from olbench.report.model import Report
from olbench.report.sections import Figures, Section, register

#: Pairs grow with the square of the algorithms: the most in a table, and on the page. JSON has all.
IN_TABLE, ON_PAGE = 500, 2000


def parts(report: Report) -> Iterator[Part]:
    for dataset in report.results.within:
        yield within(report, dataset)
    if isinstance(report.across, str):
        yield f"No comparison across data sets: {report.across}"
        return
    yield across(report, report.across)
    yield pairs(report.across)
    if not isinstance(report.against_best, str):
        yield against_best(report, report.against_best)


def within(report: Report, dataset: str) -> Grid:
    best, differences = report.results.within[dataset]
    quantity, rows = report.headline, []
    interval, test = "95% bootstrap", "p (paired t)"
    counted, condition = "wins/ties/losses", words.CONDITIONAL
    if dataset in report.results.single:
        interval, test, counted = "95% block bootstrap", "p (block bootstrap)", "blocks won/tied/lost"
        condition = words.CONDITIONAL_ON_STREAM
    elif report.results.overlap(dataset):
        interval, test = "95% corrected t", "p (corrected t)"
    for each in differences:
        mean, low, high = _signed(each, quantity).values()
        counts = f"{each.wins}/{each.ties}/{each.losses}"
        tested = f"{each.p:.3g}", quantity.text(each.detectable)
        rows.append(boxes(each.label, mean, f"[{low}, {high}]", counts, *tested))
    return Grid(
        f"Within {dataset}: {quantity.title} minus that of {best}, the {quantity.best}",
        left("algorithm") + right("difference", interval, counted, test, "detectable"),
        rows,
        f"All of this is {condition}. Detectable: the smallest difference that the test finds with a "
        f"probability of {POWER:.0%}; what does not differ significantly may differ by as much.",
    )


def across(report: Report, comparison: Across) -> Grid:
    ordered = order_ranks(comparison.ranks)
    return Grid(
        f"Across {len(comparison.datasets)} data sets: average ranks of the {report.headline.title}",
        (*left("algorithm"), *right("average rank")),
        [boxes(label, f"{comparison.ranks[label]:.2f}") for label in ordered],
        f"Friedman: chi-square {comparison.statistic:.2f}, p = {comparison.p:.3g}; Iman-Davenport: F "
        f"{comparison.iman_davenport:.2f}, p = {comparison.iman_davenport_p:.3g}; critical difference "
        f"{comparison.critical_difference:.2f} (Nemenyi, 5%). {comparison.power}",
    )


def _first_pairs(comparison: Across, most: int) -> list[PairTest]:
    pairs = list(comparison.pairs)
    return pairs if len(pairs) <= most else sorted(pairs, key=lambda pair: pair.p)[:most]


def pairs(comparison: Across) -> Grid:
    different = sum(pair.significant for pair in comparison.pairs)
    first = _first_pairs(comparison, IN_TABLE)
    listed = [pair for pair in first if pair.significant] or sorted(first, key=lambda pair: pair.p)[:5]
    title = f"{different} of {len(comparison.pairs)} pairs differ across data sets (Wilcoxon, Holm, 5%)"
    if not different:
        title += "; those with the smallest p"
    elif len(listed) < different:
        title += f"; the {len(listed)} with the smallest p"
    return Grid(
        title,
        (*left("first", "second"), *right("p", "adjusted p")),
        [boxes(pair.first, pair.second, f"{pair.p:.3g}", f"{pair.adjusted:.3g}") for pair in listed],
    )


def against_best(report: Report, comparison: Control) -> Grid:
    columns = right("z", "p", "adjusted p")
    note = (
        "z: the difference of the average ranks in standard errors; adjusted p: with Holm's correction. The "
        "best was found by the same ranks, so p is somewhat too small."
    )
    if comparison.rope is not None:
        columns += right("better", "equal", "worse")
        reach = f"{report.headline.text(comparison.rope, 2)} of the {report.headline.title}"
        note += (
            f" Better, equal, worse: their probabilities by the Bayesian signed-rank test, where equal is a "
            f"difference of at most {reach}."
        )
    rows = []
    for each in comparison.tests:
        shares = [f"{share:.2f}" for share in vars(each.posterior).values()] if each.posterior else []
        rows.append(boxes(each.label, f"{each.z:.2f}", f"{each.p:.3g}", f"{each.adjusted:.3g}", *shares))
    return Grid(
        f"Across data sets: against {comparison.label}, which has the best average rank",
        (*left("algorithm"), *columns),
        rows,
        note,
    )


def data(report: Report) -> Mapping[str, Any]:
    comparison, best = report.across, report.against_best
    return {
        "within": {
            dataset: {"best": best, "differences": [vars(difference) for difference in differences]}
            for dataset, (best, differences) in report.results.within.items()
        },
        "across": comparison
        if isinstance(comparison, str)
        else {**vars(comparison), "pairs": [vars(p) for p in comparison.pairs]},
        "against_best": best if isinstance(best, str) else asdict(best),
    }


def page(report: Report) -> Mapping[str, Any]:
    return {
        "within": [_within_page(report, dataset) for dataset in report.results.within],
        "across": _across_page(report.across),
        "single": bool(report.results.single),
        "corrected": any(map(report.results.overlap, report.results.within)),
    }


def _within_page(report: Report, dataset: str) -> dict[str, Any]:
    best, differences = report.results.within[dataset]
    ends = [end for each in differences for end in (each.low, each.high, each.mean) if end == end]
    return {
        "dataset": dataset,
        "best": best,
        "differences": [{**vars(each), **_signed(each, report.headline)} for each in differences],
        "reach": max(map(abs, ends), default=0.0),
        # Bars grow to the right as algorithms get worse, whether higher or lower is better.
        "sign": -1 if report.headline.better == "higher" else 1,
    }


def _signed(difference: Difference, quantity: Quantity) -> dict[str, str]:
    names = ("mean", "low", "high")
    return {f"{name}_text": quantity.text(getattr(difference, name), sign="+") for name in names}


def _across_page(comparison: Across | str) -> dict[str, Any]:
    if isinstance(comparison, str):
        return {"note": comparison}
    drawn = comparison.ranks, comparison.groups, comparison.critical_difference
    return {
        **vars(comparison),
        "note": "",
        "datasets": list(comparison.datasets),
        "ranks": sorted(comparison.ranks.items(), key=lambda item: item[1]),
        "pairs": [vars(pair) for pair in _first_pairs(comparison, ON_PAGE)],
        "tested": len(comparison.pairs),
        "significant": sum(pair.significant for pair in comparison.pairs),
        "diagram": critical_difference(*drawn) if fits_beside(comparison.ranks) else None,
        "stacked": stack_ranks(*drawn),
    }


def figures(report: Report) -> Figures:
    from olbench.report.figures.curves import critical_difference_figure, find_looks

    if isinstance(report.across, str):
        return {}
    look, title = find_looks(report.results), report.headline.title
    return {"ranks": partial(critical_difference_figure, report.across, look, title)}


register(Section("statistics", "Statistics", 210, parts, data=data, page=page, figures=figures))
