"""Gaussian clusters in the plane: the synthetic set of adviceptron2010, Figure 1."""

from dataclasses import dataclass

import numpy as np

from olbench.errors import UserError, count
from olbench.learners.examples import Floats


@dataclass(frozen=True)
class Clusters:
    """Two small positive clusters that overlap with a wide one; numbers are read off the paper's figure."""

    rows: int = 1000
    seed: int = 2010

    def __post_init__(self) -> None:
        if self.rows < 4 or self.rows % 4:
            raise UserError(f"{count(self.rows, 'row')} cannot be halved twice; ask for a multiple of four")

    def draw(self) -> tuple[Floats, Floats]:
        random = np.random.default_rng(self.seed)
        quarter = self.rows // 4
        X = np.concatenate(
            [
                np.array([-1.0, 2.0]) + 0.5 * random.standard_normal((quarter, 2)),
                np.array([2.0, 1.0]) + 0.5 * random.standard_normal((quarter, 2)),
                np.array([-0.5, -1.0]) + 1.5 * random.standard_normal((2 * quarter, 2)),
            ]
        )
        y = np.repeat([1.0, -1.0], 2 * quarter)
        order = random.permutation(self.rows)
        return X[order], y[order]
