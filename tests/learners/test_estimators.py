"""The estimators are scikit-learn citizens over the same kernels."""

import dataclasses
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import norm
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from olbench import UserError, estimators, make_algorithm, online_pass
from olbench.algorithms import get_definition
from olbench.estimators import AROW, CW, IELLIP, PA1, SCW1, SCW2, SOP, SOPLibol
from olbench.learners.examples import as_examples
from olbench.papers.adviceptron2010.estimators import ABOUT_RULES
from tests.cases import for_each
from tests.examples import built_in, noisy
from tests.refusals import refusal

ALL = list(estimators.ESTIMATORS.values())
#: Estimators that are not named as their algorithms.
NAMES = {"AggressiveROMMA": "aromma", "TruncatedGradient": "tg"}


def test_every_built_in_algorithm_has_one_estimator_of_its_name():
    assert sorted(cls.algorithm_id for cls in ALL) == sorted(definition.id for definition in built_in())
    for cls in ALL:
        assert cls.algorithm_id.replace("-", "") == NAMES.get(cls.__name__, cls.__name__.lower())


@for_each("cls", ALL)
def test_the_defaults_of_an_estimator_are_those_of_its_algorithm(cls):
    definition = get_definition(cls.algorithm_id)
    bases = [
        each for each in cls.__mro__ if dataclasses.is_dataclass(each) and not hasattr(each, "algorithm_id")
    ]
    shared = {"allocation", *ABOUT_RULES, *(name for base in bases for name in base.__dataclass_fields__)}
    own = {field.name: field.default for field in dataclasses.fields(cls) if field.name not in shared}
    assert set(own) == {parameter.name for parameter in definition.parameters}
    given = {name: value for name, value in own.items() if value is not None}
    assert given in (definition.resolve({}), {})
    estimator = cls()
    estimator.fit(*noisy(n=20))
    default = make_algorithm(cls.algorithm_id)
    assert estimator.learners_[0].algorithm == default
    assert list(estimator.learners_[0].p) == list(definition.rule_constants(default.params))


# scikit-learn warns about the one check that it skips itself, that of array API input.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize("cls", ALL)
def test_check_estimator_passes(cls):
    check_estimator(cls())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_check_estimator_passes_for_the_other_forms():
    check_estimator(AROW(covariance="diag", projection="l2"))
    check_estimator(SCW1(form="root", fit_intercept=True))
    check_estimator(CW(covariance="diag", projection="exact", phi=0.3))
    check_estimator(SOP(covariance="diag"))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(("cls", "kernel"), [(AROW, "linear"), (CW, "rbf"), (SCW1, "poly"), (SCW2, "rbf")])
def test_check_estimator_passes_with_a_kernel(cls, kernel):
    check_estimator(cls(kernel=kernel, gamma=0.1, coef0=1.0))


def test_a_kernel_learns_what_no_line_separates():
    X, y = make_moons(600, noise=0.15, random_state=0)
    linear, curved = (
        cross_val_score(SCW1(kernel=kernel, gamma=2.0, random_state=0), X, y).mean()
        for kernel in ("linear", "rbf")
    )
    assert curved > 0.95 > 0.9 > linear
    model = AROW(kernel="rbf", gamma=2.0, random_state=0).fit(X, y)
    assert not hasattr(model, "coef_")
    proba = model.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(proba >= 0.5, model.predict(X) == 1)
    # Far from every example the Gaussian is as wide as at the start, and nothing is known.
    assert model.margin_variance([[50.0, 50.0]])[0] == 1.0
    assert model.predict_proba([[50.0, 50.0]])[0, 1] == pytest.approx(0.5)


def test_a_linear_kernel_has_the_weights_of_no_kernel():
    X, y = noisy(density=0.5)
    plain, dual = (
        AROW(kernel=kernel, fit_intercept=True, random_state=0).fit(X, y) for kernel in (None, "linear")
    )
    np.testing.assert_allclose(dual.coef_, plain.coef_, rtol=1e-9)
    np.testing.assert_allclose(dual.margin_variance(X), plain.margin_variance(X), rtol=1e-9)
    np.testing.assert_allclose(dual.decision_function(X), plain.decision_function(X), rtol=1e-8, atol=1e-12)


