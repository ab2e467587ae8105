"""Advice as the learners take it: sets of inequalities D x <= d that imply a sign z; its scaling."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from olbench.data.scale import as_dense
from olbench.errors import UserError
from olbench.learners.examples import Floats

#: Rows that miss an inequality by at most this share of its terms count as inside.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class AdviceSet:
    """One rule: every x with D x <= d has the sign z (adviceptron2010, eq. 1).

    `dropped` lists conditions on features that are not in the data; the first `written` rows are the rule's.
    """

    D: Floats
    d: Floats
    z: int
    text: str = ""
    place: str = ""
    source: str = ""
    written: int = -1
    dropped: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("D", "d"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.float64))
        if self.written < 0:
            object.__setattr__(self, "written", self.d.size)

    def covers(self, X: Any) -> Any:
        """Return a mask of the rows of X that satisfy every inequality, up to rounding.

        >>> AdviceSet([[-1.0, 0.0]], [-30.0], 1).covers(np.array([[30.0, 5.0], [29.0, 5.0]])).tolist()
        [True, False]
        """
        products = np.asarray(X @ self.D.T)
        sizes = np.asarray(abs(X) @ np.abs(self.D).T) + np.abs(self.d)
        return (products <= self.d + ROUNDING * sizes).all(axis=1)


@dataclass(frozen=True, eq=False)
class Advice:
    """Sets over the same n features; `constant` is the column of a feature that is one in every example."""

    sets: tuple[AdviceSet, ...]
    n: int
    constant: int | None = None

    def __len__(self) -> int:
        return len(self.sets)

    def __iter__(self) -> Iterator[AdviceSet]:
        return iter(self.sets)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Advice) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of every D, d and z: all that a learner uses."""
        digest = hashlib.sha256(str((self.n, self.constant)).encode())
        for each in self.sets:
            digest.update(str((each.D.shape, each.z)).encode())
            digest.update((each.D + 0.0).tobytes())
            digest.update((each.d + 0.0).tobytes())
        return digest.hexdigest()[:32]

    @cached_property
    def positive(self) -> "Advice":
        """The sets whose sign is +1; cached, since learners keep what they prepare from it."""
        return replace(self, sets=tuple(each for each in self.sets if each.z > 0))

    def transform(self, mean: Floats, scale: Floats) -> "Advice":
        """Return the advice for x' with x = mean + scale x': (D scale, d - D mean)."""
        sets = tuple(replace(each, D=each.D * scale, d=each.d - each.D @ mean) for each in self.sets)
        return replace(self, sets=sets)

    def with_constant(self) -> "Advice":
        """Return the advice for examples with one more feature, which every set then says is one."""
        if self.constant is not None:
            return self
        wider = tuple(replace(each, D=np.pad(each.D, ((0, 0), (0, 1)))) for each in self.sets)
        return Advice(wider, self.n + 1, constant=self.n)._bound([self.n], 1.0, 1.0)

    def with_domain(self, binary: frozenset[int] | None) -> "Advice":
        """Return the advice with 0 <= x_j <= 1 in every set, for the columns j that hold only 0 and 1."""
        return self._bound(sorted(binary or ()), 0.0, 1.0)

    def _bound(self, columns: list[int], low: float, high: float) -> "Advice":
        upper = np.eye(self.n)[columns]
        rows, bounds = np.vstack([upper, -upper]), np.repeat([high, 0.0 - low], len(columns))
        sets = tuple(
            replace(each, D=np.vstack([each.D, rows]), d=np.append(each.d, bounds)) for each in self.sets
        )
        return replace(self, sets=sets)


def is_empty(D: Floats, d: Floats) -> bool:
    """Return whether no x satisfies D x <= d.

    >>> is_empty(np.array([[1.0], [-1.0]]), np.array([10.0, -18.5]))
    True
    """
    from scipy.optimize import linprog

    # Rows of one size keep the solver's absolute tolerance meaningful for bounds in any unit.
    sizes = np.maximum(np.abs(D).max(axis=1, initial=0.0), 1e-300)
    outcome = linprog(
        np.zeros(D.shape[1]), A_ub=D / sizes[:, None], b_ub=d / sizes, bounds=(None, None), method="highs"
    )
    if outcome.status not in (0, 2):
        raise UserError(f"the linear program on a rule could not be solved: {outcome.message}")
    return bool(outcome.status == 2)


def conflicts(advice: Advice) -> list[tuple[int, int]]:
    return [
        (i, j)
        for i, left in enumerate(advice)
        for j, right in enumerate(advice)
        if i < j and left.z != right.z
        if not is_empty(np.vstack([left.D, right.D]), np.append(left.d, right.d))
    ]


def unsatisfiable(advice: Advice) -> list[int]:
    """Return the sets that contain the origin: there d >= 0, so -d'u <= 0 < 1 for every u >= 0."""
    return [i for i, each in enumerate(advice) if (each.d >= 0.0).all()]


@dataclass(frozen=True, eq=False)
class Scaling:
    """x = mean + scale x'; `fill` replaces zeros that mean missing, and is NaN where zeros are zeros."""

    mean: Floats
    scale: Floats
    fill: Floats

    def apply(self, X: Any) -> Floats:
        return (_fill(as_dense(X), self.fill) - self.mean) / self.scale


def fit_scaling(X: Any, missing_zeros: Sequence[int] = (), standardise: bool = True) -> Scaling:
    """Fit z-scores, or none; a feature that is constant in these rows is only centred."""
    rows = as_dense(X)
    fill = np.full(rows.shape[1], np.nan)
    for column in missing_zeros:
        present = rows[rows[:, column] != 0.0, column]
        fill[column] = np.median(present) if present.size else 0.0
    if not standardise:
        return Scaling(np.zeros(fill.size), np.ones(fill.size), fill)
    filled = _fill(rows, fill)
    deviation = filled.std(axis=0)
    return Scaling(filled.mean(axis=0), np.where(deviation > 0.0, deviation, 1.0), fill)


def _fill(rows: Floats, fill: Floats) -> Floats:
    return np.where((rows == 0.0) & ~np.isnan(fill), fill, rows)
