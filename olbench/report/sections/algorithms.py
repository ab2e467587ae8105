"""The algorithms of the run and their traits, from the registry of algorithms."""

from collections.abc import Iterator, Mapping
from typing import Any

from olbench.algorithms import definitions, title_of
from olbench.algorithms.definition import TRAITS
from olbench.report.grid import DETAIL, Column, Grid, boxes, left
from olbench.report.model import Report
from olbench.report.sections import Section, register


def title(report: Report) -> str:
    where = report.paper.traits_where if report.paper else ""
    return f"{where}: traits" if where else "Traits"


def page(report: Report) -> Mapping[str, Any]:
    known = {definition.id: definition for definition in definitions()}
    rows = []
    for id in dict.fromkeys(entry.algorithm for entry in report.results.entries):
        row: dict[str, Any] = {"id": id, "title": title_of(id), "order": "", "has": None, "source": ""}
        if definition := known.get(id):
            traits = definition.traits
            has = [getattr(traits, trait) for trait in TRAITS] if traits else None
            row |= {"order": definition.order, "source": definition.source, "has": has}
        rows.append({**row, "source": row["source"] or "the user's own"})
    return {"columns": list(TRAITS.values()), "rows": rows, "heading": title(report)}


def parts(report: Report) -> Iterator[Grid]:
    columns = (*left("algorithm", "name"), *(Column(words, "center") for words in TRAITS.values()))
    rows = []
    for row in page(report)["rows"]:
        marks = ("✓" if has else "" for has in row["has"] or [False] * len(TRAITS))
        rows.append(boxes(row["id"], row["title"], *marks, row["source"]))
    yield Grid(title(report), (*columns, *left("source", drop=DETAIL)), rows)


register(Section("algorithms", "Algorithms", 230, parts, page=page))
