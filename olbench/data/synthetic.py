"""Examples generated from a seed: the synthetic data sets of cw2008, scw2012 and adviceptron2010."""

from dataclasses import dataclass

import numpy as np

from olbench.errors import UserError, count
from olbench.learners.examples import Floats


@dataclass(frozen=True)
class RotatedGaussian:
    """The data of cw2008, section 5, as scw2012 uses it; parameters replace what the papers leave open.

    Two coordinates come from a Gaussian with standard deviations `long_axis` along one diagonal of the plane
    and `short_axis` along the other; the remaining coordinates come from N(0, 2). The label is the side of
    the long axis on which the two coordinates lie. The set is linearly separable, unless exactly a share
    `flips` of the labels is flipped.
    """

    rows: int = 5000
    features: int = 20
    long_axis: float = 1.0
    short_axis: float = 0.3
    #: Standard deviation of the other coordinates; the 2 in cw2008's N(0, 2) may be a variance or a
    #: deviation.
    other_deviation: float = 2.0
    flips: float = 0.0
    seed: int = 2012

    def __post_init__(self) -> None:
        if self.rows < 1 or self.features < 2:
            raise UserError(
                f"cannot generate {count(self.rows, 'row')} with {count(self.features, 'feature')}; the "
                "minimum is 1 row and 2 features"
            )
        if not 0 <= self.flips < 1:
            raise UserError(f"flips is a share and must be in [0, 1), not {self.flips}")
        for name in ("long_axis", "short_axis", "other_deviation"):
            if not 0 < getattr(self, name) < np.inf:
                raise UserError(f"{name} must be a positive number, not {getattr(self, name)}")

    def draw(self, run: int = 0) -> tuple[Floats, Floats]:
        """Return X and y of the sample of a run, which depends only on the seed and the run's number."""
        if run < 0:
            raise UserError(f"runs are numbered from 0, so there is no run {run}")
        random = np.random.default_rng([self.seed, run])
        along = self.long_axis * random.standard_normal(self.rows)
        across = self.short_axis * random.standard_normal(self.rows)
        X = np.empty((self.rows, self.features))
        # A rotation by 45 degrees, written out because a matrix product may round differently on other
        # machines.
        X[:, 0] = (along - across) * np.sqrt(0.5)
        X[:, 1] = (along + across) * np.sqrt(0.5)
        X[:, 2:] = self.other_deviation * random.standard_normal((self.rows, self.features - 2))
        y = np.where(across > 0, 1.0, -1.0)
        flipped_rows = random.permutation(self.rows)[: round(self.flips * self.rows)]
        y[flipped_rows] *= -1.0
        return X, y


@dataclass(frozen=True)
class Clusters:
    """Two small positive clusters overlap with a wide one; read off adviceptron2010, Figure 1."""

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
