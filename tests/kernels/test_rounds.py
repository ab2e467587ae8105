"""Rounds that no learner of the papers has: steps without loss, infinities, rules without promises."""

import time
from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier

from olbench import make_algorithm, online_pass, wrap
from olbench.algorithms.definition import REGISTRY, first_order, second_order
from olbench.learners.examples import as_examples
from olbench.learners.start import start, start_classes
from tests.cases import for_each
from tests.examples import counts, noisy
from tests.refusals import find_wrong, refusal

FORMS = {
    "full": (3, {}),
    "blocked": (130, {}),
    "root": (3, {"form": "root"}),
    "kl": (3, {"covariance": "diag"}),
    "l2": (3, {"covariance": "diag", "projection": "l2"}),
    "dual": (3, {"kernel": "linear"}),
}
every_form = for_each(("d", "options"), FORMS.values())


@contextmanager
def defined(decorator, rule):
    """Define an algorithm for as long as a test takes; yield its id."""
    definition = decorator(rule)
    try:
        yield getattr(definition, "id", rule.__name__)
    finally:
        del REGISTRY[rule.__name__]


def moves_without_loss(m, v, mistake, t, p):
    return 0.0, 0.5, 0.0


def grows_sure_without_loss(m, v, mistake, t, p):
    return 0.0, 0.0, 1.0


@every_form
@for_each("monotone", [True, False])
def test_a_step_without_loss_is_taken_and_counts_as_effective_only(d, options, monotone):
    X, y = np.eye(d)[:3] * 2.0, np.ones(3)
    with defined(second_order("moves_without_loss", monotone=monotone), moves_without_loss) as id:
        result = online_pass(make_algorithm(id, **options), X, y)
    assert counts(result) == (0, 0, 3, 0)
    np.testing.assert_allclose(result.weights[:3], [1.0, 1.0, 1.0], rtol=1e-15)
    with defined(second_order("grows_sure_without_loss", monotone=monotone), grows_sure_without_loss) as id:
        result = online_pass(make_algorithm(id, **options), X, y)
    assert counts(result) == (0, 0, 3, 0)
    assert not result.weights.any()
    sigma = result.learner.covariance
    # c = 1 adds x_j^2 to the precision of the only feature of a row, in every form.
    np.testing.assert_allclose((np.diag(sigma) if sigma.ndim == 2 else sigma)[:3], 0.2, rtol=1e-12)


def acts_where_it_is_sure(m, v, mistake, t, p):
    if v >= 0.5:
        return 0.0, 0.0, 0.0
    return 1.0, 0.1, 1.0


@every_form
def test_a_rule_without_promises_is_asked_with_the_variance_itself(d, options):
    """Its loss falls as v grows, so a bound of v, such as the initial variance, would skip it."""
    X = np.zeros((2, d))
    X[:, 0] = 0.6, 0.75
    with defined(second_order("acts_where_it_is_sure"), acts_where_it_is_sure) as id:
        result = online_pass(make_algorithm(id, **options), X, np.ones(2))
    assert 0.75**2 > 0.5 > 0.75**2 / (1 + 0.6**2)
    assert counts(result) == (0, 2, 2, 0)


@for_each("form", ["full", "blocked", "kl", "l2", "dual"])
@for_each("id", ["arow", "nherd", "scw1"])
def test_an_infinite_variance_is_a_breakdown_that_changes_nothing(id, form):
    d, options = FORMS[form]
    X = np.zeros((1, d))
    X[0, 0] = 1e10
    result = online_pass(make_algorithm(id, a=1e300, **options), X, [-1.0])
    assert (result.mistakes, result.effective_updates, result.breakdowns) == (1, 0, 1)
    assert not result.weights.any()


def shrinks_and_steps(m, s, mistake, q, t, k, p):
    return 1.0, p[0], (1e308 * 1e308 if t % 3 == 0 else 0.25)


@for_each("averaged", [True, False])
@for_each("shrink", [1.0, 0.9, 0.01, -0.5, 0.0])
def test_a_rule_that_shrinks_and_sometimes_overflows_does_what_a_plain_loop_does(shrink, averaged):
    """The kernel keeps a common factor apart from the weights; an infinite step leaves them as they are."""
    X, y = noisy(n=150, d=5)
    every = [np.zeros(5)]
    for t, (x, label) in enumerate(zip(X, y, strict=True), 1):
        every.append(shrink * every[-1] + 0.25 * label * x if t % 3 else every[-1])
    define = first_order("shrinks_and_steps", averaged=averaged, constants=lambda: (shrink,))
    with defined(define, shrinks_and_steps) as id:
        result = online_pass(make_algorithm(id), X, y)
    wrong = [(w @ x >= 0) != (label > 0) for w, x, label in zip(every[:-1], X, y, strict=True)]
    assert counts(result) == (np.count_nonzero(wrong), 150, 100, 50)
    expected = np.mean(every[1:], axis=0) if averaged else every[-1]
    np.testing.assert_allclose(result.weights, expected, rtol=1e-10, atol=1e-13)


