"""Comma-separated files: columns of numbers, one of which is the label."""

import codecs
import csv
import io
import math
import re
from array import array
from pathlib import Path
from typing import Any

import numpy as np

from olbench.data.compressed import LimitedStream, open_content
from olbench.data.quoting import quote
from olbench.errors import UserError

#: Python's float() takes more: underscores, the digits of other scripts, nan and infinity.
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def read_csv(path: str | Path, label: str | int = "last", limit: int | None = None) -> tuple[Any, Any]:
    """Return (X, labels) of a file; `label` is "first", "last" or the heading of the label column.

    If no field of the first line is a number, the line is read as headings.
    """
    values = array("d")
    width, column, heading = 0, -1, None
    with open_content(path) as stream:
        raw: Any = LimitedStream(stream, limit, path)
        text = io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")
        lines = csv.reader(text)
        try:
            for fields in lines:
                if not fields or (len(fields) == 1 and not fields[0].strip()):
                    continue
                if not width:
                    width = len(fields)
                    heading = (
                        [field.strip() for field in fields] if not any(map(_is_number, fields)) else None
                    )
                    column = _find_label(path, label, heading, width)
                    if heading:
                        continue
                if len(fields) != width:
                    raise UserError(
                        f"{path}:{lines.line_num}: {len(fields)} fields, but the first line has {width}"
                    )
                numbers = _parse_numbers(path, lines.line_num, fields)
                if not numbers[column].is_integer():
                    label_text = quote(fields[column].strip())
                    raise UserError(f"{path}:{lines.line_num}: label {label_text} is not a whole number")
                values.extend(numbers)
        except UnicodeDecodeError:
            line = _find_bad_line(path)
            raise UserError(f"{path}:{line}: not UTF-8 text; save the file as UTF-8") from None
        except csv.Error as error:
            raise UserError(f"{path}:{lines.line_num}: not a CSV file ({error})") from None
    if not values:
        raise UserError(f"{path} contains no examples")
    table = np.frombuffer(values).reshape(-1, width)
    return np.delete(table, column, axis=1), table[:, column].copy()


def _find_bad_line(path: str | Path) -> int:
    """Return the first line that is not UTF-8 text."""
    line, decoder = 1, codecs.getincrementaldecoder("utf-8")()
    with open_content(path) as stream:
        while piece := stream.read(1 << 16):
            try:
                decoder.decode(piece)
            except UnicodeDecodeError as error:
                return line + error.object[: error.start].count(b"\n")
            line += piece.count(b"\n")
    return line


def _is_number(field: str) -> bool:
    """Tell whether a field is a number as LIBSVM files have them: ASCII digits, a point, an exponent."""
    return _NUMBER.fullmatch(field.strip()) is not None


def _find_label(path: str | Path, label: str | int, heading: list[str] | None, width: int) -> int:
    if width < 2:
        raise UserError(f"{path}:1: there is only one column; a label and at least one feature are needed")
    if label in ("first", "last"):
        return 0 if label == "first" else width - 1
    if heading is None or label not in heading:
        raise UserError(f"{path}:1: there is no column with the heading '{label}'")
    return heading.index(str(label))


def _parse_numbers(path: str | Path, line: int, fields: list[str]) -> list[float]:
    numbers = []
    for k, field in enumerate(fields):
        value = float(field.strip()) if _is_number(field) else math.nan
        if not math.isfinite(value):
            raise UserError(f"{path}:{line}: field {k + 1}, {quote(field.strip())}, is not a finite number")
        numbers.append(value)
    return numbers
