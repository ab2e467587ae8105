"""Combining models that were trained separately (cw2012, section 7.10).

Sums over models, by feature, add up in any order. A feature that is not in a model's data has mean 0 and
precision 1/a in it: it counts in every combination, and takes no memory.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olbench.learners.examples import Floats, Ints

#: The columns of the sums. A precision is stored as its excess over 1/a: 0 where a model has no such feature.
EXCESS, WEIGHTED, MEAN, COUNTED, COUNT = range(5)
Columns = NDArray[np.uint32]

#: Names of the combinations in tables and figures.
TITLES = {"average": "average", "l2": "L2", "kl": "KL", "counts": "by counts"}


def count_features(X: Any) -> tuple[Columns, Ints]:
    """Return the features of a matrix, dense or sparse, and in how many rows each occurs."""
    columns, counts = np.unique(X.nonzero()[1], return_counts=True)
    return columns.astype(np.uint32), counts


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over `n` models with the initial variance `a`, one row for each feature, sorted by feature."""

    columns: Columns
    values: Floats
    n: int
    a: float

    @classmethod
    def of(
        cls, columns: Columns, means: Floats, variances: Floats | None, counts: Ints | None, a: float = 1.0
    ) -> "Sums":
        """Without variances, all are a; without counts, there is no combination by counts."""
        values = np.empty((columns.size, 3 if counts is None else 5))
        values[:, EXCESS] = 0.0 if variances is None else 1.0 / variances - 1.0 / a
        values[:, WEIGHTED] = means / (a if variances is None else variances)
        values[:, MEAN] = means
        if counts is not None:
            values[:, COUNTED] = counts * means
            values[:, COUNT] = counts
        return cls(columns, values, 1, a)

    @property
    def bytes(self) -> int:
        return int(self.columns.nbytes + self.values.nbytes)

    def __add__(self, other: "Sums") -> "Sums":
        # np.union1d hashes the numbers, which takes 400 times as long as merging two sorted runs of 10^7.
        both = np.sort(np.concatenate([self.columns, other.columns]), kind="stable")
        is_first = np.ones(both.size, bool)
        is_first[1:] = both[1:] != both[:-1]
        columns = both[is_first]
        values = np.zeros((columns.size, self.values.shape[1]))
        for each in (self, other):
            values[np.searchsorted(columns, each.columns)] += each.values
        return Sums(columns, values, self.n + other.n, self.a)

    def means(self, way: str) -> Floats:
        if way == "kl":
            return np.asarray(self.values[:, WEIGHTED] / (self.n / self.a + self.values[:, EXCESS]))
        if way == "l2":
            return np.asarray(self.values[:, MEAN] / self.n)
        return np.asarray(self.values[:, COUNTED] / self.values[:, COUNT])

    def weights(self, way: str, wanted: Columns) -> Floats:
        places = np.searchsorted(self.columns, wanted)
        places[places == self.columns.size] = 0
        present = self.columns[places] == wanted if self.columns.size else np.zeros(wanted.size, bool)
        weights = np.zeros(wanted.size)
        weights[present] = self.means(way)[places[present]]
        return weights
