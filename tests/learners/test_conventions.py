"""The conventions that decide published numbers, one by one."""

import math
from concurrent.futures import ThreadPoolExecutor

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
#: Learners whose penalty moves the weights in every round, whatever its row.
PENALISED = ("tg", "fobos", "rda")


def failing(check, cases):
    """Return the cases, each with its options, in which an assertion fails."""
    wrong = []
    for case in cases:
        try:
            check(*case)
        except AssertionError as error:
            wrong.append((case, str(error).strip()[:200]))
    return wrong


def last_weights(learner):
    return getattr(learner, "last_weights", learner.weights)


def test_zero_predicts_plus_one_and_a_row_of_zeros_changes_nothing():
    X, y = noisy(n=60, d=5, seed=4)
    with_zeros = np.vstack([X, np.zeros((4, 5))])
    labels = np.concatenate([y, [1, -1, 1, -1]])

    def check(id, options):
        algorithm = make_algorithm(id, **options)
        for label, mistakes in ((1.0, 0), (-1.0, 1)):
            assert online_pass(algorithm, [[1.0, 2.0]], [label]).mistakes == mistakes
        plain, extended = online_pass(algorithm, X, y), online_pass(algorithm, with_zeros, labels)
        assert extended.mistakes == plain.mistakes + 2
        assert extended.effective_updates == plain.effective_updates
        assert extended.breakdowns == plain.breakdowns == 0
        if id not in PENALISED:
            np.testing.assert_array_equal(*(last_weights(result.learner) for result in (extended, plain)))

    assert failing(check, VARIANTS) == []


def test_a_zero_row_is_an_update_by_its_hinge_loss_and_none_where_the_margin_adapts():
    for ids, updates in (("arow pa pa1 pa2 nherd narow", 3), ("cw cw-var scw1 scw2", 0)):
        for id in ids.split():
            assert counts(online_pass(id, np.zeros((3, 2)), [1, -1, 1])) == (1, updates, 0, 0), id


def test_eta_one_half_never_updates_and_eta_close_to_one_is_no_problem():
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


@for_each("projection", ["", "kl", "exact"])
@for_each("id", ["cw", "cw-var"])
def test_phi_and_eta_are_two_names_of_one_parameter(id, projection):
    options = {"covariance": "diag", "projection": projection} if projection else {}
    X, y = noisy(noise=0.0)
    phi = make_algorithm(id, phi=quantile(0.9), **options)
    eta = make_algorithm(id, eta=0.9, **options)
    assert (phi.params, eta.params) == ({"phi": quantile(0.9)}, {"eta": 0.9})
    np.testing.assert_array_equal(online_pass(phi, X, y).weights, online_pass(eta, X, y).weights)
    assert counts(online_pass(make_algorithm(id, phi=0.0, **options), X, y))[1:] == (0, 0, 0)


def test_phi_reaches_confidences_that_eta_cannot():
    """Phi(10) is one in doubles: no eta below one stands for it."""
    from scipy.stats import norm

    assert norm.cdf(10.0) == 1.0
    assert quantile(1 - 2**-53) < 8.3
    x = np.array([3.0, -4.0])
    result = online_pass(make_algorithm("cw", phi=10.0), [x], [1])
    deviation = math.sqrt(x @ result.learner.covariance @ x)
    assert result.weights @ x == pytest.approx(10.0 * deviation, rel=1e-12)


def test_an_update_is_a_round_with_a_loss_even_if_nothing_changes():
    X, y = noisy(scale=0.1)
    result = online_pass(make_algorithm("narow", b=0.5), X, y)
    assert result.updates == len(y)
    assert result.effective_updates == 0


def test_libols_second_order_perceptron_changes_without_an_update():
    X, y = noisy()
    result = online_pass(make_algorithm("sop-libol"), X, y)
    assert result.updates == result.mistakes
    assert result.effective_updates == len(y)


@pytest.mark.parametrize("id", ["cw", "cw-var", "pa", "scw1"])
def test_a_duplicate_of_the_example_just_learnt_has_no_loss(id):
    """CW and PA meet their constraints with equality: what is left is rounding, not loss."""
    X, _ = correlated(n=200)
    for x in X:
        result = online_pass(make_algorithm(id, **({"C": 1e9} if id == "scw1" else {})), [x, x], [-1, -1])
        assert result.updates == 1


@for_each("a", [2.0**-40, 0.1, 7.0, 2.0**40])
@for_each("form", ["root", "covariance"])
def test_cw_does_not_depend_on_the_initial_scale(form, a):
    """cw2008, Lemma 3."""
    X, y = noisy(seed=9)
    unit = online_pass(make_algorithm("cw", form=form), X, y)
    other = online_pass(make_algorithm("cw", form=form, a=a), X, y)
    assert counts(other) == counts(unit)
    exponent = unit.learner.scale_exponent, other.learner.scale_exponent
    np.testing.assert_allclose(
        np.ldexp(other.weights, -exponent[1]), math.sqrt(a) * np.ldexp(unit.weights, -exponent[0]), rtol=1e-6
    )


