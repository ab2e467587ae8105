"""The state of a learner: its options determine its size in bytes, and every copy goes on from it."""

from copy import deepcopy
from itertools import product

import numpy as np
from joblib import Parallel, delayed
from sklearn.linear_model import SGDClassifier

from olbench import make_algorithm, online_pass
from olbench.algorithms.algorithm import COVARIANCES
from olbench.estimators import AROW
from olbench.learners.contestants import wrap
from olbench.learners.examples import as_examples
from olbench.learners.start import count_state_bytes, start, start_classes
from tests.behaviours import list_forms
from tests.cases import for_each
from tests.examples import built_in, built_in_native, noisy


def ways(definition, native):
    """Return the algorithm in every form, as a binary learner or as one of several classes."""
    made = [make_algorithm(definition.id, **options) for options in list_forms(definition)]
    return [each for each in made if (each.multiclass == "native") == native]


@for_each("d", [1, 33, 133, 260])
@for_each("definition", built_in())
def test_the_form_of_a_binary_learner_determines_its_bytes(definition, d):
    found = [each for each in ways(definition, native=False) if count_state_bytes(each, d) is not None]
    assert [start(each, d).state_bytes for each in found] == [count_state_bytes(each, d) for each in found]


@for_each("classes", [2, 5])
@for_each("definition", [*built_in(), *built_in_native()])
def test_the_form_determines_the_bytes_for_several_classes(definition, classes):
    found = [*ways(definition, native=True)]
    if not definition.takes:
        found += [*ways(definition, native=False)]
    for each, d in product((each for each in found if each.kernel is None), (7, 30)):
        assert start_classes(each, d, classes).state_bytes == count_state_bytes(each, d, classes), each


def test_a_first_order_learner_has_a_number_per_feature_arow_a_matrix_and_an_object_is_not_known():
    assert count_state_bytes(make_algorithm("perceptron"), 1000) == 8 * (1000 + 2)
    assert count_state_bytes(make_algorithm("arow", covariance="diag"), 1000) == 8 * (2 * 1000 + 3)
    arow = make_algorithm("arow")
    assert 8 * 1000**2 < count_state_bytes(arow, 1000) < 1.05 * 8 * 1000**2
    # The margins that a pass keeps are not part of the state.
    X, y = noisy()
    assert online_pass(arow, X, y, keep="margins").learner.state_bytes == count_state_bytes(arow, X.shape[1])
    assert online_pass(wrap(SGDClassifier()), X, y).learner.state_bytes is None


def test_a_kernel_learner_has_the_bytes_of_its_support_however_it_was_sliced():
    X, y = noisy()
    algorithm = make_algorithm("arow", kernel="rbf", gamma=0.1)
    assert count_state_bytes(algorithm, X.shape[1]) is None
    for more in ({}, {"stopped": lambda: False}):
        learner = online_pass(algorithm, X, y, **more).learner
        size, entries = learner.size, np.count_nonzero(learner.support.toarray())
        assert learner.state_bytes == 8 * size + 4 * size * (size + 1) + 12 * entries + 8 * (2 * size + 1)


def start_all(d, classes):
    """Return a learner of every class in every form, with full and diagonal covariances."""
    found = {}
    for definition, native in product([*built_in(), *built_in_native()], (False, True)):
        for each in ways(definition, native):
            for learner in (start_classes(each, d, classes), *([] if native else [start(each, d)])):
                found.setdefault((type(learner), each.covariance, each.form), learner)
    return found.values()


def learn(learner, X, labels, begin, end):
    several = hasattr(learner, "confusion")
    rows, y = as_examples(X).rows(), labels if several else np.where(labels > 0.0, 1.0, -1.0)
    learner.run(rows, y, np.arange(begin, end))
    if not several:
        learner.step(X[0], y[0])
    return [learner.algorithm.id, *learner.counters, *learner.predict(rows, np.arange(end))]


def fit_more(model, X, y):
    return [*model.partial_fit(X, y).predict(X), *model.mistakes_]


def test_copies_of_a_learner_go_on_in_processes_that_map_its_arrays():
    X, labels = noisy(80, 130)[0], np.arange(80) % 3.0
    learners = [(each, X[:, :6]) for each in start_all(6, 3)] + [(start(make_algorithm("arow"), 130), X)]
    for each in learners:
        learn(*each, labels, 0, 40)
    models = [AROW(multiclass="native", covariance=each).fit(X[:40], labels[:40]) for each in COVARIANCES]
    calls = [(learn, *each, labels, 40, 80) for each in learners]
    calls += [(fit_more, each, X, labels) for each in models]
    here = 2 * [function(*deepcopy(call)) for function, *call in calls]
    for mode in ("r", "r+"):
        workers = Parallel(2, max_nbytes=1, mmap_mode=mode, batch_size=1)
        assert workers(delayed(function)(*call) for function, *call in 2 * calls) == here
