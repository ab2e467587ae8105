"""Duplicates are rows with exactly the same features, whatever their storage."""

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from olbench.data.dataset import duplicate_groups, first_rows

values = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.1, 0.1 + 2**-56, 1e300, 5e-324])
matrices = st.tuples(st.integers(0, 12), st.integers(1, 3)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=values)
)


def brute_force(X):
    return [next(j for j in range(i + 1) if (X[j] == X[i]).all()) for i in range(len(X))]


@settings(deadline=None)
@given(matrices)
def test_a_group_is_the_first_equal_row(X):
    assert duplicate_groups(X).tolist() == brute_force(X)
    assert first_rows(X).tolist() == sorted(set(brute_force(X)))
    for storage in (sp.csr_matrix, sp.csc_matrix, sp.csr_array, np.asfortranarray):
        assert duplicate_groups(storage(X)).tolist() == brute_force(X)


def test_explicit_zeros_and_unsorted_columns_make_no_difference():
    indptr = np.array([0, 2, 5, 7])
    indices = np.array([0, 2, 2, 1, 0, 0, 2])
    X = sp.csr_matrix((np.array([3.0, 4.0, 4.0, 0.0, 3.0, 3.0, 5.0]), indices, indptr), shape=(3, 3))
    assert (duplicate_groups(X).tolist(), X.data.size) == ([0, 0, 2], 7)


def test_values_and_columns_cannot_be_confused():
    """A row whose value has the bits of another row's column is not its duplicate."""
    odd = np.array([3], dtype=np.int64).view(np.float64)[0]
    X = sp.csr_matrix(([1.0, odd], ([0, 1], [3, 1])), shape=(2, 4))
    assert duplicate_groups(X).tolist() == [0, 1]
