"""The costs of every result: columns of the tables of results, and a table of its own on the page."""

from collections.abc import Mapping
from typing import Any

from olbench.analysis.results import DERIVED, Entry
from olbench.report.grid import COST, Column, capitalise, right
from olbench.report.model import Report
from olbench.report.sections import Section, register
from olbench.report.words import COSTS_NOTE, show_bytes, show_rate


def cost_columns(report: Report) -> tuple[Column, ...]:
    rate = "examples/s" if report.results.exclusive else "examples/s (shared)"
    return right("learner size", "trial memory", rate, optional=True, drop=COST)


def cost_texts(report: Report, entry: Entry) -> list[str]:
    costs = report.results.costs(entry)
    rate = show_rate(costs.examples_per_second)
    shown = rate if entry.exclusive or costs.examples_per_second is None else f"({rate})"
    return [show_bytes(costs.state_bytes), show_bytes(costs.peak_bytes), shown]


def page(report: Report) -> Mapping[str, Any]:
    rows = []
    for entry in report.rows:
        costs = report.results.costs(entry)
        values = (costs.state_bytes, costs.peak_bytes, costs.examples_per_second)
        texts = (text.strip("()") for text in cost_texts(report, entry))
        rows.append((entry.dataset, entry.label, list(zip(values, texts, strict=True))))
    derived = any(report.results.costs(entry).state_from == DERIVED for entry in report.rows)
    return {
        "rows": rows,
        "columns": [capitalise(each.heading.strip("()")) for each in cost_columns(report)],
        "note": COSTS_NOTE,
        "derived": derived,
    }


register(Section("costs", "Costs", 220, page=page))
