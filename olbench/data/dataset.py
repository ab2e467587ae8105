"""A data set in memory or mapped from the cache: examples, their storage, and their description."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from olbench.learners.examples import Examples, Floats, Ints, as_examples

#: Values that are hashed at once, which bounds the memory; the result does not depend on it.
VALUES_AT_ONCE = 1 << 20
#: Values of a block of rows, which takes some ten times their memory while it is changed.
BLOCK_VALUES = 1 << 18
#: With fewer rows, all cells of a column may differ by chance.
FEW_ROWS = 20
#: Larger data is searched for odd columns in some of its rows first, and all of it in pieces.
MOST_VALUES, SAMPLE_ROWS, MOST_TAKEN = 1 << 26, 10_000, 1 << 21
CONSTANT, ID, LEAK = "constant", "different in every row, as an id", "gives the label away"
TWIN = "named like the label, which pandas numbers"


@dataclass(frozen=True)
class About:
    """Names of features and classes, and a description of how the examples were prepared."""

    features: tuple[str, ...] = ()
    classes: tuple[tuple[str, int], ...] = ()
    steps: tuple[str, ...] = ()
    label: str = ""

    @classmethod
    def from_plain(cls, content: dict[str, Any]) -> "About":
        classes = tuple((str(label), int(sign)) for label, sign in content["classes"])
        return cls(tuple(content["features"]), classes, tuple(content["steps"]), content["label"])


UNKNOWN = About()


@dataclass(frozen=True)
class Dataset:
    """Labelled examples. X is an array or a CSR matrix of doubles, y holds -1.0 and +1.0.

    Where every label is a class, y holds the numbers of the classes: 0.0, 1.0, 2.0 and so on.

    Cached examples are memory-mapped and read-only. The fingerprint depends only on the content of X, y and
    the arrivals, not on the format, compression or storage.
    """

    name: str
    X: Any
    y: Any
    fingerprint: str
    #: With a given split, the first row for testing; the rows before it are for training.
    test_from: int | None = None
    about: About = UNKNOWN
    #: For each row, the first row that is predicted with its label known; None if unknown.
    arrivals: Any = None

    @classmethod
    def make(
        cls,
        name: str,
        X: Any,
        y: Any,
        test_from: int | None = None,
        about: About = UNKNOWN,
        arrivals: Any = None,
    ) -> "Dataset":
        return cls(name, X, y, fingerprint(X, y, arrivals), test_from, about, arrivals)

    @cached_property
    def examples(self) -> Examples:
        """X as kernels read it, checked once and shared by every trial."""
        return as_examples(self.X)

    @property
    def labels(self) -> Floats:
        return self.y  # type: ignore[no-any-return]

    @property
    def storage(self) -> str:
        return "dense" if isinstance(self.X, np.ndarray) else "sparse"

    @property
    def arrays(self) -> dict[str, Any]:
        late = {} if self.arrivals is None else {"arrivals": self.arrivals}
        if self.storage == "dense":
            return {"X": self.X, "y": self.y, **late}
        return {"data": self.X.data, "indices": self.X.indices, "indptr": self.X.indptr, "y": self.y, **late}

    def __sizeof__(self) -> int:
        """Return the bytes of the examples; Dask plans the memory of its workers with it."""
        return sum(array.nbytes for array in self.arrays.values())

    def __repr__(self) -> str:
        n, d = self.X.shape
        return f"<Dataset {self.name!r}: {n:,} × {d:,}, {self.storage}, fingerprint {self.fingerprint[:8]}>"


def fingerprint(X: Any, y: Any, arrivals: Any = None) -> str:
    """32 hex digits of the shape, the labels, the arrivals if there are any, and the non-zero values of X."""
    digests = [hashlib.sha256() for _ in range(3)]
    for parts in _nonzeros(X):
        for digest, part in zip(digests, parts, strict=True):
            digest.update(part.tobytes())
    whole = hashlib.sha256(f"olbench {X.shape[0]} {X.shape[1]} ".encode())
    blocks = [y[begin : begin + VALUES_AT_ONCE] for begin in range(0, X.shape[0], VALUES_AT_ONCE)]
    # Class numbers need more than their signs.
    has_signs = all((np.abs(labels) == 1.0).all() for labels in blocks)
    for labels in blocks:
        numbers = np.asarray(labels > 0, dtype="<i1") if has_signs else np.asarray(labels, dtype="<i4")
        whole.update(numbers.tobytes())
    for digest in digests:
        whole.update(digest.digest())
    if arrivals is not None:
        whole.update(hashlib.sha256(np.asarray(arrivals, dtype="<i8").tobytes()).digest())
    return whole.hexdigest()[:32]


def _nonzeros(X: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Yield the lengths of the rows, the columns and the values without zeros, block by block of rows."""
    step = max(1, min(4096, VALUES_AT_ONCE // max(1, X.shape[1]))) if isinstance(X, np.ndarray) else 4096
    for begin in range(0, X.shape[0], step):
        if isinstance(X, np.ndarray):
            block = X[begin : begin + step]
            mask = block != 0.0
            columns = np.broadcast_to(np.arange(block.shape[1], dtype="<i4"), block.shape)[mask]
            lengths, values = np.count_nonzero(mask, axis=1), block[mask]
        else:
            indptr = X.indptr[begin : begin + step + 1]
            span = slice(int(indptr[0]), int(indptr[-1]))
            lengths, columns, values = np.diff(indptr), X.indices[span], X.data[span]
        yield lengths.astype("<i8"), columns.astype("<i4", copy=False), values.astype("<f8", copy=False)


def dense_is_smaller(n: int, d: int, entries: int) -> bool:
    return 8 * n * d <= 12 * entries + 4 * (n + 1)


def narrow(indptr: Ints) -> Any:
    return indptr.astype(np.int32) if indptr[-1] < np.iinfo(np.int32).max else indptr


def csr(data: Any, indices: Any, indptr: Any, d: int) -> Any:
    """Wrap sorted, duplicate-free arrays as a CSR matrix, without a copy or a check."""
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
    n, d = X.shape
    return as_stored(X, dense_is_smaller(n, d, count_entries(X)))


def count_entries(X: Any) -> int:
    return int(X.count_nonzero() if sp.issparse(X) else np.count_nonzero(X))


def as_stored(X: Any, is_dense: bool) -> Any:
    if is_dense:
        dense: Floats = np.ascontiguousarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
        # Adding zero turns -0.0 into 0.0, as in sparse storage.
        dense += 0.0
        return dense
    sparse = sp.csr_matrix(X, dtype=np.float64)
    sparse.eliminate_zeros()
    sparse.sum_duplicates()
    return sparse


def row_blocks(X: Any, size: int | None = None) -> Iterator[Any]:
    """Yield X in blocks of rows that hold about BLOCK_VALUES numbers, of `size` in all."""
    n = X.shape[0]
    numbers = size or (X.nnz if sp.issparse(X) else X.size)
    step = max(1, BLOCK_VALUES * n // max(1, numbers))
    return (X[begin : begin + step] for begin in range(0, n, step))


def join_blocks(blocks: Iterable[tuple[Any, Floats]]) -> tuple[Any, Floats]:
    """Return sparse blocks as one matrix; later blocks may have more columns."""
    parts, labels = zip(*blocks, strict=True)
    for part in parts:
        part.resize(part.shape[0], parts[-1].shape[1])
    return sp.vstack(parts, format="csr"), np.concatenate(labels)


def duplicate_groups(X: Any) -> Ints:
    """Return for each row of X the number of the first row with the same features, whatever the storage.

    Rows are compared by 128-bit digests of their features.

    >>> duplicate_groups(np.array([[1.0, 0.0], [2.0, 0.0], [1.0, 0.0], [1.0, 0.0]])).tolist()
    [0, 1, 0, 0]
    """
    if not isinstance(X, np.ndarray):
        X = sp.csr_matrix(X, copy=True)
        X.sum_duplicates()
        X.eliminate_zeros()
    firsts: dict[bytes, int] = {}
    groups: list[int] = []
    for lengths, columns, values in _nonzeros(X):
        ends = np.cumsum(lengths)
        for begin, end in zip((ends - lengths).tolist(), ends.tolist(), strict=True):
            digest = hashlib.blake2b(columns[begin:end].tobytes(), digest_size=16)
            digest.update(values[begin:end].tobytes())
            groups.append(firsts.setdefault(digest.digest(), len(groups)))
    return np.array(groups, dtype=np.int64)


def first_rows(X: Any) -> Ints:
    return np.flatnonzero(duplicate_groups(X) == np.arange(X.shape[0]))


@np.errstate(over="ignore", invalid="ignore")  # of differences of the largest numbers
def find_oddities(X: Any, y: Any, names: Sequence[str] = (), label: str = "") -> dict[str, list[str]]:
    """Return the features that are constant, number the rows, give labels away, or are named like the label.

    >>> X = np.column_stack([np.ones(30), np.arange(30.0), np.arange(30) % 2, np.sin(np.arange(30.0))])
    >>> find_oddities(X, np.where(np.arange(30) % 2, 1.0, -1.0), "abcd")
    {'constant': ['a'], 'different in every row, as an id': ['b'], 'gives the label away': ['c']}
    """
    n, d = X.shape
    # pandas calls a second column `label` label.1; in a feature per text, =TEXT follows.
    twin = re.compile(rf"{re.escape(label)}\.[0-9]+(=|$)")
    twins = [name for name in names if label and twin.match(name)]
    if n < FEW_ROWS:
        return {TWIN: twins} if twins else {}
    columns = np.arange(d) if n * d <= MOST_VALUES else _find_candidates(X, y)
    found: dict[str, list[int]] = {CONSTANT: [], ID: [], LEAK: []}
    step = max(1, MOST_TAKEN // n)
    for block in (columns[begin : begin + step] for begin in range(0, columns.size, step)):
        for what, odd in _find_odd(_take_columns(X, block), y, n).items():
            found[what] += block[odd].tolist()
    named = {
        what: [names[k] if len(names) else f"feature {k + 1}" for k in odd] for what, odd in found.items()
    }
    named[TWIN] = [name for name in twins if name not in named[LEAK]]
    return {what: odd for what, odd in named.items() if odd}


def _find_candidates(X: Any, y: Any) -> Ints:
    """Return the columns that are odd in a sample with rows of every class, as those that are odd are."""
    n, d = X.shape
    firsts = np.unique(y, return_index=True)[1]
    # Sparse columns that are zero in all of these rows are not odd.
    columns = np.unique(X[[0, 1, *firsts]].indices) if sp.issparse(X) else np.arange(d)
    entries = max(columns.size, X.nnz // n if sp.issparse(X) else 0, 1)
    size = min(n, SAMPLE_ROWS, max(FEW_ROWS, MOST_TAKEN // 2 // entries))
    rows = np.union1d(firsts, np.linspace(0, n - 1, size).astype(np.int64))
    odd = _find_odd(_take_columns(X[rows], columns), y[rows], n) if columns.size else {}
    return np.asarray(columns[np.unique(np.concatenate([[], *odd.values()]).astype(np.int64))])


def _take_columns(X: Any, columns: Ints) -> Any:
    if not sp.issparse(X):
        return X if columns.size == X.shape[1] else X[:, columns]
    taken, begin = np.zeros((X.shape[0], columns.size)), 0
    for block in row_blocks(X):
        # SciPy's choice would allocate as many numbers as there are columns, which may be billions.
        places = np.searchsorted(columns, block.indices)
        mask = np.take(columns, places, mode="clip") == block.indices
        rows = np.repeat(np.arange(begin, begin + block.shape[0]), np.diff(block.indptr))
        taken[rows[mask], places[mask]] = block.data[mask]
        begin += block.shape[0]
    return taken


def _find_odd(X: Floats, y: Any, n: int) -> dict[str, Any]:
    """Return the odd columns of X, some or all of n rows."""
    low, high = X.min(axis=0), X.max(axis=0)
    may_count = (np.floor(low) == low) & (high - low >= len(X) - 1)
    classes = [X[y == label] for label in np.unique(y)]
    constant_in_classes = [(rows == rows[0]).all(axis=0) for rows in classes]
    return {
        CONSTANT: np.flatnonzero((low == high) & (low != 0)),
        ID: [k for k in np.flatnonzero(may_count) if _counts(X[:, k], n)],
        LEAK: np.flatnonzero((low < high) & np.all(constant_in_classes, axis=0)),
    }


def _counts(column: Floats, n: int) -> bool:
    """Return whether whole numbers rise or fall from row to row, or are nearly all of a range."""
    steps, span = np.diff(column), column.max() - column.min()
    is_ordered = (steps > 0).all() or (steps < 0).all() or span < 2 * n
    return bool(is_ordered and (column == np.floor(column)).all() and len(np.unique(column)) == len(column))
