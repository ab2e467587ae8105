"""Sparse rows that grow in place while a file is read, and their conversion to the final storage."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from olbench.learners.examples import Floats, Ints

#: Initial capacity. Untouched pages take no memory, and arrays of this size grow by remapping pages instead
#: of copying them, so they can grow in small steps.
FIRST_ROWS = 5_000_000
FIRST_ENTRIES = 9_000_000
GROWTH = 16


class Rows:
    """Labels and features of the examples read so far, as raw arrays with spare capacity."""

    def __init__(self) -> None:
        self.n = 0
        self.entries = 0
        self.starts: list[int] = []
        #: The smallest index that the file may have: 0 or 1.
        self.first = 1
        self.labels = np.empty(FIRST_ROWS, dtype=np.float64)
        self.indptr = np.empty(FIRST_ROWS, dtype=np.int64)
        self.indptr[0] = 0
        self.indices = np.empty(FIRST_ENTRIES, dtype=np.int32)
        self.data = np.empty(FIRST_ENTRIES, dtype=np.float64)

    def reserve(self, rows: int, entries: int) -> None:
        _grow(self.labels, self.n + rows)
        _grow(self.indptr, self.n + rows + 1)
        _grow(self.indices, self.entries + entries)
        _grow(self.data, self.entries + entries)

    def clear(self) -> None:
        self.n = self.entries = 0

    def keep(self, mask: Any) -> None:
        """Drop the other rows, and entries that are zero."""
        values = self.data[: self.entries]
        if mask.all() and values.all():
            return
        lengths = np.diff(self.indptr[: self.n + 1])
        chosen = np.repeat(mask, lengths) & (values != 0.0)
        ends = np.concatenate([[0], np.cumsum(chosen)])[self.indptr[1 : self.n + 1]]
        self.n, self.entries = int(mask.sum()), int(chosen.sum())
        self.labels[: self.n] = self.labels[: mask.size][mask]
        self.indptr[1 : self.n + 1] = ends[mask]
        for array in (self.data, self.indices):
            array[: self.entries] = array[: chosen.size][chosen]

    def trim(self) -> None:
        self.labels.resize(self.n, refcheck=False)
        self.indptr.resize(self.n + 1, refcheck=False)
        self.indices.resize(self.entries, refcheck=False)
        self.data.resize(self.entries, refcheck=False)

    def matrix(self, d: int) -> Any:
        self.trim()
        X = csr(self.data, self.indices, narrow(self.indptr), d)
        return X.toarray() if dense_is_smaller(self.n, d, self.entries) else X


def _grow(array: Any, size: int) -> None:
    if array.size < size:
        array.resize(size + size // GROWTH, refcheck=False)


def dense_is_smaller(n: int, d: int, entries: int) -> bool:
    return 8 * n * d <= 12 * entries + 4 * (n + 1)


def narrow(indptr: Ints) -> Any:
    return indptr.astype(np.int32) if indptr[-1] < np.iinfo(np.int32).max else indptr


def csr(data: Any, indices: Any, indptr: Any, d: int) -> Any:
    """Wrap sorted, duplicate-free arrays as a CSR matrix, without a copy or a check."""
    import scipy.sparse as sp

    if indptr.dtype == indices.dtype:
        matrix = sp.csr_matrix((data, indices, indptr), shape=(indptr.size - 1, d), copy=False)
    else:
        # With more entries than fit in 32 bits, SciPy would copy all indices to 64 bits.
        matrix = sp.csr_matrix((indptr.size - 1, d))
        matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
    matrix.has_canonical_format = True
    return matrix


def assemble(arrays: Mapping[str, Any], d: int) -> Any:
    return arrays["X"] if "X" in arrays else csr(arrays["data"], arrays["indices"], arrays["indptr"], d)


def choose_storage(X: Any) -> Any:
    """Return examples as a C array, which may be X itself, or a CSR matrix, whichever is smaller."""
    import scipy.sparse as sp

    n, d = X.shape
    entries = X.count_nonzero() if sp.issparse(X) else np.count_nonzero(X)
    if dense_is_smaller(n, d, int(entries)):
        dense: Floats = np.ascontiguousarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
        # Adding zero turns -0.0 into 0.0, because sparse storage cannot tell them apart.
        dense += 0.0
        return dense
    if not sp.issparse(X):
        rows, columns = np.nonzero(X)
        indptr = np.searchsorted(rows, np.arange(n + 1))
        return csr(X[rows, columns], columns.astype(np.int32), narrow(indptr), d)
    sparse = sp.csr_matrix(X, dtype=np.float64)
    sparse.eliminate_zeros()
    sparse.sum_duplicates()
    return sparse


def join_blocks(blocks: Iterable[tuple[Any, Floats]]) -> tuple[Any, Floats]:
    """Return sparse blocks as one matrix; a later block may have more columns than those before."""
    import scipy.sparse as sp

    parts, labels = zip(*blocks, strict=True)
    for part in parts:
        part.resize(part.shape[0], parts[-1].shape[1])
    return sp.vstack(parts, format="csr"), np.concatenate(labels)
