"""The data sets of the run, from its record and the catalogue, beside their sizes in the paper."""

from collections.abc import Iterator, Mapping
from typing import Any

from olbench.data.catalog import catalog
from olbench.report.grid import DETAIL, PAPER, Grid, boxes, left, right
from olbench.report.model import Report
from olbench.report.sections import Section, register


def title(report: Report) -> str:
    where = report.paper.shapes_where if report.paper else ""
    return f"{where}: data sets" if where else "Data sets"


def parts(report: Report) -> Iterator[Grid]:
    rows = []
    for name, facts in report.results.run.data.items():
        if report.whole is not None and name not in report.results.datasets:
            continue
        entry = catalog().get(name.partition("[")[0])
        source = entry.source if entry else "the user's file"
        steps = (", ".join(entry.preprocess) if entry else "; ".join(facts.prepared)) or "none"
        size = (f"{facts.rows:,}", f"{facts.features:,}")
        rows.append(boxes(name, *size, in_paper(report, name), source, steps, facts.fingerprint[:12]))
    columns = left("data set") + right("examples", "features") + left("in the paper", drop=PAPER)
    columns += left("source", "preprocessing", drop=DETAIL) + left("fingerprint", optional=True, drop=DETAIL)
    table = Grid(title(report), columns, rows)
    yield table if report.paper else table.keep([number for number in range(len(columns)) if number != 3])


def in_paper(report: Report, name: str) -> str:
    if report.attempt is None or name not in report.attempt.paper.shapes:
        return ""
    return report.attempt.find_other_size(name) or "the same size"


def page(report: Report) -> Mapping[str, Any]:
    rows = []
    for name in report.results.datasets:
        facts = report.results.run.data.get(name)
        row = {"rows": None, "features": None, "fingerprint": None, **(vars(facts) if facts else {})}
        rows.append({"name": name, **row, "in_paper": in_paper(report, name)})
    return {"rows": rows, "heading": title(report)}


register(Section("datasets", "Data", 240, parts, page=page))
