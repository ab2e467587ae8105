"""Advice sets: what they cover, how preprocessing moves them, what can be added to them."""

import numpy as np

from olbench.papers.adviceptron2010.names import Names
from olbench.papers.adviceptron2010.rules import compile_texts
from olbench.papers.adviceptron2010.sets import conflicts, fit_scaling
from tests.papers.adviceptron2010.problems import flip

NAMES = Names(("glucose", "bmi", "age"), {"diabetes": 1})
RULES = [
    "bmi >= 30 and glucose >= 126 => diabetes",
    "18.5 <= bmi <= 25 => not diabetes",
    "glucose + 2*bmi >= 180 => diabetes",
]


def test_a_scaling_is_fitted_on_training_rows_and_moves_rules_along():
    rng = np.random.default_rng(1)
    X = np.array([121.0, 32.0, 33.0]) + np.array([40.0, 10.0, 9.0]) * rng.normal(size=(300, 3))
    X[::7, 0] = 0.0
    scaling = fit_scaling(X[:50], missing_zeros=[0])
    known = X[:50, 0][X[:50, 0] != 0.0]
    assert scaling.fill[0] == np.median(known)
    assert np.isnan(scaling.fill[1:]).all()
    train = scaling.apply(X[:50])
    np.testing.assert_allclose(train.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(train.std(axis=0), 1.0)
    filled = np.where((X == 0.0) & [True, False, False], scaling.fill[0], X)
    advice = compile_texts(RULES, NAMES)
    for before, after in zip(advice, advice.transform(scaling.mean, scaling.scale), strict=True):
        np.testing.assert_array_equal(after.covers(scaling.apply(X)), before.covers(filled))


def test_a_scaling_leaves_constant_features_and_copes_with_columns_of_zeros():
    X = np.array([[0.0, 3.0], [0.0, 3.0]])
    scaling = fit_scaling(X, missing_zeros=[0])
    np.testing.assert_array_equal(scaling.scale, 1.0)
    np.testing.assert_array_equal(scaling.apply(X), 0.0)
    same = fit_scaling(np.array([[2.0, 0.0], [4.0, 5.0]]), missing_zeros=[1], standardise=False)
    np.testing.assert_array_equal(same.apply([[2.0, 0.0]]), [[2.0, 5.0]])


def test_a_constant_feature_gets_its_rows_in_every_set():
    advice = compile_texts(RULES, NAMES).with_constant()
    assert (advice.n, advice.constant) == (4, 3)
    for each in advice:
        np.testing.assert_array_equal(each.D[-2:], [[0, 0, 0, 1], [0, 0, 0, -1]])
        np.testing.assert_array_equal(each.d[-2:], [1, -1])
        assert (each.d < 0).any()
        assert each.covers(np.array([[126.0, 30.0, 1.0, 0.5]])).tolist() == [False]
    assert advice.with_constant() is advice


def test_domain_rows_bound_features_of_zeros_and_ones():
    names = Names(("a", "b", "c"), {"A": 1}, binary=frozenset({0, 2}))
    [each] = compile_texts(["a absent => A"], names, domain=True)
    np.testing.assert_array_equal(each.D, [[1, 0, 0], [1, 0, 0], [0, 0, 1], [-1, 0, 0], [0, 0, -1]])
    np.testing.assert_array_equal(each.d, [0, 1, 1, 0, 0])
    assert each.written == 1


def test_without_domain_rows_two_counts_contradict_each_other():
    """'At least one of A' and 'at most one of B' are half-spaces: they always meet somewhere."""
    names = Names(tuple("abcd"), {"yes": 1}, binary=frozenset(range(4)))
    texts = ["a, b absent => yes", "at least one of a, b present => not yes"]
    assert conflicts(compile_texts(texts, names)) == []
    texts = ["at least two of a, b present => yes", "at most 1 of a, b, c present => not yes"]
    assert conflicts(compile_texts(texts, names)) == [(0, 1)]
    assert conflicts(compile_texts(texts, names, domain=True)) == []


def test_the_fingerprint_changes_with_anything_that_a_learner_could_notice():
    base = compile_texts(RULES, NAMES)
    same = compile_texts([f"  {rule} " for rule in RULES], NAMES)
    others = [
        flip(base), base.with_constant(), base.transform(np.zeros(3), np.full(3, 2.0)),
        compile_texts(RULES[:2], NAMES), compile_texts(RULES[::-1], NAMES),
    ]  # fmt: skip
    assert same.fingerprint == base.fingerprint
    assert len({base.fingerprint, *(each.fingerprint for each in others)}) == 6
