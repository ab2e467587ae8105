"""Examples in the form that kernels read: X dense or CSR, y in {-1, +1} or classes, and an order."""

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from olbench.errors import UserError, count
from olbench.kernels.counters import ONLY_LEARN, ONLY_PREDICT, ROW

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: The group of each row.
Groups = NDArray[np.uint8]

#: The types of labels and orders in compiled code.
DOUBLE, INT64 = np.dtype(np.float64), np.dtype(np.int64)
_NO_FLOATS = np.empty(0)


@dataclass(frozen=True)
class Examples:
    """A matrix of examples, dense or CSR, checked once and shared by all passes over it."""

    n: int
    d: int
    dense: Floats
    data: Floats
    columns: NDArray[np.uint32]
    indptr: Ints
    has_zeros: bool

    def rows(self) -> tuple[Any, ...]:
        return self.dense, self.data, self.columns, self.indptr, self.norms, self.has_zeros

    @cached_property
    def norms(self) -> Floats:
        norms = np.empty(self.n)
        _measure_norms()((self.dense, self.data, self.columns, self.indptr, norms, self.has_zeros), norms)
        return norms

    def matrix(self) -> Any:
        """Return the examples as an array or a SciPy CSR matrix, without a copy."""
        return as_matrix((self.dense, self.data, self.columns, self.indptr))


@cache
def _measure_norms() -> Any:
    from olbench.kernels.rows import measure_norms

    return measure_norms


def as_examples(X: Any) -> Examples:
    """Check a matrix and return it as examples; it is copied only if its type or layout requires it."""
    if isinstance(X, Examples):
        return X
    if sp.issparse(X):
        return _from_sparse(X)
    dense = _as_reals(X)
    if dense.ndim != 2:
        raise UserError(f"X must have two dimensions, not {dense.ndim}")
    _check_finite(dense)
    n, d = dense.shape
    has_zeros = bool(np.count_nonzero(dense) < dense.size)
    return Examples(n, d, dense, _NO_FLOATS, np.empty(0, np.uint32), np.zeros(1, np.int64), has_zeros)


class SingleRow:
    """Room for one example at a time, in the form that kernels read; the next one takes its place."""

    def __init__(self, d: int):
        self.dense, self.norms = np.zeros((1, d)), np.empty(1)
        self.y, self.order = np.ones(1), np.zeros(1, np.int64)
        self._no_entries = _NO_FLOATS, np.empty(0, np.uint32), np.zeros(1, np.int64)

    def fill(self, x: Any) -> tuple[Any, ...]:
        """Return the tuple that kernels take for an array of d numbers, or for a sparse matrix of one row."""
        row = self.dense[0]
        if type(x) is not np.ndarray or x.dtype != row.dtype or x.shape != row.shape:
            x = self._convert(x)
            if isinstance(x, Examples):
                return x.rows()
        row[:] = x
        rows = self.dense, *self._no_entries, self.norms, bool(np.count_nonzero(row) < row.size)
        _measure_norms()(rows, self.norms)
        # A finite norm proves that all values are finite.
        if not math.isfinite(self.norms[0]):
            _check_finite(self.dense)
        return rows

    def _convert(self, x: Any) -> Any:
        d = self.dense.shape[1]
        converted = as_examples(x) if sp.issparse(x) else _as_reals(x)
        shape = (converted.n, converted.d) if isinstance(converted, Examples) else converted.shape
        if shape not in ((d,), (1, d)):
            raise UserError(f"x must be one row of {count(d, 'number')}, but its shape is {shape}")
        return converted

    def put_label(self, y: float) -> None:
        if y not in (-1, 1):
            raise UserError(f"y must be -1 or +1, not {y!r}")
        self.y[0] = y


def as_matrix(rows: tuple[Any, ...]) -> Any:
    """Return the rows of examples as a matrix that shares their memory: an array or a CSR matrix."""
    dense, data, columns, indptr = rows[:4]
    if indptr.size == 1:
        return dense
    return sp.csr_matrix(
        (data, columns.view(np.int32), indptr), (indptr.size - 1, dense.shape[1]), copy=False
    )


def _from_sparse(X: Any) -> Examples:
    if X.ndim != 2:
        raise UserError(f"X must have two dimensions, not {X.ndim}")
    csr = X.tocsr()
    n, d = csr.shape
    try:
        csr.check_format(full_check=False)
        _check_indices(csr, d)
    except ValueError as error:
        raise UserError(f"X is not a valid sparse matrix: {error}") from None
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    data = _as_reals(csr.data[: csr.indptr[-1]])
    _check_finite(data, csr)
    if np.count_nonzero(data) < data.size:
        csr = csr.copy()
        csr.eliminate_zeros()
        data = np.ascontiguousarray(csr.data, dtype=np.float64)
    # SciPy's indices are signed; the kernels read the same memory as unsigned.
    columns = np.ascontiguousarray(csr.indices, dtype=np.int32).view(np.uint32)
    indptr = np.ascontiguousarray(csr.indptr, dtype=np.int64)
    return Examples(n, d, np.empty((0, d)), data, columns, indptr, False)


