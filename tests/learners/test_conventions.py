"""The conventions that decide published numbers, one by one."""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from olbench import make_algorithm, online_pass
from olbench.algorithms.cw import quantile
from olbench.learners.examples import as_examples
from tests.cases import for_each
from tests.examples import built_in, correlated, counts, noisy

ALL = [definition.id for definition in built_in()]
SECOND = [definition.id for definition in built_in() if definition.order == "second"]
VARIANTS = [
    *[(id, {}) for id in ALL],
    *[(id, {"form": form}) for id in SECOND for form in ("root", "covariance")],
    *[(id, {"kernel": "linear"}) for id in ("cw", "scw1", "scw2", "arow")],
    *[
        (definition.id, {"covariance": "diag", "projection": projection})
        for definition in built_in()
        for projection in definition.projections
    ],
]
FORGETFUL = [
    ("cw", {"eta": 0.8, "forgetting": 0.95, **options})
    for options in ({}, {"covariance": "diag"}, {"covariance": "diag", "projection": "exact"})
]
CURVED = [(id, {"kernel": name, "gamma": 0.1}) for id in ("scw1", "arow") for name in ("rbf", "poly")]
#: Learners whose penalty moves the weights in every round.
PENALISED = ("tg", "fobos", "rda")
EXACT = {"covariance": "diag", "projection": "exact"}


@for_each(("id", "options"), VARIANTS)
def test_zero_predicts_plus_one_and_a_row_of_zeros_changes_nothing(id, options):
    X, y = noisy(n=60, d=5, seed=4)
    algorithm = make_algorithm(id, **options)
    for label, mistakes in ((1.0, 0), (-1.0, 1)):
        assert online_pass(algorithm, [[1.0, 2.0]], [label]).mistakes == mistakes
    plain = online_pass(algorithm, X, y)
    extended = online_pass(algorithm, np.vstack([X, np.zeros((4, 5))]), [*y, 1, -1, 1, -1])
    assert extended.mistakes == plain.mistakes + 2
    assert extended.effective_updates == plain.effective_updates
    assert extended.breakdowns == plain.breakdowns == 0
    if id not in PENALISED:
        np.testing.assert_array_equal(extended.learner.last_weights, plain.learner.last_weights)


def test_a_zero_row_is_an_update_for_a_hinge_loss_but_not_for_an_adaptive_margin():
    for ids, updates in (("arow pa pa1 pa2 nherd narow", 3), ("cw cw-var scw1 scw2", 0)):
        for id in ids.split():
            assert counts(online_pass(id, np.zeros((3, 2)), [1, -1, 1])) == (1, updates, 0, 0), id


def test_eta_one_half_never_updates_and_eta_close_to_one_breaks_nothing():
    X, y = noisy()
    for id in ("cw", "cw-var", "scw1", "scw2", "scw2-libol"):
        for options in ({}, {"form": "covariance"}, {"covariance": "diag"}):
            result = online_pass(make_algorithm(id, eta=0.5, **options), X, y)
            assert (result.updates, result.mistakes) == (0, np.count_nonzero(y < 0)), (id, options)
            assert not result.weights.any()
    X, y = correlated()
    for id in ("cw", "cw-var", "scw1", "scw2"):
        result = online_pass(make_algorithm(id, eta=1 - 2**-53), X, y)
        assert (result.breakdowns, np.isfinite(result.weights).all()) == (0, True), id
        assert result.mistakes < 0.5 * len(y)


@for_each("options", [{}, {"covariance": "diag", "projection": "kl"}, EXACT])
@for_each("id", ["cw", "cw-var"])
def test_phi_and_eta_are_two_names_of_one_parameter(id, options):
    X, y = noisy(noise=0.0)
    phi = make_algorithm(id, phi=quantile(0.9), **options)
    eta = make_algorithm(id, eta=0.9, **options)
    assert (phi.params, eta.params) == ({"phi": quantile(0.9)}, {"eta": 0.9})
    np.testing.assert_array_equal(online_pass(phi, X, y).weights, online_pass(eta, X, y).weights)
    assert counts(online_pass(make_algorithm(id, phi=0.0, **options), X, y))[1:] == (0, 0, 0)


