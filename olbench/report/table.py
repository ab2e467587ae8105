"""A table: columns of values with formats. Every output format is made from it."""

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from olbench.errors import escape_controls, escape_lines, short, show_number

if TYPE_CHECKING:
    import pandas as pd

    from olbench.records.quantities import Quantity

Side = Literal["left", "right", "center"]
#: A narrow terminal drops costs first, then the paper's numbers, times, and details such as parameters.
#: KEPT columns, with names and the main quantities, are never dropped. HIDDEN columns are only for CSV, JSON
#: and frames.
HIDDEN, COST, PAPER, TIME, DETAIL, KEPT = 5, 4, 3, 2, 1, 0
#: The mark after the name of an algorithm whose numbers are in doubt.
FLAG = " !"
DASH = "\N{EN DASH}"


class Spread(NamedTuple):
    """A mean with its standard deviation (None for a single value); shared if timed while others ran."""

    mean: float
    deviation: float | None = None
    shared: bool = False


class Best(NamedTuple):
    """A cell that is printed in bold."""

    value: Any


def mark(value: Any, is_best: bool) -> Any:
    return Best(value) if is_best else value


@dataclass(frozen=True)
class Format:
    """How the values of a column are printed; CSV, JSON and frames have the values themselves."""

    show: Callable[[Any], str] = str
    side: Side = "right"
    #: How LaTeX prints a value, if different: papers print the title of an algorithm, not its id.
    on_paper: Callable[[Any], str] | None = None
    #: The values for CSV, JSON and frames, by the suffix that each adds to the name of the column.
    plain: Callable[[Any], Mapping[str, Any]] = lambda value: {"": value}
    #: The tooltip on the page.
    tip: Callable[[Any], str] | None = None
    #: The verdict of a value, which colours its cell on the page.
    verdict: Callable[[Any], str] | None = None
    #: Whether values may have several lines.
    multiline: bool = False

    def text(self, value: Any, on_paper: bool = False) -> str:
        if value is None or value == "":
            return ""
        if isinstance(value, float) and math.isnan(value):
            return DASH
        text = (self.on_paper if on_paper and self.on_paper else self.show)(value)
        return escape_lines(text) if self.multiline else escape_controls(text)

    @staticmethod
    def sort_value(value: Any) -> float | None:
        """Return the number that sorts a cell; None for words and undefined values."""
        while isinstance(value, tuple):
            value = next((each for each in value if not isinstance(each, str)), None)
        return value if isinstance(value, int | float) and math.isfinite(value) else None


def number(digits: int, sign: str = "") -> Format:
    return Format(lambda value: show_number(value, digits, sign))


class Flagged(str):
    """The name of an algorithm whose numbers are in doubt."""


def _show_flag(label: str) -> str:
    return f"{label}{FLAG}" if isinstance(label, Flagged) else label


def _show_title(label: str) -> str:
    from olbench.report.figures.palette import display_name

    return display_name(label) + (FLAG if isinstance(label, Flagged) else "")


