"""The data sets of the run, from its record and the catalogue, beside their sizes in the paper."""

from collections.abc import Iterator, Mapping
from typing import Any

from olbench.data.catalog import catalog
from olbench.report.grid import DETAIL, PAPER, Grid, boxes, left, right
from olbench.report.model import Report
from olbench.report.sections import Section, register
from olbench.trials.run_file import DataFacts


def title(report: Report) -> str:
    """Return the title, with the paper's table of the same content."""
    where = report.paper.shapes_where if report.paper else ""
    return f"{where}: data sets" if where else "Data sets"


def parts(report: Report) -> Iterator[Grid]:
    """Yield one row per data set."""
    rows = []
    for name, facts in report.results.run.data.items():
        entry = catalog().get(name.partition("[")[0])
        source = entry.source if entry else "the user's file"
        steps = (", ".join(entry.preprocess) if entry else "; ".join(facts.prepared)) or "none"
        size = (f"{facts.rows:,}", f"{facts.features:,}")
        rows.append(boxes(name, *size, in_paper(report, name, facts), source, steps, facts.fingerprint[:12]))
    columns = left("data set") + right("examples", "features") + left("in the paper", drop=PAPER)
    columns += left("source", "preprocessing", drop=DETAIL) + left("fingerprint", optional=True, drop=DETAIL)
    table = Grid(title(report), columns, rows)
    yield table if report.paper else table.keep([number for number in range(len(columns)) if number != 3])


def in_paper(report: Report, name: str, facts: DataFacts) -> str:
    """Return whether the paper prints the same size, and the size that it prints if not."""
    printed = report.paper.shapes.get(name) if report.paper else None
    if printed is None:
        return ""
    different = [
        f"{value:,} {key}"
        for key, value in printed.items()
        if hasattr(facts, key) and getattr(facts, key) != value
    ]
    return ", ".join(different) or "the same size"


def page(report: Report) -> Mapping[str, Any]:
    """Return one row per data set."""
    rows = []
    for name in report.results.datasets:
        facts = report.results.run.data.get(name)
        row = {"rows": None, "features": None, "fingerprint": None, **(vars(facts) if facts else {})}
        rows.append({"name": name, **row, "in_paper": in_paper(report, name, facts) if facts else ""})
    return {"rows": rows, "heading": title(report), "paper": report.paper is not None}


register(Section("datasets", "Data", parts, page=page))
