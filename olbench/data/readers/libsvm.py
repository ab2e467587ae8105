"""The LIBSVM (SVMlight) text format: `label [qid:n] index:value ... [# comment]`, one example per line.

Files are read in blocks and parsed by compiled code straight into the final arrays. Plain, gzip, bzip2 and xz
files are recognised by their content. Comments, blank lines, both kinds of line ending, a byte order mark and
a missing final newline are accepted; query ids are ignored. Features may come in any order but only once per
row. Indices start at 1 unless a 0 occurs anywhere. Errors name the file, line, column and token.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import Thread
from typing import IO, Any

import numpy as np

from olbench.data.prepare.labels import is_number
from olbench.data.readers import parsing
from olbench.data.readers.compressed import open_content
from olbench.data.readers.quoting import quote
from olbench.data.readers.rows import Rows
from olbench.errors import UserError

BLOCK = 2 << 20
#: Blocks of at least this many bytes are parsed by several threads: all but the last of a larger file.
SHARED_BLOCK = 1 << 20
#: Unless the caller asks for more: reading the file and counting its marks stay on one thread.
MOST_THREADS = 2
LONGEST_LINE = 1 << 30

_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)


def read_libsvm(
    paths: Sequence[str | Path], limit: int | None = None, threads: int | None = None
) -> tuple[Rows, int]:
    """Read files as one; return their rows, with indices from 0, and the number of features.

    `limit` bounds the uncompressed size of each file, in bytes. Large files are parsed by several threads, by
    default two if the process may use two cores; their number changes neither the rows nor the errors.
    """
    reader = BlockReader(threads)
    for path in paths:
        with open_content(path) as stream:
            reader.read(stream, str(path), limit)
    return reader.finish()


@dataclass(frozen=True)
class TextBlock:
    """Examples of a few megabytes of text. Indices are those of the text."""

    rows: Rows
    name: str
    #: The lines of the stream before the block.
    lines: int
    text: bytearray
    size: int

    def refuse(self, row: int, reason: str) -> UserError:
        """Return an error at the line of a row."""
        return UserError(f"{self.name}:{self.line_of(row)}: {reason}")

    def line_of(self, row: int) -> int:
        """Return the number of the line of a row; lines without an example count."""
        lines = bytes(self.text[: self.size]).split(b"\n")
        # The parser's white space, which is ASCII only, and the byte order mark that it does not see.
        filled = (k for k, line in enumerate(lines, 1) if line.strip() and not line.lstrip().startswith(b"#"))
        return self.lines + next(islice(filled, row, None))


class BlockReader:
    """Reads text in blocks of a few megabytes: the rows read so far, and the position in the files."""

    def __init__(self, threads: int | None = None) -> None:
        self.rows = Rows()
        self.threads = threads or min(MOST_THREADS, _count_cores())
        self.counters = np.zeros(parsing.COUNTERS, dtype=np.int64)
        self.counters[parsing.LOWEST] = parsing.LARGEST_INDEX + 1
        self.counters[parsing.HIGHEST] = -1

    def read(self, stream: IO[bytes], name: str, limit: int | None) -> None:
        """Append the examples of one file."""
        self.counters[parsing.LINES] = 0
        before = self.rows.n
        self.rows.starts.append(before)
        for block, size in whole_lines(stream, name, limit):
            self.parse(block, size, name)
        if self.rows.n == before:
            raise UserError(f"{name} contains no examples")

    def blocks(self, stream: IO[bytes], name: str, limit: int | None = None) -> Iterator[TextBlock]:
        """Yield the examples of one stream; a block is valid until the next one is asked for.

        Nothing but the block is in memory.
        """
        self.counters[parsing.LINES] = 0
        found = False
        for text, size in whole_lines(stream, name, limit):
            lines = int(self.counters[parsing.LINES])
            self.rows.clear()
            self.parse(text, size, name)
            found = found or self.rows.n > 0
            yield TextBlock(self.rows, name, lines, text, size)
        if not found:
            raise UserError(f"{name} contains no examples")

    @property
    def first(self) -> int:
        """The number of the first feature: 1, or 0 if that index has occurred."""
        return 0 if self.counters[parsing.LOWEST] == 0 else 1

    @property
    def highest(self) -> int:
        """The highest index so far, or -1."""
        return int(self.counters[parsing.HIGHEST])

    def parse(self, block: bytearray, size: int, name: str) -> None:
        """Append the examples of some whole lines."""
        parts = self._divide(block, size)
        others = []
        for part in parts[1:]:
            thread = Thread(target=part.parse, args=(self.rows,))
            try:
                thread.start()
            except RuntimeError:  # the system allows no further thread
                part.parse(self.rows)
            else:
                others.append(thread)
        try:
            parts[0].parse(self.rows)
        finally:
            for thread in others:
                thread.join()
        for part in parts:
            self._take(part, block, name)

    def _divide(self, block: bytearray, size: int) -> "list[_Part]":
        """Cut a block at line ends, one part per thread, and make room for the examples of each."""
        text = np.frombuffer(block, dtype=np.uint8)
        parts: list[_Part] = []
        begin, row, entry = 0, self.rows.n, self.rows.entries
        for k in range(1, self.threads + 1 if size >= SHARED_BLOCK else 2):
            share = size * k // self.threads if size >= SHARED_BLOCK else size
            end = size if share == size else block.rfind(b"\n", begin, share) + 1
            if end > begin:
                entries, lines = parsing.count_marks(text, begin, end)
                parts.append(_Part(text, begin, end, row, entry, entries + lines))
                begin, row, entry = end, row + lines, entry + entries
        self.rows.reserve(row - self.rows.n, entry - self.rows.entries)
        return parts

    def _take(self, part: "_Part", block: bytearray, name: str) -> None:
        """Append the examples of a part to those before it, or raise its first error."""
        rows, counters, lines = self.rows, self.counters, int(self.counters[parsing.LINES])
        hard = part.hard[: part.counters[parsing.HARD_VALUES]]
        hard[:, 0] -= part.row - rows.n
        part.move(rows)
        counters[parsing.LINES] += part.counters[parsing.LINES]
        counters[parsing.LOWEST] = min(counters[parsing.LOWEST], part.counters[parsing.LOWEST])
        counters[parsing.HIGHEST] = max(counters[parsing.HIGHEST], part.counters[parsing.HIGHEST])
        for row, index, position in hard.tolist():
            if row < rows.n and index == parsing.LABEL:
                rows.labels[row] = _read_label(name, lines, part.begin, block, position)
            elif row < rows.n:
                self._settle(row, index, _read_finite(name, lines, part.begin, block, position, index))
        if part.stopped != parsing.FINE:
            self._refuse(part, block, name)

    def _settle(self, row: int, index: int, value: float) -> None:
        """Store a value that only Python's arithmetic rounds correctly."""
        begin, end = self.rows.indptr[row], self.rows.indptr[row + 1]
        place = begin + np.searchsorted(self.rows.indices[begin:end], index)
        self.rows.data[place] = value

    def _refuse(self, part: "_Part", block: bytearray, name: str) -> None:
        stopped, position = part.stopped, int(part.counters[parsing.POSITION])
        token = _read_token(block, position)
        if stopped == parsing.BAD_LABEL:
            reason = _explain_label(token)
        elif stopped == parsing.BAD_QUERY:
            reason = f"query id {quote(token[4:])} is not a whole number"
        elif stopped == parsing.BAD_ENTRY:
            reason = _explain_entry(token)
        else:
            index = int(part.counters[parsing.INDEX])
            position = _find_second(block, position, index)
            reason = f"{quote(_read_token(block, position))} gives feature {index} a second time"
        raise _error_at(name, int(self.counters[parsing.LINES]) + 1, block, position, reason)

    def finish(self) -> tuple[Rows, int]:
        """Return the rows, with indices shifted to start at 0, and the number of features."""
        if self.first:
            self.rows.indices[: self.rows.entries] -= 1
        # A matrix has at least one column even if no example has a feature, as in scikit-learn.
        return self.rows, max(1, self.highest + 1 - self.first)


