"""Files of separated values: columns of numbers and text, one of which is the label."""

import csv
import io
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from olbench.data.cells import Table, TableBuilder
from olbench.data.compressed import read_utf8, show_path
from olbench.data.labels import is_number
from olbench.errors import UserError

DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "space": " ", "pipe": "|", "\\t": "\t"}
#: The separators that are recognised.
DETECTED = ",;\t"
FIRST_BYTES = 1 << 16
#: How much of a file is read at once; less at first, because a column with text is read again as such.
FIRST_BLOCK, BLOCK = 1 << 16, 1 << 23
_LINE_END = re.compile(rb"\r\n?|\n|\Z")
#: A number with a plus sign and spaces around it.
_SPACED_PLUS = re.compile(rb"[ \t\v\f]\+|\+[\d.eE+-]*+[ \t\v\f]")
_PAIR = re.compile(r"(?:\d+|qid):[-+.\deE]+")
_NEWLINE, _RETURN, _QUOTE = b'\n\r"'


def read_delimiter(text: str) -> str:
    delimiter = DELIMITERS.get(text, text)
    if len(delimiter) != 1 or delimiter in '"\r\n' or delimiter.isalnum() or not delimiter.isascii():
        raise UserError(
            f"the delimiter must be one character or one of {', '.join(list(DELIMITERS)[:5])}, not {text!r}"
        )
    return delimiter


def detect_delimiter(line: str) -> str:
    """Return the separator that occurs most often in a line outside quotes; the comma if none is ahead.

    >>> detect_delimiter("size;colour;yes, or no"), detect_delimiter("1\\t2\\t3"), detect_delimiter("1,5;2")
    (';', '\\t', ',')
    """
    outside = "".join(line.rstrip().split('"')[::2])
    return max(DETECTED, key=outside.count)


def is_table_line(line: bytes) -> bool:
    """Return whether the first line of a text is one of separated values rather than LIBSVM text.

    >>> [is_table_line(line) for line in (b"size,colour", b"1;2", b"1\\t3:0.5", b"+1")]
    [True, True, False, False]
    """
    text = line.decode(errors="replace").strip()
    return any(mark in text for mark in DETECTED) and not any(map(_PAIR.fullmatch, text.split()))


def read_table(path: str | Path, delimiter: str = "", limit: int | None = None) -> Table:
    """If no field of the first line is a number, it has the headings; it also tells the separator."""
    given = read_delimiter(delimiter) if delimiter else ""
    content = read_utf8(path, limit)
    beginning = re.split(r"[\r\n]+", content[:FIRST_BYTES].decode(errors="replace"))
    separator = given or detect_delimiter(next((line for line in beginning if line.strip()), ""))
    lines, fields = next(_read_rows(path, content, separator, 0), (0, []))
    names = [field.strip() for field in fields]
    has_heading = not any(map(is_number, names))
    if not has_heading:
        lines, names = 0, [str(k + 1) for k in range(len(names))]
    builder = TableBuilder(show_path(path), names, has_heading)
    lines, rest = _add_plain_lines(builder, content, separator, lines)
    try:
        for line, fields in _read_rows(path, rest, separator, lines):
            builder.add(line, fields)
    except UserError:
        builder.read_pending()  # an error in an earlier row comes first
        raise
    return builder.finish()


def _add_plain_lines(builder: TableBuilder, content: bytes, separator: str, lines: int) -> tuple[int, bytes]:
    """pandas splits lines ten times as fast as csv, but not always alike: stop at anything unusual."""
    begin = next(islice(_LINE_END.finditer(content), lines - 1, None)).end() if lines else 0
    has_returns = b"\r" in content and content.count(b"\r") > content.count(b"\r\n")
    last, size = len(content), FIRST_BLOCK
    while last and content[last - 1] in b"\r\n":
        last -= 1
    while begin < last and not has_returns:
        end = last
        if begin + size < last:
            end = content.rfind(b"\n", begin, begin + size) + 1 or content.find(b"\n", begin) + 1 or last
        text = content[begin:end] if end < last else content[begin:end] + b"\n"
        if not is_plain(text, separator, len(builder.names)):
            break
        count = text.count(b"\n")
        builder.add_text(range(lines + 1, lines + count + 1), text, separator)
        begin, lines, size = end, lines + count, BLOCK
    return lines, content[begin:]


def is_plain(text: bytes, separator: str, width: int) -> bool:
    """Return whether some lines are rows of text that csv.reader and pandas split in the same way.

    The text ends with a newline. Quotes in the middle of a field and line breaks inside quotes are not plain.

    >>> is_plain(b'1,"a, b"\\n2,\\n', ",", 2), is_plain(b'1,a "b"\\n', ",", 2)
    (True, False)
    """
    if width < 2 or separator not in DELIMITERS.values() or b"\0" in text:
        return False
    if b"+" in text and _SPACED_PLUS.search(text.replace(separator.encode(), b",")):
        return False  # pandas would round such a number carelessly
    view = np.frombuffer(text, np.uint8)
    is_newline = view == _NEWLINE
    is_mark = is_newline | (view == ord(separator))
    if _QUOTE in text:
        is_inside = np.logical_xor.accumulate(view == _QUOTE)
        if is_inside[is_newline].any() or not _has_usual_quotes(view, ord(separator)):
            return False
        is_mark &= ~is_inside
    marks = np.flatnonzero(is_mark)
    if marks.size % width or text.count(b"\n") != marks.size // width:
        return False
    ends = marks[width - 1 :: width]
    # A field is too long for csv.reader in a line that is too long alone.
    longest, limit = np.diff(ends, prepend=-1).max(), csv.field_size_limit()
    return bool(is_newline[ends].all() and (longest <= limit or np.diff(marks, prepend=-1).max() <= limit))


def _has_usual_quotes(text: Any, separator: int) -> bool:
    """Return whether every other quote is at the beginning of a field or doubled, and the rest at its end."""
    places = np.flatnonzero(text == _QUOTE)
    before, after = text[places[::2] - 1], text[places[1::2] + 1]
    return bool(
        np.isin(before, [separator, _NEWLINE, _QUOTE]).all()
        and np.isin(after, [separator, _NEWLINE, _RETURN, _QUOTE]).all()
    )


def _read_rows(
    path: str | Path, content: bytes, separator: str, lines: int
) -> Iterator[tuple[int, list[str]]]:
    text = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline="")
    rows = csv.reader(text, delimiter=separator, strict=True)
    begin = lines + 1
    try:
        for fields in rows:
            begin = lines + rows.line_num + 1
            if fields and (len(fields) > 1 or fields[0].strip()):
                yield begin - 1, fields
    except csv.Error as error:
        if "unexpected end" in str(error):
            raise UserError(
                f"{path}:{begin}: a quote is opened here or later, and never closed; correct it"
            ) from None
        line = lines + rows.line_num
        raise UserError(f"{path}:{line}: not a CSV file ({error}); correct the line") from None