def test_one_epoch_in_order_is_an_online_pass():
    X, y = noisy()
    model = SCW1(C=0.5, shuffle=False).fit(X, y)
    result = online_pass(make_algorithm("scw1", C=0.5), X, y)
    assert (model.mistakes_[0], model.updates_[0]) == (result.mistakes, result.updates)
    np.testing.assert_array_equal(model.coef_[0], result.weights)


def test_partial_fit_in_pieces_is_one_fit():
    X, y = noisy()
    whole = AROW(shuffle=False).fit(X, y)
    pieces = AROW().partial_fit(X[:100], y[:100], classes=[-1, 1])
    pieces.partial_fit(X[100:], y[100:])
    np.testing.assert_array_equal(whole.coef_, pieces.coef_)


def test_sparse_and_dense_fits_are_equal():
    X, y = noisy(density=0.3)
    dense, sparse = (AROW(fit_intercept=True, random_state=1).fit(Z, y) for Z in (X, sp.csr_array(X)))
    np.testing.assert_array_equal(dense.coef_, sparse.coef_)
    np.testing.assert_array_equal(dense.intercept_, sparse.intercept_)


@for_each("options", [{}, {"form": "root"}, {"covariance": "diag"}])
@for_each("storage", [np.asarray, sp.csr_matrix])
def test_margin_variance_and_probability_come_from_the_gaussian(options, storage):
    X, y = noisy(density=0.5)
    model = AROW(random_state=0, **options).fit(X, y)
    sigma = model.learners_[0].covariance
    assert not hasattr(model.learners_[0], "sigma")  # its matrix lacks what is still pending
    sigma = np.diag(sigma) if sigma.ndim == 1 else sigma
    expected = np.einsum("ij,jk,ik->i", X, sigma, X)
    variance = model.margin_variance(storage(X))
    np.testing.assert_allclose(variance, expected, rtol=1e-9, atol=1e-15)
    margin = X @ model.coef_[0]
    np.testing.assert_allclose(model.margins(storage(X))[:, 0], margin, rtol=1e-9, atol=1e-12)
    safe = np.where(expected > 0, expected, 1.0)
    np.testing.assert_allclose(
        model.predict_proba(storage(X))[:, 1],
        norm.cdf(np.where(expected > 0, margin, 0) / np.sqrt(safe)),
        rtol=1e-7,
    )


def test_first_order_estimators_offer_no_probabilities():
    assert not hasattr(PA1(), "predict_proba")
    assert not hasattr(PA1(), "margin_variance")
    assert not hasattr(IELLIP(), "predict_proba")


def test_more_classes_are_learnt_one_against_the_rest():
    X, y = load_digits(return_X_y=True)
    model = AROW(random_state=0, epochs=2).fit(X, y)
    assert model.coef_.shape == (10, 64)
    assert model.score(X, y) > 0.9
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_array_equal(proba.argmax(axis=1), model.predict(X))
    assert model.margin_variance(X).shape == (len(y), 10)


@for_each("estimator", [AROW, SCW1, CW, PA1])
@for_each("options", [{}, {"multiclass": "native"}, {"covariance": "diag"}])
def test_several_classes_are_predicted_as_in_a_pass(estimator, options):
    X, y = load_digits(return_X_y=True)
    if estimator is PA1:
        options = {name: value for name, value in options.items() if name == "multiclass"}
    model = estimator(shuffle=False, **options).fit(X[:600], y[:600])
    learner = online_pass(estimator.algorithm_id, X[:600], y[:600], labels="all", **options).learner
    predicted = model.predict(X)
    np.testing.assert_array_equal(predicted, learner.predict(as_examples(X).rows(), np.arange(len(y))))
    np.testing.assert_array_equal(predicted, model.decision_function(X).argmax(axis=1))


def test_cw_classes_are_compared_at_one_scale():
    """CW's learners may have been rescaled by different powers of two."""
    X, y = load_digits(return_X_y=True)
    model = CW(eta=0.9, random_state=0, epochs=3).fit(
        X, np.where(np.arange(len(y)) % 5 == 0, (y + 1) % 10, y)
    )
    margins = model.margins(X[:50])
    exponents = np.array([learner.scale_exponent for learner in model.learners_])
    expected = X[:50] @ model.coef_.T * 2.0 ** (exponents.min() - exponents)
    np.testing.assert_allclose(margins, expected, rtol=1e-9)


