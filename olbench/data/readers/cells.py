"""Tables in memory: columns of numbers and text with gaps, whatever file or frame they come from."""

import math
import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olbench.data.prepare.labels import NUMBER, is_number
from olbench.data.readers.quoting import quote
from olbench.errors import UserError, shorten
from olbench.learn.examples import Floats

#: What stands for a missing value, besides a blank cell.
GAPS = frozenset({"", "?", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None"})
#: How many cells are text at a time.
CELLS_AT_ONCE = 1 << 17
#: Numbers between commas. A column is matched at once, which is faster than cell by cell.
_NUMBERS = re.compile(rf"\s*+{NUMBER.pattern}\s*+(?:,\s*+{NUMBER.pattern}\s*+)*+", re.ASCII)
#: What a text column holds where it has a number or nothing.
NO_TEXT = -1
#: The number of a column has fewer; Python refuses to read a number of thousands of digits.
MOST_DIGITS = 20


@dataclass(frozen=True)
class TextColumn:
    """The texts of a column: the distinct ones, and for each row which of them it has, or NO_TEXT."""

    values: tuple[str, ...]
    codes: NDArray[np.int32]


@dataclass(frozen=True)
class Table:
    """Rows of cells. Numbers are NaN where a cell is text or missing."""

    #: The file or frame, as errors name it.
    where: str
    names: tuple[str, ...]
    numbers: Floats
    texts: dict[int, TextColumn] = field(default_factory=dict)
    #: The line of each row, if the table comes from a text file.
    lines: Sequence[int] | None = None
    #: Whether the names are headings; otherwise columns are called by their numbers.
    has_heading: bool = True

    def place(self, row: int) -> str:
        """Return the file and line of a row, or the frame and the number of the row."""
        return f"{self.where}:{self.lines[row]}" if self.lines is not None else f"{self.where}, row {row}"

    def column_name(self, column: int) -> str:
        """Return a column as messages name it."""
        return f"column {quote(self.names[column])}" if self.has_heading else f"column {column + 1}"

    def is_missing(self, column: int) -> Any:
        """Return for each row whether it has neither a number nor text in a column."""
        gaps = np.isnan(self.numbers[:, column])
        text = self.texts.get(column)
        return gaps if text is None else gaps & (text.codes == NO_TEXT)

    def keep(self, mask: Any) -> "Table":
        """Return the rows of a mask; a column that loses all its texts is one of numbers."""
        kept = {column: TextColumn(text.values, text.codes[mask]) for column, text in self.texts.items()}
        texts = {column: text for column, text in kept.items() if (text.codes != NO_TEXT).any()}
        lines = None if self.lines is None else np.asarray(self.lines)[mask].tolist()
        return replace(self, numbers=self.numbers[mask], texts=texts, lines=lines)

    def find_label(self, label: str | int) -> int:
        """Return the column of the label: a heading, a number from 1 (or from the end, -1), first or last."""
        width = len(self.names)
        if width < 2:
            raise UserError(
                f"{self.where}: there is only one column; a label and at least one feature are needed; if "
                "the columns have another separator, give it with --delimiter"
            )
        if self.has_heading and str(label) in self.names:
            if self.names.count(str(label)) > 1:
                raise UserError(
                    f"{self.where}: {self.names.count(str(label))} columns have the heading "
                    f"{quote(str(label))}; give the number of the label column with --label"
                )
            return self.names.index(str(label))
        if label in ("first", "last"):
            return 0 if label == "first" else width - 1
        return self._find_number(label, width)

    def _find_number(self, label: str | int, width: int) -> int:
        text = str(label)
        if text.removeprefix("-").isdecimal() and text.isascii():
            number = int(text) if len(text) < MOST_DIGITS else 0
            if 1 <= number <= width or -width <= number <= -1:
                return number - 1 if number > 0 else width + number
            raise UserError(
                f"{self.where}: there is no column {shorten(text)}; it has {width}; correct --label"
            )
        shown = ", ".join(quote(name) for name in self.names[:10]) + (", ..." if width > 10 else "")
        known = (
            f"the headings are {shown}" if self.has_heading else f"it has no headings, and {width} columns"
        )
        raise UserError(
            f"{self.where}: there is no column with the heading {quote(text)}; {known}; name one of them, or "
            "give its number, with --label"
        )


class TableBuilder:
    """Collects rows of text cells; all number rules are here."""

    def __init__(self, where: str, names: Sequence[str], has_heading: bool = True):
        self.where, self.names, self.has_heading = where, tuple(names), has_heading
        self._numbers = array("d")
        self._lines = array("q")
        self._known: dict[int, dict[str, int]] = {}
        self._cells: dict[int, tuple[Any, Any]] = {}
        #: The last rows, whose cells are still text.
        self._pending: list[Sequence[str]] = []

    def add(self, line: int, fields: Sequence[str]) -> None:
        """Add a row; refuse one of another length."""
        if len(fields) != len(self.names):
            self.read_pending()
            raise UserError(
                f"{self.where}:{line}: {len(fields)} fields, but the first line has {len(self.names)}; "
                "correct the line, or give the separator with --delimiter"
            )
        self._lines.append(line)
        self._pending.append(fields)
        if len(self._pending) * len(fields) >= CELLS_AT_ONCE:
            self.read_pending()

    def read_pending(self) -> None:
        """Read the cells of the last rows: columns of numbers at once, the others cell by cell."""
        block, others = np.full((len(self._pending), len(self.names)), np.nan), []
        for column, cells in enumerate(zip(*self._pending, strict=True)):
            text = ",".join(cells)
            if text.count(",") == len(cells) - 1 and _NUMBERS.fullmatch(text):
                block[:, column] = np.fromstring(text, sep=",")
            if not np.isfinite(block[:, column]).all():
                others.append(column)
        first = len(self._lines) - len(self._pending)
        for row, fields in enumerate(self._pending if others else ()):
            for column in others:
                cell = fields[column].strip()
                block[row, column] = self._read(self._lines[first + row], first + row, column, cell)
        self._numbers.frombytes(block.tobytes())
        self._pending.clear()

    def _read(self, line: int, row: int, column: int, text: str) -> float:
        """Return the number in a cell, or NaN for a missing value or text, which is kept."""
        if is_number(text):
            value = float(text)
            if math.isinf(value):
                raise UserError(
                    f"{self.where}:{line}: field {column + 1}, {quote(text)}, is not a finite number; "
                    "correct it"
                )
            return value
        if "\0" in text:
            raise UserError(
                f"{self.where}:{line}: field {column + 1} has a NUL character; save the file as UTF-8 text"
            )
        if text not in GAPS:
            rows, codes = self._cells.setdefault(column, (array("q"), array("i")))
            known = self._known.setdefault(column, {})
            rows.append(row)
            codes.append(known.setdefault(text, len(known)))
        return math.nan

    def finish(self) -> Table:
        """Return the table."""
        self.read_pending()
        n = len(self._lines)
        if not n:
            raise UserError(f"{self.where} contains no examples; is it the right file?")
        numbers = np.frombuffer(self._numbers).reshape(n, len(self.names))
        texts = {column: self._text_column(column, n) for column in self._cells}
        return Table(self.where, self.names, numbers, texts, self._lines, self.has_heading)

    def _text_column(self, column: int, n: int) -> TextColumn:
        rows, codes = self._cells[column]
        spread = np.full(n, NO_TEXT, np.int32)
        spread[np.frombuffer(rows, np.int64)] = np.frombuffer(codes, np.int32)
        return TextColumn(tuple(self._known[column]), spread)
