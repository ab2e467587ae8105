"""The costs of every result: columns of the tables of results, and a table of its own on the page."""

import math
from collections.abc import Mapping
from typing import Any

from olbench.quantities import JOULES
from olbench.report.costs import DERIVED, NOTE, describe_energy, show_bytes, show_rate
from olbench.report.grid import COST, Column, capitalise, right
from olbench.report.model import Report
from olbench.report.results import Entry
from olbench.report.sections import Section, register


def cost_columns(report: Report) -> tuple[Column, ...]:
    """Return the headings of the costs; the rate is as good as the times are."""
    rate = "examples/s" if report.results.exclusive else "examples/s (shared)"
    energy = (JOULES.title,) if report.results.has_energy else ()
    return right("learner size", "trial memory", rate, *energy, optional=True, drop=COST)


def cost_texts(report: Report, entry: Entry) -> list[str]:
    """Return the bytes of the learner and of a trial, examples per second and, if measured, energy."""
    costs = report.results.costs(entry)
    rate = show_rate(costs.examples_per_second)
    shown = rate if entry.exclusive or costs.examples_per_second is None else f"({rate})"
    energy = [JOULES.spread(*(costs.joules or (math.nan, math.nan)))] if report.results.has_energy else []
    return [show_bytes(costs.state_bytes), show_bytes(costs.peak_bytes), shown, *energy]


def data(report: Report) -> Mapping[str, Any]:
    """Return how energy was measured or why it was not; the rows of the results have the costs."""
    return {"energy": describe_energy(report.results)}


def page(report: Report) -> Mapping[str, Any]:
    """Return one row per result: the value of each cost, by which the page sorts, and its text."""
    rows = []
    for entry in report.rows:
        costs = report.results.costs(entry)
        joules = costs.joules[0] if costs.joules else None
        values = (costs.state_bytes, costs.peak_bytes, costs.examples_per_second, joules)
        texts = (text.strip("()") for text in cost_texts(report, entry))
        rows.append((entry.dataset, entry.label, list(zip(values, texts, strict=False))))
    derived = any(report.results.costs(entry).state_from == DERIVED for entry in report.rows)
    return {
        "rows": rows,
        "columns": [capitalise(each.heading.strip("()")) for each in cost_columns(report)],
        "note": NOTE,
        "derived": derived,
        "energy": describe_energy(report.results),
    }


register(Section("costs", "Costs", data=data, page=page))
