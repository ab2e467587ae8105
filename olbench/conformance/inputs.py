"""Inputs that separate causes: each lets a few things go wrong and keeps the others out of the way."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import Generator

from olbench.learners.examples import Floats

SEED = 2012


@dataclass(frozen=True, eq=False)
class Input:
    name: str
    purpose: str
    X: Floats
    y: Floats

    @property
    def has_zero_rows(self) -> bool:
        """Whether a row is all zero: many papers' formulas then divide zero by zero."""
        return bool(np.any(~self.X.any(axis=1)))

    def keep(self, rows: list[int] | slice, columns: list[int] | slice = slice(None)) -> "Input":
        return replace(self, X=self.X[rows][:, columns], y=self.y[rows])


def design_inputs() -> list[Input]:
    row, other = np.array([0.6, -0.8, 0.5]), np.array([0.2, 0.9, 0.4])
    again = [row, row, other, row, row, other, row, row]
    orthogonal = np.vstack([np.diag([1.2, 0.7, 2.1]), np.diag([0.4, 1.1, 0.9])])
    whole = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 2.0], [1.0, -1.0]]
    lengths = np.array([0.1, 1.0, 7.0, 0.3, 3.0, 0.1, 0.9])
    directions = np.array([[0.3, 0.4, -0.2], [0.3, 0.4, -0.2], [-0.1, 0.5, 0.7]])
    scaled = lengths[:, None] * directions[np.arange(lengths.size) % 3]
    zeros = [row, row * 0.0, row[::-1], row * 0.0, -0.5 * row, row * 0.0]
    rng = np.random.default_rng(SEED)
    inputs = [
        _type("first step", "one step from the start", [row], "+"),
        _type("first step down", "one step for the other label", [row], "-"),
        _type("repeated row", "a learnt row comes again, also with the other label", again, "---++-+-"),
        _type("orthogonal rows", "rows that share no feature, of different lengths", orthogonal, "-+--+-"),
        _type("whole numbers", "margins that are exactly zero or one", whole, "--++-+"),
        _type("scaled rows", "the same directions at other lengths", scaled, "-+-++-+"),
        _draw(rng, "overlapping classes", "steps and passive rounds in turn", 40, [1.0] * 4, 0.2),
        _draw(rng, "unequal features", "features of different scales", 40, [0.05, 1.0, 6.0], 0.1),
        _draw(rng, "wide margins", "separable classes, most rounds passive", 60, [2.0, 2.0, 1.0], 0.0),
        _draw(rng, "long pass", "what builds up over many rounds", 400, [1.0] * 6, 0.15),
        _type("rows of zeros", "rows that teach nothing", zeros, "-++-+-"),
    ]
    return sorted(inputs, key=lambda given: (given.has_zero_rows, len(given.y)))


def _type(name: str, purpose: str, rows: Any, signs: str) -> Input:
    return Input(name, purpose, np.array(rows), np.array([float(f"{sign}1") for sign in signs]))


def _draw(rng: Generator, name: str, purpose: str, n: int, scales: list[float], noise: float) -> Input:
    scale = np.array(scales)
    X = np.round(rng.normal(size=(n, scale.size)) * scale, 3)
    w = rng.normal(size=scale.size) / scale
    turned = np.where(rng.random(n) < noise, -1.0, 1.0)
    return Input(name, purpose, X, np.where(X @ w >= 0.0, 1.0, -1.0) * turned)


def read_data(name: str, rounds: int = 1000) -> Input:
    """Return a data set in a random order, since files are sorted by class; the first rounds of it."""
    from olbench.data.load import load_dataset

    data = load_dataset(name, download=False)
    order = np.random.default_rng(SEED).permutation(len(data.y))[:rounds]
    X: Any = data.X[order]
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    return Input(data.name, "a data set", X, data.y[order])
