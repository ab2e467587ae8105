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

from olbench import estimators, make_algorithm, online_pass
from olbench.algorithms import get_definition
from olbench.estimators import AROW, CW, IELLIP, PA1, SCW1, SCW2, SOP
from olbench.learners.examples import as_examples
from olbench.papers.adviceptron2010.estimators import ABOUT_RULES
from tests.cases import for_each
from tests.examples import built_in, noisy
from tests.refusals import find_wrong

ALL = list(estimators.ESTIMATORS.values())
#: Estimators that are not named as their algorithms.
NAMES = {"AggressiveROMMA": "aromma", "TruncatedGradient": "tg"}


def test_every_built_in_algorithm_has_one_estimator():
    assert sorted(cls.algorithm_id for cls in ALL) == sorted(definition.id for definition in built_in())


@for_each("cls", ALL)
def test_the_defaults_of_an_estimator_are_those_of_its_algorithm(cls):
    assert cls.algorithm_id.replace("-", "") == NAMES.get(cls.__name__, cls.__name__.lower())
    definition = get_definition(cls.algorithm_id)
    bases = [
        each for each in cls.__mro__ if dataclasses.is_dataclass(each) and not hasattr(each, "algorithm_id")
    ]
    shared = {"allocation", *ABOUT_RULES, *(name for base in bases for name in base.__dataclass_fields__)}
    own = {field.name: field.default for field in dataclasses.fields(cls) if field.name not in shared}
    assert set(own) == {parameter.name for parameter in definition.parameters}
    given = {name: value for name, value in own.items() if value is not None}
    assert given in (definition.resolve({}), {})
    learner, default = cls().fit(*noisy(n=20)).learners_[0], make_algorithm(cls.algorithm_id)
    assert learner.algorithm == default
    assert list(learner.p) == list(definition.rule_constants(default.params))


@for_each("cls", ALL)
def test_every_parameter_reaches_the_algorithm(cls):
    for name, values in get_definition(cls.algorithm_id).grid.items():
        for value in values:
            [learner] = cls(**{name: value}).fit(*noisy(n=20)).learners_
            assert learner.algorithm.params[name] == value


#: Every estimator, and some with other forms, kernels and native classes.
CHECKED = [
    *(cls() for cls in ALL),
    AROW(covariance="diag", projection="l2"),
    SCW1(form="root", fit_intercept=True),
    CW(covariance="diag", projection="exact", phi=0.3),
    SOP(covariance="diag"),
    *(cls(kernel=kernel, gamma=0.1, coef0=1.0)
      for cls, kernel in ((AROW, "linear"), (CW, "rbf"), (SCW1, "poly"), (SCW2, "rbf"))),
    estimators.Perceptron(multiclass="native", allocation="prop"),
    CW(multiclass="native", covariance="shared"),
    SCW1(multiclass="native", covariance="diag", fit_intercept=True),
]  # fmt: skip


# scikit-learn warns about the one check that it skips itself, that of array API input.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize("model", CHECKED, ids=str)
def test_check_estimator_passes(model):
    check_estimator(model)


def test_a_kernel_learns_what_no_line_separates():
    X, y = make_moons(600, noise=0.15, random_state=0)
    linear, curved = (
        cross_val_score(SCW1(kernel=kernel, gamma=2.0, random_state=0), X, y).mean()
        for kernel in ("linear", "rbf")
    )
    assert curved > 0.95 > 0.9 > linear
    model = AROW(kernel="rbf", gamma=2.0, random_state=0).fit(X, y)
    assert not hasattr(model, "coef_")
    # Far from every example the Gaussian is as wide as at the start, and nothing is known.
    assert model.margin_variance([[50.0, 50.0]])[0] == 1.0
    assert model.predict_proba([[50.0, 50.0]])[0, 1] == pytest.approx(0.5)


