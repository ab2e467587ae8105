"""Named preprocessing steps; the catalogue lists those of each data set."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from olbench.data.dataset import first_rows
from olbench.errors import UserError
from olbench.learners.examples import Floats


def divide_by_255(X: Any) -> Any:
    return X / 255.0


def unit_range(X: Any) -> Floats:
    """Scale each feature to [0, 1]: its smallest value becomes 0, its largest 1; a constant becomes 0."""
    dense = as_dense(X)
    low = dense.min(axis=0)
    span = dense.max(axis=0) - low
    scaled: Floats = (dense - low) / np.where(span > 0, span, 1.0)
    return scaled


def normgrey(X: Any) -> Floats:
    """Subtract each image's least-squares plane and equalise its histogram (Sung and Poggio 1998)."""
    images = as_dense(X)
    side = round(images.shape[1] ** 0.5)
    if side * side != images.shape[1]:
        raise UserError(f"normgrey needs square images, but there are {images.shape[1]} pixels")
    from scipy.stats import rankdata

    # Rounding gives pixels that differ only by rounding errors of the plane the same rank on every machine.
    ranks = rankdata(np.round(images - _fit_planes(images, side), 6), axis=1)
    return np.asarray((ranks - 1.0) / (images.shape[1] - 1), dtype=np.float64)


def _fit_planes(images: Floats, side: int) -> Floats:
    """Return the least-squares plane of each image; centred coordinates make the slopes independent."""
    steps = np.arange(side) - (side - 1) / 2
    down, across = (grid.ravel() for grid in np.meshgrid(steps, steps, indexing="ij"))
    scale = (down**2).sum()
    slopes = [((images * axis).sum(axis=1) / scale)[:, None] * axis for axis in (down, across)]
    planes: Floats = images.mean(axis=1, keepdims=True) + slopes[0] + slopes[1]
    return planes


def pixel_products(X: Any) -> Floats:
    """Append the product of every pair of different features to the features, as cw2012, section 7.6, does.

    The pairs (i, j) with i < j follow in lexicographic order: d features become d + d (d - 1) / 2.
    """
    pixels = as_dense(X)
    n, d = pixels.shape
    extended = np.empty((n, d + d * (d - 1) // 2))
    extended[:, :d] = pixels
    begin = d
    for i in range(d - 1):
        end = begin + d - 1 - i
        np.multiply(pixels[:, i : i + 1], pixels[:, i + 1 :], out=extended[:, begin:end])
        begin = end
    return extended


def as_dense(X: Any) -> Floats:
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


STEPS: dict[str, Callable[[Any], Any]] = {
    "divide-by-255": divide_by_255,
    "unit-range": unit_range,
    "normgrey": normgrey,
    "pixel-products": pixel_products,
}

WIDENING_STEPS = frozenset({"pixel-products"})

#: Steps that remove rows: each returns the numbers of the rows to keep.
ROW_STEPS: dict[str, Callable[[Any], Any]] = {"drop-duplicates": first_rows}