def test_scale_free_learners_count_the_same_at_any_scale():
    X, y = noisy()
    for id in ("cw", "perceptron"):
        for scale in (2.0**-400, 2.0**400):
            assert counts(online_pass(id, scale * X, y)) == counts(online_pass(id, X, y)), (id, scale)


def test_no_scale_breaks_the_arithmetic():
    X, y = noisy(n=100, d=5)

    def check(id, options):
        algorithm = make_algorithm(id, **options)
        # At 1e75, Sigma has entries 150 digits apart: what is no sum of squares may break down, and says so.
        squares = algorithm.definition.order == "first" or (algorithm.form == "root" and id != "cw-var")
        for scale in (1e-75, 1e75):
            result = online_pass(algorithm, scale * X, y)
            assert np.isfinite(result.weights).all()
            if scale < 1 or (squares and algorithm.covariance == "full"):
                assert result.breakdowns == 0
        if id in ("scw1", "scw2", "arow", "pa", "perceptron") and not options:
            for value in (1e200, 1e-170):  # the norm of these rows is no number
                assert online_pass(algorithm, [[value], [-value]] * 5, [1, -1] * 5).breakdowns == 10

    assert failing(check, VARIANTS) == []


def test_sigma_is_symmetric_to_the_bit_and_positive_definite():
    for d in (12, 55, 150):
        X, y = noisy(n=400, d=d, density=0.7)
        for id in SECOND:
            sigma = online_pass(make_algorithm(id, form="covariance"), X, y).learner.covariance
            np.testing.assert_array_equal(sigma, sigma.T, err_msg=id)
            assert np.linalg.eigvalsh(sigma).min() > 0, id


def test_the_root_form_survives_where_the_covariance_form_breaks():
    """CW shrinks Sigma without bound on noisy data: a sum of squares stays positive, differences do not."""
    X, y = noisy(n=100_000, d=8, noise=0.3, seed=1)
    root = online_pass(make_algorithm("cw", eta=0.9), X, y)
    covariance = online_pass(make_algorithm("cw", eta=0.9, form="covariance"), X, y)
    assert root.breakdowns == 0
    assert root.learner.scale_exponent > 0
    assert covariance.breakdowns > 1000


def random_labels(n=20_000, d=5):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)), rng.choice([-1.0, 1.0], n)


def test_a_feature_that_never_occurs_is_not_in_cws_way():
    X, y = random_labels()
    alone = online_pass(make_algorithm("cw", eta=0.9), X, y)
    beside = online_pass(make_algorithm("cw", eta=0.9), np.hstack([X, np.zeros((len(y), 1))]), y)
    assert counts(beside) == counts(alone)
    assert alone.breakdowns == 0


def test_cw_says_so_when_features_depend_on_each_other():
    """[X, X] is X in other coordinates, in which R' x cancels: what is left is rounding, and a breakdown."""
    X, y = random_labels()
    onehot = np.eye(6)[np.random.default_rng(1).integers(6, size=len(y))]
    for Z in (np.hstack([X, X]), np.hstack([onehot, onehot])):
        assert online_pass(make_algorithm("cw", eta=0.9), Z, y).breakdowns > 0


def test_dense_csr_and_slices_are_equal_to_the_bit():
    shapes = [(140, 0.04), (140, 0.5), (140, 1.0), (54, 0.5), (54, 1.0), (9, 0.6)]
    examples = [noisy(n=150, d=d, density=density) for d, density in shapes]

    def check(id, options):
        algorithm = make_algorithm(id, **options)
        for X, y in examples:
            dense, sparse = online_pass(algorithm, X, y, curve=1), online_pass(algorithm, sp.csr_matrix(X), y)
            cut = online_pass(algorithm, X, y, curve=37)
            for other in (sparse, cut):
                assert counts(other) == counts(dense)
                np.testing.assert_array_equal(other.weights, dense.weights)
            assert (cut.curve.mistakes[-1], len(cut.curve.t)) == (dense.mistakes, 37)

    assert failing(check, VARIANTS) == []


def test_threads_count_what_one_thread_counts():
    X, y = noisy(n=500, d=140, density=0.3)
    examples = as_examples(X)
    orders = [np.random.default_rng(seed).permutation(len(y)) for seed in range(8)]
    algorithms = [make_algorithm(id) for id in ("scw1", "cw", "arow", "pa1")]
    tasks = [(algorithm, order) for algorithm in algorithms for order in orders]

    def run(task):
        return counts(online_pass(task[0], examples, y, order=task[1]))

    alone = [run(task) for task in tasks]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, tasks)) == alone


