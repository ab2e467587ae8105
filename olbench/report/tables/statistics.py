"""The statistics: within each data set over its trials, and across data sets."""

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from olbench.analysis.results import Within
from olbench.report import table as t
from olbench.report import words
from olbench.report.model import Report
from olbench.report.table import Column, Part, Table, columns, measured
from olbench.report.tables import Figures, figures, table

#: The most pairs that a table lists; JSON has all of them.
MOST_PAIRS = 500


def statistics_data(report: Report) -> Mapping[str, Any]:
    comparison, against = report.across, report.against
    return {
        "within": {
            dataset: {**found._asdict(), "differences": [vars(each) for each in found.differences]}
            for dataset, found in report.results.within.items()
        },
        "across": comparison
        if isinstance(comparison, str)
        else {**vars(comparison), "against": against if isinstance(against, str) else asdict(against)},
        "pairwise": [vars(each) for each in report.pairwise],
    }


@table("Statistics", 210, data=statistics_data)
def across(report: Report) -> Part:
    """Return average ranks over data sets, with the tests of Friedman, Iman and Davenport, and Nemenyi."""
    found = report.across
    if isinstance(found, str):
        return f"No comparison across data sets: {found}"
    rows = [(label, found.ranks[label]) for label in sorted(found.ranks, key=lambda e: (found.ranks[e], e))]
    return Table(
        f"Across {len(found.datasets)} data sets: average ranks of the {report.headline.title}",
        (Column("algorithm", t.ALGORITHM), Column("average rank", t.number(2))),
        rows,
        f"Friedman: chi-square {found.statistic:.2f}, p = {found.p:.3g}; Iman-Davenport: F "
        f"{found.iman_davenport:.2f}, p = {found.iman_davenport_p:.3g}; critical difference "
        f"{found.critical_difference:.2f} (Nemenyi, 5%). Ranks depend on which algorithms take "
        "part; the table of pairs does not.",
    )


@figures("Statistics", 210)
def ranks_figure(report: Report) -> Figures:
    from olbench.report.figures.run import critical_difference_figure, find_looks

    if isinstance(report.across, str):
        return {}
    look, title = find_looks(report.results), report.headline.title
    return {"ranks": partial(critical_difference_figure, report.across, look, title)}


@table("Statistics", 211)
def against(report: Report) -> Table | None:
    """Return all algorithms against the best or a named one, over data sets."""
    found = report.against
    if isinstance(found, str) or isinstance(report.across, str):
        return None
    signed = measured(report.headline, sign="+")
    shown = (
        Column("algorithm", t.ALGORITHM),
        Column("mean difference", signed),
        Column("wins/ties/losses", t.RIGHT, name="counts"),
        *columns("p", "adjusted p", format=t.P),
        *columns("better", "equal", "worse", format=t.number(2)),
    )
    rows = [
        (each.label, each.mean, _count_signs(each), each.p, each.adjusted, *vars(each.posterior).values())
        for each in found.rivals
    ]
    which = "which has the best mean rank" if found.selected else "the named algorithm"
    corrected = "all pairs, because the data selected the best" if found.selected else "these comparisons"
    negligible = report.results.config.negligible
    reach = "1% of the smaller error" if negligible is None else report.headline.text(negligible, 4)
    return Table(
        f"Across data sets: against {found.label}, {which}",
        shown,
        rows,
        f"p: Wilcoxon's signed-rank test; adjusted with Holm's correction for {corrected}. Better, equal, "
        f"worse: probabilities from the Bayesian signed-rank test; equal: a difference of at most {reach}.",
    )


def _count_signs(each: Any) -> str:
    return f"{each.wins}/{each.ties}/{each.losses}"


@table("Statistics", 212)
def pairwise(report: Report) -> Table:
    """Return every pair of algorithms, or those of the named one, over the data sets that both have."""
    shown = (
        *columns("first", "second", format=t.ALGORITHM),
        Column("mean difference", measured(report.headline, sign="+")),
        Column("wins/ties/losses", t.RIGHT, name="counts"),
        Column("p", t.P),
    )
    control = report.control
    own = (each for each in report.pairwise if control in (each.first, each.second, ""))
    listed = sorted(own, key=lambda each: each.p)
    title = "Pairs of algorithms over data sets, first minus second"
    if len(listed) > MOST_PAIRS:
        title += f"; the {MOST_PAIRS} with the smallest p"
    rows = [(each.first, each.second, each.mean, _count_signs(each), each.p) for each in listed[:MOST_PAIRS]]
    note = "p: Wilcoxon's signed-rank test, not corrected. A row does not depend on the other algorithms."
    return Table(title, shown, rows, note)


@figures("Statistics", 212)
def pairwise_figures(report: Report) -> Figures:
    from olbench.report.figures.run import pairwise_figure

    return {"pairwise": partial(pairwise_figure, report)} if report.pairwise else {}


@table("Statistics", 213)
def within(report: Report) -> Table | None:
    """Return the differences from the best or a named algorithm on each data set."""
    results, headline = report.results, report.headline
    rows = [
        (
            *(dataset, each.label, each.mean, (each.low, each.high), _count_signs(each)),
            *(each.p, each.adjusted, each.error_rows, each.error_orders),
        )
        for dataset, found in results.within.items()
        for each in found.differences
    ]
    signed = measured(headline, sign="+")
    ends = t.Format(
        lambda value: f"[{signed.text(value[0])}, {signed.text(value[1])}]",
        plain=lambda value: {"_low": value[0], "_high": value[1]},
    )
    counted = "blocks won/tied/lost" if "blocks" in results.overs else "wins/ties/losses"
    return Table(
        f"Within each data set: difference in {headline.title} from {results.control or 'the best'}",
        (
            *t.ROW,
            Column("difference", signed),
            Column("95% interval", ends, name="interval"),
            Column(counted, t.RIGHT, name="counts"),
            *columns("p", "adjusted p", format=t.P),
            Column("error: rows", measured(headline), t.DETAIL, name="error_rows"),
            Column("error: orders", measured(headline), t.DETAIL, name="error_orders"),
        ),
        rows,
        f"Differences are {words.describe_over(results)} ({words.name_test(results)}). Adjusted p: with "
        f"{words.describe_correction(results)}. Errors: standard errors from the rows and from the orders.",
        group="data set",
        group_titles={name: _title(name, found) for name, found in results.within.items()},
    )


def _title(dataset: str, found: Within) -> str:
    best = f"{dataset}: best is {found.best}"
    return best if found.against == found.best else f"{best}, against {found.against}"
