"""The sums inside the kernels: right for every d, within their arrays, with the bits that were promised."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from olbench import make_algorithm, online_pass
from olbench.kernels.blocked import ROWS_PER_SWEEP, apply_pending, project_rows
from olbench.kernels.counters import LINE
from olbench.kernels.covariance import apply_two, gathered_variance
from olbench.kernels.exact import solve_linear
from olbench.kernels.matrix import inner, project
from olbench.kernels.rows import dot, dot_row
from olbench.learners.examples import as_examples
from olbench.learners.start import start
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


def sparse_row(rng, d, n):
    return np.sort(rng.permutation(d)[:n]).astype(np.uint32), rng.normal(size=n)


@pytest.mark.parametrize("share", [1.0, 0.4])
def test_sigma_x_is_right_for_every_d(share):
    rng = np.random.default_rng(0)
    for d in SIZES:
        sigma, (columns, values) = symmetric(rng, d), sparse_row(rng, d, max(1, int(share * d)))
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


@pytest.mark.parametrize("density", [1.0, 0.8])
@pytest.mark.parametrize("id", ["arow", "scw1"])
def test_looking_ahead_changes_nothing(id, density):
    """Slices of every length see another number of rows ahead, and an unscreened rule guesses all of them."""
    X, y = noisy(n=500, d=131, density=density)
    whole = online_pass(make_algorithm(id), X, y)
    assert whole.effective_updates > 100
    algorithm = make_algorithm(id)
    unscreened = replace(algorithm, definition=replace(algorithm.definition, monotone=False))
    sliced = start(algorithm, 131)
    begin, rows = 0, as_examples(X).rows()
    for length in [1, 2, 3, 9, 40] * 100:
        sliced.run(rows, y, np.arange(begin, min(begin + length, len(y))))
        begin = min(begin + length, len(y))
    others = [
        sliced,
        online_pass(unscreened, X, y).learner,
        online_pass(algorithm, sp.csr_matrix(X), y).learner,
    ]
    for other in others:
        assert (other.mistakes, other.updates) == (whole.mistakes, whole.updates)
        np.testing.assert_array_equal(other.weights, whole.weights)
        np.testing.assert_array_equal(other.covariance, whole.learner.covariance)


def four_lanes(left, right):
    lanes = np.zeros(4)
    whole = left.size - left.size % 4
    for k in range(0, whole, 4):
        lanes += left[k : k + 4] * right[k : k + 4]
    for k in range(whole, left.size):
        lanes[0] += left[k] * right[k]
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])


@pytest.mark.parametrize("d", [128, 133, 256])
def test_longer_rows_of_sigma_change_no_bit(d):
    X, y = noisy(d + 150, d, seed=21)
    examples, passes = as_examples(X), []
    for is_compact in (False, True):
        learner = start(make_algorithm("scw1"), d)
        # An odd number of lines from row to row: a power of two would let the rows of a column collide.
        assert learner.base.shape[1] // LINE % 2 == 1
        if is_compact:
            side = learner.base.shape[0]
            learner.base = np.ascontiguousarray(learner.base[:, :side])
            learner.pending = np.ascontiguousarray(learner.pending[:, :side])
        learner.run(examples.rows(), y, np.arange(y.size))
        assert learner.covariance.shape == (d, d)
        # What lies beyond the features stays zero.
        assert not learner.base[:, d:].any()
        assert not learner.pending[:, d:].any()
        passes.append(learner)
    spread, compact = passes
    np.testing.assert_array_equal(spread.counters, compact.counters)
    np.testing.assert_array_equal(spread.weights, compact.weights)
    np.testing.assert_array_equal(spread.covariance, compact.covariance)


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


@pytest.mark.parametrize("id", ["scw1", "scw2"])
def test_screening_along_the_mean_changes_nothing(id):
    """On features that are alike the axis is in use, and saves work only."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(4000, 20))
    y = np.where(X @ rng.normal(size=20) + rng.normal(size=4000) >= 0, 1.0, -1.0)
    algorithm = make_algorithm(id)
    plain = replace(algorithm, definition=replace(algorithm.definition, monotone=False))
    screened, unscreened = online_pass(algorithm, X, y), online_pass(plain, X, y)
    assert screened.learner.bound[1] < np.inf
    assert (screened.mistakes, screened.updates) == (unscreened.mistakes, unscreened.updates)
    np.testing.assert_array_equal(screened.weights, unscreened.weights)


def test_the_gathered_variance_is_that_of_sigma():
    """Rows with few entries read only the entries of Sigma that they touch, on and below the diagonal."""
    rng = np.random.default_rng(2)
    for d in SIZES:
        sigma, (columns, values) = symmetric(rng, d), sparse_row(rng, d, max(1, d // 3))
        touched = sigma[np.ix_(columns, columns)].astype(np.longdouble)
        exact = values @ touched @ values
        scale = np.abs(values) @ np.abs(touched) @ np.abs(values)
        assert abs(gathered_variance(sigma, columns, 0, values, 0, values.size) - exact) <= 1e-14 * scale


def test_the_line_of_an_exact_step_is_solved_whatever_its_signs():
    """s (R + slope (g - g_now)) = A with s = r + g, in s for r < 0 and in g otherwise."""
    rng = np.random.default_rng(4)
    signs = set()
    for _ in range(500):
        r, A, x, R, slope = rng.normal() * 2, *(rng.random(4) * 3 + 0.01)
        found = solve_linear(r, A, x, R, slope)
        s = found if r < 0 else r + found
        if r < 0 or found > 0:
            assert s * (R + slope * (found - x)) == pytest.approx(A, rel=1e-9)
        signs.add((r < 0, R - slope * x + (slope * r if r >= 0 else 0) > 0))
    assert len(signs) == 4
