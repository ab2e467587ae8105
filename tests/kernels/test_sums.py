"""The sums inside the kernels: right for every d, within their arrays, with the bits that were promised."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from olbench import make_algorithm, online_pass
from olbench.kernels.blocked import ROWS_PER_SWEEP, apply_pending, project_rows
from olbench.kernels.covariance import apply_two
from olbench.kernels.matrix import inner, project
from olbench.kernels.rows import dot, dot_row
from olbench.learners.examples import as_examples
from olbench.learners.start import start
from tests.cases import for_each
from tests.examples import noisy

SIZES = [*range(1, 71), 96, 100, 127, 128, 130]
GUARD = -7.25


def guarded(*shape):
    """Return an array and the buffer around it, whose other entries nobody may touch."""
    size = int(np.prod(shape))
    buffer = np.full(size + 64, GUARD)
    return buffer[32 : 32 + size].reshape(shape), buffer


def untouched(buffer):
    return (buffer[:32] == GUARD).all() and (buffer[-32:] == GUARD).all()


def symmetric(rng, d):
    factor = rng.normal(size=(d, d))
    sigma = factor @ factor.T
    return (sigma + sigma.T) / 2


@pytest.mark.parametrize("share", [1.0, 0.4])
def test_sigma_x_is_right_for_every_d(share):
    rng = np.random.default_rng(0)
    for d in SIZES:
        sigma, n = symmetric(rng, d), max(1, int(share * d))
        columns, values = np.sort(rng.permutation(d)[:n]).astype(np.uint32), rng.normal(size=n)
        z, around = guarded(d)
        project(sigma, columns, 0, values, 0, values.size, z)
        exact = sigma[:, columns].astype(np.longdouble) @ values.astype(np.longdouble)
        scale = np.abs(sigma[:, columns]) @ np.abs(values)
        assert (np.abs(z - exact) <= 2.0**-52 * d * scale).all()
        assert untouched(around)


@pytest.mark.parametrize(
    ("apply", "depth", "sizes", "digit"),
    [(apply_two, 2, SIZES, 2.0**-51), (apply_pending, 16, [8, 128, 136], 2.0**-48)],
)
def test_collected_changes_leave_sigma_right_and_symmetric_to_the_bit(apply, depth, sizes, digit):
    rng = np.random.default_rng(1)
    for d in sizes:
        sigma, around = guarded(d, d)
        sigma[:] = symmetric(rng, d)
        pending = rng.normal(size=(depth, d))
        exact = sigma - pending.T.astype(np.longdouble) @ pending.astype(np.longdouble)
        scale = np.abs(sigma) + np.abs(pending).T @ np.abs(pending)
        apply(sigma, pending)
        assert (np.abs(sigma - exact) <= digit * scale).all()
        np.testing.assert_array_equal(sigma, sigma.T)
        assert untouched(around)


@pytest.mark.parametrize("d", [130, 200])
def test_rows_that_share_a_sweep_have_the_bits_of_single_rows(d):
    """Zeros included: a sweep includes them, and a single row skips them."""
    rng = np.random.default_rng(5)
    side = -(-d // 8) * 8
    sigma = np.zeros((side, side))
    sigma[:d, :d] = symmetric(rng, d)
    X = rng.normal(size=(ROWS_PER_SWEEP, d)) * (rng.random((ROWS_PER_SWEEP, d)) < 0.7)
    columns_of_rows = np.zeros((side, ROWS_PER_SWEEP))
    columns_of_rows[:d] = X.T
    together, around = guarded(ROWS_PER_SWEEP, side)
    project_rows(sigma, columns_of_rows, d, together, 0)
    assert untouched(around)
    for x, projection in zip(X, together, strict=True):
        columns, alone = np.flatnonzero(x).astype(np.uint32), np.empty(side)
        project(sigma, columns, 0, x[columns], 0, columns.size, alone)
        np.testing.assert_array_equal(projection, alone)


@for_each("density", [1.0, 0.8])
@for_each("id", ["arow", "scw1"])
def test_looking_ahead_changes_nothing(id, density):
    """Slices of every length see another number of rows ahead, and an unscreened rule guesses all of them."""
    X, y = noisy(n=500, d=131, density=density)
    whole, algorithm = online_pass(id, X, y), make_algorithm(id)
    assert whole.effective_updates > 100
    unscreened = replace(algorithm, definition=replace(algorithm.definition, monotone=False))
    sliced, rows, begin = start(algorithm, 131), as_examples(X).rows(), 0
    for length in [1, 2, 3, 9, 40] * 100:
        sliced.run(rows, y, np.arange(begin, min(begin + length, len(y))))
        begin = min(begin + length, len(y))
    others = [online_pass(unscreened, X, y), online_pass(algorithm, sp.csr_matrix(X), y)]
    for other in (sliced, *(each.learner for each in others)):
        assert (other.mistakes, other.updates) == (whole.mistakes, whole.updates)
        np.testing.assert_array_equal(other.weights, whole.weights)
        np.testing.assert_array_equal(other.covariance, whole.learner.covariance)


def four_lanes(left, right):
    lanes, whole = np.zeros(4), left.size - left.size % 4
    for k, product in enumerate(left * right):
        lanes[k % 4 if k < whole else 0] += product
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])


def test_margins_have_the_same_bits_whether_a_row_is_read_straight_or_gathered():
    rng = np.random.default_rng(2)
    for d in SIZES:
        vector, values, every = rng.normal(size=d), rng.normal(size=d + 3), np.arange(d, dtype=np.uint32)
        expected = four_lanes(vector, values[3:])
        assert inner(vector, values, 3) == dot(vector, every, 0, values, 3, d) == expected
        matrix = np.vstack([values[3:], vector])
        assert dot_row(matrix, 1, every, 0, values, 3, d) == expected
        longer = np.append(vector, 1.0)
        assert dot(longer, every, 0, values, 3, d) == expected
