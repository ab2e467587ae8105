"""Preprocessing that rules follow: fitted on training rows, applied to examples and to advice alike."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from olbench.data.scale import as_dense
from olbench.errors import UserError
from olbench.learners.examples import Floats
from olbench.papers.adviceptron2010.sets import Advice


@dataclass(frozen=True, eq=False)
class Scaling:
    """x = mean + scale x'; `fill` replaces zeros that mean missing, and is NaN where zeros are zeros."""

    mean: Floats
    scale: Floats
    fill: Floats

    def apply(self, X: Any) -> Floats:
        rows = as_dense(X)
        return (_fill(rows, self.fill) - self.mean) / self.scale

    def apply_to_advice(self, advice: Advice) -> Advice:
        """Return the advice for x': it covers the rows of apply(X) that it covered of X, filled in."""
        return advice.transform(self.mean, self.scale)


def fit_scaling(X: Any, missing_zeros: Sequence[int] = (), standardise: bool = True) -> Scaling:
    """A feature that is constant in these rows is only centred; without `standardise` nothing is moved."""
    rows = as_dense(X)
    if not rows.shape[0]:
        raise UserError("there are no rows to fit a scaling on")
    d = rows.shape[1]
    fill = np.full(d, np.nan)
    for column in missing_zeros:
        present = rows[rows[:, column] != 0.0, column]
        fill[column] = np.median(present) if present.size else 0.0
    if not standardise:
        return Scaling(np.zeros(d), np.ones(d), fill)
    filled = _fill(rows, fill)
    deviation = filled.std(axis=0)
    return Scaling(filled.mean(axis=0), np.where(deviation > 0.0, deviation, 1.0), fill)


def _fill(rows: Floats, fill: Floats) -> Floats:
    return np.where((rows == 0.0) & ~np.isnan(fill), fill, rows)
