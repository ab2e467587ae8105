"""The LIBSVM (SVMlight) text format: `label [qid:n] index:value ... [# comment]`, one example a line.

Files are read in blocks and parsed by compiled code straight into the final arrays. Plain, gzip, bzip2 and xz
files are told apart by their content. Comments, blank lines, either kind of line end, a byte order mark and a
missing last newline are fine; query ids are ignored; features may come in any order but only once a row.
Indices start at 1 unless a 0 occurs anywhere. Whatever else is wrong is refused with file, line, column
and token.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import numpy as np

from olbench.data import parsing
from olbench.data.compressed import open_content
from olbench.data.rows import Rows
from olbench.errors import UserError

#: Raise it whenever the reader gives other arrays for the same file: parsed caches depend on it.
READER_VERSION = 1

BLOCK = 2 << 20
LONGEST_LINE = 1 << 30

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)


def read_libsvm(paths: Sequence[str | Path], limit: int | None = None) -> tuple[Rows, int]:
    """Read files as one, and return their rows, with indices from 0, and the number of features.

    `limit` bounds the uncompressed bytes of each file, for files that come from elsewhere.
    """
    reader = _LibsvmReader()
    for path in paths:
        with open_content(path) as stream:
            reader.read(stream, str(path), limit)
    return reader.finish()


class _LibsvmReader:
    """The rows so far, and where in the files the reader is."""

    def __init__(self) -> None:
        self.rows = Rows()
        self.counters = np.zeros(parsing.COUNTERS, dtype=np.int64)
        self.counters[parsing.LOWEST] = parsing.LARGEST_INDEX + 1
        self.counters[parsing.HIGHEST] = -1

    def read(self, stream: IO[bytes], name: str, limit: int | None) -> None:
        """Append the examples of one file."""
        self.counters[parsing.LINES] = 0
        before = self.rows.n
        for block, size in whole_lines(stream, name, limit):
            self._parse(block, size, name)
        if self.rows.n == before:
            raise UserError(f"{name} holds no examples")

    def _parse(self, block: bytearray, size: int, name: str) -> None:
        rows, counters = self.rows, self.counters
        entries = block.count(b":", 0, size)
        rows.reserve(block.count(b"\n", 0, size), entries)
        hard = np.empty((entries, 3), dtype=np.int64)
        counters[parsing.HARD_VALUES] = 0
        lines = int(counters[parsing.LINES])
        text = np.frombuffer(block, dtype=np.uint8)
        stopped = parsing.parse_lines(
            text, size, rows.labels, rows.indptr, rows.indices, rows.data, hard, counters
        )
        rows.n, rows.entries = int(counters[parsing.ROWS]), int(counters[parsing.ENTRIES])
        for row, index, position in hard[: counters[parsing.HARD_VALUES]].tolist():
            if row < rows.n:
                self._settle(row, index, _finite(name, lines, block, position, index))
        if stopped != parsing.FINE:
            self._refuse(stopped, block, name)

    def _settle(self, row: int, index: int, value: float) -> None:
        """Store a value that only Python's arithmetic rounds correctly."""
        begin, end = self.rows.indptr[row], self.rows.indptr[row + 1]
        place = begin + np.searchsorted(self.rows.indices[begin:end], index)
        self.rows.data[place] = value

    def _refuse(self, stopped: int, block: bytearray, name: str) -> None:
        position = int(self.counters[parsing.POSITION])
        token = _token(block, position)
        if stopped == parsing.BAD_LABEL:
            reason = _explain_label(token)
        elif stopped == parsing.BAD_QUERY:
            reason = f"query id {_quoted(token[4:])} is not a whole number"
        elif stopped == parsing.BAD_ENTRY:
            reason = _explain_entry(token)
        else:
            index = int(self.counters[parsing.INDEX])
            position = _second_place(block, position, index)
            reason = f"{_quoted(_token(block, position))} gives feature {index} a second time"
        raise _located(name, int(self.counters[parsing.LINES]) + 1, block, position, reason)

    def finish(self) -> tuple[Rows, int]:
        """Shift the indices to start at 0, unless they do already."""
        first = 0 if self.counters[parsing.LOWEST] == 0 else 1
        if first:
            self.rows.indices[: self.rows.entries] -= 1
        # Even examples without any feature are a matrix with a column, as for scikit-learn.
        return self.rows, max(1, int(self.counters[parsing.HIGHEST]) + 1 - first)