@for_each("storage", [np.asarray, sp.csr_array])
def test_one_epoch_in_order_and_a_fit_in_pieces_are_an_online_pass(storage):
    X, y = noisy(density=0.3)
    model = SCW1(C=0.5, shuffle=False).fit(storage(X), y)
    result = online_pass(make_algorithm("scw1", C=0.5), X, y)
    assert (model.mistakes_[0], model.updates_[0]) == (result.mistakes, result.updates)
    np.testing.assert_array_equal(model.coef_[0], result.weights)
    biased = SCW1(shuffle=False, fit_intercept=True).fit(storage(X), y)
    wanted = online_pass("scw1", np.column_stack([X, np.ones(len(y))]), y).weights
    np.testing.assert_array_equal([*biased.coef_[0], *biased.intercept_], wanted)
    pieces = SCW1(C=0.5).partial_fit(storage(X[:100]), y[:100], classes=[-1, 1])
    np.testing.assert_array_equal(pieces.partial_fit(storage(X[100:]), y[100:]).coef_, model.coef_)


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
    probability = norm.cdf(np.where(expected > 0, margin, 0) / np.sqrt(safe))
    np.testing.assert_allclose(model.predict_proba(storage(X))[:, 1], probability, rtol=1e-7)


def test_estimators_without_a_gaussian_offer_no_probabilities():
    assert not any(hasattr(model, "predict_proba") for model in (PA1(), IELLIP(), estimators.ONS()))
    assert not hasattr(PA1(), "margin_variance")


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
    if estimator is AROW and "multiclass" not in options:
        proba = model.predict_proba(X)
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)
        np.testing.assert_array_equal(proba.argmax(axis=1), predicted)
        assert (model.coef_.shape, model.margin_variance(X).shape) == ((10, 64), (len(y), 10))


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


REFUSED = [
    (AROW(r=-1.0), {}, "arow: r must lie in"),
    (AROW(epochs=0), {}, "epochs must be a whole number above zero"),
    (AROW(kernel="poly", degree=2.5), {}, "arow: degree must be a whole number, not 2.5"),
    (AROW(), {"classes": None}, "must name all classes"),
    (AROW(), {"classes": [1, 2]}, "label -1.0 is not among the classes"),
    (AROW().fit(*noisy()), {"classes": [0, 1]}, "differ from those of the first call"),
]


def test_wrong_parameters_and_classes_are_refused():
    def fit(model, more):
        (model.partial_fit if more else model.fit)(*noisy(), **more)

    assert find_wrong(REFUSED, fit) == []
    for act in (lambda: AROW().predict(noisy()[0]), lambda: AROW().coef_):
        with pytest.raises(NotFittedError):
            act()


@for_each("model", [AROW(), AROW(covariance="diag"), CW(covariance="diag")])
@for_each("exponent", [100, 300])
@for_each("form", [np.asarray, sp.csr_array])
def test_probabilities_are_numbers_at_any_feature_scale(rng, model, exponent, form):
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    model.fit(form(X), y)
    # The Gaussian over weights is about directions: the length of a row does not matter.
    usual, large = (model.predict_proba(form(np.ldexp(X, shift))) for shift in (0, exponent))
    np.testing.assert_allclose(usual, large, rtol=1e-9)
    np.testing.assert_allclose(usual.sum(axis=1), 1.0)


@for_each("scale", [1.0, 1e100, 1e150])
def test_learners_of_huge_features_predict_the_sign_or_the_largest_of_their_scores(rng, scale):
    X, y = rng.normal(size=(100, 3)), rng.integers(0, 3, 100)
    model = AROW(covariance="diag").fit(X * scale, y)
    np.testing.assert_allclose(model.predict_proba(X * scale).sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(X * scale), model.decision_function(X * scale).argmax(axis=1))
    X, y = (X + (y > 0)[:, None]) * scale, y > 0
    model = SOP(covariance="diag", random_state=0).fit(X, y)
    scores = model.decision_function(X)
    assert np.isfinite(scores).all()
    np.testing.assert_array_equal(model.predict(X), scores >= 0)
