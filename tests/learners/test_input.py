"""Wrong input is refused in one sentence; unusual input is taken."""

import numpy as np
import pytest
import scipy.sparse as sp

from olbench import UserError, make_algorithm, online_pass, wrap
from olbench.learners.examples import as_examples
from olbench.learners.passes import predict_signs, windowed_pass
from olbench.learners.start import start
from olbench.memory import available_memory
from tests.cases import for_each
from tests.examples import noisy
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


@for_each("column", [-1, 2, 50_000_000])
def test_a_sparse_matrix_with_a_column_that_does_not_exist_is_refused(column):
    bad = sp.csr_matrix((np.ones(2), [0, 1], [0, 1, 2]), shape=(2, 2))
    bad.indices[1] = column
    assert "X is not a valid sparse matrix" in refusal(run, bad, [1, -1])


MESSY = sp.csr_matrix(([0.0, 1.0, 2.0, 0.25, 0.25, -1.0], [1, 0, 1, 0, 0, 1], [0, 2, 5, 6]), shape=(3, 2))
LIKE_X = [np.asfortranarray(X), X.astype(np.float32), X[::-1][::-1], MESSY]


@for_each("like", LIKE_X)
def test_any_layout_type_and_order_of_entries_is_taken(like):
    np.testing.assert_array_equal(run(like).weights, run().weights)
    assert MESSY.nnz == 6


@for_each("id", ["arow", "pa1", "ftrl"])
def test_a_learner_takes_labels_and_an_order_of_any_type_and_stride(id):
    """Compiled code takes them for doubles and whole numbers of eight bytes, one after the other."""
    X, y = noisy(n=200, d=4)
    wanted, order = online_pass(id, X, y), np.arange(200)
    for labels in (y.astype(np.int64), y.astype(np.float32), np.repeat(y, 2)[::2]):
        for rows in (order, order.astype(np.int32), np.repeat(order, 2)[::2]):
            learner = start(make_algorithm(id), 4)
            learner.warm_up()
            learner.run(as_examples(X).rows(), labels, rows)
            assert learner.mistakes == wanted.mistakes
            np.testing.assert_array_equal(learner.weights, wanted.weights)
    rows = as_examples(X).rows()
    assert "order must be a list of row numbers" in refusal(learner.run, rows, y, order / 2.0)
    assert refusal(learner.run, rows, y[:7], order) == "X has 200 rows but y has 7 labels"
    wide = as_examples(np.ones((200, 5))).rows()
    assert refusal(learner.run, wide, y, order) == "X has 5 columns, but the learner has 4 features"
    sentence = "X has 5 columns, but the learner has 4 features"
    assert refusal(predict_signs, learner, np.ones((1, 5))) == sentence


def test_the_windows_of_a_pass_may_be_slices_of_anything_but_not_wider_or_of_more_classes():
    X, y = noisy(n=200, d=4)
    numbers, order = np.arange(200.0) % 3, np.arange(200)
    for id, settings in (("arow", {}), ("arow", {"multiclass": "native"})):
        algorithm = make_algorithm(id, **settings)
        given = [(X, numbers, order), (X, np.repeat(numbers, 2)[::2], order)]
        counts = [windowed_pass(algorithm, [each], 4, 200, classes=3).mistakes for each in given]
        assert counts[0] == counts[1]
        said = refusal(windowed_pass, algorithm, [(X, numbers, order)], 4, 200, classes=2)
        assert said == "y must hold the numbers of 2 classes, 0 to 1, but it has 2"
        assert "0 to 2, but it has -1" in refusal(
            windowed_pass, algorithm, [(X, y, order)], 4, 200, classes=3
        )
        said = refusal(windowed_pass, algorithm, [(X, numbers, order)], 3, 200, classes=3)
        assert said == "X has 4 columns, but the learner has 3 features"


