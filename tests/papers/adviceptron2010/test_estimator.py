"""Estimators that take rules."""

import warnings

import numpy as np
import pandas as pd
import pytest

from olbench.estimators import Adviceptron, AdviceptronExact, AdviceptronPrinted
from tests.refusals import find_wrong

RULES = ["a >= 0.5 => 1", "a <= -0.5 => -1"]


def data(n=400):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    return X, np.where(X[:, 0] + 0.2 * rng.standard_normal(n) >= 0, 1, -1)


@pytest.mark.parametrize("cls", [Adviceptron, AdviceptronPrinted, AdviceptronExact])
def test_rules_teach_what_ten_examples_do_not(cls):
    X, y = data()
    options = {"lam": 0.1, "shuffle": False, "fit_intercept": True}
    told = cls(rules=RULES, feature_names=["a", "b", "c"], **options).fit(X[:10], y[:10])
    untold = cls(**options).fit(X[:10], y[:10])
    assert told.score(X, y) > untold.score(X, y)
    assert (len(told.advice_), told.advice_[0].constant) == (1, 3)


def test_the_columns_of_a_frame_name_the_features():
    X, y = data(50)
    how = {"fit_intercept": True, "shuffle": False}
    model = Adviceptron(rules=RULES, **how).fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    named = Adviceptron(rules=RULES, feature_names=["a", "b", "c"], **how).fit(X, y)
    numbered = Adviceptron(rules=["x1 >= 0.5 => 1", "x1 <= -0.5 => -1"], **how).fit(X, y)
    np.testing.assert_array_equal(model.coef_, named.coef_)
    np.testing.assert_array_equal(model.coef_, numbered.coef_)


def test_classes_are_named_by_their_labels_also_when_there_are_three():
    rng = np.random.default_rng(3)
    X = rng.uniform(-3, 3, size=(300, 2))
    y = np.array(["low", "mid", "high"])[np.digitize(X[:, 0], [-1, 1])]
    rules = ["x1 >= 1 => high", "x1 <= -1 => low", "x1 >= 0 => not low"]
    model = Adviceptron(rules=rules, fit_intercept=True, lam=0.1, random_state=0).fit(X[:6], y[:6])
    # sorted: high, low, mid; 'not low' says something about low only
    assert [[each.z for each in advice] for advice in model.advice_] == [[1, -1], [-1, 1, -1], [-1, -1]]
    assert set(model.predict(X)) <= {"low", "mid", "high"}
    assert model.partial_fit(X[6:], y[6:]).score(X, y) > 0.5


def test_a_rule_file_brings_its_own_settings(tmp_path):
    path = tmp_path / "rules.yaml"
    path.write_text("missing: drop\nfeatures: [a, b, c]\nrules:\n  - a >= 0.5 and nothing >= 3 => 1\n")
    X, y = data(50)
    model = Adviceptron(rules=path, fit_intercept=True).fit(X, y)
    assert model.advice_[0].sets[0].dropped == ("nothing >= 3",)
    assert len(Adviceptron(rules=str(path), fit_intercept=True).fit(X, y).advice_[0]) == 1


def test_a_rule_that_no_weights_satisfy_is_named_before_learning():
    X, y = data(30)
    with pytest.warns(UserWarning, match=r"no weights satisfy 'x1 <= 1 => -1'.*fit_intercept=True"):
        Adviceptron(rules=["x1 <= 1 => -1"]).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Adviceptron(rules=["x1 <= 1 => -1"], fit_intercept=True).fit(X, y)


def test_mistakes_are_refused_as_in_a_file():
    cases = [
        ("d >= 1 => 1", "abc", "rule 1: the data has no feature 'd'"),
        ("a >= 1 => spam", "abc", "there is no class 'spam'; the classes are -1, 1"),
        ("a >= 1 => 1", "ab", "feature_names has 2 names, but X has 3 features"),
    ]
    X, y = data(30)
    assert (
        find_wrong(cases, lambda rule, names: Adviceptron(rules=[rule], feature_names=names).fit(X, y)) == []
    )
