"""The times in a user's table: the order of its rows, and when the label of each row becomes known."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olbench.data.cells import NO_TEXT, Table
from olbench.data.labels import label_text, quote
from olbench.data.spec import Reading
from olbench.errors import UserError
from olbench.learners.examples import Ints

#: The arrival of a label that is never learnt.
NEVER = np.iinfo(np.int64).max
_OFFSET = re.compile(r":\d\d.*(?:Z|[+-]\d\d(?::?\d\d)?)$", re.IGNORECASE)
_NUMBERS, _DATES, _DATES_WITH_OFFSET = "numbers", "dates without an offset", "dates with an offset from UTC"


@dataclass(frozen=True)
class Times:
    """When each row comes, and when its label becomes known: NaN or NaT if it never does."""

    rows: NDArray[Any]
    labels: NDArray[Any] | None = None
    columns: Mapping[str, int] = field(default_factory=dict)

    def keep(self, mask: Any) -> "Times":
        labels = None if self.labels is None else self.labels[mask]
        return replace(self, rows=self.rows[mask], labels=labels)

    def arrivals(self) -> Ints | None:
        """For each row, the first later row not before the arrival of its label; NEVER if there is none.

        >>> Times(np.array([1, 2, 2, 5]), np.array([1.0, 2.0, 3.0, np.nan])).arrivals().tolist()[:3]
        [1, 2, 3]
        """
        if self.labels is None:
            return None
        n = self.rows.size
        first = np.searchsorted(self.rows, self.labels)  # NaN and NaT come after all others
        return np.where(first < n, np.maximum(first, np.arange(1, n + 1)), NEVER)


def read_times(table: Table, reading: Reading, label: int) -> Times | None:
    if reading.time == "":
        if reading.arrival != "":
            raise UserError(
                f"{table.where}: arrival needs time, the column with the time of each row; name it as well"
            )
        return None
    time = _find_column(table, reading.time, "time", {label: "label"})
    rows, kind = read_column(table, time)
    gaps = table.is_missing(time)
    if gaps.any():
        raise UserError(
            f"{table.place(int(np.argmax(gaps)))}: {table.column_name(time)} has no value, and every row "
            "needs a time; fill it in, or remove the row"
        )
    refuse_disorder(table, time, rows)
    if reading.arrival == "":
        return Times(rows, columns={"time": time})
    arrival = _find_column(table, reading.arrival, "arrival", {label: "label", time: "time"})
    labels, kind_of_arrivals = read_column(table, arrival)
    if kind_of_arrivals != kind and not table.is_missing(arrival).all():
        raise UserError(
            f"{table.where}: {table.column_name(time)} has {kind} and {table.column_name(arrival)} "
            f"{kind_of_arrivals}; write both in the same way"
        )
    labels = labels.astype(rows.dtype)
    early = labels < rows
    if early.any():
        row = int(np.argmax(early))
        raise UserError(
            f"{table.place(row)}: the label arrives at {_show(table, row, arrival)}, before the time of its "
            f"own row ({_show(table, row, time)}); correct {table.column_name(arrival)}"
        )
    return Times(rows, labels, {"time": time, "arrival": arrival})


def refuse_disorder(table: Table, column: int, times: NDArray[Any]) -> None:
    early = times[1:] < times[:-1]
    if early.any():
        row = int(np.argmax(early)) + 1
        name = quote(table.names[column]) if table.has_heading else table.column_name(column)
        raise UserError(
            f"{table.place(row)}: the time {_show(table, row, column)} is before that of the row above "
            f"({_show(table, row - 1, column)}); sort the file by {name}"
        )


def _find_column(table: Table, name: str | int, key: str, taken: dict[int, str]) -> int:
    column = table.find_column(name, key)
    if column in taken:
        raise UserError(
            f"{table.where}: {taken[column]} and {key} are both {table.column_name(column)}; name another"
        )
    return column


def read_column(table: Table, column: int) -> tuple[NDArray[Any], str]:
    text = table.texts.get(column)
    if text is None:
        return table.numbers[:, column].copy(), _NUMBERS
    dates = parse_dates(text.values)[text.codes]  # NO_TEXT is the last
    _refuse(
        table, column, np.isnat(dates) & (text.codes != NO_TEXT), "is not a time; write numbers or ISO dates"
    )
    is_number = ~np.isnan(table.numbers[:, column])
    _refuse(table, column, is_number, "is a number, and other rows have dates; write all in the same way")
    has_offset = np.array([*(_OFFSET.search(value) is not None for value in text.values), False])[text.codes]
    first = has_offset[text.codes != NO_TEXT][0]
    odd = (has_offset != first) & (text.codes != NO_TEXT)
    _refuse(
        table,
        column,
        odd,
        f"has {'no' if first else 'an'} offset from UTC, unlike the rows above; write all in the same way",
    )
    return dates, _DATES_WITH_OFFSET if first else _DATES


def read_dates(table: Table, column: int) -> NDArray[np.datetime64]:
    dates, kind = read_column(table, column)
    if kind == _NUMBERS:
        is_number = ~np.isnan(table.numbers[:, column])
        _refuse(table, column, is_number, "is a number, where an ISO date is expected; encode it as number")
        return np.full(len(is_number), np.datetime64("NaT", "us"))
    return dates


def parse_dates(texts: tuple[str, ...]) -> NDArray[np.datetime64]:
    """Return ISO dates and date-times, NaT for every other text, and a last NaT.

    >>> parse_dates(("2020-01-31", "2020-01-31T12:30+01:00", "31.1.2020", "now")).astype("M8[m]").tolist()[1]
    datetime.datetime(2020, 1, 31, 11, 30)
    """
    import pandas as pd

    # pandas takes words such as "now" as well.
    dated = [text if text[:1].isdecimal() else None for text in texts]
    parsed = pd.Series(
        pd.to_datetime(pd.Series([*dated, None], dtype=object), format="ISO8601", errors="coerce", utc=True)
    )
    return parsed.dt.tz_localize(None).to_numpy("datetime64[us]")


def _refuse(table: Table, column: int, bad: NDArray[np.bool_], why: str) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        raise UserError(f"{table.place(row)}: {table.column_name(column)}: {_show(table, row, column)} {why}")


def _show(table: Table, row: int, column: int) -> str:
    text = table.texts.get(column)
    if text is not None and text.codes[row] != NO_TEXT:
        return quote(text.values[text.codes[row]])
    return quote(label_text(float(table.numbers[row, column])))
