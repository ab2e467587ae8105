"""Details of learners and passes that change numbers rarely, each by a case in which it does."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import ndtr

from olbench import first_order, online_pass
from olbench.estimators import AROW, CW
from olbench.kernels.counters import EXTRA
from olbench.learners.breakdowns import find_breakdown
from olbench.learners.examples import as_examples
from olbench.learners.passes import RING, curve_points
from tests.cases import for_each
from tests.examples import noisy
from tests.kernels.test_rounds import defined


@pytest.fixture
def three_classes(rng):
    X = rng.standard_normal((120, 3)) * [0.1, 1.0, 5.0]
    return X, np.argmax(X @ rng.standard_normal((3, 3)) + rng.standard_normal((120, 3)), axis=1)


def test_the_variance_of_a_probability_is_the_mean_over_all_classes(three_classes):
    X, y = three_classes
    model = AROW(shuffle=False).fit(X, y)
    for k, learner in enumerate(model.learners_):
        learner.base[...] *= 4.0**k
    variances = np.stack([np.einsum("ij,jk,ik->i", X, each.covariance, X) for each in model.learners_])
    scores = np.stack([X @ each.mu for each in model.learners_]) / np.sqrt(variances.mean(axis=0))
    odds = (ndtr(scores) / ndtr(-scores)).T
    wanted = odds / odds.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), wanted, rtol=1e-7)


def test_scores_whose_squares_overflow_have_probabilities(three_classes):
    X, y = three_classes
    model = AROW(shuffle=False).fit(X, y)
    for learner in model.learners_:
        learner.mu *= 1e200
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_array_equal(proba.argmax(axis=1), model.predict(X))


def test_classes_are_compared_on_the_scale_that_was_changed_least(three_classes):
    """On any larger scale, what a learner that was never rescaled has would overflow."""
    X, y = three_classes
    model = CW(shuffle=False).fit(X, y)
    model.learners_[1].counters[EXTRA] = 5 * 256
    margins, learner = model.margins(X), model.learners_[0]
    np.testing.assert_array_equal(margins[:, 0], learner.scores(as_examples(X).rows(), np.arange(120)))
    assert np.isfinite(margins).all()


@for_each("id", ["adam", "pa1"])
def test_explicit_zeros_of_a_sparse_matrix_are_no_features_of_its_rows(id):
    X, y = noisy(n=200, d=6, density=0.6)
    explicit = sp.csr_matrix(np.where(X == 0.0, 7.0, X))
    explicit.data[explicit.data == 7.0] = 0.0
    assert explicit.nnz == X.size > np.count_nonzero(X)
    assert as_examples(explicit).data.all()
    np.testing.assert_array_equal(online_pass(id, explicit, y).weights, online_pass(id, X, y).weights)


@for_each("covariance", ["full", "diag"])
def test_a_round_without_a_variance_keeps_none_of_an_earlier_one(covariance):
    n = RING + 8
    X, y = np.tile([[1.0, 0.5], [0.5, 1.0]], (n // 2, 1)), np.tile([1.0, -1.0], n // 2)
    X[RING + 3] = 1e300
    found = online_pass("arow", X, y, covariance=covariance, keep="variances")
    assert found.breakdowns == 1
    assert np.flatnonzero(found.variances == 0.0).tolist() == [RING + 3]


def undefined(m, s, mistake, q, t, k, p):
    return (np.nan if mistake else 0.0), 1.0, 0.0


def test_the_first_breakdown_of_all_classes_is_reported():
    """Every learner starts with +1: all but that of the first class are wrong in round 1, that one in 2."""
    with defined(first_order("undefined"), undefined) as id:
        found = find_breakdown(id, np.eye(3), [0, 1, 2], labels="all")
    assert (found.round, found.row) == (1, 0)


def test_rules_made_for_the_root_form_are_not_screened():
    """Rounding lets their Sigma grow, so a bound that only shrinks may lie below it."""
    X, y = noisy(n=300, d=6)
    tried = {id: online_pass(id, X, y, form="covariance").learner.screening[0] for id in ("cw", "scw1")}
    assert tried["scw1"] > 0 == tried["cw"]


def test_the_points_of_a_curve_are_the_nearest_whole_numbers():
    assert curve_points(10, 3).tolist() == [3, 7, 10]
    assert curve_points(11, 4).tolist() == [3, 6, 8, 11]
