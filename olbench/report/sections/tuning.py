"""The optimism of the tuning: how much better the chosen parameters scored in the tuning trials."""

import math
from collections.abc import Iterator

from olbench.report.grid import Grid, Part, boxes, left, right
from olbench.report.model import Report
from olbench.report.sections import Section, register


def parts(report: Report) -> Iterator[Part]:
    quantity, rows, undefined = report.headline, [], []
    for dataset in report.results.datasets:
        scored = [(entry, entry.tuned) for entry in report.results.of(dataset) if entry.tuned is not None]
        undefined += [f"{entry.label} on {dataset}" for entry, score in scored if math.isnan(score)]
        found = [(entry.mean(quantity) - score, entry.label) for entry, score in scored]
        gaps = sorted(each for each in found if not math.isnan(each[0]))
        if gaps:
            mean = sum(optimism for optimism, _ in gaps) / len(gaps)
            ends = (f"{quantity.text(each, sign='+')} ({label})" for each, label in (gaps[0], gaps[-1]))
            rows.append(boxes(dataset, str(len(gaps)), quantity.text(mean, sign="+"), *ends))
    if rows:
        yield Grid(
            f"Optimism of the tuning: reported {quantity.title} minus that of the tuning trials",
            (*left("data set"), *right("tuned", "mean", "smallest", "largest")),
            rows,
            "This is the error of reporting the tuning trials instead of new ones.",
        )
    if undefined:
        where, ties = ", ".join(undefined), report.results.config.tuning.ties
        yield f"{quantity.title} is undefined in every tuning trial of {where}, so `ties: {ties}` chose."


register(
    Section("tuning", "Tuning", 200, parts, lambda report: any(e.tuned is not None for e in report.rows))
)
