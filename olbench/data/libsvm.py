"""The LIBSVM text format: `label [qid:n] index:value ... [# comment]`, one example per line.

Query ids are ignored. Indices start at 1 unless a 0 occurs anywhere.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import numpy as np

from olbench.data import libsvm_kernel as parsing
from olbench.data.compressed import open_content
from olbench.data.labels import is_number, quote
from olbench.data.rows import Rows
from olbench.errors import UserError

BLOCK = 2 << 20
LONGEST_LINE = 1 << 30

_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)


def read_libsvm(paths: Sequence[str | Path], limit: int | None = None) -> tuple[Rows, int]:
    """Rows with indices from 0, and the number of features; `limit` bounds the uncompressed size in bytes."""
    reader = BlockReader()
    for path in paths:
        with open_content(path) as stream:
            reader.read(stream, str(path), limit)
    return reader.finish()


class BlockReader:
    def __init__(self) -> None:
        self.rows = Rows()
        self.counters = np.zeros(parsing.COUNTERS, dtype=np.int64)
        self.counters[parsing.LOWEST] = parsing.LARGEST_INDEX + 1
        self.counters[parsing.HIGHEST] = -1

    def read(self, stream: IO[bytes], name: str, limit: int | None) -> None:
        self.counters[parsing.LINES] = 0
        before = self.rows.n
        self.rows.starts.append(before)
        for block, size in whole_lines(stream, name, limit):
            self.parse(block, size, name)
        if self.rows.n == before:
            raise UserError(f"{name} contains no examples")

    def blocks(self, stream: IO[bytes], name: str, limit: int | None = None) -> Iterator[Rows]:
        """The rows of a block are valid until the next one is asked for; nothing else is in memory."""
        self.counters[parsing.LINES] = 0
        found = False
        for text, size in whole_lines(stream, name, limit):
            self.rows.clear()
            self.parse(text, size, name)
            found = found or self.rows.n > 0
            yield self.rows
        if not found:
            raise UserError(f"{name} contains no examples")

    @property
    def first(self) -> int:
        return 0 if self.counters[parsing.LOWEST] == 0 else 1

    @property
    def highest(self) -> int:
        return int(self.counters[parsing.HIGHEST])

    def parse(self, block: bytearray, size: int, name: str) -> None:
        rows, counters = self.rows, self.counters
        text, lines = np.frombuffer(block, dtype=np.uint8), int(counters[parsing.LINES])
        most_entries, most_rows = parsing.count_marks(text, size)
        rows.reserve(most_rows, most_entries)
        hard = np.empty((most_rows + most_entries, 3), dtype=np.int64)
        counters[[parsing.ROWS, parsing.ENTRIES, parsing.HARD_VALUES]] = rows.n, rows.entries, 0
        arrays = rows.labels, rows.indptr, rows.indices, rows.data
        stopped = parsing.parse_lines(text, size, *arrays, hard, counters)
        rows.n, rows.entries = (int(k) for k in counters[[parsing.ROWS, parsing.ENTRIES]])
        for row, index, position in hard[: counters[parsing.HARD_VALUES]].tolist():
            if row < rows.n:
                line = lines + block.count(b"\n", 0, position) + 1
                self._settle(row, index, _Token(name, line, block, position))
        if stopped != parsing.FINE:
            line, position = (int(k) for k in counters[[parsing.LINES, parsing.POSITION]])
            raise self._explain(stopped, _Token(name, line + 1, block, position))

    def _settle(self, row: int, index: int, token: "_Token") -> None:
        """Store a number that only Python's arithmetic rounds correctly."""
        number = float(token.text)
        if index == parsing.LABEL:
            if abs(number) > 2**53 or not number.is_integer():
                raise token.refuse(_explain_label(token.text))
            self.rows.labels[row] = number + 0.0
            return
        if not np.isfinite(number):
            entry = replace(token, position=token.position - len(str(index)) - 1)
            raise entry.refuse(_explain_overflow(token.text, index))
        begin, end = self.rows.indptr[row], self.rows.indptr[row + 1]
        self.rows.data[begin + np.searchsorted(self.rows.indices[begin:end], index)] = number

    def _explain(self, stopped: int, token: "_Token") -> UserError:
        if stopped == parsing.BAD_LABEL:
            return token.refuse(_explain_label(token.text))
        if stopped == parsing.BAD_QUERY:
            return token.refuse(f"query id {quote(token.text[4:])} is not a whole number")
        if stopped == parsing.BAD_ENTRY:
            return token.refuse(_explain_entry(token.text))
        index = int(self.counters[parsing.INDEX])
        second = token.find_second(index)
        return second.refuse(f"{quote(second.text)} gives feature {index} a second time")

    def finish(self) -> tuple[Rows, int]:
        if self.first:
            self.rows.indices[: self.rows.entries] -= 1
        self.rows.first = self.first
        # A matrix has at least one column even if no example has a feature, as in scikit-learn.
        return self.rows, max(1, self.highest + 1 - self.first)


@dataclass(frozen=True)
class _Token:
    name: str
    line: int
    block: bytearray
    position: int

    @property
    def text(self) -> str:
        end = re.compile(rb"[\s#]").search(self.block, self.position)
        token = self.block[self.position : end.start() if end else len(self.block)]
        return token.decode("utf-8", "backslashreplace")

    def refuse(self, reason: str) -> UserError:
        column = self.position - self.block.rfind(b"\n", 0, self.position)
        return UserError(f"{self.name}:{self.line}:{column}: {reason}")

    def find_second(self, index: int) -> "_Token":
        begin = self.block.rfind(b"\n", 0, self.position) + 1
        end = self.block.find(b"\n", self.position)
        pattern = re.compile(rb"(?<=\s)0*%d:" % index)
        _, second, *_ = (match.start() for match in pattern.finditer(self.block, begin, end))
        return replace(self, position=second)


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
