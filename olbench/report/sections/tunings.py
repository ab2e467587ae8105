"""The ways to tune side by side: what each reports, and what a tuning gains that has seen the test rows."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from olbench.analysis import verdicts
from olbench.report.grid import Grid, Part, boxes, count, left, right
from olbench.report.model import Report
from olbench.report.sections import Section, register

Means = dict[str, float]


def applies(report: Report) -> bool:
    return len(report.results.tunings) > 1 and any(size for size, _ in means(report).values())


def means(report: Report) -> dict[str, tuple[int, Means]]:
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


def parts(report: Report) -> Iterator[Part]:
    yield side_by_side(report)
    if report.judgements:
        yield verdict_counts(report)


def side_by_side(report: Report) -> Grid:
    first, *others = report.results.tunings
    rows = {name: (size, values) for name, (size, values) in means(report).items() if size}
    average = {
        way: sum(values[way] for _, values in rows.values()) / len(rows) for way in report.results.tunings
    }
    quantity = report.headline
    differences = (f"{first} − {way}" for way in others)
    return Grid(
        f"Tunings side by side: mean {quantity.title} over data sets",
        (*left("algorithm"), *right("data sets", *report.results.tunings, *differences)),
        [
            *(boxes(name, str(size), *_texts(values, report)) for name, (size, values) in rows.items()),
            boxes("mean", "", *_texts(average, report)),
        ],
        f"The differences are the optimism of the other tunings: how much they gain over {first} by having "
        "seen the rows that test them. An algorithm counts on data sets where it is tuned in every way.",
    )


def _texts(values: Means, report: Report) -> Iterator[str]:
    first, *others = report.results.tunings
    for way in report.results.tunings:
        yield report.headline.text(values[way])
    for way in others:
        yield report.headline.text(values[first] - values[way], sign="+")


def count_verdicts(report: Report) -> dict[str, Counter[str]]:
    if report.attempt is None:
        return {}
    found = {way: verdicts.judge_tuning(report.attempt, way) for way in report.results.tunings}
    return {way: verdicts.count(judgements, report.headline) for way, judgements in found.items()}


def verdict_counts(report: Report) -> Grid:
    assert report.paper is not None
    rows = []
    for way, counts in count_verdicts(report).items():
        compared = counts.total() - counts[verdicts.NOT_COMPARABLE]
        share = f"{counts[verdicts.REPRODUCED] / compared:.0%}" if compared else ""
        rows.append(boxes(way, *(str(counts[name]) for name in verdicts.VERDICTS), share))
    apart = verdicts.count(report.judgements, report.headline, suspect=True).total()
    required = " or ".join(report.paper.requires.search)
    notes = [
        f"The verdicts of this report are those of {required}." if required else "",
        f"Not counted: {count(apart, 'unexplained number')}." if apart else "",
    ]
    return Grid(
        f"Tunings side by side: verdicts on the paper's {report.headline.counted}",
        left("tuning") + right("reproduced", "close", "differ", "not comparable", "reproduced of compared"),
        rows,
        " ".join(note for note in notes if note),
    )


def data(report: Report) -> Mapping[str, Any]:
    if not report.is_cross_validated:
        return {}
    counts = {way: dict(each) for way, each in count_verdicts(report).items()}
    averages = {name: {"datasets": size, **values} for name, (size, values) in means(report).items()}
    return {"tunings": {"means": averages, "verdicts": counts}}


register(Section("tunings", "Tunings", 190, parts, applies, data))
