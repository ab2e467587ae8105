"""A table as headings and cells, before it becomes text, Markdown, LaTeX or HTML."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

# Most of those who draw tables count and list as well.
from olbench.errors import count as count
from olbench.errors import list_some as list_some
from olbench.errors import short

Side = Literal["left", "right", "center"]
#: The order in which a narrow terminal drops columns: costs first, then the paper's numbers, times, and
#: details such as parameters. Names, and the quantities that a table is about, stay.
COST, PAPER, TIME, DETAIL, KEPT = 4, 3, 2, 1, 0


@dataclass(frozen=True)
class Box:
    text: str
    bold: bool = False
    highlighted: bool = False


@dataclass(frozen=True)
class Column:
    heading: str
    side: Side = "right"
    optional: bool = False
    drop: int = KEPT
    highlighted: bool = False
    printed: str = ""


@dataclass(frozen=True)
class Grid:
    title: str
    columns: tuple[Column, ...]
    rows: Sequence[tuple[Box, ...]]
    note: str = ""

    def keep(self, numbers: list[int]) -> "Grid":
        columns = tuple(self.columns[number] for number in numbers)
        rows = tuple(tuple(row[number] for number in numbers) for row in self.rows)
        return replace(self, columns=columns, rows=rows)

    def texts_by_column(self) -> list[list[str]]:
        return [[row[number].text for row in self.rows] for number in range(len(self.columns))]


FLAG = " !"

Part = Grid | str


def highlight(parts: Iterable[Part], labels: Container[str]) -> Iterator[Part]:
    for part in parts:
        if isinstance(part, str):
            yield part
            continue
        columns = tuple(replace(each, highlighted=each.heading in labels) for each in part.columns)
        rows = [
            tuple(
                replace(box, highlighted=column.side == "left" and box.text.removesuffix(FLAG) in labels)
                for box, column in zip(row, columns, strict=True)
            )
            for row in part.rows
        ]
        yield replace(part, columns=columns, rows=rows)


def left(*headings: str, optional: bool = False, drop: int = KEPT) -> tuple[Column, ...]:
    return tuple(Column(heading, "left", optional, drop) for heading in headings)


def right(*headings: str, optional: bool = False, drop: int = KEPT) -> tuple[Column, ...]:
    return tuple(Column(heading, "right", optional, drop) for heading in headings)


def boxes(*cells: str | Box) -> tuple[Box, ...]:
    return tuple(cell if isinstance(cell, Box) else Box(cell) for cell in cells)


def compact(value: float) -> str:
    """Return a number with three digits in as few letters as possible.

    >>> compact(5152503.75), compact(-0.0), compact(-0.12345), compact(6e-8)
    ('5.15e6', '0', '-0.123', '6e-8')
    """
    # Adding zero turns -0 into 0.
    return f"{value + 0.0:.3g}".replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")


def list_settings(values: Mapping[str, object] | None) -> str:
    return ", ".join(f"{name}={short(value)}" for name, value in (values or {}).items())


def shorten(name: str, most: int) -> str:
    """Return a name of at most `most` letters; of a longer one, the end is left out.

    >>> shorten("amazon-apparel", 16), shorten("amazon-apparel", 8)
    ('amazon-apparel', 'amazon-…')
    """
    return name if len(name) <= most else f"{name[: most - 1]}\N{HORIZONTAL ELLIPSIS}"


def capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]
