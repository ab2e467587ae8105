"""What drifts of the concept cost each algorithm."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from olbench.analysis.results import Entry
from olbench.report.grid import Grid, boxes, left, right
from olbench.report.model import Report
from olbench.report.sections import Section, register

NOTE = (
    "Before: the accuracy in the window before a drift. Depth: by how much the lowest accuracy of a fifth of "
    "a window is below that. Recovery: examples until the fall ends, over the drifts with an end. Lost: how "
    "many more predictions were wrong until then, or until the next drift. All are means over the drifts. A "
    "fall is more than two standard errors of the accuracy before, and at least two points."
)
#: The most rows that are listed.
MOST = 8
FOUND_NOTE = (
    "Rows at which ADWIN sees the accuracy of a learner change. They mark the curves; nothing else uses them."
)


def drifts_of(entry: Entry) -> list[dict[str, list[Any]]]:
    return [each for each in entry.columns.get("drifts", ()) if isinstance(each, dict) and each.get("row")]


def applies(report: Report) -> bool:
    return any(map(drifts_of, report.rows))


def parts(report: Report) -> Iterator[Grid]:
    for dataset in report.results.datasets:
        entries = [entry for entry in report.block(dataset) if drifts_of(entry)]
        known = [entry for entry in entries if "depth" in drifts_of(entry)[0]]
        if known:
            rows = drifts_of(known[0])[0]["row"]
            yield Grid(
                f"Drifts of {dataset} at {', '.join(f'{row:,}' for row in rows)}",
                left("algorithm") + right("before (%)", "depth (%)", "recovered", "recovery", "lost"),
                [boxes(entry.label, *_mean_effects(entry)) for entry in known],
                NOTE,
            )
        elif entries:
            columns, found = left("algorithm") + right("drifts") + left("rows"), []
            for entry in entries:
                rows = drifts_of(entry)[0]["row"]
                listed = ", ".join(f"{row:,}" for row in rows[:MOST]) + (", …" if len(rows) > MOST else "")
                found.append(boxes(entry.label, str(len(rows)), listed))
            yield Grid(f"Drifts found on {dataset}", columns, found, FOUND_NOTE)


def _mean_effects(entry: Entry) -> list[str]:
    trials = drifts_of(entry)
    columns = {name: [value for each in trials for value in each[name]] for name in trials[0]}
    recoveries = [value for value in columns["recovery"] if value is not None]
    recovery = f"{np.mean(recoveries):,.0f}" if recoveries else "–"
    shares = (f"{100 * np.mean(columns[name]):.2f}" for name in ("before", "depth"))
    recovered = f"{len(recoveries)} of {len(columns['recovery'])}"
    return [*shares, recovered, recovery, f"{np.mean(columns['lost']):,.0f}"]


def data(report: Report) -> Mapping[str, Any]:
    found: dict[str, dict[str, Any]] = {}
    for entry in report.rows:
        if trials := drifts_of(entry):
            found.setdefault(entry.dataset, {})[entry.label] = trials
    return {"drifts": found} if any("drifts" in entry.columns for entry in report.rows) else {}


register(Section("drifts", "Drifts", 120, parts, applies, data))
