"""Exact duplicates among the rows of a data set."""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from olbench.learners.examples import Ints

BLOCK = 1 << 24


def duplicate_groups(X: Any) -> Ints:
    """Return for each row of X the number of the first row with the same features, whatever the storage.

    Rows are compared by 128-bit digests of their features.

    >>> duplicate_groups(np.array([[1.0, 0.0], [2.0, 0.0], [1.0, 0.0], [1.0, 0.0]])).tolist()
    [0, 1, 0, 0]
    """
    firsts: dict[bytes, int] = {}
    digests = _digest_dense(X) if isinstance(X, np.ndarray) else _digest_sparse(X)
    rows = (firsts.setdefault(digest, row) for row, digest in enumerate(digests))
    return np.fromiter(rows, dtype=np.int64, count=X.shape[0])


def first_rows(X: Any) -> Ints:
    return np.flatnonzero(duplicate_groups(X) == np.arange(X.shape[0]))


def _digest_dense(X: Any) -> Iterator[bytes]:
    step = max(1, BLOCK // max(1, 8 * X.shape[1]))
    for begin in range(0, X.shape[0], step):
        # Adding zero turns -0.0 into 0.0, which has other bits but is the same feature.
        block = np.ascontiguousarray(X[begin : begin + step], dtype=np.float64) + 0.0
        yield from (hashlib.blake2b(row, digest_size=16).digest() for row in block)


def _digest_sparse(X: Any) -> Iterator[bytes]:
    rows = X.tocsr()
    if not rows.has_canonical_format or np.count_nonzero(rows.data) < rows.data.size:
        rows = rows.copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
    columns: Any = np.ascontiguousarray(rows.indices, dtype=np.int64).view(np.uint8)
    values: Any = np.ascontiguousarray(rows.data, dtype=np.float64).view(np.uint8)
    begin = 0
    for end in (8 * rows.indptr[1:].astype(np.int64)).tolist():
        digest = hashlib.blake2b(columns[begin:end], digest_size=16)
        digest.update(values[begin:end])
        yield digest.digest()
        begin = end
