"""Files of separated values: columns of numbers and text, one of which is the label."""

import codecs
import csv
import io
import re
from pathlib import Path
from typing import Any

from olbench.data.prepare.labels import is_number
from olbench.data.readers.cells import Table, TableBuilder
from olbench.data.readers.compressed import LimitedStream, open_content
from olbench.errors import UserError

SUFFIXES = (".csv", ".tsv", ".tab")
#: What a separator may be called.
DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "space": " ", "pipe": "|", "\\t": "\t"}
#: The separators that are recognised.
DETECTED = ",;\t"
#: How much of a file is searched for its first line.
FIRST_BYTES = 1 << 16


def read_delimiter(text: str) -> str:
    """Return a separator by its name or as the character itself."""
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


def read_table(path: str | Path, delimiter: str = "", limit: int | None = None) -> Table:
    """Return the cells of a file.

    If no field of the first line is a number, the line is read as headings. The separator is detected in the
    first line if it is not given.
    """
    separator = read_delimiter(delimiter) if delimiter else detect_delimiter(_first_line(path, limit))
    builder: TableBuilder | None = None
    with open_content(path) as stream:
        raw: Any = LimitedStream(stream, limit, path)
        text = io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")
        lines = csv.reader(text, delimiter=separator, strict=True)
        begin = 1
        try:
            for fields in lines:
                begin = lines.line_num + 1
                if not fields or (len(fields) == 1 and not fields[0].strip()):
                    continue
                if builder is None:
                    names = [field.strip() for field in fields]
                    has_heading = not any(map(is_number, names))
                    if not has_heading:
                        names = [str(k + 1) for k in range(len(fields))]
                    builder = TableBuilder(str(path), names, has_heading)
                    if has_heading:
                        continue
                builder.add(lines.line_num, fields)
        except UnicodeDecodeError:
            line = _find_bad_line(path)
            raise UserError(f"{path}:{line}: not UTF-8 text; save the file as UTF-8") from None
        except csv.Error as error:
            if builder is not None:
                builder.read_pending()  # an error in an earlier row comes first
            if "unexpected end" in str(error):
                raise UserError(
                    f"{path}:{begin}: a quote is opened here or later, and never closed; correct it"
                ) from None
            raise UserError(f"{path}:{lines.line_num}: not a CSV file ({error}); correct the line") from None
    return (builder or TableBuilder(str(path), ())).finish()


def _first_line(path: str | Path, limit: int | None) -> str:
    """Return the first line with anything in it; a longer one is cut off."""
    with open_content(path) as stream:
        raw: Any = LimitedStream(stream, limit, path)
        head = io.BufferedReader(raw).read(FIRST_BYTES)
    lines = re.split(r"[\r\n]+", head.decode("utf-8-sig", errors="replace"))
    return next((line for line in lines if line.strip()), "")


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
