"""A fingerprint of examples that depends on their labels and features, not on their storage."""

import hashlib
from typing import Any

import numpy as np

#: Values that are hashed at once, which bounds the memory; the result does not depend on it.
VALUES_AT_ONCE = 1 << 20


def fingerprint(X: Any, y: Any) -> str:
    """Return 32 hex digits that depend only on the shape, the labels in y and the non-zero values of X.

    Labels are -1 and +1, of which the signs count, or the numbers of classes.
    """
    digests = [hashlib.sha256() for _ in range(3)]
    step = max(1, min(4096, VALUES_AT_ONCE // max(1, X.shape[1]))) if isinstance(X, np.ndarray) else 4096
    for begin in range(0, X.shape[0], step):
        for digest, part in zip(digests, _nonzeros(X, begin, begin + step), strict=True):
            digest.update(part.tobytes())
    whole = hashlib.sha256(f"olbench {X.shape[0]} {X.shape[1]} ".encode())
    blocks = [y[begin : begin + VALUES_AT_ONCE] for begin in range(0, X.shape[0], VALUES_AT_ONCE)]
    # Signs alone would not tell classes apart.
    has_signs = all((np.abs(labels) == 1.0).all() for labels in blocks)
    for labels in blocks:
        numbers = np.asarray(labels > 0, dtype="<i1") if has_signs else np.asarray(labels, dtype="<i4")
        whole.update(numbers.tobytes())
    for digest in digests:
        whole.update(digest.digest())
    return whole.hexdigest()[:32]


def _nonzeros(X: Any, begin: int, end: int) -> tuple[Any, Any, Any]:
    """Return the row lengths, column numbers and values of the non-zero entries in a range of rows."""
    if isinstance(X, np.ndarray):
        block = X[begin:end]
        rows, columns = np.nonzero(block)
        lengths = np.bincount(rows, minlength=block.shape[0])
        return lengths.astype("<i8"), columns.astype("<i4"), block[rows, columns].astype("<f8", copy=False)
    indptr = X.indptr[begin : end + 1]
    span = slice(int(indptr[0]), int(indptr[-1]))
    return (
        np.diff(indptr).astype("<i8"),
        X.indices[span].astype("<i4", copy=False),
        X.data[span].astype("<f8", copy=False),
    )