def whole_lines(stream: IO[bytes], name: str, limit: int | None) -> Iterator[tuple[bytearray, int]]:
    """Yield (buffer, size) such that buffer[:size] is the next whole lines; the buffer is used again."""
    buffer, kept, total = bytearray(BLOCK), 0, 0
    while True:
        got = stream.readinto(memoryview(buffer)[kept:])  # type: ignore[attr-defined]
        if not got:
            break
        if not total and buffer.startswith(b"\xef\xbb\xbf"):
            buffer[:3] = b"   "
        total += got
        if limit is not None and total > limit:
            raise UserError(f"{name} unpacks to more than {limit:,} bytes, the limit for this file")
        end = buffer.rfind(b"\n", kept, kept + got) + 1
        kept += got
        if end:
            yield buffer, end
            buffer[: kept - end] = buffer[end:kept]
            kept -= end
        elif kept == len(buffer):
            if kept >= LONGEST_LINE:
                raise UserError(
                    f"{name} has a line of more than {LONGEST_LINE:,} bytes; is it a LIBSVM file?"
                )
            buffer = buffer + bytearray(len(buffer))
    if kept:
        buffer[kept] = ord("\n")
        yield buffer, kept + 1


def _token(block: bytearray, position: int) -> str:
    """Return what stands at a position, up to the next space, comment or line end."""
    end = re.compile(rb"[\s#]").search(block, position)
    return block[position : end.start() if end else len(block)].decode("utf-8", "backslashreplace")


def _quoted(token: str) -> str:
    shown = token if len(token) <= 40 else token[:37] + "..."
    return "'" + "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown) + "'"


def _located(name: str, line: int, block: bytearray, position: int, reason: str) -> UserError:
    column = position - block.rfind(b"\n", 0, position)
    return UserError(f"{name}:{line}:{column}: {reason}")


def _finite(name: str, lines: int, block: bytearray, position: int, index: int) -> float:
    """Return the value at a position of a block that starts after so many lines."""
    token = _token(block, position)
    value = float(token)
    if not np.isfinite(value):
        line = lines + block.count(b"\n", 0, position) + 1
        begin = position - len(str(index)) - 1
        raise _located(name, line, block, begin, _too_large(token, index))
    return value


def _too_large(token: str, index: int | str) -> str:
    return f"value {_quoted(token)} of feature {index} is too large for a 64-bit number"


def _explain_label(token: str) -> str:
    label = _quoted(token)
    if re.match(r"\d+:", token):
        return f"the line starts with {label}, where a label such as +1 or -1 belongs"
    if "," in token:
        return f"label {label} names several labels, but an example has one"
    if not _NUMBER.fullmatch(token):
        return f"label {label} is not a number"
    if abs(float(token)) > 2**53:
        return f"label {label} is too large"
    return f"label {label} is not a whole number"


def _explain_entry(token: str) -> str:
    index, colon, value = token.partition(":")
    if not colon:
        return f"{_quoted(token)} is not an index:value pair"
    if index == "qid":
        return f"{_quoted(token)} must stand right after the label"
    if not index:
        return f"{_quoted(token)} has no index before its colon"
    if re.fullmatch(r"-\d+", index, re.ASCII):
        return f"index {_quoted(index)} is negative"
    if not re.fullmatch(r"\d+", index, re.ASCII):
        return f"index {_quoted(index)} is not a whole number"
    if len(index.lstrip("0")) > 10 or int(index) > parsing.LARGEST_INDEX:
        return f"index {_quoted(index)} is larger than {parsing.LARGEST_INDEX}"
    if not value:
        return f"{_quoted(token)} has no value after its colon"
    if _NOT_FINITE.fullmatch(value):
        return f"value {_quoted(value)} of feature {int(index)} is not finite"
    if not _NUMBER.fullmatch(value):
        return f"value {_quoted(value)} of feature {int(index)} is not a number"
    return _too_large(value, int(index))


def _second_place(block: bytearray, position: int, index: int) -> int:
    """Return where a feature of the line around a position occurs for the second time."""
    begin = block.rfind(b"\n", 0, position) + 1
    end = block.find(b"\n", position)
    pattern = re.compile(rb"(?<=\s)0*%d:" % index)
    places = [match.start() for match in pattern.finditer(block, begin, end)]
    return places[1]
