"""Tables in memory: columns of numbers and text with gaps, whatever file or frame they come from."""

import codecs
import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olbench.data.labels import is_number, quote
from olbench.errors import UserError, count, shorten, suggest
from olbench.learners.examples import Floats, Ints

GAPS = frozenset({"", "?", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None"})
#: How many cells of rows that come one by one are read at a time.
CELLS_AT_ONCE = 1 << 19
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

    where: str
    names: tuple[str, ...]
    numbers: Floats
    texts: dict[int, TextColumn] = field(default_factory=dict)
    lines: Ints | None = None
    #: Whether the names are headings; otherwise columns are called by their numbers.
    has_heading: bool = True

    def place(self, row: int) -> str:
        return f"{self.where}:{self.lines[row]}" if self.lines is not None else f"{self.where}, row {row}"

    def column_name(self, column: int) -> str:
        return f"column {quote(self.names[column])}" if self.has_heading else f"column {column + 1}"

    def is_missing(self, column: int) -> Any:
        gaps = np.isnan(self.numbers[:, column])
        text = self.texts.get(column)
        return gaps if text is None else gaps & (text.codes == NO_TEXT)

    def keep(self, mask: Any) -> "Table":
        """Return the rows of a mask; a column that loses all its texts is one of numbers."""
        kept = {column: TextColumn(text.values, text.codes[mask]) for column, text in self.texts.items()}
        texts = {column: text for column, text in kept.items() if (text.codes != NO_TEXT).any()}
        lines = None if self.lines is None else self.lines[mask]
        return replace(self, numbers=self.numbers[mask], texts=texts, lines=lines)

    def find_label(self, label: str | int) -> int:
        if len(self.names) < 2:
            raise UserError(
                f"{self.where}: there is only one column; a label and at least one feature are needed; if "
                "the columns have another separator, give it with --delimiter"
            )
        return self.find_column(label, "label")

    def find_column(self, name: str | int, key: str, option: str = "") -> int:
        """A heading, a number from 1 (or from the end, -1), first or last; errors name `option`."""
        option = option or f"--{key}"
        width = len(self.names)
        if self.has_heading and str(name) in self.names:
            if self.names.count(str(name)) > 1:
                raise UserError(
                    f"{self.where}: {self.names.count(str(name))} columns have the heading "
                    f"{quote(str(name))}; give the number of the {key} column with {option}"
                )
            return self.names.index(str(name))
        if name in ("first", "last"):
            return 0 if name == "first" else width - 1
        return self._find_number(str(name), width, option)

    def _find_number(self, text: str, width: int, option: str) -> int:
        if text.removeprefix("-").isdecimal() and text.isascii():
            number = int(text) if len(text) < MOST_DIGITS else 0
            if 1 <= number <= width or -width <= number <= -1:
                return number - 1 if number > 0 else width + number
            raise UserError(
                f"{self.where}: there is no column {shorten(text)}; columns are numbered 1 to {width}, or "
                f"-1 to -{width} from the end; correct {option}"
            )
        shown = ", ".join(quote(name) for name in self.names[:10]) + (", ..." if width > 10 else "")
        known = (
            f"the headings are {shown}" if self.has_heading else f"it has no headings, and {width} columns"
        )
        hint = suggest(text, [name for name in self.names if name.isprintable()]) if self.has_heading else ""
        raise UserError(
            f"{self.where}: there is no column with the heading {quote(text)}; {known}; name one of them, or "
            f"give its number, with {option}{hint}"
        )


class TableBuilder:
    def __init__(self, where: str, names: Sequence[str], has_heading: bool = True):
        self.where, self.names, self.has_heading = where, tuple(names), has_heading
        self._lines: list[Ints] = []
        self._numbers: list[Floats] = []
        self._known: dict[int, dict[str, int]] = {}
        self._codes: list[dict[int, NDArray[np.int32]]] = []
        self._pending: list[tuple[int, Sequence[str]]] = []

    def add(self, line: int, fields: Sequence[str]) -> None:
        if len(fields) != len(self.names):
            self.read_pending()  # an error in an earlier row comes first
            raise UserError(
                f"{self.where}:{line}: {count(len(fields), 'field')}, but the first line has "
                f"{len(self.names)}; correct the line, or give the separator with --delimiter"
            )
        if "\0" in "".join(fields):
            self._refuse_nul(line, fields)
        self._pending.append((line, fields))
        if len(self._pending) * len(fields) >= CELLS_AT_ONCE:
            self.read_pending()

    def _refuse_nul(self, line: int, fields: Sequence[str]) -> None:
        column = next(column for column, cell in enumerate(fields) if "\0" in cell)
        self._pending.append((line, [*fields[:column], *[""] * (len(fields) - column)]))
        self.read_pending()
        raise UserError(
            f"{self.where}:{line}: field {column + 1} has a NUL character; save the file as UTF-8 text"
        )

    def read_pending(self) -> None:
        if self._pending:
            lines, rows = zip(*self._pending, strict=True)
            self._pending.clear()
            text = io.StringIO(newline="")
            csv.writer(text).writerows([cell.strip() for cell in fields] for fields in rows)
            self.add_text(lines, text.getvalue().encode(), ",")

    def add_text(self, lines: Sequence[int], text: bytes, separator: str) -> None:
        """Add rows of the right length, in CSV without blank lines and NUL characters, and their lines."""
        numbers, codes = np.full((len(lines), len(self.names)), np.nan), {}
        while others := self._parse_numbers(text, separator, numbers):
            self._known.update((column, {}) for column in others)
        texts: Any = _read_frame(text, separator, list(self._known), object) if self._known else None
        for column in self._known:
            numbers[:, column], codes[column] = read_cells(texts[column], self._known[column])
        if (infinite := np.argwhere(np.isinf(numbers))).size:
            row, column = infinite[0].tolist()
            cell = quote(texts[column][row].strip())
            raise UserError(
                f"{self.where}:{lines[row]}: field {column + 1}, {cell}, is not a finite number; correct it"
            )
        self._lines.append(np.asarray(lines, np.int64))
        self._numbers.append(numbers)
        self._codes.append(codes)

    def _parse_numbers(self, text: bytes, separator: str, numbers: Floats) -> list[int]:
        """Fill in the columns of numbers; return those that turn out to have other cells as well."""
        numeric = [column for column in range(len(self.names)) if column not in self._known]
        if not numeric:
            return []
        try:
            frame = _read_frame(text, separator, numeric)
        except OverflowError:  # at a whole number of hundreds of digits
            return numeric
        if others := [column for column, kind in frame.dtypes.items() if kind.kind not in "iuf"]:
            return others
        values = numbers[:, numeric] = frame.to_numpy(np.float64)
        # The word "inf" is text.
        return [numeric[k] for k in np.flatnonzero(np.isinf(values).any(axis=0))]

    def finish(self) -> Table:
        self.read_pending()
        if not self._lines:
            raise UserError(f"{self.where} contains no examples; is it the right file?")
        texts = {
            column: TextColumn(tuple(known), self._join_codes(column))
            for column, known in self._known.items()
            if known
        }
        lines, numbers = np.concatenate(self._lines), np.concatenate(self._numbers)
        return Table(self.where, self.names, numbers, texts, lines, self.has_heading)

    def _join_codes(self, column: int) -> NDArray[np.int32]:
        blocks = zip(self._codes, self._lines, strict=True)
        return np.concatenate(
            [codes.get(column, np.full(lines.size, NO_TEXT, np.int32)) for codes, lines in blocks]
        )


def read_cells(cells: Any, known: dict[str, int]) -> tuple[Floats, NDArray[np.int32]]:
    """Return cells as numbers, and as codes of texts, which are added to `known`."""
    import pandas as pd

    places, distinct = pd.factorize(cells)
    # A gap has the place -1, which is the last.
    numbers, codes = np.full(len(distinct) + 1, np.nan), np.full(len(distinct) + 1, NO_TEXT, np.int32)
    for place, cell in enumerate(distinct):
        text = str(cell).strip()
        if is_number(text):
            numbers[place] = float(text)
        elif text not in GAPS:
            codes[place] = known.setdefault(text, len(known))
    return numbers[places], codes[places]


def _read_frame(text: bytes, separator: str, columns: list[int], kind: Any = None) -> Any:
    import pandas as pd

    if text.startswith(codecs.BOM_UTF8):
        text = codecs.BOM_UTF8 + text  # pandas leaves out one mark at the beginning
    # Later versions always round correctly, and warn if they are asked to.
    is_careless = tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)
    return pd.read_csv(
        io.BytesIO(text),
        sep=separator,
        header=None,
        usecols=columns,
        dtype=kind,
        na_values=list(GAPS),
        keep_default_na=False,
        skip_blank_lines=False,
        low_memory=False,
        float_precision="round_trip" if is_careless else None,
    )