def show_settings(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={short(value)}" for name, value in values.items())


def show_bytes(size: float) -> str:
    """Return a size in a suitable unit.

    >>> show_bytes(152), show_bytes(6_400), show_bytes(5_000_000)
    ('152 B', '6.2 KiB', '4.8 MiB')
    """
    value, unit = float(size), "B"
    for larger in ("KiB", "MiB", "GiB"):
        if value >= 1024:
            value, unit = value / 1024, larger
    return f"{value:,.0f} {unit}" if unit == "B" else f"{value:,.1f} {unit}"


def show_rate(rate: float) -> str:
    """Return examples per second to three digits.

    >>> show_rate(1_234_567.0), show_rate(12.345)
    ('1,230,000', '12.3')
    """
    digits = 2 - math.floor(math.log10(rate))
    return f"{round(rate, digits):,.{max(0, digits)}f}"


def show_time(value: Spread | float) -> str:
    """Return a time to three digits in µs, ms or s; shared times are in brackets.

    >>> show_time(0.00123456), show_time(Spread(12.3456, 0.5)), show_time(Spread(4e-5, 1e-6, shared=True))
    ('1.23 ms', '12.3 ± 0.5 s', '(40.0 ± 1.0 µs)')
    """
    mean, deviation, shared = value if isinstance(value, Spread) else Spread(value)
    if math.isnan(mean):
        return DASH
    factor, unit = (1.0, "s") if mean >= 0.9995 else (1e3, "ms") if mean >= 0.9995e-3 else (1e6, "µs")
    digits = max(0, 2 - math.floor(math.log10(mean * factor))) if mean > 0 else 0
    numbers = [each * factor for each in (mean, deviation) if each is not None]
    text = f"{' ± '.join(f'{each:,.{digits}f}' for each in numbers)} {unit}"
    return f"({text})" if shared else text


def _two_numbers(value: Any) -> Mapping[str, Any]:
    mean, deviation, _ = value or Spread(math.nan)
    return {"_mean": mean, "_std": deviation}


TEXT = Format(side="left")
#: Texts about numbers, such as "5 of 12".
RIGHT = Format()
CENTER = Format(side="center")
VERDICT = Format(side="left", verdict=str)
ALGORITHM = Format(_show_flag, "left", _show_title)
COUNT = Format(lambda value: f"{value:,}")
PERCENT = Format(lambda value: f"{value:.0%}")
P = Format(lambda value: f"{value:.3g}")
DURATION = Format(show_time, plain=_two_numbers)
BYTES = Format(show_bytes)
RATE = Format(show_rate)
SETTINGS = Format(show_settings, "left", plain=lambda value: {"": show_settings(value or {})})
MARK = Format(lambda value: "✓" if value else "", "center")


def measured(quantity: "Quantity", digits: int | None = None, sign: str = "") -> Format:
    """Return the format of a quantity, or of a difference."""
    return Format(lambda value: quantity.text(value, digits, sign))


def spread(quantity: "Quantity") -> Format:
    """Return the format of a mean with its standard deviation, as papers print it."""

    def show(value: Spread) -> str:
        if value.deviation is None:
            return quantity.text(value.mean, 0 if quantity.whole else None)
        return quantity.spread(value.mean, value.deviation)

    return Format(show, plain=_two_numbers)


@dataclass(frozen=True)
class Column:
    heading: str
    format: Format = TEXT
    drop: int = KEPT
    #: The name in CSV, JSON and frames; by default the heading.
    name: str = ""
    #: The heading in LaTeX, if different.
    on_paper: str = ""
    #: Sentences of the note of the table that are left out with the column.
    note: str = ""

    @property
    def id(self) -> str:
        return self.name or self.heading.replace(" ", "_")


def columns(*headings: str, format: Format = TEXT, drop: int = KEPT) -> tuple[Column, ...]:
    return tuple(Column(heading, format, drop) for heading in headings)


#: The first columns of a table with a row for each algorithm on each data set.
ROW = (Column("data set"), Column("algorithm", ALGORITHM))


def algorithm_columns(labels: Iterable[str], format: Format) -> tuple[Column, ...]:
    """Return one column per algorithm; LaTeX has the titles of algorithms as headings."""
    return tuple(Column(label, format, on_paper=_show_title(label)) for label in labels)


@dataclass(frozen=True)
class Table:
    """Columns of values, a caption and a note; cells of `rows` may be wrapped in Best.

    The values of the column `group` divide the rows into blocks, such as one per data set; `group_titles` has
    longer headings for the blocks.
    """

    caption: str
    columns: tuple[Column, ...]
    rows: Sequence[Sequence[Any]]
    note: str = ""
    group: str = ""
    group_titles: Mapping[str, str] = field(default_factory=dict)
    #: The column that ranks the rows of a block, if any, and whether its highest value is the best.
    ranked_by: str = ""
    descending: bool = False
    best: frozenset[tuple[int, int]] = frozenset()
    highlighted: Collection[str] = ()

    def __post_init__(self) -> None:
        cells = ((y, x, cell) for y, row in enumerate(self.rows) for x, cell in enumerate(row))
        if found := {(y, x) for y, x, cell in cells if isinstance(cell, Best)}:
            plain = [[cell.value if isinstance(cell, Best) else cell for cell in row] for row in self.rows]
            object.__setattr__(self, "rows", plain)
            object.__setattr__(self, "best", self.best | found)

    def __getitem__(self, heading: str) -> list[Any]:
        """Return the values of a column by its heading or its name."""
        place = next(x for x, each in enumerate(self.columns) if heading in (each.heading, each.id))
        return [row[place] for row in self.rows]

    def texts(self, on_paper: bool = False) -> list[list[str]]:
        shows = [column.format.text for column in self.columns]
        return [[show(cell, on_paper) for show, cell in zip(shows, row, strict=True)] for row in self.rows]

    def keep(self, places: Sequence[int]) -> "Table":
        """Return the table with these columns."""
        again, note = {place: new for new, place in enumerate(places)}, self.note
        for x, column in enumerate(self.columns):
            if column.note and x not in again:
                note = note.replace(column.note, "").replace("  ", " ").strip()
        return replace(
            self,
            note=note,
            columns=tuple(self.columns[place] for place in places),
            rows=[[row[place] for place in places] for row in self.rows],
            best=frozenset((y, again[x]) for y, x in self.best if x in again),
        )

    def shown(self) -> list[int]:
        """Return the places of all columns except the group, which the headings of blocks show."""
        return [x for x, column in enumerate(self.columns) if not self.group or column.heading != self.group]

    def printed(self, most: int = COST) -> "Table":
        """Return the table with the columns whose `drop` is at most `most`, fit to be printed."""
        table = self.keep([x for x, column in enumerate(self.columns) if column.drop <= most])
        return replace(
            table,
            caption=escape_controls(self.caption),
            columns=tuple(
                replace(each, heading=escape_controls(each.heading), on_paper=escape_controls(each.on_paper))
                for each in table.columns
            ),
            note=escape_lines(table.note),
        )

    def on_paper(self) -> "Table":
        """Return the table with the columns that fit a paper; the note lists the others."""
        table = self.printed(TIME)
        dropped = [column.heading for column in self.columns if TIME < column.drop < HIDDEN]
        note = f"{table.note} Not shown: {', '.join(dropped)}.".strip()
        return replace(table, note=note) if dropped else table

    def is_name(self, cell: Any) -> bool:
        """Return whether a cell is a name that stands out; numbers never do, as bold means the best."""
        return isinstance(cell, str) and cell in self.highlighted

    def is_highlighted(self, row: int) -> bool:
        return any(self.is_name(cell) for cell in self.rows[row])

    def blocks(self) -> list[tuple[str, range]]:
        """Return the title and rows of every block; a table without groups is one block."""
        if not self.group or not self.rows:
            return [("", range(len(self.rows)))]
        values = self[self.group]
        starts = [y for y, value in enumerate(values) if y == 0 or values[y - 1] != value]
        rows = [range(*ends) for ends in zip(starts, [*starts[1:], len(values)], strict=True)]
        titles = (self.group_titles.get(values[own[0]], str(values[own[0]])) for own in rows)
        return list(zip(map(escape_controls, titles), rows, strict=True))

    def take(self, places: Sequence[int]) -> "Table":
        """Return the table with these rows, in this order."""
        again = {place: new for new, place in enumerate(places)}
        best = frozenset((again[y], x) for y, x in self.best if y in again)
        return replace(self, rows=[self.rows[place] for place in places], best=best)

    def ranked(self) -> "Table":
        """Return the table with the best row of every block first; undefined values come last."""
        if not self.ranked_by:
            return self
        values = [Format.sort_value(value) for value in self[self.ranked_by]]

        def place(y: int) -> tuple[bool, float]:
            value = values[y]
            return value is None, (value or 0.0) * (-1 if self.descending else 1)

        return self.take([y for _, rows in self.blocks() for y in sorted(rows, key=place)])

    def records(self) -> list[dict[str, Any]]:
        """Return one plain mapping per row; a mean and its standard deviation are two values."""
        return [
            unite((id + end, part) for id, parts in values for end, part in parts.items())
            for values in self.plain()
        ]

    def plain(self) -> Iterator[list[tuple[str, Mapping[str, Any]]]]:
        """Yield the id and the plain values of every cell, row by row."""
        for row in self.rows:
            yield [(c.id, c.format.plain(cell)) for c, cell in zip(self.columns, row, strict=True)]

    def to_frame(self) -> "pd.DataFrame":
        """Return the values as a DataFrame; a mean and its standard deviation are two columns."""
        import pandas as pd

        return pd.DataFrame(self.records())

    def to_latex(self) -> str:
        r"""Return a longtable for a document with \usepackage{booktabs,longtable}."""
        from olbench.report.latex import latex_table, name_engine

        table = latex_table(self)
        return name_engine(table) + table

    def __str__(self) -> str:
        from olbench.report.text import write_text

        return write_text([self], 100)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from olbench.report.page import render_table

        return render_table(self)


Part = Table | str


def unite(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return pairs as a mapping in which no value replaces another of the same name.

    >>> unite([("arow", 1), ("arow", 2)])
    {'arow': 1, 'arow_2': 2}
    """
    found: dict[str, Any] = {}
    for name, value in pairs:
        numbered = (f"{name}_{number}" for number in itertools.count(2))
        found[name if name not in found else next(each for each in numbered if each not in found)] = value
    return found


def capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]


def compact(value: float) -> str:
    """Return a number to three digits, as short as possible.

    >>> compact(5152503.75), compact(-0.0), compact(-0.12345), compact(6e-8)
    ('5.15e6', '0', '-0.123', '6e-8')
    """
    # Adding zero turns -0 into 0.
    return f"{value + 0.0:.3g}".replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")
