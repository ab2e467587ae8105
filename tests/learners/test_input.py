"""Wrong input is refused in one sentence; unusual input is taken."""

import numpy as np
import pytest
import scipy.sparse as sp

from olbench import UserError, make_algorithm, online_pass, wrap
from olbench.memory import available_memory
from tests.cases import for_each
from tests.refusals import refusal

X = np.array([[1.0, 0.0], [0.5, 2.0], [0.0, -1.0]])
Y = np.array([1.0, -1.0, 1.0])


def run(X=X, y=Y, **options):
    return online_pass(make_algorithm("arow"), X, y, **options)


def with_value(value, storage=np.array):
    bad = storage(X)
    (bad.data if sp.issparse(bad) else bad.ravel())[2 if sp.issparse(bad) else 3] = value
    return bad


OTHER_LABELS = (
    "y must hold only -1 and +1, but it has 1 other label, such as {}; load_dataset and the estimators map "
    "other labels, and labels='all' takes any number of classes"
)
NOT_FINITE = "X holds {} at row 1, column 1; every value must be finite (no NaN, no infinity)"
REFUSED = [
    *[
        ({"X": with_value(value, storage)}, NOT_FINITE.format(value))
        for value in (np.nan, np.inf, -np.inf)
        for storage in (np.array, sp.csr_matrix)
    ],
    ({"y": [0, 1, 1]}, OTHER_LABELS.format(0)),
    ({"y": [1, np.nan, 1]}, OTHER_LABELS.format("nan")),
    ({"y": ["a", "b", "c"]}, "y must hold the labels -1 and +1 as numbers"),
    ({"y": [[1], [-1], [1]]}, "y must have one dimension, not 2"),
    ({"y": [1, -1]}, "X has 3 rows but y has 2 labels"),
    ({"X": np.zeros(3)}, "X must have two dimensions, not 1"),
    ({"X": np.array([[1j]])}, "X must be a matrix of real numbers"),
    ({"X": [["a", "b"]]}, "X must be a matrix of numbers (could not convert string to float: 'a')"),
    ({"order": [0, 3]}, "order names row 3, but the rows are 0 to 2"),
    ({"order": [-1]}, "order names row -1, but the rows are 0 to 2"),
    ({"order": [0.5]}, "order must be a list of row numbers"),
    ({"order": [[0, 1]]}, "order must be a list of row numbers"),
    ({"X": np.empty((0, 4)), "y": [], "order": [0]}, "order names row 0, but there are no rows"),
]


@for_each(("given", "sentence"), REFUSED)
def test_a_wrong_matrix_label_or_order_is_refused_in_one_sentence(given, sentence):
    assert refusal(run, **given) == sentence


@pytest.mark.parametrize("column", [-1, 2, 50_000_000])
def test_a_sparse_matrix_with_a_column_that_does_not_exist_is_refused(column):
    bad = sp.csr_matrix((np.ones(2), [0, 1], [0, 1, 2]), shape=(2, 2))
    bad.indices[1] = column
    assert "X is not a valid sparse matrix" in refusal(run, bad, [1, -1])


def test_a_sparse_matrix_may_have_its_entries_in_any_order():
    messy = sp.csr_matrix(([1.0, 2.0, 0.0, 3.0, 4.0], [2, 0, 1, 1, 1], [0, 3, 5]), shape=(2, 3))
    tidy = np.array([[2.0, 0.0, 1.0], [0.0, 7.0, 0.0]])
    np.testing.assert_array_equal(run(messy, [1, -1]).weights, run(tidy, [1, -1]).weights)
    assert messy.nnz == 5


@pytest.mark.parametrize("like", [np.asfortranarray, lambda X: X.astype(np.float32), lambda X: X[::-1][::-1]])
def test_any_layout_and_type_is_taken(like):
    np.testing.assert_array_equal(run(like(X)).weights, run().weights)


