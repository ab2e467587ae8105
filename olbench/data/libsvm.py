"""The LIBSVM text format: `label [qid:n] index:value ... [# comment]`, one example per line.

Query ids are ignored. The indices of a user's file start at 1 unless a 0 occurs; the catalogue states the
first index of its files.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from olbench.data import libsvm_kernel as kernel
from olbench.data.cache import Draft, GrowingRows
from olbench.data.compressed import open_content, show_path
from olbench.data.dataset import csr, dense_is_smaller, narrow, row_blocks
from olbench.data.labels import LARGEST_WHOLE, is_number
from olbench.errors import UserError, show_name
from olbench.learners.examples import Floats

BLOCK = 2 << 20

_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_TOKEN_END = re.compile(rb"[\s#]")
_INDEX = re.compile(rb"(?<=\s)\d+(?=:)")


def read_libsvm(paths: Sequence[str | Path], first: int = 1) -> tuple[Any, Floats, int, int]:
    """Return X in CSR, the labels, the first row of the last file, and the number of the first index."""
    reader = BlockReader(first)
    parts: list[tuple[Any, ...]] = []
    for path in paths:
        last_file = sum(part[0].size for part in parts)
        parts += [tuple(array.copy() for array in block) for block in reader.blocks(path)]
    labels, lengths, indices, data = map(np.concatenate, zip(*parts, strict=True))
    indices -= reader.first
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    return csr(data, indices, narrow(indptr), reader.features), labels, last_file, reader.first


class BlockReader:
    """Reads files block by block; the range of the indices is that of all blocks so far."""

    def __init__(self, first: int = 1) -> None:
        self.counters = np.zeros(kernel.COUNTERS, dtype=np.int64)
        self.first, self.highest = first, 0
        self._arrays: tuple[Any, ...] = ()

    @property
    def features(self) -> int:
        """A matrix has at least one column even if no example has a feature, as in scikit-learn."""
        return max(1, self.highest + 1 - self.first)

    def blocks(self, path: str | Path) -> Iterator[tuple[Any, ...]]:
        """Yield labels, lengths of the rows, indices and values; they are valid until the next block."""
        self.counters[kernel.LINES] = 0
        name, is_empty = show_path(path), True
        with open_content(path) as stream:
            for text, size in whole_lines(stream):
                block = self._parse(text, size, name)
                is_empty = is_empty and not block[0].size
                yield block
        if is_empty:
            raise UserError(f"{name} contains no examples")

    def _parse(self, block: bytearray, size: int, name: str) -> tuple[Any, ...]:
        counters, lines = self.counters, int(self.counters[kernel.LINES])
        text = np.frombuffer(block, dtype=np.uint8)
        # Every row ends with a newline, and every entry has a colon.
        most_rows, most_entries = (int(np.count_nonzero(text[:size] == ord(mark))) for mark in "\n:")
        labels, indptr, indices, data, hard = self._reserve(most_rows, most_entries)
        stopped = kernel.parse_lines(text, size, labels, indptr, indices, data, hard, counters)
        fault = int(counters[kernel.POSITION]) if stopped else size
        self._read_hard(block, fault, name, lines)
        rows, entries = (int(k) for k in counters[[kernel.ROWS, kernel.ENTRIES]])
        lengths, indices, data = np.diff(indptr[: rows + 1]), indices[:entries], data[:entries]
        if counters[kernel.UNSORTED]:
            repeats = kernel.sort_rows(indptr, rows, indices, data)
            if (repeats or stopped) and (position := _find_duplicate(block[:fault])):
                token = _read_token(block, position)
                reason = f"{show_name(token)} gives feature {int(token.partition(':')[0])} a second time"
                raise _refuse(name, lines, block, position, reason)
        if stopped:
            explain = {kernel.BAD_LABEL: _explain_label, kernel.BAD_ENTRY: _explain_entry}
            reason = explain.get(stopped, _explain_query)(_read_token(block, fault))
            raise _refuse(name, lines, block, fault, reason)
        if entries:
            self.first = min(self.first, int(indices.min()))
            self.highest = max(self.highest, int(indices.max()))
        return labels[:rows], lengths, indices, data

    def _read_hard(self, block: bytearray, fault: int, name: str, lines: int) -> None:
        """Read the numbers that the kernel leaves to Python's float."""
        labels, _, indices, data, hard = self._arrays
        for row, entry, begin, end in hard[: self.counters[kernel.HARD_NUMBERS]].tolist():
            number = float(block[begin:end])
            if entry == kernel.LABEL:
                if abs(number) > 2**53 or not number.is_integer():
                    raise _refuse(name, lines, block, begin, _explain_label(_read_token(block, begin)))
                labels[row] = number + 0.0
            elif not np.isfinite(number) and begin < fault:
                place = begin - len(block[:begin].rsplit(None, 1)[-1])
                shown = f"value {show_name(_read_token(block, begin))} of feature {indices[entry]}"
                raise _refuse(name, lines, block, place, f"{shown} is too large for a 64-bit number")
            else:
                data[entry] = number

    def _reserve(self, rows: int, entries: int) -> tuple[Any, ...]:
        """Return scratch arrays; they are reused if they are large enough."""
        if not self._arrays or self._arrays[0].size < rows or self._arrays[3].size < entries:
            kinds = ((rows, np.float64), (rows + 1, np.int64), (entries, np.int32), (entries, np.float64))
            arrays = [np.empty(size + size // 4, kind) for size, kind in kinds]
            self._arrays = (*arrays, np.empty((arrays[0].size + arrays[3].size, 4), np.int64))
        return self._arrays


def _find_duplicate(text: bytearray) -> int:
    """Return the position of the first entry whose index its row already has, or 0."""
    begin = 0
    for line in text.split(b"\n"):
        seen: set[int] = set()
        for match in _INDEX.finditer(line.partition(b"#")[0]):
            if int(match[0]) in seen:
                return begin + match.start()
            seen.add(int(match[0]))
        begin += len(line) + 1
    return 0


def whole_lines(stream: IO[bytes]) -> Iterator[tuple[bytearray, int]]:
    """Yield (buffer, size) such that buffer[:size] holds the next whole lines; the buffer is reused."""
    # The last byte is for a newline, in case the last line has none.
    buffer, kept, is_first = bytearray(BLOCK + 1), 0, True
    while got := stream.readinto(memoryview(buffer)[kept:-1]):  # type: ignore[attr-defined]
        if is_first and buffer.startswith(b"\xef\xbb\xbf"):
            buffer[:3] = b"   "
        is_first = False
        end = buffer.rfind(b"\n", kept, kept + got) + 1
        kept += got
        if end:
            yield buffer, end
            buffer[: kept - end] = buffer[end:kept]
            kept -= end
        elif kept == len(buffer) - 1:
            buffer = buffer + bytearray(kept)
    if kept:
        buffer[kept] = ord("\n")
        yield buffer, kept + 1


def _read_token(block: bytearray, position: int) -> str:
    end = _TOKEN_END.search(block, position)
    return block[position : end.start() if end else len(block)].decode("utf-8", "backslashreplace")


def _refuse(name: str, lines: int, block: bytearray, position: int, reason: str) -> UserError:
    """Name the line and the column; `lines` come before the block."""
    line = lines + block.count(b"\n", 0, position) + 1
    column = position - block.rfind(b"\n", 0, position)
    return UserError(f"{name}:{line}:{column}: {reason}")


def _explain_label(token: str) -> str:
    label = show_name(token)
    if re.match(r"\d+:", token):
        return f"the line starts with {label}, where a label such as +1 or -1 belongs"
    if "," in token:
        return f"label {label} lists several labels, but an example has one"
    if not is_number(token):
        return f"label {label} is not a number"
    if abs(float(token)) > LARGEST_WHOLE + 1:
        return f"label {label} is too large"
    return f"label {label} is not a whole number"


def _explain_query(token: str) -> str:
    return f"query id {show_name(token[4:])} is not a whole number"


def _explain_entry(token: str) -> str:
    index, colon, value = token.partition(":")
    if not colon:
        return f"{show_name(token)} is not an index:value pair"
    if index == "qid":
        return f"{show_name(token)} must come right after the label"
    if not index:
        return f"{show_name(token)} has no index before its colon"
    if re.fullmatch(r"-\d+", index, re.ASCII):
        return f"index {show_name(index)} is negative"
    if not re.fullmatch(r"\d+", index, re.ASCII):
        return f"index {show_name(index)} is not a whole number"
    if len(index.lstrip("0")) > 10 or int(index) > kernel.LARGEST_INDEX:
        return f"index {show_name(index)} is larger than {kernel.LARGEST_INDEX}"
    if not value:
        return f"{show_name(token)} has no value after its colon"
    if _NOT_FINITE.fullmatch(value):
        return f"value {show_name(value)} of feature {int(index)} is not finite"
    return f"value {show_name(value)} of feature {int(index)} is not a number"


def convert_libsvm(
    paths: Sequence[Path], first: int, draft: Draft, wanted: Sequence[Any] | None = None, features: int = 0
) -> tuple[Any, Any, Floats, int, int]:
    """Read files of any size into a draft block by block; return what `read_libsvm` does, and all labels.

    X is stored as what is smaller. It has the rows with a wanted label, by default all, without their zeros,
    and at least this number of features.
    """
    reader, distinct, last_file = BlockReader(first), np.empty(0), 0
    kept, kept_labels = GrowingRows(draft), draft.start("labels", np.float64)
    for path in paths:
        last_file = kept_labels.length
        for labels, lengths, indices, data in reader.blocks(path):
            distinct = np.union1d(distinct, labels)
            chosen = np.ones(labels.size, bool) if wanted is None else np.isin(labels, wanted)
            entries = np.repeat(chosen, lengths) & (data != 0.0)
            ends = np.concatenate([[0], np.cumsum(entries)])[np.cumsum(lengths)]
            kept.extend(ends[chosen], indices[entries] - np.int32(first), data[entries])
            kept_labels.append(labels[chosen])
    # A file need not mention the last features of its data set.
    X = rows = kept.finish(max(reader.features, features))
    if reader.first < first:  # almost all files count from 1, and this one from 0
        draft.increment("indices")
    n, d = rows.shape
    if n and dense_is_smaller(n, d, rows.nnz):
        X = draft.change_rows(lambda: row_blocks(rows, n * d))
    return X, draft.finish("labels"), distinct, last_file, reader.first