def _check_indices(csr: Any, d: int) -> None:
    """Check the entries of index arrays; SciPy's own check would also copy them to a common type."""
    if csr.nnz == 0:
        return
    if csr.indices.max() >= d:
        raise ValueError(f"indices must be < {d}")
    if csr.indices.min() < 0:
        raise ValueError("indices must be >= 0")
    if (csr.indptr[1:] < csr.indptr[:-1]).any():
        raise ValueError("indptr must be a non-decreasing sequence")


def _as_reals(values: Any) -> Floats:
    """Return a C-contiguous array of doubles, the same one if it already is."""
    if np.iscomplexobj(values):
        raise UserError("X must be a matrix of real numbers")
    try:
        return np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UserError(f"X must be a matrix of numbers ({error})") from None


def _check_finite(values: Floats, csr: Any = None) -> None:
    # A finite sum proves that all values are finite, and needs no additional array.
    with np.errstate(over="ignore", invalid="ignore"):
        total = values.sum()
    if np.isfinite(total) or np.isfinite(values).all():
        return
    where = np.argwhere(~np.isfinite(values))[0]
    bad = values[tuple(where)]
    if csr is not None:
        where = np.searchsorted(csr.indptr, where[0], side="right") - 1, csr.indices[where[0]]
    raise UserError(
        f"X holds {bad} at row {where[0]}, column {where[1]}; every value must be finite "
        "(no NaN, no infinity)"
    )


def as_labels(y: ArrayLike, n: int) -> Floats:
    """Check that there is one label in {-1, +1} per example, and return the labels."""
    try:
        labels = np.ascontiguousarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise UserError("y must hold the labels -1 and +1 as numbers") from None
    check_size(labels, n)
    wrong = labels[np.abs(labels) != 1.0]
    if wrong.size:
        raise UserError(
            f"y must hold only -1 and +1, but it has {count(wrong.size, 'other label')}, such as {wrong[0]:g}"
            "; load_dataset and the estimators map other labels, and labels='all' takes any number of classes"
        )
    return labels


def as_classes(y: ArrayLike, n: int) -> tuple[Floats, NDArray[Any]]:
    """Check labels of any kind, and return the number of the class of each, and the classes in order.

    >>> as_classes(["b", "a", "c", "a"], 4)[0].tolist()
    [1.0, 0.0, 2.0, 0.0]
    """
    labels = np.asarray(y)
    check_size(labels, n)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise UserError("y holds NaN or infinity, which cannot be labels")
    try:
        classes, numbers = np.unique(labels, return_inverse=True)
    except TypeError:
        raise UserError("y holds labels of several kinds, which have no order") from None
    if classes.size < 2:
        raise UserError("every example has the same label; two distinct labels are needed")
    return numbers.astype(np.float64), classes


def as_class_numbers(y: ArrayLike, n: int, classes: int) -> Floats:
    """Check that there is the number of a class per example, and return the numbers."""
    numbers = np.ascontiguousarray(y, DOUBLE)
    check_size(numbers, n)
    wrong = numbers[~np.isin(numbers, np.arange(classes))]
    if wrong.size:
        raise UserError(
            f"y must hold the numbers of {classes} classes, 0 to {classes - 1}, but it has {wrong[0]:g}"
        )
    return numbers


def check_width(rows: tuple[Any, ...], d: int) -> None:
    """Refuse rows that a learner of d features would read, or write, beyond its arrays."""
    if rows[0].shape[1] != d:
        raise UserError(
            f"X has {count(rows[0].shape[1], 'column')}, but the learner has {count(d, 'feature')}"
        )


def check_size(labels: NDArray[Any], n: int) -> None:
    if labels.ndim != 1:
        raise UserError(f"y must have one dimension, not {labels.ndim}")
    if labels.size != n:
        raise UserError(f"X has {count(n, 'row')} but y has {count(labels.size, 'label')}")


def as_order(order: ArrayLike | None, n: int) -> Ints:
    """Check an order of the examples, or a schedule, and return it; None means 0, 1, ..., n - 1."""
    if order is None:
        return np.arange(n, dtype=np.int64)
    given = np.asarray(order)
    if given.ndim != 1 or (given.size and not np.issubdtype(given.dtype, np.integer)):
        raise UserError("order must be a list of row numbers")
    entries = np.ascontiguousarray(given, dtype=np.int64)
    rows = entries & ROW
    if entries.size and (entries.min() < 0 or entries.max() >= ONLY_PREDICT + ONLY_LEARN or rows.max() >= n):
        bad = entries[(entries < 0) | (entries >= ONLY_PREDICT + ONLY_LEARN) | (rows >= n)]
        range_of_rows = f"the rows are 0 to {n - 1}" if n else "there are no rows"
        raise UserError(f"order names row {bad[0]}, but {range_of_rows}")
    return entries