@for_each(
    ("id", "d", "options"),
    [("perceptron", 3, {}), ("averaged-pa", 3, {}), *(("arow", *form) for form in FORMS.values()),
     ("cw", 3, {"form": "root", "a": 2.0**-700}), ("cw", 3, {"covariance": "diag", "projection": "exact"}),
     ("adviceptron", 3, {})],
)  # fmt: skip
def test_the_kept_margin_of_a_round_is_that_of_the_weights_before_it_with_their_exponent(id, d, options):
    X, y = noisy(n=20, d=d)
    learner, rows = start(make_algorithm(id, **options), d), as_examples(X).rows()
    learner.keep_margins(np.array([[np.nan, 0.0]] * 8))
    exponents = set()
    for t, x in enumerate(X):
        exponent = getattr(learner, "scale_exponent", 0)
        weights = np.array(getattr(learner, "last_weights", learner.weights))
        learner.run(rows, y, np.array([t]))
        margin, kept = learner.margins[t % 8]
        assert kept == exponent
        assert margin == pytest.approx(weights @ x, rel=1e-9, abs=1e-12)
        exponents.add(exponent)
    assert exponents == ({0, 256} if options.get("a") else {0})


def test_the_seconds_of_a_curve_are_those_of_a_clock():
    X, y = noisy(n=20_000, d=30)
    online_pass("arow", X, y)
    started = time.perf_counter()
    seconds = online_pass("arow", X, y, curve=10).curve.seconds
    passed = time.perf_counter() - started
    assert (np.diff([0.0, *seconds, passed]) > 0.0).all()


@for_each(
    ("id", "settings", "scale"),
    [
        ("perceptron", {}, 1.0), ("romma", {}, 1.0), ("averaged-perceptron", {}, 1.0), ("arow", {}, 1.0),
        ("scw1", {"covariance": "diag"}, 1.0), ("sop", {"covariance": "diag"}, 1.0),
        ("arow", {"kernel": "rbf"}, 1.0), ("adagrad", {}, 1.0), ("fobos", {}, 1.0),
        ("cw", {"form": "root"}, 1e40),  # the learner rescales itself
    ],
)  # fmt: skip
def test_steps_are_a_pass_to_the_bit_and_the_score_is_the_next_margin(id, settings, scale):
    X, y = noisy(n=60, d=5, density=0.8, scale=scale)
    algorithm = make_algorithm(id, **settings)
    whole = online_pass(algorithm, X, y, keep="margins")
    for form in (list, np.asarray, lambda row: sp.csr_matrix(row[None])):
        learner, margins, scores = start(algorithm, 5), [], []
        for x, label in zip(X, y, strict=True):
            scores.append(learner.score(x))
            margins.append(learner.step(form(x), label))
        assert margins == whole.margins.tolist()
        # An averaged learner predicts with its average, but learns from the margin of its last weights.
        if id != "averaged-perceptron":
            assert scores == pytest.approx(margins, rel=1e-9, abs=1e-12 * scale)
        assert counts(learner) == counts(whole)
        if "kernel" not in settings:
            assert learner.weights.tolist() == whole.weights.tolist()


def test_an_object_of_another_library_takes_steps():
    X, y = noisy(n=40, d=5)
    algorithm = wrap(SGDClassifier(random_state=0))
    learner = start(algorithm, 5)
    margins = [learner.step(x, label) for x, label in zip(X, y, strict=True)]
    assert margins == online_pass(algorithm, X, y, keep="margins").margins.tolist()
    assert np.sign(learner.score(X[0])) == learner.predict(as_examples(X[:1]).rows(), np.array([0]))[0]


def test_a_step_with_a_wrong_example_changes_nothing():
    cases = [
        ([1.0, 2.0], 1, "one row of 3 numbers, but its shape is (2,)"),
        (np.ones((2, 3)), 1, "but its shape is (2, 3)"),
        (sp.csr_matrix(np.ones((1, 4))), 1, "but its shape is (1, 4)"),
        (np.array([1.0, np.nan, 0.0]), 1, "X holds nan at row 0, column 1"),
        (["a", "b", "c"], 1, "X must be a matrix of numbers"),
        (np.ones(3), 0, "y must be -1 or +1, not 0"),
    ]
    learner = start(make_algorithm("perceptron"), 3)
    assert find_wrong(cases, learner.step) == []
    assert learner.rounds == 0
    assert not learner.weights.any()
    learner.step(np.array([1e200, 0.0, 0.0]), 1)  # its square overflows, which is not an error
    assert learner.rounds == 1
    several = start_classes(make_algorithm("perceptron", multiclass="native"), 3, 4)
    assert "no single margin" in refusal(several.step, np.ones(3), 1)
    assert "no single margin" in refusal(several.score, np.ones(3))
