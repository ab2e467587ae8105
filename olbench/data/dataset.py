"""A data set in memory or mapped from the cache: its examples, and what is known of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from olbench.display import facts_html


@dataclass(frozen=True)
class About:
    """What is known of examples besides their numbers: names, and what was done to them in words."""

    features: tuple[str, ...] = ()
    #: The labels as the file has them, each with its sign.
    classes: tuple[tuple[str, int], ...] = ()
    steps: tuple[str, ...] = ()
    #: The heading of the label column, or an empty text.
    label: str = ""

    @classmethod
    def from_plain(cls, content: dict[str, Any]) -> "About":
        """Return it from the values of its fields, as JSON has them."""
        classes = tuple((str(label), int(sign)) for label, sign in content["classes"])
        return cls(tuple(content["features"]), classes, tuple(content["steps"]), content["label"])


#: Where nothing is known.
UNKNOWN = About()


@dataclass(frozen=True)
class Dataset:
    """Labelled examples. X is an array or a CSR matrix of doubles, y holds -1.0 and +1.0.

    Where every label is a class, y holds the numbers of the classes: 0.0, 1.0, 2.0 and so on.

    Cached examples are memory-mapped and read-only. The fingerprint depends only on the content of X and y,
    not on the format, compression or storage.
    """

    name: str
    X: Any
    y: Any
    fingerprint: str
    #: The number of the first row for testing, if the data set has a given split; the rows before it train.
    test_from: int | None = None
    #: The names of features and labels and what was done when it was read, for users' tables and frames.
    about: About = UNKNOWN

    @property
    def storage(self) -> str:
        """ "dense" or "sparse"."""
        return "dense" if isinstance(self.X, np.ndarray) else "sparse"

    @property
    def arrays(self) -> dict[str, Any]:
        """The arrays that hold the examples."""
        if self.storage == "dense":
            return {"X": self.X, "y": self.y}
        return {"data": self.X.data, "indices": self.X.indices, "indptr": self.X.indptr, "y": self.y}

    def __repr__(self) -> str:
        n, d = self.X.shape
        return f"<Dataset {self.name!r}: {n:,} × {d:,}, {self.storage}, fingerprint {self.fingerprint[:8]}>"

    def _repr_html_(self) -> str:
        n, d = self.X.shape
        labels, counts = np.unique(self.y, return_counts=True)
        facts = {
            "examples": f"{n:,}",
            "features": f"{d:,}, {self.storage}",
            "labels": ", ".join(f"{label:g}: {k:,}" for label, k in zip(labels, counts, strict=True)),
            "fingerprint": self.fingerprint,
        }
        if self.test_from is not None:
            facts["for testing"] = f"{n - self.test_from:,} examples from row {self.test_from:,}"
        return facts_html(self.name, facts)