@for_each(("id", "params", "message"), [
        ("arrow", {}, "unknown algorithm 'arrow' (did you mean 'arow'?); `olbench algorithms` "
                      "lists all of them"),
        ("arow", {"R": 1.0}, "arow: unknown parameter 'R' (did you mean 'r'?); its parameters are r"),
        ("pa", {"C": 1.0}, "pa: unknown parameter 'C'; it has no parameters"),
        ("arow", {"r": 0.0}, "arow: r must lie in (0, inf), not 0.0"),
        ("arow", {"r": np.inf}, "arow: r must lie in (0, inf), not inf"),
        ("arow", {"r": float("nan")}, "arow: r must lie in (0, inf), not nan"),
        ("arow", {"r": "1"}, "arow: r must be a number in (0, inf), not '1'"),
        ("arow", {"r": True}, "arow: r must be a number in (0, inf), not True"),
        ("cw", {"eta": 0.49}, "cw: eta must lie in [0.5, 1), not 0.49"),
        ("cw", {"eta": 1.0}, "cw: eta must lie in [0.5, 1), not 1.0"),
        ("cw", {"eta": 0.9, "phi": 1.0}, "cw: give eta or phi, not both"),
        ("cw-var", {"phi": -1.0}, "cw-var: phi must lie in [0, inf), not -1.0"),
        ("cw", {"projection": "l1"}, "cw: projection must be one of kl, l2, exact, not 'l1'"),
        ("ogd", {"loss": "huber"}, "ogd: loss must be one of hinge, logistic, squared, zero-one, "
                                   "not 'huber'"),
        ("arow", {"covariance": "band"}, "arow: covariance must be one of full, diag, block, shared, "
                                         "not 'band'"),
        ("arow", {"projection": "l1"}, "arow: projection must be one of kl, l2, exact, not 'l1'"),
        ("arow", {"form": "cholesky"}, "arow: form must be one of covariance, root, not 'cholesky'"),
        ("arow", {"form": "root", "covariance": "diag"}, "arow: form applies only to "
                                                         "covariance='full'; remove it"),
        ("arow", {"a": 0.0}, "arow: a must lie in (0, inf), not 0.0"),
        ("arow", {"a": "big"}, "arow: a must be a number in (0, inf), not 'big'"),
        ("pa", {"covariance": "diag"}, "pa: unknown parameter 'covariance'; it has no parameters"),
        ("sop-libol", {"covariance": "diag"}, "sop-libol has no diagonal form: it keeps mu = Sigma w, "
                                              "which a projected Sigma would break; use covariance='full'"),
        ("sop", {"covariance": "diag", "projection": "l2"}, "sop: projection must be kl, not 'l2'"),
        ("arow", {"kernel": "rbf", "gamma": 0.0}, "arow: gamma must lie in (0, inf), not 0.0"),
        ("arow", {"gamma": 2.0}, "arow: gamma needs kernel='rbf' or kernel='poly'"),
        ("arow", {"kernel": "rbf", "covariance": "diag"}, "arow: a kernel has no diagonal covariance; "
                                                          "use covariance='full'"),
        ("cw", {"kernel": "rbf", "form": "root"}, "cw: form does not apply to a kernel, which "
                                                  "stores no covariance; remove it"),
        ("pa", {"kernel": "rbf"}, "pa: unknown parameter 'kernel'; it has no parameters"),
        ("sgd", {"lam": 0.0}, "sgd: lam must lie in (0, inf), not 0.0"),
        ("iellip", {"covariance": "diag"}, "iellip has no diagonal form: its step is scaled by the whole "
                                           "ellipsoid, which a projection would change; "
                                           "use covariance='full'"),
    ])  # fmt: skip
def test_a_wrong_algorithm_or_parameter_is_refused_in_one_sentence(id, params, message):
    assert refusal(make_algorithm, id, **params) == message


def test_a_covariance_that_does_not_fit_in_memory_is_refused():
    d = int((available_memory() / 8) ** 0.5) + 1000
    with pytest.raises(
        UserError, match=rf"a full covariance of {d:,} features needs [\d,.]+ GiB, and .*diag"
    ):
        online_pass(make_algorithm("arow"), sp.csr_matrix((2, d)), [1, -1])
    assert online_pass(make_algorithm("arow", covariance="diag"), sp.csr_matrix((2, d)), [1, -1]).n == 2


def test_an_object_that_cannot_learn_online_is_refused():
    assert refusal(wrap, {}) == (
        "dict: a contestant needs predict_one and learn_one (as in River) or predict and partial_fit "
        "(as in scikit-learn)"
    )


def test_no_rows_and_no_columns_are_legal():
    assert run(np.empty((0, 4)), []).mistake_rate == 0.0
    assert run(np.empty((3, 0)), [1, -1, 1]).mistakes == 1
    assert (run(sp.csr_matrix((0, 4)), []).n, run(order=[]).n) == (0, 0)
    assert run(order=[2, 2, 2]).n == 3
    assert run(np.full((3, 2), 1e308)).n == 3  # their sum overflows
