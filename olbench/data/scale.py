"""Scaling, the bias feature, and the preprocessing steps of the catalogue."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from olbench.data.cache import Draft
from olbench.data.dataset import VALUES_AT_ONCE, About, choose_storage, row_blocks
from olbench.data.spec import FITTED_SCALES, RUNNING, TRAINING_ROWS, Reading
from olbench.errors import UserError
from olbench.learners.examples import Floats
from olbench.memory import memory_limit, show_size

ARRAYS = 5
#: Squared deviations below this lose digits.
SMALLEST_SQUARE = 1e-280


def as_dense(X: Any) -> Floats:
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


def fit_scale(X: Any, scale: str) -> tuple[Floats, Floats]:
    """Return the shift and the factor of each feature: to [0, 1] (minmax), or to mean 0 and deviation 1.

    A constant feature becomes 0. The standard deviation has n in the denominator.

    >>> shift, factor = fit_scale(np.array([[1.0, 5.0], [3.0, 5.0]]), "minmax")
    >>> ((np.array([2.0, 5.0]) - shift) * factor).tolist()
    [0.5, 0.0]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if scale == "minmax":
            d = X.shape[1]
            _refuse_size(ARRAYS * 8 * d, f"scaling {d:,} features takes", "give features smaller numbers")
            shift, high = _find_range(X)
            factor = _invert(high - shift)
        else:
            _refuse_large(X)
            shift, factor = _fit_standard(X)
    bad = ~(np.isfinite(shift) & np.isfinite(factor) & (factor > 0))
    if bad.any():
        _refuse_values(int(np.argmax(bad)), scale)
    return shift, factor


def _apply_scale(X: Any, shift: Floats, factor: Floats) -> Any:
    if sp.issparse(X) and not shift.any():
        return sp.csr_matrix(X @ sp.diags_array(factor))
    scaled = as_dense(X) - shift
    scaled *= factor
    return scaled


def _refuse_values(feature: int, scale: str) -> NoReturn:
    raise UserError(
        f"feature {feature + 1} has values too large or too small to scale by {scale}; change its unit"
    )


def _find_range(X: Any) -> tuple[Floats, Floats]:
    low, high = np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf)
    for block in row_blocks(X):
        np.minimum(low, as_dense(block.min(axis=0)).ravel(), out=low)
        np.maximum(high, as_dense(block.max(axis=0)).ravel(), out=high)
    return low, high


def _fit_standard(X: Any) -> tuple[Floats, Floats]:
    n, (low, high) = X.shape[0], _find_range(X)
    power = _find_power(np.maximum(abs(low), abs(high)))
    means = _sum_rows(X, lambda rows: rows * power) / n
    squares = _sum_rows(X, lambda rows: (rows * power - means) ** 2)
    deviations = np.where(low == high, 0.0, np.sqrt(squares / n))
    # The mean of a constant may be rounded.
    return np.where(low == high, low, means / power), power * _invert(deviations)


def _sum_rows(X: Any, change: Callable[[Floats], Floats]) -> Floats:
    """Add changed rows one after the other, as NumPy does if there are several columns."""
    if X.shape[1] == 1:
        return change(as_dense(X)).sum(axis=0)  # type: ignore[no-any-return]
    total = np.zeros((1, X.shape[1]))
    for rows in row_blocks(X, X.shape[0] * X.shape[1]):
        total = np.vstack([total, change(as_dense(rows))]).sum(axis=0, keepdims=True)
    return np.asarray(total[0])


def _invert(spread: Floats) -> Floats:
    inverse: Floats = 1.0 / np.where(spread > 0, spread, 1.0)
    return inverse


def _refuse_large(X: Any) -> None:
    if sp.issparse(X):
        n, d = X.shape
        what = f"scaled this way, sparse data becomes dense: {n:,} x {d:,} numbers take"
        _refuse_size(8 * n * d, what, "use unit")


def _refuse_size(size: int, what: str, remedy: str) -> None:
    if size > (limit := memory_limit()):
        raise UserError(
            f"{what} {show_size(size)}, more than the {show_size(limit)} of memory that may be used; {remedy}"
        )


def scale_rows(X: Any) -> Any:
    """Return rows of Euclidean length 1; a row of zeros does not change.

    >>> scale_rows(np.array([[3e-200, 4e-200], [3e200, 4e200], [0.0, 0.0]])).round(9).tolist()
    [[0.6, 0.8], [0.6, 0.8], [0.0, 0.0]]
    """
    X = _change_rows(np.multiply, X, _find_power(as_dense(abs(X).max(axis=1)).ravel()))
    if sp.issparse(X):  # the sum of a sparse matrix would allocate an array as long as its rows are wide
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        squares = np.bincount(rows, X.data**2, minlength=X.shape[0])
    else:
        squares = (X * X).sum(axis=1)
    return _change_rows(np.divide, X, np.sqrt(np.where(squares > 0, squares, 1.0)))


def _find_power(largest: Floats) -> Floats:
    """Return the powers of two that bring these values near 1: no digit changes, and squares are finite."""
    return np.ldexp(1.0, np.minimum(-np.frexp(largest)[1], 1000))