class _Part:
    """Whole lines of a block, which one thread parses into its own range of the rows."""

    def __init__(self, text: Any, begin: int, end: int, row: int, entry: int, numbers: int):
        self.text, self.begin, self.end = text, begin, end
        #: Where the range starts. Lines without an example before the part make it start too late.
        self.row, self.entry = row, entry
        self.hard = np.empty((numbers, 3), dtype=np.int64)
        self.counters = np.zeros(parsing.COUNTERS, dtype=np.int64)
        self.counters[[parsing.ROWS, parsing.ENTRIES]] = row, entry
        self.counters[[parsing.LOWEST, parsing.HIGHEST]] = parsing.LARGEST_INDEX + 1, -1
        self.stopped = parsing.FINE

    def parse(self, rows: Rows) -> None:
        """Parse the lines; nothing outside of this part and its range is written."""
        arrays = rows.labels, rows.indptr, rows.indices, rows.data
        self.stopped = parsing.parse_lines(self.text, self.begin, self.end, *arrays, self.hard, self.counters)

    def move(self, rows: Rows) -> None:
        """Move the range to the end of the rows, where it usually is, and make it part of them."""
        n, entries = (int(k) for k in self.counters[[parsing.ROWS, parsing.ENTRIES]])
        late, late_entries = self.row - rows.n, self.entry - rows.entries
        if late:
            rows.labels[rows.n : n - late] = rows.labels[self.row : n]
        if late or late_entries:
            rows.indptr[rows.n + 1 : n - late + 1] = rows.indptr[self.row + 1 : n + 1] - late_entries
        if late_entries:
            rows.indices[rows.entries : entries - late_entries] = rows.indices[self.entry : entries]
            rows.data[rows.entries : entries - late_entries] = rows.data[self.entry : entries]
        rows.n, rows.entries = n - late, entries - late_entries


