"""A data set in memory or mapped from the cache: its examples, and what is known of them."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from olbench.learners.examples import Examples, Floats, as_examples

#: Values that are hashed at once, which bounds the memory; the result does not depend on it.
VALUES_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class About:
    """What is known of examples besides their numbers: names, and what was done to them in words."""

    features: tuple[str, ...] = ()
    classes: tuple[tuple[str, int], ...] = ()
    steps: tuple[str, ...] = ()
    label: str = ""

    @classmethod
    def from_plain(cls, content: dict[str, Any]) -> "About":
        classes = tuple((str(label), int(sign)) for label, sign in content["classes"])
        return cls(tuple(content["features"]), classes, tuple(content["steps"]), content["label"])


UNKNOWN = About()


def about_indices(first: int, is_own: bool) -> About:
    """Of a user's LIBSVM file, say from which number on its indices count."""
    return About(steps=(f"indices start at {first}",)) if is_own else UNKNOWN


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
    #: The number of the first row for testing, if the data set has a given split; the rows before it train.
    test_from: int | None = None
    about: About = UNKNOWN
    #: For each row, the first row that is predicted with its label known; None if the data does not say.
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
        """Return the bytes of the examples, by which a cluster counts the memory of its workers."""
        return sum(array.nbytes for array in self.arrays.values())

    def __repr__(self) -> str:
        n, d = self.X.shape
        return f"<Dataset {self.name!r}: {n:,} × {d:,}, {self.storage}, fingerprint {self.fingerprint[:8]}>"


def fingerprint(X: Any, y: Any, arrivals: Any = None) -> str:
    """32 hex digits of the shape, the labels, the arrivals if there are any, and the non-zero values of X."""
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
    if arrivals is not None:
        whole.update(hashlib.sha256(np.asarray(arrivals, dtype="<i8").tobytes()).digest())
    return whole.hexdigest()[:32]


def _nonzeros(X: Any, begin: int, end: int) -> tuple[Any, Any, Any]:
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
