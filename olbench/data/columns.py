"""The columns of a table as features: numbers, indicators, places in an order, parts of dates."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from olbench.data.cells import NO_TEXT, Table, TextColumn
from olbench.data.labels import LARGEST_WHOLE, label_text, quote
from olbench.data.spec import OTHERS, ColumnSpec
from olbench.data.times import read_dates
from olbench.errors import UserError, count
from olbench.learners.examples import Floats

#: The code of a text that a table does not have.
UNSEEN = -2
ORIGIN = "1970-01-01"
#: The numbers of the indicators of a part of a date: months and ISO weekdays from 1 on, hours from 0 on.
PARTS = {"month": range(1, 13), "weekday": range(1, 8), "hour": range(24)}


@dataclass(frozen=True)
class TableColumn:
    heading: str
    place: int
    texts: tuple[str, ...] | None = None
    #: ordinal if its feature is the place of its text among the texts; date if it has dates.
    encode: str = ""
    #: Of a date: what becomes features, and the day from which days are counted.
    parts: tuple[str, ...] = ()
    origin: str = ORIGIN

    @property
    def features(self) -> list[str]:
        name = self.heading or f"x{self.place + 1}"
        if self.encode == "date":
            numbers = {part: [f"{part}={number}" for number in PARTS[part]] for part in PARTS}
            return [f"{name}.{each}" for part in self.parts for each in numbers.get(part, [part])]
        if self.texts is None or self.encode == "ordinal":
            return [name]
        return [f"{name}={text}" for text in self.texts]

    @property
    def words(self) -> str:
        """What becomes of it, or an empty text if its numbers are features as they are."""
        if self.encode == "date":
            return ", ".join(
                f"{len(PARTS[part])} indicators of the {part}"
                if part in PARTS
                else f"days since {self.origin}"
                for part in self.parts
            )
        if self.texts is None:
            return ""
        if self.encode == "ordinal":
            return f"0 to {len(self.texts) - 1}, in the order {', '.join(map(quote, self.texts))}"
        return count(len(self.texts), "indicator")


def match_columns(
    table: Table, specs: tuple[ColumnSpec, ...], taken: Mapping[int, str]
) -> dict[int, ColumnSpec]:
    """Return what becomes of each column, by place; `taken` has those that are no features, and their key."""
    found: dict[int, ColumnSpec] = {}
    usual = ColumnSpec(OTHERS)
    for spec in specs:
        if spec.name == OTHERS:
            usual = spec
            continue
        try:
            place = table.find_column(spec.name, "columns", "the key columns")
        except UserError as error:
            raise UserError(f"{spec.place}: {error}") from None
        if place in found:
            raise UserError(f"{spec.place}: {table.column_name(place)} of {table.where} is named twice")
        if place in taken and spec.encode:
            raise UserError(
                f"{spec.place}: {table.column_name(place)} is the {taken[place]}, no feature; leave it out "
                "under columns"
            )
        found[place] = spec
    return {place: found.get(place, usual) for place in range(len(table.names)) if place not in taken}


def read_features(table: Table, columns: list[TableColumn]) -> Floats:
    """A text that has no indicator sets none of those of its column; gaps stay."""
    widths = [len(column.features) for column in columns]
    X = np.empty((len(table.numbers), sum(widths)))
    begins = np.cumsum([0, *widths]).tolist()
    numeric = [
        (begin, column.place)
        for begin, column in zip(begins, columns, strict=False)
        if column.texts is None and not column.encode
    ]
    X[:, [begin for begin, _ in numeric]] = table.numbers[:, [place for _, place in numeric]]
    for begin, width, column in zip(begins, widths, columns, strict=False):
        block = X[:, begin : begin + width]
        if column.encode == "date":
            _write_dates(table, column, block)
        elif column.texts is not None:
            _write_texts(table, column, block)
    return X


def read_texts(table: Table, place: int) -> TextColumn:
    text, numbers = table.texts.get(place), table.numbers[:, place]
    values, codes = (text.values, text.codes) if text else ((), np.full(len(numbers), NO_TEXT, np.int32))
    is_number = ~np.isnan(numbers)
    if not is_number.any():
        return TextColumn(values, codes)
    large = np.abs(numbers) > LARGEST_WHOLE
    if large.any():
        raise UserError(
            f"{table.place(int(np.argmax(large)))}: {table.column_name(place)} has a number of 2^53 or "
            "more, too large to represent exactly; put a letter before such numbers, or drop the column"
        )
    distinct, places = np.unique(numbers[is_number], return_inverse=True)
    codes = codes.copy()
    codes[is_number] = len(values) + places
    return TextColumn((*values, *map(label_text, distinct.tolist())), codes)


def _write_texts(table: Table, column: TableColumn, block: Any) -> None:
    text, texts = read_texts(table, column.place), column.texts or ()
    codes = {value: code for code, value in enumerate(text.values)}
    is_value = text.codes[:, None] == [codes.get(value, UNSEEN) for value in texts]
    gaps = table.is_missing(column.place)
    if column.encode == "ordinal":
        unknown = ~is_value.any(axis=1) & ~gaps
        if unknown.any():
            row = int(np.argmax(unknown))
            raise UserError(
                f"{table.place(row)}: {table.column_name(column.place)} has "
                f"{quote(text.values[text.codes[row]])}, which is not in its order "
                f"({', '.join(map(quote, texts))}); add it there, or correct the cell"
            )
        block[:, 0] = is_value.argmax(axis=1)
    else:
        block[:] = is_value
    block[gaps] = np.nan


def _write_dates(table: Table, column: TableColumn, block: Any) -> None:
    dates = read_dates(table, column.place)
    days = dates.astype("datetime64[D]").astype(np.int64)
    numbers = {
        "month": dates.astype("datetime64[M]").astype(np.int64) % 12 + 1,
        "weekday": (days + 3) % 7 + 1,  # the first day of 1970 was a Thursday
        "hour": dates.astype("datetime64[h]").astype(np.int64) % 24,
    }
    begin = 0
    for part in column.parts:
        if part in PARTS:
            width = len(PARTS[part])
            block[:, begin : begin + width] = numbers[part][:, None] == PARTS[part]
        else:
            width = 1
            block[:, begin] = (dates - np.datetime64(column.origin)) / np.timedelta64(1, "D")
        begin += width
    block[np.isnat(dates)] = np.nan
