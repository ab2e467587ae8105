"""The algorithms of the run and their traits, from the registry of algorithms."""

from collections.abc import Iterator, Mapping
from typing import Any

from olbench.algorithms import definitions
from olbench.algorithms.definition import Definition
from olbench.report.grid import DETAIL, Box, Column, Grid, boxes, left
from olbench.report.model import Report
from olbench.report.sections import Section, register

TRAITS = {
    "large_margin": "large margin",
    "confidence": "confidence",
    "non_separable": "non-separable",
    "adaptive_margin": "adaptive margin",
}


def title(report: Report) -> str:
    """Return the title, with the paper's table of the same content."""
    where = report.paper.traits_where if report.paper else ""
    return f"{where}: traits" if where else "Traits"


def _definitions_of(report: Report) -> dict[str, Definition | None]:
    """Return the definitions of the run's algorithms; None for one whose plugin is not loaded."""
    known = {definition.id: definition for definition in definitions()}
    return {entry.algorithm: known.get(entry.algorithm) for entry in report.results.entries}


def parts(report: Report) -> Iterator[Grid]:
    """Yield one row per algorithm."""
    columns = (*left("algorithm", "name"), *(Column(words, "center") for words in TRAITS.values()))
    rows = [_describe(id, definition) for id, definition in _definitions_of(report).items()]
    yield Grid(title(report), (*columns, *left("source", drop=DETAIL)), rows)


def _describe(id: str, definition: Definition | None) -> tuple[Box, ...]:
    if definition is None:
        return boxes(id, id, *[""] * len(TRAITS), "the user's own")
    traits = definition.traits
    marks = ("✓" if traits and getattr(traits, name) else "" for name in TRAITS)
    return boxes(id, definition.title, *marks, definition.source)


def page(report: Report) -> Mapping[str, Any]:
    """Return one row per algorithm, with its traits as truth values."""
    rows = []
    for id, definition in _definitions_of(report).items():
        name, order = (definition.title, definition.order) if definition else (id, "")
        traits = definition.traits if definition else None
        has = [getattr(traits, trait) for trait in TRAITS] if traits else None
        rows.append({"id": id, "title": name, "order": order, "has": has})
    return {"columns": list(TRAITS.values()), "rows": rows, "heading": title(report)}


register(Section("algorithms", "Algorithms", parts, page=page))
