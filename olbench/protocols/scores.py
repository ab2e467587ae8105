"""Accuracy and balanced accuracy from right predictions by class."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from olbench.learners.examples import Floats
from olbench.protocols.definition import Series
from olbench.records.quantities import ACCURACY, BALANCED_ACCURACY


def accuracy_series(along: str, required: bool = True) -> tuple[Series, ...]:
    titles = {ACCURACY: "test accuracy (%)", BALANCED_ACCURACY: "balanced test accuracy (%)"}
    return tuple(
        Series(quantity.name, title, quantity, along_title=along, level=True, required=required)
        for quantity, title in titles.items()
    )


@dataclass(frozen=True)
class Scores:
    """Right predictions by class, the last axis, and how many test examples each class has."""

    right: Floats
    total: Floats

    @classmethod
    def count(
        cls, right: NDArray[np.bool_], positive: NDArray[np.bool_], times: Floats | None = None
    ) -> "Scores":
        weights = np.ones(right.size) if times is None else times
        signs = (~positive, positive)
        return cls(
            np.array([weights[right & sign].sum() for sign in signs]),
            np.array([weights[sign].sum() for sign in signs]),
        )

    def __add__(self, other: "Scores") -> "Scores":
        return Scores(self.right + other.right, self.total + other.total)

    @property
    def accuracy(self) -> Floats:
        return np.asarray(self.right.sum(axis=-1) / self.total.sum())

    @property
    def balanced(self) -> Floats:
        present = self.total > 0
        return np.asarray(np.mean(self.right[..., present] / self.total[present], axis=-1))

    @property
    def numbers(self) -> dict[str, float]:
        return {
            "right": round(float(self.right.sum()), 6),
            "balanced_accuracy": round(float(self.balanced), 12),
        }
