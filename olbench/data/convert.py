"""LIBSVM text and blocks of rows of any size into an entry of the cache, block by block."""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from olbench.data.cache import CHUNK, Draft
from olbench.data.catalog import CatalogEntry
from olbench.data.compressed import open_content, show_path
from olbench.data.dataset import Dataset, about_indices
from olbench.data.labels import as_targets
from olbench.data.libsvm import BlockReader
from olbench.data.rows import Rows, csr, dense_is_smaller, narrow
from olbench.learners.examples import Floats

AT_ONCE = CHUNK // 8


def convert_libsvm(entry: CatalogEntry, paths: Sequence[Path], where: str, draft: Draft) -> Dataset:
    text = _Conversion(entry, draft)
    for path in paths:
        text.read(path)
    return text.finish(where)


def convert_blocks(entry: CatalogEntry, blocks: Iterable[tuple[Any, Floats]], draft: Draft) -> Dataset:
    kinds = {"indices": np.int32, "data": np.float64, "y": np.float64}
    files = {name: draft.start(name, kind) for name, kind in kinds.items()}
    ends, features = [np.zeros(1, np.int64)], 0
    for X, labels in blocks:
        ends.append(X.indptr[1:].astype(np.int64) + files["data"].length)
        for name, part in (("indices", X.indices), ("data", X.data), ("y", labels)):
            files[name].append(part)
        features = X.shape[1]
    indptr = draft.add("indptr", narrow(np.concatenate(ends)))
    indices, data, y = (draft.finish(name) for name in files)
    test_from = entry.rows - entry.test_rows if entry.split else None
    return Dataset.make(entry.name, csr(data, indices, indptr, features), y, test_from)


class _Conversion:
    def __init__(self, entry: CatalogEntry, draft: Draft):
        self.entry, self.draft = entry, draft
        self.reader = BlockReader()
        self.labels, self.indptr = draft.start("labels", np.float64), draft.start("offsets", np.int64)
        self.indices, self.data = draft.start("indices", np.int32), draft.start("data", np.float64)
        self.indptr.append([0])
        self.distinct: Floats = np.empty(0)
        self.last_start = 0
        # Rows are dropped only if both kinds of labels are listed.
        both = entry.positive is not None and entry.negative is not None
        self.wanted = [*(entry.positive or ()), *(entry.negative or ())] if both else None

    def read(self, path: Path) -> None:
        self.last_start = self.labels.length
        with open_content(path) as stream:
            for rows in self.reader.blocks(stream, show_path(path), self.entry.max_bytes or None):
                self._append(rows)

    def _append(self, rows: Rows) -> None:
        labels = rows.labels[: rows.n]
        self.distinct = np.union1d(self.distinct, labels)
        rows.keep(np.ones(rows.n, bool) if self.wanted is None else np.isin(labels, self.wanted))
        entries = rows.entries
        self.indptr.append(rows.indptr[1 : rows.n + 1] + self.data.length)
        rows.indices[:entries] -= 1
        self.indices.append(rows.indices[:entries])
        self.data.append(rows.data[:entries])
        self.labels.append(rows.labels[: rows.n])

    def finish(self, where: str) -> Dataset:
        draft, entries = self.draft, self.data.length
        entry = self.entry
        targets, mask = as_targets(self.distinct, entry.positive, entry.negative, where, entry.multiclass)
        y = self._write_targets(self.distinct[mask], targets)
        offsets, indices, data = (draft.finish(name) for name in ("offsets", "indices", "data"))
        first = self.reader.first
        if first == 0:
            indices = self._shift_back()
        # A matrix has at least one column, and a file need not mention the last features of its data set.
        d = max(1, self.reader.highest + 1 - first, self.entry.features)
        if dense_is_smaller(y.size, d, entries):
            X = self._spread(offsets, indices, data, d)
        else:
            kind = np.int32 if entries < np.iinfo(np.int32).max else np.int64
            X = csr(data, indices, draft.add("indptr", offsets, kind), d)
        draft.drop("offsets")
        about = about_indices(first, entry.is_own)
        return Dataset.make(entry.name, X, y, self.last_start if entry.split else None, about)

    def _write_targets(self, labels: Floats, targets: Floats) -> Any:
        found = self.draft.finish("labels")
        if np.array_equal(labels, targets):
            self.draft.rename("labels", "y")
            return self.draft.map("y")
        y = self.draft.start("y", np.float64)
        for part in _slices(found.size, AT_ONCE):
            y.append(targets[np.searchsorted(labels, found[part])])
        self.draft.drop("labels")
        return self.draft.finish("y")

    def _shift_back(self) -> Any:
        """Undo the shift of the indices: they start at 0 in the file already."""
        indices = self.draft.map("indices", "r+")
        checksum = 0
        for part in _slices(indices.size, AT_ONCE):
            indices[part] += 1
            checksum = zlib.crc32(indices[part].view(np.uint8), checksum)
        indices.flush()
        stamp = (self.draft.folder / "indices.npy").stat().st_mtime_ns
        self.draft.arrays["indices"] |= {"crc32": checksum, "mtime_ns": stamp}
        return self.draft.map("indices")

    def _spread(self, offsets: Any, indices: Any, data: Any, d: int) -> Any:
        X = self.draft.start("X", np.float64, d)
        for part in _slices(offsets.size - 1, max(1, AT_ONCE // d)):
            begin, end = int(offsets[part.start]), int(offsets[part.stop])
            indptr = (offsets[part.start : part.stop + 1] - begin).astype(np.int32)
            rows = csr(data[begin:end], indices[begin:end], indptr, d)
            X.append(rows.toarray())
        for name in ("indices", "data"):
            self.draft.drop(name)
        return self.draft.finish("X")


def _slices(size: int, step: int) -> Iterator[slice]:
    return (slice(begin, min(begin + step, size)) for begin in range(0, size, step))
