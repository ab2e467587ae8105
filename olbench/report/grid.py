"""A table as headings and cells, before it becomes text, Markdown, LaTeX or HTML."""

from dataclasses import dataclass, replace
from typing import Literal

Side = Literal["left", "right", "center"]
#: The order in which a narrow terminal drops columns: what the paper reports first, then times, then
#: parameters. Names, and the quantity that the table is about, stay.
PAPER, TIME, DETAIL, KEPT = 3, 2, 1, 0


@dataclass(frozen=True)
class Box:
    """A text in a table; bold marks the best."""

    text: str
    bold: bool = False


@dataclass(frozen=True)
class Column:
    """A heading and the side that its boxes keep to."""

    heading: str
    side: Side = "right"
    #: Whether a printed page, which is narrow, does without it.
    optional: bool = False
    #: Columns with a larger number are dropped before those with a smaller one; KEPT ones never.
    drop: int = KEPT


@dataclass(frozen=True)
class Grid:
    """A titled table, with a note below where one is needed."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Box, ...], ...]
    note: str = ""

    def keep(self, numbers: list[int]) -> "Grid":
        """Return the table with some of its columns only."""
        columns = tuple(self.columns[number] for number in numbers)
        rows = tuple(tuple(row[number] for number in numbers) for row in self.rows)
        return replace(self, columns=columns, rows=rows)


#: What a section of a report is made of.
Part = Grid | str


def left(*headings: str, optional: bool = False, drop: int = KEPT) -> tuple[Column, ...]:
    """Return columns of words."""
    return tuple(Column(heading, "left", optional, drop) for heading in headings)


def right(*headings: str, optional: bool = False, drop: int = KEPT) -> tuple[Column, ...]:
    """Return columns of numbers."""
    return tuple(Column(heading, "right", optional, drop) for heading in headings)


def boxes(*texts: str) -> tuple[Box, ...]:
    """Return plain boxes."""
    return tuple(Box(text) for text in texts)


def short(value: object) -> str:
    """Return the value of a parameter without zeros at its end."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def count(number: int, thing: str) -> str:
    """Return a number of things in words.

    >>> count(1, "data set"), count(12, "data set")
    ('1 data set', '12 data sets')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
