"""Python objects see the rows that they would see in their own libraries."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from olbench import conform, contestant, online_pass, wrap
from olbench.algorithms.definition import REGISTRY
from olbench.errors import UserError

X = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [0.0, 3.0, 0.0]])
Y = [1, -1, 1]


class Watcher:
    def __init__(self, seen):
        self.seen = seen

    def predict_one(self, x):
        return True

    def learn_one(self, x, y):
        self.seen.append(dict(x))


@pytest.fixture
def watch(monkeypatch):
    def define(**declared):
        seen = []
        monkeypatch.delitem(REGISTRY, "watcher", raising=False)
        contestant("watcher", **declared)(lambda: Watcher(seen))
        return seen

    yield define
    REGISTRY.pop("watcher", None)


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix])
def test_an_object_sees_every_column_or_only_those_that_are_not_zero(watch, kind):
    seen = watch()
    online_pass("watcher", kind(X), Y)
    assert seen == [dict(enumerate(row)) for row in X.tolist()]
    seen = watch(sparse=True)
    online_pass("watcher", kind(X), Y)
    assert seen == [{0: 1.0, 2: 2.0}, {}, {1: 3.0}]


class Answers:
    def __init__(self, answer):
        self.predict, self.partial_fit = lambda X: answer, lambda X, y: None


class AnswersOne:
    def __init__(self, answer):
        self.predict_one, self.learn_one = lambda x: answer, lambda x, y: None


def test_what_is_not_a_prediction_is_refused():
    """It would count as -1 or +1."""
    for answer in ([np.nan], [2], [[1]], ["spam"], [1, 1], None):
        with pytest.raises(UserError, match=r"predict of Answers returns .* -1 or \+1 for each row"):
            online_pass(wrap(Answers(answer)), X, Y)
    with pytest.raises(UserError, match=r"^class 0 against the rest: predict of Answers returns nan"):
        online_pass(wrap(Answers([np.nan])), X, [0, 1, 2], labels="all")
    for answer in (np.nan, 2, "spam", [1]):
        with pytest.raises(UserError, match=r"predict_one of AnswersOne returns .*or False or True"):
            online_pass(wrap(AnswersOne(answer)), X, Y)
    for answer in (True, np.False_, 1, -1.0, 0, None):
        mistakes = online_pass(wrap(AnswersOne(answer)), X, [1, 1, 1]).mistakes
        assert mistakes == (0 if answer in (True, None) else 2)


def test_a_class_is_not_an_object():
    with pytest.raises(UserError, match=r"wrap takes an object, not a class: wrap\(Watcher\(\)\)"):
        wrap(Watcher)


def test_an_object_must_be_wrapped():
    with pytest.raises(UserError, match=r"^<tests.*Answers object at .*is not an algorithm; .*wrap\("):
        online_pass(Answers([1]), X, Y)


def test_with_many_columns_the_choice_must_be_stated(watch):
    wide = csr_matrix(([1.0], ([0], [0])), shape=(3, 10_001))
    watch()
    with pytest.raises(UserError, match="would get all 10,001 features of every row; add sparse=True"):
        online_pass("watcher", wide, Y)
    seen = watch(sparse=False)
    online_pass("watcher", wide, Y)
    assert [len(row) for row in seen] == [10_001] * 3


def test_an_object_that_is_examined_sees_every_column():
    seen = []
    conform(lambda: Watcher(seen), "perceptron")
    assert seen
    assert all(set(row) == set(range(len(row))) for row in seen)