DIAGONAL = {"covariance": "diag"}
NO_STEP = "has no exact diagonal step, only cw and cw-var have one; use projection='kl' or 'l2'"
NO_DIAGONAL = {
    "sop-libol": "it keeps mu = Sigma w, which a projected Sigma would break",
    "iellip": "its step is scaled by the whole ellipsoid, which a projection would change",
}
WRONG = [
    ("arrow", {}, "unknown algorithm 'arrow' (did you mean 'arow'?); `olbench algorithms` "
     "lists all of them, and a plugin adds your own"),
    ("arow", {"R": 1.0}, "arow: unknown parameter 'R' (did you mean 'r'?); its parameters are r"),
    *(("pa", {name: value}, f"pa: unknown parameter {name!r}; it has no parameters")
      for name, value in {"C": 1.0, "covariance": "diag", "kernel": "rbf"}.items()),
    *(("arow", {"r": r}, f"arow: r must lie in (0, inf), not {r}") for r in (0.0, np.inf, np.nan)),
    *(("arow", {"r": r}, f"arow: r must be a number in (0, inf), not {r!r}") for r in ("1", True)),
    *(("cw", {"eta": eta}, f"cw: eta must lie in [0.5, 1), not {eta}") for eta in (0.49, 1.0)),
    ("cw", {"eta": 0.9, "phi": 1.0}, "cw: give eta or phi, not both"),
    ("cw-var", {"phi": -1.0}, "cw-var: phi must lie in [0, inf), not -1.0"),
    ("ogd", {"loss": "huber"}, "ogd: loss must be one of hinge, logistic, squared, zero-one, not 'huber'"),
    ("arow", {"covariance": "band"}, "arow: covariance must be one of full, diag, block, shared, not 'band'"),
    ("cw", {"projection": "l1"}, "cw: projection must be one of kl, l2, exact, not 'l1'"),
    ("arow", {"form": "cholesky"}, "arow: form must be one of covariance, root, not 'cholesky'"),
    ("arow", {"form": "root", **DIAGONAL}, "arow: form applies only to covariance='full'; remove it"),
    ("arow", {"a": 0.0}, "arow: a must lie in (0, inf), not 0.0"),
    ("arow", {"a": "big"}, "arow: a must be a number in (0, inf), not 'big'"),
    *((id, {"covariance": "diag"}, f"{id} has no diagonal form: {reason}; use covariance='full'")
      for id, reason in NO_DIAGONAL.items()),
    ("sop", {"covariance": "diag", "projection": "l2"}, "sop: projection must be kl, not 'l2'"),
    ("arow", {"covariance": "diag", "projection": "exact"}, f"arow {NO_STEP}"),
    ("scw1", {"projection": "exact"}, f"scw1 {NO_STEP}"),
    ("cw", {"projection": "exact"}, "cw: projection='exact' is a diagonal step; add covariance='diag'"),
    ("arow", {"kernel": "rbf", "gamma": 0.0}, "arow: gamma must lie in (0, inf), not 0.0"),
    ("arow", {"kernel": "sigmoid"}, "arow: kernel must be one of linear, rbf, poly, not 'sigmoid'"),
    ("arow", {"gamma": 2.0}, "arow: gamma needs kernel='rbf' or kernel='poly'"),
    ("arow", {"kernel": "linear", "gamma": 2.0}, "arow: gamma needs kernel='rbf' or kernel='poly'"),
    ("arow", {"kernel": "rbf", "degree": 7}, "arow: degree needs kernel='poly'"),
    ("arow", {"kernel": "rbf", "coef0": 1.0}, "arow: coef0 needs kernel='poly'"),
    ("arow", {"kernel": "rbf", "covariance": "diag"},
     "arow: a kernel has no diagonal covariance; use covariance='full'"),
    ("cw", {"kernel": "rbf", "form": "root"},
     "cw: form does not apply to a kernel, which stores no covariance; remove it"),
    ("sgd", {"lam": 0.0}, "sgd: lam must lie in (0, inf), not 0.0"),
]  # fmt: skip


@for_each(("id", "params", "sentence"), WRONG)
def test_a_wrong_algorithm_or_parameter_is_refused_in_one_sentence(id, params, sentence):
    assert refusal(make_algorithm, id, **params) == sentence


def test_an_object_that_cannot_learn_online_is_refused():
    methods = "predict_one and learn_one (as in River) or predict and partial_fit (as in scikit-learn)"
    assert refusal(wrap, {}) == f"dict: a contestant needs {methods}"


def test_a_covariance_that_does_not_fit_in_memory_is_refused():
    d = int((available_memory() / 8) ** 0.5) + 1000
    X = sp.csr_matrix((2, d))
    with pytest.raises(UserError, match=rf"covariance of {d:,} features needs [\d,.]+ GiB, and .*diag"):
        online_pass("arow", X, [1, -1])
    assert online_pass("arow", X, [1, -1], covariance="diag").n == 2


def test_no_rows_and_no_columns_are_legal():
    assert run(np.empty((0, 4)), []).mistake_rate == 0.0
    assert run(np.empty((3, 0)), [1, -1, 1]).mistakes == 1
    assert (run(sp.csr_matrix((0, 4)), []).n, run(order=[]).n) == (0, 0)
    assert run(order=[2, 2, 2]).n == 3
    assert run(np.full((3, 2), 1e308)).n == 3  # their sum overflows
