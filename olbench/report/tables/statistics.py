"""The statistics: within each data set over its trials, and across data sets."""

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from olbench.analysis.stats import POWER
from olbench.report import table as t
from olbench.report import words
from olbench.report.model import Report
from olbench.report.table import Column, Part, Table, columns, measured
from olbench.report.tables import Figures, figures, table

#: The most pairs that a table lists; JSON has all of them.
MOST_PAIRS = 500


def statistics_data(report: Report) -> Mapping[str, Any]:
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
        f"{found.critical_difference:.2f} (Nemenyi, 5%). {found.power}",
    )


@figures("Statistics", 210)
def ranks_figure(report: Report) -> Figures:
    from olbench.report.figures.run import critical_difference_figure, find_looks

    if isinstance(report.across, str):
        return {}
    look, title = find_looks(report.results), report.headline.title
    return {"ranks": partial(critical_difference_figure, report.across, look, title)}


@table("Statistics", 211)
def pairs(report: Report) -> Table | None:
    found = report.across
    if isinstance(found, str):
        return None
    ordered = sorted(found.pairs, key=lambda pair: pair.p)
    different = sum(pair.significant for pair in found.pairs)
    listed = [pair for pair in ordered[:MOST_PAIRS] if pair.significant] or ordered[:5]
    title = f"{different} of {len(found.pairs)} pairs differ across data sets (Wilcoxon, Holm, 5%)"
    if len(listed) != different:
        title += f"; the {len(listed)} with the smallest p"
    shown = (*columns("first", "second", format=t.ALGORITHM), *columns("p", "adjusted p", format=t.P))
    return Table(title, shown, [(pair.first, pair.second, pair.p, pair.adjusted) for pair in listed])


@table("Statistics", 212)
def against_best(report: Report) -> Table | None:
    found = report.against_best
    if isinstance(found, str) or isinstance(report.across, str):
        return None
    names = (Column("algorithm", t.ALGORITHM), Column("z", t.number(2)))
    shown = (*names, *columns("p", "adjusted p", format=t.P))
    note = (
        "z: the difference of average ranks in standard errors. Adjusted p: with Holm's correction. The best "
        "was selected by the same ranks, so p is somewhat too small."
    )
    if found.rope is not None:
        shown += columns("better", "equal", "worse", format=t.number(2))
        reach = f"{report.headline.text(found.rope, 2)} of the {report.headline.title}"
        note += (
            f" Better, equal, worse: probabilities from the Bayesian signed-rank test; equal means a "
            f"difference of at most {reach}."
        )
    rows = []
    for each in found.tests:
        posterior = vars(each.posterior).values() if each.posterior else ()
        rows.append((each.label, each.z, each.p, each.adjusted, *posterior))
    title = f"Across data sets: against {found.label}, which has the best average rank"
    return Table(title, shown, rows, note)


@table("Statistics", 213)
def within(report: Report) -> Table | None:
    results, headline = report.results, report.headline
    interval, test, condition = "95% bootstrap", "paired t", words.CONDITIONAL
    counted = "wins/ties/losses"
    if results.single:
        interval, test, condition = "95% block bootstrap", "block bootstrap", words.CONDITIONAL_ON_STREAM
        counted = "blocks won/tied/lost"
    elif any(map(results.overlap, results.datasets)):
        interval, test = "95% corrected t", "corrected t"
    rows = []
    for dataset, (_, differences) in results.within.items():
        for each in differences:
            place = dataset, each.label, each.mean, (each.low, each.high)
            counts = f"{each.wins}/{each.ties}/{each.losses}"
            rows.append((*place, counts, each.p, each.adjusted, each.detectable))
    signed = measured(headline, sign="+")
    ends = t.Format(
        lambda value: f"[{signed.text(value[0])}, {signed.text(value[1])}]",
        plain=lambda value: {"_low": value[0], "_high": value[1]},
    )
    return Table(
        f"Within each data set: difference in {headline.title} from the best",
        (
            *t.ROW,
            Column("difference", signed),
            Column(interval, ends, name="interval"),
            Column(counted, t.RIGHT, name="counts"),
            Column(f"p ({test})", t.P, name="p"),
            Column("adjusted p", t.P),
            Column("detectable", measured(headline), t.DETAIL),
        ),
        rows,
        f"All tests are {condition}. Adjusted p: with Holm's correction for the comparisons on a data set. "
        f"Detectable: the smallest difference that the test finds with a probability of {POWER:.0%}; "
        "algorithms that do not differ significantly may still differ by that much.",
        group="data set",
        group_titles={name: f"{name}: best is {best}" for name, (best, _) in results.within.items()},
    )
