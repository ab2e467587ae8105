"""The bytes of a learner: its form tells what its arrays have."""

from itertools import product

import numpy as np

from olbench import make_algorithm, online_pass
from olbench.algorithms.options import list_ways
from olbench.learners.classes import start_classes
from olbench.learners.contestants import wrap
from olbench.learners.start import start
from olbench.learners.state import count_state_bytes
from tests.cases import for_each
from tests.examples import built_in, built_in_native, noisy


def ways(definition, native):
    """Yield the algorithm in every form, as a binary learner or as one of several classes."""
    for way in [{}, *list_ways(definition)]:
        for values in product(*way.values()):
            settings = dict(zip(way, values, strict=True))
            if ("multiclass" in settings) == native and "kernel" not in settings:
                yield make_algorithm(definition.id, **settings)
    if definition.order == "second" and not native and definition.diagonal and not definition.product:
        yield make_algorithm(definition.id, covariance="diag", forgetting=0.99)


@for_each("d", [1, 33, 133, 260])
@for_each("definition", built_in())
def test_the_form_of_a_binary_learner_tells_its_bytes(definition, d):
    found = [each for each in ways(definition, native=False) if not definition.takes_advice]
    assert [start(each, d).state_bytes for each in found] == [count_state_bytes(each, d) for each in found]


@for_each("classes", [2, 5])
@for_each("definition", [*built_in(), *built_in_native()])
def test_the_form_tells_the_bytes_for_several_classes(definition, classes):
    found = [*ways(definition, native=True)]
    if not definition.only_native and not definition.takes_advice:
        found += [*ways(definition, native=False)]
    for each, d in product(found, (7, 30)):
        assert start_classes(each, d, classes).state_bytes == count_state_bytes(each, d, classes), each


def test_a_first_order_learner_has_a_number_per_feature_and_arow_a_matrix():
    assert count_state_bytes(make_algorithm("perceptron"), 1000) == 8 * (1000 + 2)
    assert count_state_bytes(make_algorithm("arow", covariance="diag"), 1000) == 8 * (2 * 1000 + 3)
    assert 8 * 1000**2 < count_state_bytes(make_algorithm("arow"), 1000) < 1.05 * 8 * 1000**2


def test_a_pass_leaves_the_bytes_as_they_were_and_margins_are_no_part_of_them():
    X, y = noisy()
    result = online_pass("arow", X, y, keep="margins")
    assert result.learner.state_bytes == count_state_bytes(make_algorithm("arow"), X.shape[1])


def test_a_kernel_learner_has_the_bytes_of_its_support_however_it_was_sliced():
    X, y = noisy()
    algorithm = make_algorithm("arow", kernel="rbf", gamma=0.1)
    whole = online_pass(algorithm, X, y).learner
    sliced = online_pass(algorithm, X, y, stopped=lambda: False).learner
    size = whole.size
    entries = np.count_nonzero(whole.support.toarray())
    assert count_state_bytes(algorithm, X.shape[1]) is None
    assert whole.state_bytes == sliced.state_bytes
    assert whole.state_bytes == 8 * size + 4 * size * (size + 1) + 12 * entries + 8 * (size + 1) + 8 * size


def test_the_bytes_of_a_python_object_are_not_known():
    from sklearn.linear_model import SGDClassifier

    X, y = noisy(20)
    algorithm = wrap(SGDClassifier())
    assert count_state_bytes(algorithm, 12) is None
    assert online_pass(algorithm, X, y).learner.state_bytes is None
