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


def hinge_losses(labels: Floats, margins: Floats) -> Floats:
    return np.asarray(np.maximum(0.0, 1.0 - labels * margins))


def squared_losses(labels: Floats, margins: Floats) -> Floats:
    with np.errstate(over="ignore"):
        return np.square(labels - margins)


def log_losses(labels: Floats, probabilities: Floats) -> Floats:
    """Return the log losses; as in scikit-learn, probabilities are clipped a rounding error from 0 and 1."""
    tiny = np.finfo(np.float64).eps
    clipped = np.clip(probabilities, tiny, 1.0 - tiny)
    return -np.log(np.where(labels > 0, clipped, 1.0 - clipped))


LOSSES: Mapping[str, Callable[[Floats, Floats], Floats]] = {
    "hinge_loss": hinge_losses,
    "squared_loss": squared_losses,
    "log_loss": log_losses,
}


def _mean(values: Floats) -> float:
    """Return a mean that is rounded once, so that all machines agree; NaN if it is not finite."""
    if not values.size or not np.isfinite(values).all():
        return math.nan
    return math.fsum(values) / values.size


def of_margins(name: str, labels: Floats, margins: Floats) -> float:
    """Return a measure of margins or, of the log loss, of probabilities."""
    return auc(labels, margins) if name == "auc" else _mean(LOSSES[name](labels, margins))


#: The measures that need the margin of every prediction.
FROM_MARGINS = ("auc", *LOSSES)


def influence(name: str, labels: Floats, margins: Floats) -> Floats:
    """Return how much each row moves a measure of margins, NaN if that is undefined; their mean is zero.

    A row with the weight (1 + e) / n in place of 1 / n adds e / n times that to the measure, in first order.
    """
    if name != "auc":
        losses = LOSSES[name](labels, margins)
        with np.errstate(invalid="ignore", over="ignore"):
            return np.asarray(losses - losses.mean())
    order = np.argsort(margins)
    ranked, positive, moved = margins[order], labels[order] > 0, np.full(margins.size, math.nan)
    if positive.all() or not positive.any():
        return moved
    # Ties count half (DeLong et al., 1988); NaN is above all, as in `auc`.
    ends = np.append(np.flatnonzero((ranked[1:] != ranked[:-1]) & ~np.isnan(ranked[:-1])) + 1, ranked.size)
    sizes = np.diff(ends, prepend=0)
    for own in (positive, ~positive):
        others = np.append(0, np.cumsum(~own))
        below = np.repeat((others[ends] + others[ends - sizes]) / 2, sizes)[own] / others[-1]
        placement = below if own is positive else 1.0 - below
        moved[order[own]] = (placement - placement.mean()) / own.mean()
    return moved


def class_influence(name: str, sizes: NDArray[np.int64], missed: NDArray[np.int64]) -> Floats:
    """Return the sums, by group, of how much rows move a measure of several classes.

    `sizes` has the rows of each group and class, `missed` the mistakes of each group by true class, then by
    predicted class. All measures of `of_matrix` depend on these sums only.
    """
    classes = sizes.shape[1]
    right = sizes - missed[:, :classes]
    groups = np.stack([right, sizes, right + missed[:, classes:]]).astype(np.float64)
    hits, truth, predicted = totals = groups.sum(axis=1)
    n, agreed = float(truth.sum()), float(hits.sum())
    slopes = np.zeros(totals.shape)
    if name == "balanced_accuracy":
        occurs = truth > 0
        slopes[0, occurs] = 1 / (truth[occurs] * occurs.sum())
        slopes[1, occurs] = -hits[occurs] / (truth[occurs] ** 2 * occurs.sum())
    elif name == "macro_f1":
        both = truth + predicted
        appears = both > 0
        slopes[0, appears] = 2 / (both[appears] * appears.sum())
        slopes[1:, appears] = -2 * hits[appears] / (both[appears] ** 2 * appears.sum())
    else:
        chance = truth @ predicted
        free = n * n - chance or math.nan
        # kappa = (n agreed - chance) / (n^2 - chance)
        by_chance = (n * agreed - n * n) / free**2
        slopes[0] = n / free
        slopes[1] = by_chance * predicted + (agreed * free - (n * agreed - chance) * 2 * n) / free**2
        slopes[2] = by_chance * truth
    # None depends on n alone, so the derivative by the weights of all rows together is zero.
    return np.asarray(n * np.einsum("kgc,kc->g", groups, slopes))


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