def test_phi_reaches_confidences_that_eta_cannot():
    """Phi(10) is one in doubles: no eta below one corresponds to it."""
    assert quantile(1 - 2**-53) < 8.3
    x = np.array([3.0, -4.0])
    result = online_pass(make_algorithm("cw", phi=10.0), [x], [1])
    assert result.weights @ x == pytest.approx(10.0 * math.sqrt(x @ result.learner.covariance @ x), rel=1e-12)


def test_an_update_is_a_round_with_a_loss_even_if_nothing_changes():
    X, y = noisy(scale=0.1)
    assert counts(online_pass(make_algorithm("narow", b=0.5), X, y))[1:3] == (len(y), 0)
    # LIBOL's second-order perceptron changes Sigma in every round, without an update.
    result = online_pass(make_algorithm("sop-libol"), X, y)
    assert (result.updates, result.effective_updates) == (result.mistakes, len(y))


def test_a_duplicate_of_the_example_just_learnt_has_no_loss():
    """CW and PA meet their constraints with equality: only rounding is left of the loss."""
    X, _ = correlated(n=200)
    scaled = X * 10.0 ** np.random.default_rng(1).uniform(-5, 5, size=(200, 1))
    full = [("cw", {}), ("cw-var", {}), ("pa", {}), ("scw1", {"C": 1e9})]
    exact = [(id, {"phi": phi, **EXACT}) for id in ("cw", "cw-var") for phi in (0.01, 1.0, 10.0)]
    for cases, rows in ((full, X), (exact, scaled)):
        for id, options in cases:
            algorithm = make_algorithm(id, **options)
            assert {online_pass(algorithm, [x, x], [-1, -1]).updates for x in rows} == {1}, (id, options)


@for_each("a", [2.0**-40, 0.1, 7.0, 2.0**40])
@for_each(
    "options",
    [
        {"form": "root"}, {"form": "covariance"},
        *[{"covariance": "diag", "projection": name} for name in ("kl", "l2", "exact")],
    ],
)  # fmt: skip
def test_cw_does_not_depend_on_the_initial_scale(options, a):
    """cw2008, Lemma 3."""
    X, y = noisy(seed=9, noise=0.0 if "covariance" in options else 0.15)
    unit, other = (online_pass(make_algorithm("cw", a=scale, **options), X, y) for scale in (1.0, a))
    assert counts(other) == counts(unit)
    weights = [np.ldexp(each.weights, -each.learner.scale_exponent) for each in (unit, other)]
    np.testing.assert_allclose(weights[1], math.sqrt(a) * weights[0], rtol=1e-6)


@for_each(("id", "options"), VARIANTS)
def test_no_scale_breaks_the_arithmetic(id, options):
    X, y = noisy(n=100, d=5)
    algorithm = make_algorithm(id, **options)
    # At 1e75, Sigma has entries 150 digits apart: only a sum of squares cannot break down.
    squares = algorithm.definition.order == "first" or (algorithm.form == "root" and id != "cw-var")
    for scale in (1e-75, 1e75):
        result = online_pass(algorithm, scale * X, y)
        assert np.isfinite(result.weights).all()
        if scale < 1 or (squares and algorithm.covariance == "full"):
            assert result.breakdowns == 0


def test_the_root_form_survives_where_the_covariance_form_breaks():
    """CW shrinks Sigma without bound on noisy data: a sum of squares stays positive, differences do not."""
    X, y = noisy(n=100_000, d=8, noise=0.3, seed=1)
    root, covariance = (online_pass("cw", X, y, eta=0.9, form=form) for form in ("root", "covariance"))
    assert root.breakdowns == 0
    assert root.learner.scale_exponent > 0
    assert covariance.breakdowns > 1000


