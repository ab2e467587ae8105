"""Tuning: its optimism, and several ways to tune side by side."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from olbench.analysis import verdicts
from olbench.errors import count
from olbench.report import table as t
from olbench.report.model import Report
from olbench.report.table import Column, Format, Part, Table, columns, measured
from olbench.report.tables import table

Means = dict[str, float]


@table("Tuning", 200)
def tuning(report: Report) -> Iterator[Part]:
    quantity, rows, undefined = report.headline, [], []
    for dataset in report.results.datasets:
        scored = [(entry, entry.tuned) for entry in report.results.of(dataset) if entry.tuned is not None]
        undefined += [f"{entry.label} on {dataset}" for entry, score in scored if math.isnan(score)]
        found = [(entry.mean(quantity) - score, entry.label) for entry, score in scored]
        gaps = sorted(each for each in found if not math.isnan(each[0]))
        if gaps:
            mean = sum(optimism for optimism, _ in gaps) / len(gaps)
            rows.append((dataset, len(gaps), mean, gaps[0], gaps[-1]))
    signed = measured(quantity, sign="+")
    end = Format(lambda gap: f"{signed.text(gap[0])} ({gap[1]})", plain=lambda gap: {"": gap[0]})
    yield Table(
        f"Optimism of the tuning: reported {quantity.title} minus {quantity.title} in the tuning trials",
        (
            Column("data set"),
            Column("tuned", t.COUNT),
            Column("mean", signed),
            *columns("smallest", "largest", format=end),
        ),
        rows,
        "How much better the tuning trials looked than new ones.",
    )
    if undefined:
        where, ties = ", ".join(undefined), report.results.config.tuning.ties
        yield f"{quantity.title} is undefined in every tuning trial of {where}, so `ties: {ties}` decided."


def tuning_data(report: Report) -> Mapping[str, Any]:
    if not report.is_cross_validated:
        return {}
    counts = {way: dict(each) for way, each in report.tuning_verdicts.items()}
    averages = {name: {"datasets": size, **values} for name, (size, values) in means(report).items()}
    return {"tunings": {"means": averages, "verdicts": counts}}


def means(report: Report) -> dict[str, tuple[int, Means]]:
    """Return, by algorithm, how many data sets are tuned in every way, and each way's mean over them."""
    results, tunings = report.results, report.results.tunings
    finished: dict[str, dict[str, Means]] = {name: {} for name in results.names}
    for entry in results.entries:
        if entry.done == entry.planned:
            own = finished[results.name_of(entry)].setdefault(entry.dataset, {})
            own[results.tuning_of(entry)] = entry.mean(report.headline)
    found = {}
    for name, datasets in finished.items():
        whole = [values for values in datasets.values() if len(values) == len(tunings)]
        averages = {way: sum(values[way] for values in whole) / len(whole) for way in tunings if whole}
        found[name] = len(whole), averages
    return found


@table("Tuning", 190, data=tuning_data)
def tunings(report: Report) -> Table | None:
    """Return the results of each way of tuning, and what a way gains from having seen the test rows."""
    ways, quantity = report.results.tunings, report.headline
    rows = {name: (size, values) for name, (size, values) in means(report).items() if size}
    if len(ways) < 2 or not rows:
        return None
    first, *others = ways

    def numbers(values: Means) -> list[float]:
        return [*(values[way] for way in ways), *(values[first] - values[way] for way in others)]

    average = {way: sum(values[way] for _, values in rows.values()) / len(rows) for way in ways}
    return Table(
        f"Tunings side by side: mean {quantity.title} over data sets",
        (
            Column("algorithm", t.ALGORITHM),
            Column("data sets", t.COUNT),
            *columns(*ways, format=measured(quantity)),
            *columns(*(f"{first} − {way}" for way in others), format=measured(quantity, sign="+")),
        ),
        [
            *((name, size, *numbers(values)) for name, (size, values) in rows.items()),
            ("mean", None, *numbers(average)),
        ],
        f"The differences are the optimism of the other tunings: what they gain over {first} by having seen "
        "the test rows. Means are over data sets on which the algorithm is tuned in every way.",
    )


@table("Tuning", 191)
def tuning_verdicts(report: Report) -> Table | None:
    if report.paper is None or not report.judgements or tunings(report) is None:
        return None
    rows = []
    for way, counts in report.tuning_verdicts.items():
        compared = counts.total() - counts[verdicts.NOT_COMPARABLE]
        share = counts[verdicts.REPRODUCED] / compared if compared else None
        rows.append((way, *(counts[name] for name in verdicts.VERDICTS), share))
    apart = verdicts.count(report.judgements, report.headline, suspect=True).total()
    required = " or ".join(report.paper.requires.search)
    notes = [f"The other verdicts in this report are for {required}."] if required else []
    notes += [f"Not counted: {count(apart, 'unexplained number')}."] if apart else []
    return Table(
        f"Tunings side by side: verdicts on the paper's {report.headline.counted}",
        (
            Column("tuning"),
            *columns("reproduced", "close", "differ", "not comparable", format=t.COUNT),
            Column("reproduced of compared", t.PERCENT),
        ),
        rows,
        " ".join(notes),
    )