@pytest.mark.parametrize("id", ["arow", "nherd", "scw1", "scw2", "narow", "sop", "iellip", "cw"])
def test_skipping_the_variance_where_it_cannot_matter_changes_nothing(id):
    """The screening bound only saves work: the same rule without it gives the same bits."""
    from dataclasses import replace

    X, y = correlated(n=600, d=20)
    algorithm = make_algorithm(id)
    plain = replace(algorithm, definition=replace(algorithm.definition, monotone=False))
    screened, unscreened = online_pass(algorithm, X, y), online_pass(plain, X, y)
    assert counts(screened) == counts(unscreened)
    np.testing.assert_array_equal(screened.weights, unscreened.weights)


PASSIVE = [
    *[(id, {}) for id in ("perceptron", "margin-perceptron", "pa", "pa1", "pa2", "romma", "aromma")],
    ("margin-perceptron", {"margin": 0.2}),
    *[(id, {}) for id in ("averaged-perceptron", "averaged-pa", "averaged-pa1")],
    *[("ogd", {"loss": loss}) for loss in ("hinge", "zero-one", "logistic", "squared")],
    *[(id, {}) for id in ("arow", "narow", "narow2010", "nherd", "sop", "iellip")],
]


def test_every_rule_that_can_be_passive_promises_it():
    """ALMA compares with a margin that depends on ||x||, and SGD shrinks w in every round.

    Of the second-order rules whose loss does not depend on v, ONS and SOP in the form of LIBOL learn in every
    round.
    """
    first = {each.id for each in built_in() if each.order == "first" and not each.averaged}
    second = {
        each.id
        for each in built_in()
        if each.order == "second" and not each.only_native and not each.traits.adaptive_margin
    }
    promising = {each.id for each in built_in() if each.passive_above is not None}
    assert (first - promising, second - promising) == ({"alma", "sgd"}, {"ons", "sop-libol"})
    assert promising == {id for id, _ in PASSIVE}


@pytest.mark.parametrize(("id", "params"), PASSIVE)
def test_skipping_the_rule_where_it_is_passive_changes_nothing(id, params):
    """Rows of zeros, and rows whose norm is no number, have to count as without the promise."""
    from dataclasses import replace

    X, y = noisy(n=400, d=11, density=0.7)
    X[5::40], X[7::40], X[9::40] = 0.0, X[7::40] * 1e170, X[9::40] * 1e-170
    algorithm = make_algorithm(id, **params)
    plain = replace(algorithm, definition=replace(algorithm.definition, passive_above=None))
    for storage in (np.asarray, sp.csr_matrix):
        skipping, calling = (online_pass(each, storage(X), y, curve=7) for each in (algorithm, plain))
        if algorithm.definition.order == "second":
            np.testing.assert_array_equal(skipping.learner.covariance, calling.learner.covariance)
        assert counts(skipping) == counts(calling)
        assert skipping.breakdowns > 0
        assert skipping.curve.updates.tolist() == calling.curve.updates.tolist()
        np.testing.assert_array_equal(skipping.weights, calling.weights)
        assert skipping.learner.counters.tolist() == calling.learner.counters.tolist()


@for_each(
    ("id", "projection"),
    [(definition.id, name) for definition in built_in() for name in definition.projections],
)
def test_diagonal_equals_full_on_one_feature_at_a_time(id, projection):
    """With one non-zero feature a row there is nothing to project away."""
    rng = np.random.default_rng(0)
    X = np.zeros((300, 6))
    X[np.arange(300), rng.integers(6, size=300)] = rng.normal(size=300)
    y = np.where(X.sum(axis=1) >= 0, 1.0, -1.0)
    y[::17] *= -1
    full = online_pass(make_algorithm(id, form="root"), X, y)
    diagonal = online_pass(make_algorithm(id, covariance="diag", projection=projection), X, y)
    assert counts(full) == counts(diagonal)
    exponent = full.learner.scale_exponent
    np.testing.assert_allclose(np.ldexp(full.weights, -exponent), diagonal.weights, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("form", ["covariance", "root"])
def test_iellip_shrinks_by_c_in_the_first_round(form):
    """c_t = c b^(t - 1): the first mistake, in round one, multiplies the variance along x by 1 - c."""
    algorithm = make_algorithm("iellip", b=0.5, c=0.3, form=form)
    sigma = online_pass(algorithm, [[2.0, 0.0]], [-1]).learner.covariance
    assert sigma[0, 0] == pytest.approx(0.7 * sigma[1, 1], rel=1e-15)
    later = online_pass(algorithm, [[0.0, 1.0], [2.0, 0.0]], [1, -1]).learner.covariance
    assert later[0, 0] == pytest.approx(0.85 * later[1, 1], rel=1e-15)
