"""The optimism of the tuning: how much better the chosen parameters scored in the tuning trials."""

from collections.abc import Iterator

from olbench.report.grid import Grid, boxes, left, right
from olbench.report.model import Report
from olbench.report.sections import Section, register


def parts(report: Report) -> Iterator[Grid]:
    quantity, rows = report.headline, []
    for dataset in report.results.datasets:
        entries = report.results.of(dataset)
        gaps = sorted((e.mean(quantity) - e.tuned, e.label) for e in entries if e.tuned is not None)
        if gaps:
            mean = sum(optimism for optimism, _ in gaps) / len(gaps)
            ends = (f"{quantity.text(each, sign='+')} ({label})" for each, label in (gaps[0], gaps[-1]))
            rows.append(boxes(dataset, str(len(gaps)), quantity.text(mean, sign="+"), *ends))
    yield Grid(
        f"Optimism of the tuning: reported {quantity.title} minus that of the tuning trials",
        (*left("data set"), *right("tuned", "mean", "smallest", "largest")),
        rows,
        "This is the error of reporting the tuning trials instead of new ones.",
    )


register(
    Section("tuning", "Tuning", 200, parts, lambda report: any(e.tuned is not None for e in report.rows))
)