def test_cw_ignores_features_that_never_occur_and_says_when_features_depend_on_each_other():
    """[X, X] is X in other coordinates, in which R' x cancels: only rounding is left, a breakdown."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 5)), rng.choice([-1.0, 1.0], 20_000)
    alone, beside, twice = (
        online_pass("cw", Z, y, eta=0.9)
        for Z in (X, np.hstack([X, np.zeros((y.size, 1))]), np.hstack([X, X]))
    )
    assert counts(beside) == counts(alone)
    assert alone.breakdowns == 0
    assert twice.breakdowns > 0


SHAPES = [(140, 0.04), (140, 0.5), (140, 1.0), (54, 0.5), (54, 1.0), (9, 0.6)]


@for_each(("d", "density"), SHAPES)
@for_each(("id", "options"), VARIANTS + FORGETFUL + CURVED)
def test_dense_csr_and_slices_are_equal_to_the_bit(id, options, d, density):
    X, y = noisy(n=150, d=d, density=density)
    algorithm = make_algorithm(id, **options)
    dense, sparse = online_pass(algorithm, X, y, curve=1), online_pass(algorithm, sp.csr_matrix(X), y)
    cut = online_pass(algorithm, X, y, curve=37)
    for other in (sparse, cut):
        assert counts(other) == counts(dense)
        np.testing.assert_array_equal(other.weights, dense.weights)
    assert (cut.curve.mistakes[-1], len(cut.curve.t)) == (dense.mistakes, 37)


def test_threads_count_what_one_thread_counts():
    X, y = noisy(n=500, d=140, density=0.3)
    examples, orders = as_examples(X), [np.random.default_rng(seed).permutation(500) for seed in range(8)]
    tasks = [(id, order) for id in ("scw1", "cw", "arow", "pa1") for order in orders]

    def run(task):
        return counts(online_pass(task[0], examples, y, order=task[1]))

    alone = [run(task) for task in tasks]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, tasks)) == alone


PASSIVE = [
    *[(id, {}) for id in ("perceptron", "margin-perceptron", "pa", "pa1", "pa2", "romma", "aromma")],
    ("margin-perceptron", {"margin": 0.2}),
    *[(id, {}) for id in ("averaged-perceptron", "averaged-pa", "averaged-pa1")],
    *[("ogd", {"loss": loss}) for loss in ("hinge", "zero-one", "logistic", "squared")],
    *[(id, {}) for id in ("arow", "narow", "narow2010", "nherd", "sop", "iellip")],
]


@for_each(("id", "params"), [*PASSIVE, ("scw1", {}), ("scw2", {}), ("cw", {})])
def test_promises_of_a_rule_only_save_work(id, params):
    """Without them, rounds are neither screened by a bound of the variance nor skipped by their margin."""
    X, y = noisy(n=400, d=11, density=0.7)
    X[5::40], X[7::40], X[9::40] = 0.0, X[7::40] * 1e170, X[9::40] * 1e-170
    algorithm = make_algorithm(id, **params)
    bare = replace(algorithm, definition=replace(algorithm.definition, passive_above=None, monotone=False))
    for rows, labels in ((X, y), (sp.csr_matrix(X), y), correlated(n=600, d=20)):
        promised, plain = (online_pass(each, rows, labels, curve=7) for each in (algorithm, bare))
        if algorithm.definition.order == "second":
            np.testing.assert_array_equal(promised.learner.covariance, plain.learner.covariance)
        assert counts(promised) == counts(plain)
        assert promised.breakdowns > 0 or labels is not y
        assert promised.curve.updates.tolist() == plain.curve.updates.tolist()
        np.testing.assert_array_equal(promised.weights, plain.weights)


def test_iellip_shrinks_by_c_in_the_first_round():
    """c_t = c b^(t - 1): the first mistake, in round one, multiplies the variance along x by 1 - c."""
    sigma = online_pass("iellip", [[2.0, 0.0]], [-1], b=0.5, c=0.3).learner.covariance
    assert sigma[0, 0] == pytest.approx(0.7 * sigma[1, 1], rel=1e-15)
