"""A table as headings and cells, before it becomes text, Markdown or LaTeX."""

from dataclasses import dataclass
from typing import Literal

Side = Literal["left", "right", "center"]


@dataclass(frozen=True)
class Cell:
    """A text in a table; bold marks the best."""

    text: str
    bold: bool = False


@dataclass(frozen=True)
class Column:
    """A heading and the side that its cells keep to."""

    heading: str
    side: Side = "right"
    #: Whether a printed page, which is narrow, does without it.
    optional: bool = False


@dataclass(frozen=True)
class Grid:
    """A titled table, with a note below where one is needed."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""


def left(*headings: str, optional: bool = False) -> tuple[Column, ...]:
    """Return columns of words."""
    return tuple(Column(heading, "left", optional) for heading in headings)


def right(*headings: str, optional: bool = False) -> tuple[Column, ...]:
    """Return columns of numbers."""
    return tuple(Column(heading, "right", optional) for heading in headings)


def cells(*texts: str) -> tuple[Cell, ...]:
    """Return plain cells."""
    return tuple(Cell(text) for text in texts)