def test_grid_search_clone_and_pickle_just_work():
    X, y = load_breast_cancer(return_X_y=True)
    search = GridSearchCV(make_pipeline(StandardScaler(), AROW(random_state=0)), {"arow__r": [0.1, 1, 10]})
    search.fit(X, y)
    assert search.best_score_ > 0.93
    model = clone(search.best_estimator_[-1]).fit(X, y)
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copied.predict_proba(X), model.predict_proba(X))
    copied.partial_fit(X[:5], y[:5])


def test_an_intercept_helps_where_the_classes_share_a_side():
    rng = np.random.default_rng(0)
    X = rng.normal(5.0, 1.0, size=(400, 1))
    y = X[:, 0] > 5.0
    plain, biased = (
        cross_val_score(SCW1(fit_intercept=bias, random_state=0), X, y).mean() for bias in (False, True)
    )
    assert biased > 0.9 > plain
    assert SCW1(fit_intercept=True).fit(X, y).intercept_[0] < 0


@for_each(
    ("model", "message"),
    [
        (AROW(r=-1.0), "arow: r must lie in"),
        (AROW(epochs=0), "epochs must be a whole number above zero"),
        (SOPLibol(covariance="diag"), "sop-libol has no diagonal form"),
        (AROW(form="qr"), "arow: form must be one of covariance, root"),
        (AROW(kernel="sigmoid"), "arow: kernel must be one of linear, rbf, poly, not 'sigmoid'"),
        (AROW(kernel="poly", degree=2.5), "arow: degree must be a whole number, not 2.5"),
        (CW(eta=0.9, phi=1.0), "cw: give eta or phi, not both"),
        (AROW(covariance="diag", projection="exact"), "arow has no exact diagonal step"),
    ],
)
def test_bad_parameters_are_refused_at_fit(model, message):
    assert message in refusal(model.fit, *noisy())


def test_misuse_is_refused():
    X, y = noisy()
    assert "must name all classes" in refusal(AROW().partial_fit, X, y)
    fresh = AROW()
    assert "label -1.0 is not among the classes" in refusal(fresh.partial_fit, X, y, classes=[1, 2])
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    with pytest.raises(UserError, match="differ from those of the first call"):
        AROW().partial_fit(X, y, classes=[-1, 1]).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(NotFittedError):
        _ = fresh.coef_


@for_each("model", [AROW(), AROW(covariance="diag"), CW(covariance="diag")])
@for_each("exponent", [300, 508, 511, 520])
@for_each("form", [np.asarray, sp.csr_array])
def test_probabilities_are_numbers_at_any_feature_scale(rng, model, exponent, form):
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    model.fit(form(X), y)
    # The Gaussian over weights is about directions: the length of a row does not matter.
    usual, large = (model.predict_proba(form(np.ldexp(X, shift))) for shift in (0, exponent))
    np.testing.assert_allclose(usual, large, rtol=1e-9)
    np.testing.assert_allclose(usual.sum(axis=1), 1.0)


@pytest.mark.parametrize("scale", [1e100, 1e153, 1e154, 1e155])
def test_a_learner_of_huge_features_has_probabilities_and_predictions(rng, scale):
    X, y = rng.normal(size=(100, 3)) * scale, rng.integers(0, 3, 100)
    model = AROW(covariance="diag").fit(X, y)
    chances = model.predict_proba(X)
    assert np.isfinite(chances).all()
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X).argmax(axis=1))


@pytest.mark.parametrize("scale", [1.0, 1e100, 1e153, 1e154])
def test_sop_with_variances_alone_predicts_the_sign_of_its_score(rng, scale):
    y = rng.integers(0, 2, 60)
    X = (rng.normal(size=(60, 3)) + y[:, None]) * scale
    model = SOP(covariance="diag", random_state=0).fit(X, y)
    scores = model.decision_function(X)
    assert np.isfinite(scores).all()
    assert np.array_equal(model.predict(X), (scores >= 0).astype(int))
