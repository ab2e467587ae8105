"""The learner: its counters, its state from slice to slice, its start, its speed."""

import numpy as np
import pytest
import scipy.sparse as sp

from olbench import UserError, make_algorithm, online_pass
from olbench.learners.examples import as_examples
from olbench.learners.start import start
from olbench.papers.adviceptron2010.algorithms import mean_estimate
from olbench.papers.adviceptron2010.kbsvm import solve_advice
from olbench.papers.adviceptron2010.sets import Advice, AdviceSet
from tests.examples import noisy
from tests.papers.adviceptron2010.problems import random_advice
from tests.refusals import refusal

IDS = ["adviceptron", "adviceptron-printed", "adviceptron-exact"]
every_id = pytest.mark.parametrize("id", IDS)


def examples(n=200, d=6, density=0.7):
    X, y = noisy(n=n, d=d, density=density, seed=8)
    advice = random_advice(np.random.default_rng(8), d, 3)
    return X, y, advice


@every_id
def test_storage_and_slices_do_not_change_a_bit(id):
    X, y, advice = examples(density=0.4)
    algorithm = make_algorithm(id, lam=0.5, mu=0.7, advice=advice)
    whole = online_pass(algorithm, X, y)
    sparse = online_pass(algorithm, sp.csr_matrix(X), y)
    sliced = start(algorithm, X.shape[1])
    for rows in np.array_split(np.arange(len(y)), 7):
        sliced.run(as_examples(X).rows(), y, rows)
    for other in (sparse.learner, sliced):
        np.testing.assert_array_equal(other.weights, whole.weights)
        np.testing.assert_array_equal(other.u, whole.learner.u)
        np.testing.assert_array_equal(other.counters, whole.learner.counters)


@every_id
def test_an_overflow_is_a_breakdown_and_leaves_the_state_alone(id):
    X, y, advice = examples(n=20)
    X = np.vstack([X, np.full((1, 6), 1e200)])
    result = online_pass(make_algorithm(id, advice=advice), X, np.append(y, 1.0))
    plain = online_pass(make_algorithm(id, advice=advice), X[:20], y)
    assert result.breakdowns == 1
    np.testing.assert_array_equal(result.weights, plain.weights)


def test_the_start_by_advice_is_the_batch_solution_without_data():
    advice = random_advice(np.random.default_rng(3), 4, 2)
    learner = start(make_algorithm("adviceptron", mu=0.5, start="advice", advice=advice), 4)
    solution = solve_advice(advice, 0.5)
    np.testing.assert_array_equal(learner.weights, solution.w)
    np.testing.assert_array_equal(np.concatenate(learner.advice_vectors), np.concatenate(solution.u))
    np.testing.assert_allclose(learner.r, mean_estimate(advice, solution.u))
    assert start(make_algorithm("adviceptron", start="advice"), 4).weights.tolist() == [0.0] * 4


def test_advice_about_other_features_is_refused():
    advice = Advice((AdviceSet([[1.0, 0.0]], [1.0], 1),), 2)
    with pytest.raises(UserError, match=r"the advice has 2 features, but the examples have 3.*with_constant"):
        start(make_algorithm("adviceptron", advice=advice), 3)
    assert "unknown parameter 'advice'" in refusal(make_algorithm, "pa2", advice=advice)
    assert "start must be one of zero, advice" in refusal(make_algorithm, "adviceptron", start="one")
