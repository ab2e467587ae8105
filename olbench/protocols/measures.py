"""Measures of predictions: from the counts of a confusion matrix, from margins, and for several classes.

Undefined measures are as in scikit-learn: a share of nothing is 0, Cohen's kappa and AUC are NaN.
"""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


class Counts(NamedTuple):
    """The four counts of a confusion matrix; each may be an array, with one count per trial or point."""

    hits: Floats
    false_alarms: Floats
    misses: Floats
    rejections: Floats

    @classmethod
    def of(
        cls, n: ArrayLike, mistakes: ArrayLike, positives: ArrayLike = 0, false_alarms: ArrayLike = 0
    ) -> "Counts":
        n, mistakes, positives, alarms = (
            np.asarray(each, np.float64) for each in (n, mistakes, positives, false_alarms)
        )
        misses = mistakes - alarms
        return cls(positives - misses, alarms, misses, n - positives - alarms)

    @property
    def n(self) -> Floats:
        return self.hits + self.false_alarms + self.misses + self.rejections


def _share(part: Floats, whole: Floats, otherwise: float = 0.0) -> Floats:
    part, whole = np.broadcast_arrays(np.asarray(part, np.float64), np.asarray(whole, np.float64))
    return np.asarray(np.divide(part, whole, out=np.full(part.shape, otherwise), where=whole != 0))


def accuracy(counts: Counts) -> Floats:
    return _share(counts.hits + counts.rejections, counts.n, math.nan)


def sensitivity(counts: Counts) -> Floats:
    return _share(counts.hits, counts.hits + counts.misses)


def specificity(counts: Counts) -> Floats:
    return _share(counts.rejections, counts.rejections + counts.false_alarms)


def precision(counts: Counts) -> Floats:
    return _share(counts.hits, counts.hits + counts.false_alarms)


def f1(counts: Counts) -> Floats:
    return _share(2.0 * counts.hits, 2.0 * counts.hits + counts.false_alarms + counts.misses)


def balanced_accuracy(counts: Counts) -> Floats:
    """Return the mean of sensitivity and specificity, or only one if the other is undefined."""
    positive, negative = counts.hits + counts.misses, counts.rejections + counts.false_alarms
    total = np.where(positive > 0, sensitivity(counts), 0.0) + np.where(
        negative > 0, specificity(counts), 0.0
    )
    return _share(total, (positive > 0).astype(np.float64) + (negative > 0), math.nan)


def g_mean(counts: Counts) -> Floats:
    return np.sqrt(sensitivity(counts) * specificity(counts))


def kappa(counts: Counts) -> Floats:
    """Return Cohen's kappa: accuracy in excess of guessing with the same shares of both labels."""
    positive, predicted = counts.hits + counts.misses, counts.hits + counts.false_alarms
    chance = positive * predicted + (counts.n - positive) * (counts.n - predicted)
    agreed = counts.n * (counts.hits + counts.rejections)
    return _share(agreed - chance, counts.n * counts.n - chance, math.nan)


def mcc(counts: Counts) -> Floats:
    covariance = counts.hits * counts.rejections - counts.false_alarms * counts.misses
    positive, predicted = counts.hits + counts.misses, counts.hits + counts.false_alarms
    spread = np.sqrt(positive) * np.sqrt(counts.n - positive)
    return _share(covariance, spread * np.sqrt(predicted) * np.sqrt(counts.n - predicted))


def auc(labels: Floats, margins: Floats) -> float:
    """Return the share of (positive, negative) pairs that margins order correctly; ties count half.

    >>> auc(np.array([1.0, -1.0, 1.0]), np.array([0.3, 0.1, 0.1]))
    0.75
    """
    positive = labels > 0
    above, below = margins[positive], np.sort(margins[~positive])
    if not above.size or not below.size:
        return math.nan
    # Counts are whole numbers, so their sum is exact.
    pairs = sum(int(np.searchsorted(below, np.sort(above), side).sum()) for side in ("left", "right"))
    return 0.5 * pairs / (above.size * below.size)


def hinge_loss(labels: Floats, margins: Floats) -> float:
    return _mean(np.maximum(0.0, 1.0 - labels * margins))


def squared_loss(labels: Floats, margins: Floats) -> float:
    with np.errstate(over="ignore"):
        return _mean(np.square(labels - margins))


def log_loss(labels: Floats, probabilities: Floats) -> float:
    """Return the log loss; as in scikit-learn, probabilities are clipped a rounding error from 0 and 1."""
    tiny = np.finfo(np.float64).eps
    clipped = np.clip(probabilities, tiny, 1.0 - tiny)
    return _mean(-np.log(np.where(labels > 0, clipped, 1.0 - clipped)))


def _mean(values: Floats) -> float:
    """Return a mean that is rounded once, so that all machines agree; NaN if it is not finite."""
    if not values.size or not np.isfinite(values).all():
        return math.nan
    return math.fsum(values) / values.size


OF_MARGINS: Mapping[str, Callable[[Floats, Floats], float]] = {
    each.__name__: each for each in (auc, hinge_loss, squared_loss)
}
#: The measures that need the margin of every prediction.
FROM_MARGINS = (*OF_MARGINS, "log_loss")


def of_matrix(confusion: ArrayLike) -> dict[str, float]:
    """Return the measures of several classes from their confusion matrix, one row per true class.

    The F1 of a class that neither occurs nor is predicted is left out of the mean.

    >>> of_matrix([[8, 2, 0], [2, 8, 0], [0, 0, 0]])["balanced_accuracy"]
    0.8
    """
    matrix = np.asarray(confusion, np.float64)
    n, right = matrix.sum(), np.diag(matrix)
    truth, predicted = matrix.sum(axis=1), matrix.sum(axis=0)
    occurs, appears = truth > 0, truth + predicted > 0
    chance = float(truth @ predicted)
    agreed = float(n * right.sum())
    return {
        "balanced_accuracy": float(np.mean(right[occurs] / truth[occurs])) if n else math.nan,
        "kappa": (agreed - chance) / (n * n - chance) if n * n > chance else math.nan,
        "macro_f1": float(np.mean(2 * right[appears] / (truth + predicted)[appears])) if n else math.nan,
    }