def _count_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def whole_lines(stream: IO[bytes], name: str, limit: int | None) -> Iterator[tuple[bytearray, int]]:
    """Yield (buffer, size) such that buffer[:size] holds the next whole lines; the buffer is reused."""
    # The last byte is for a newline that the last line may lack.
    buffer, kept, total = bytearray(BLOCK + 1), 0, 0
    while True:
        got = stream.readinto(memoryview(buffer)[kept:-1])  # type: ignore[attr-defined]
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
        elif kept == len(buffer) - 1:
            if kept >= LONGEST_LINE:
                raise UserError(
                    f"{name} has a line of more than {LONGEST_LINE:,} bytes; is it a LIBSVM file?"
                )
            buffer = buffer + bytearray(kept)
    if kept:
        buffer[kept] = ord("\n")
        yield buffer, kept + 1


def _read_token(block: bytearray, position: int) -> str:
    """Return the text from a position up to the next space, comment or line end."""
    end = re.compile(rb"[\s#]").search(block, position)
    return block[position : end.start() if end else len(block)].decode("utf-8", "backslashreplace")


def _error_at(name: str, line: int, block: bytearray, position: int, reason: str) -> UserError:
    column = position - block.rfind(b"\n", 0, position)
    return UserError(f"{name}:{line}:{column}: {reason}")


def _read_finite(name: str, lines: int, begin: int, block: bytearray, position: int, index: int) -> float:
    """Return the value at a position of a block; `lines` lines come before its byte `begin`."""
    token = _read_token(block, position)
    value = float(token)
    if not np.isfinite(value):
        line = lines + block.count(b"\n", begin, position) + 1
        entry = position - len(str(index)) - 1
        raise _error_at(name, line, block, entry, _explain_overflow(token, index))
    return value


def _read_label(name: str, lines: int, begin: int, block: bytearray, position: int) -> float:
    """Return the label at a position of a block; `lines` lines come before its byte `begin`."""
    token = _read_token(block, position)
    label = float(token)
    if abs(label) > 2**53 or not label.is_integer():
        line = lines + block.count(b"\n", begin, position) + 1
        raise _error_at(name, line, block, position, _explain_label(token))
    return label + 0.0


def _explain_overflow(token: str, index: int | str) -> str:
    return f"value {quote(token)} of feature {index} is too large for a 64-bit number"


def _explain_label(token: str) -> str:
    label = quote(token)
    if re.match(r"\d+:", token):
        return f"the line starts with {label}, where a label such as +1 or -1 belongs"
    if "," in token:
        return f"label {label} lists several labels, but an example has one"
    if not is_number(token):
        return f"label {label} is not a number"
    if abs(float(token)) > 2**53:
        return f"label {label} is too large"
    return f"label {label} is not a whole number"


def _explain_entry(token: str) -> str:
    index, colon, value = token.partition(":")
    if not colon:
        return f"{quote(token)} is not an index:value pair"
    if index == "qid":
        return f"{quote(token)} must come right after the label"
    if not index:
        return f"{quote(token)} has no index before its colon"
    if re.fullmatch(r"-\d+", index, re.ASCII):
        return f"index {quote(index)} is negative"
    if not re.fullmatch(r"\d+", index, re.ASCII):
        return f"index {quote(index)} is not a whole number"
    if len(index.lstrip("0")) > 10 or int(index) > parsing.LARGEST_INDEX:
        return f"index {quote(index)} is larger than {parsing.LARGEST_INDEX}"
    if not value:
        return f"{quote(token)} has no value after its colon"
    if _NOT_FINITE.fullmatch(value):
        return f"value {quote(value)} of feature {int(index)} is not finite"
    if not is_number(value):
        return f"value {quote(value)} of feature {int(index)} is not a number"
    return _explain_overflow(value, int(index))


def _find_second(block: bytearray, position: int, index: int) -> int:
    """Return where a feature occurs for the second time in the line around a position."""
    begin = block.rfind(b"\n", 0, position) + 1
    end = block.find(b"\n", position)
    pattern = re.compile(rb"(?<=\s)0*%d:" % index)
    places = [match.start() for match in pattern.finditer(block, begin, end)]
    return places[1]