def _change_rows(change: np.ufunc, X: Any, numbers: Floats) -> Any:
    if not sp.issparse(X):
        return change(X, numbers[:, None])
    scaled = sp.csr_matrix(X, copy=True)
    change(scaled.data, np.repeat(numbers, np.diff(scaled.indptr)), out=scaled.data)
    return scaled


def scale_running(X: Any) -> Floats:
    """Scale each row by the mean and the standard deviation of all rows up to it, itself included.

    >>> scale_running(np.array([[3.0, 1.0], [5.0, 1.0], [7.0, 4.0]])).round(4).tolist()
    [[0.0, 0.0], [1.0, 0.0], [1.2247, 1.4142]]
    """
    _refuse_large(X)
    scaled = np.array(as_dense(X), dtype=np.float64)
    counts = np.arange(1.0, len(scaled) + 1)[:, None]
    step = max(1, VALUES_AT_ONCE // len(scaled))
    for begin in range(0, scaled.shape[1], step):
        block = scaled[:, begin : begin + step]
        with np.errstate(over="ignore", invalid="ignore"):
            values = block - block[0]  # the sums of smaller numbers are more precise
            means = np.cumsum(values, axis=0) / counts
            before = np.vstack([np.zeros((1, values.shape[1])), means[:-1]])
            squares = np.cumsum((values - before) * (values - means), axis=0)
            bad = ~np.isfinite(squares) | ((squares < SMALLEST_SQUARE) & (values != 0))
            if bad.any():
                _refuse_values(begin + int(np.argmax(bad.any(axis=0))), RUNNING)
            block[:] = (values - means) * _invert(np.sqrt(squares / counts)) * (squares > 0)
    return scaled


def fit_steps(X: Any, scale: str, bias: bool, fitted_on: Any = None) -> Callable[[Any], Any]:
    """Return what scales X and adds the bias, or does so to a block of its rows (not with `running`).

    minmax and standard are fitted to the rows `fitted_on`, by default to all.
    """
    change = {"unit": scale_rows, RUNNING: scale_running}.get(scale, lambda rows: rows)
    if scale in FITTED_SCALES:
        shift, factor = fit_scale(X if fitted_on is None else X[fitted_on], scale)
        if shift.any():
            _refuse_large(X)
        change = partial(_apply_scale, shift=shift, factor=factor)
    return (lambda rows: _add_bias(change(rows))) if bias else change


def scale_features(X: Any, scale: str, bias: bool, fitted_on: Any = None) -> Any:
    return fit_steps(X, scale, bias, fitted_on)(X)


def _add_bias(X: Any) -> Any:
    ones = np.ones((X.shape[0], 1))
    return sp.hstack([X, ones], format="csr") if sp.issparse(X) else np.hstack([X, ones])


def scale_as_read(
    X: Any, about: About, reading: Reading, where: str, draft: Draft | None = None
) -> tuple[Any, About]:
    """Scale X in memory or, if its arrays are those of a draft, block by block."""
    steps = describe_scaling(reading.scale, reading.bias, reading.fitted)
    try:
        change = fit_steps(X, reading.scale, reading.bias)
        if draft is None:
            X = choose_storage(change(X))
        elif steps:
            X = draft.change_rows(lambda: map(change, row_blocks(X)))
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
    names = (*about.features, "bias") if reading.bias and about.features else about.features
    return X, replace(about, features=names, steps=(*about.steps, *steps))


def describe_scaling(scale: str, bias: bool, fitted: str) -> list[str]:
    rows = "the training rows of each trial" if fitted == TRAINING_ROWS else "all rows, whatever their order"
    words = {
        "unit": "every row scaled to length 1",
        "minmax": f"every feature scaled to [0, 1] by {rows}",
        "standard": f"every feature scaled to mean 0 and standard deviation 1 by {rows}",
        RUNNING: "every feature scaled by the mean and standard deviation of the rows so far, in their order",
    }
    steps = [words[scale]] if scale else []
    return [*steps, "a feature that is always 1 added"] if bias else steps


def unit_range(X: Any) -> Floats:
    """Scale each feature to [0, 1]; a constant becomes 0."""
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

    # Pixels that differ only by rounding errors of the plane get the same rank on every machine.
    ranks = rankdata(np.round(images - _fit_planes(images, side), 6), axis=1)
    return np.asarray((ranks - 1.0) / (images.shape[1] - 1), dtype=np.float64)


def _fit_planes(images: Floats, side: int) -> Floats:
    """Return the least-squares plane of each image."""
    steps = np.arange(side) - (side - 1) / 2  # centred, so that the slopes are independent
    down, across = (grid.ravel() for grid in np.meshgrid(steps, steps, indexing="ij"))
    scale = (down**2).sum()
    slopes = [((images * axis).sum(axis=1) / scale)[:, None] * axis for axis in (down, across)]
    planes: Floats = images.mean(axis=1, keepdims=True) + slopes[0] + slopes[1]
    return planes


def pixel_products(X: Any) -> Floats:
    """Append the products of all pairs of features, in lexicographic order (cw2012, section 7.6)."""
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


STEPS: dict[str, Callable[[Any], Any]] = {
    "divide-by-255": lambda X: X / 255.0,
    "unit-range": unit_range,
    "normgrey": normgrey,
    "pixel-products": pixel_products,
}
