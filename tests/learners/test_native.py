"""One learner for several classes: the counts of its reference, two classes, storage, slices, odd labels."""

import itertools
import json
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

from olbench import UserError, estimators, make_algorithm, online_pass, run, second_order
from olbench.kernels.counters import ONLY_LEARN, ONLY_PREDICT
from olbench.kernels.losses import excess
from olbench.learners.passes import windowed_pass
from olbench.learners.start import start_classes
from tests.cases import for_each
from tests.examples import counts, noisy
from tests.reference import learners
from tests.refusals import find_wrong, refusal

FIRST_ORDER = [
    *[("perceptron", {}, {"allocation": name}) for name in ("max", "uniform", "prop")],
    *[(id, {}, {}) for id in ("pa", "romma", "aromma")],
    *[(id, {"C": C}, {}) for id, C in (("pa1", 0.05), ("pa2", 0.05), ("ogd", 0.5))],
]
GAUSSIANS = {
    "arow": {"r": 0.5}, "cw": {"eta": 0.8}, "scw1": {"C": 0.1, "eta": 0.8}, "scw2": {"C": 0.5, "eta": 0.8},
}  # fmt: skip
SECOND_ORDER = [(*each, {"covariance": name}) for name in ("block", "shared") for each in GAUSSIANS.items()]
DIAGONAL = [
    (*each, {"covariance": "diag", "projection": projection})
    for projection, each in itertools.product(("kl", "l2", "exact"), GAUSSIANS.items())
    if projection != "exact" or each[0] == "cw"
]
TOOLBOX = [
    *[("perceptron-libol", {}, {"allocation": name}) for name in ("uniform", "prop")],
    *[(id, {}, {}) for id in ("romma-libol", "aromma-libol")],
    *[(f"{id}-libol", GAUSSIANS[id], {}) for id in ("arow", "cw", "scw1")],
]
#: One learner per kernel, and more where classes share something.
KERNELS = [
    ("perceptron", {"allocation": "prop"}), ("romma", {}), ("arow", {"covariance": "block"}),
    ("scw1", {"covariance": "shared"}), ("cw", {"covariance": "block"}), ("cw", {"covariance": "shared"}),
    ("scw2", {"covariance": "diag"}), ("cw", {"covariance": "diag", "projection": "exact"}),
]  # fmt: skip
every_kernel = pytest.mark.parametrize(("id", "settings"), KERNELS, ids=str)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16.0, y, np.random.default_rng(5).permutation(y.size)


def noisy_classes(n=400, d=8, classes=4, seed=0, density=0.7):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
    y = (X @ rng.normal(size=(d, classes))).argmax(axis=1)
    flipped = rng.random(n) < 0.2
    y[flipped] = rng.integers(0, classes, flipped.sum())
    return X, y


def native(id, X, y, order=None, **settings):
    return online_pass(make_algorithm(id, multiclass="native", **settings), X, y, order, labels="all")


def assert_same_bits(one, other):
    assert counts(one) == counts(other)
    np.testing.assert_array_equal(one.weights, other.weights)
    np.testing.assert_array_equal(one.learner.confusion, other.learner.confusion)


def compare_with_reference(id, params, options, X, y, order, classes):
    result = native(id, X, y, order, **params, **options)
    learner = learners.start(id, X.shape[1], params, {"multiclass": "native", **options}, classes)
    confusion = np.zeros((classes, classes), int)
    for i in order:
        x = X[i].astype(learners.L)
        confusion[y[i], learner.look(x)[0]] += 1
        learner.learn(x, y[i])
    assert result.updates == learner.updates
    np.testing.assert_array_equal(result.learner.confusion, confusion)
    assert result.mistakes == confusion.sum() - np.trace(confusion)
    np.testing.assert_allclose(result.weights, learner.mu.astype(float), rtol=1e-6, atol=1e-8)


@for_each(("id", "params", "options"), [*FIRST_ORDER, *SECOND_ORDER, *DIAGONAL, *TOOLBOX])
def test_counts_and_weights_are_those_of_the_reference(digits, id, params, options):
    X, y, order = digits
    compare_with_reference(id, params, options, X, y, order[:500], 10)


@for_each(("id", "params", "options"), SECOND_ORDER)
def test_wide_rows_that_share_sweeps_count_the_same(id, params, options):
    """From d = 128 on, later rows are projected ahead with guessed rivals."""
    compare_with_reference(id, params, options, *noisy_classes(250, 136, 5, density=0.9), range(250), 5)


@for_each(
    ("id", "settings", "params"),
    [*(("perceptron", {"allocation": how}, {}) for how in ("max", "uniform", "prop")), ("pa", {}, {}),
     *((id, {"C": C}, {"C": 2 * C}) for id, C in (("pa1", 0.05), ("pa2", 0.05), ("ogd", 0.25)))],
)  # fmt: skip
def test_two_classes_are_a_binary_learner(id, settings, params):
    """The first class is positive: it is predicted where scores are equal."""
    X, y = noisy(n=600, d=10, noise=0.2)
    result, expected = native(id, X, (y < 0).astype(int), **settings), online_pass(id, X, y, **params)
    assert counts(result) == counts(expected)
    assert result.curve.mistakes.tolist() == expected.curve.mistakes.tolist()


@pytest.mark.parametrize("covariance", ["block", "shared"])
def test_cw_does_not_depend_on_the_initial_scale(covariance):
    X, y = noisy_classes(3000, 4, 3)
    usual, tiny = (native("cw", X, y, covariance=covariance, a=a) for a in (1.0, 2.0**-660))
    assert counts(usual) == counts(tiny)
    assert usual.breakdowns == 0
    # Means and roots are multiplied by powers of two before they underflow.
    assert (usual.learner.scale_exponent, tiny.learner.scale_exponent) == (0, 256)


@every_kernel
@for_each("d", [9, 130])
def test_storage_slices_windows_and_threads_have_the_same_bits(id, settings, d):
    X, y = noisy_classes(300, d, 4)
    order = np.random.default_rng(2).permutation(300)
    algorithm = make_algorithm(id, multiclass="native", **settings)
    dense = online_pass(algorithm, X, y, order, labels="all", curve=1)
    assert_same_bits(online_pass(algorithm, sp.csr_matrix(X), y, order, labels="all", curve=1), dense)
    sliced = online_pass(algorithm, X, y, order, labels="all", curve=37, stopped=lambda: False)
    assert_same_bits(sliced, dense)
    windows = ((X, y.astype(float), part) for part in (order[:101], order[101:]))
    assert_same_bits(windowed_pass(algorithm, windows, d, 300, 5, classes=4), dense)
    with ThreadPoolExecutor(2) as pool:
        for other in pool.map(lambda _: online_pass(algorithm, X, y, order, labels="all"), range(4)):
            assert_same_bits(other, dense)
    full = np.where(X == 0.0, 0.5, X)  # rows without zeros are read in place
    assert_same_bits(
        online_pass(algorithm, sp.csr_matrix(full), y, order, labels="all"),
        online_pass(algorithm, full, y, order, labels="all"),
    )


@every_kernel
def test_predictions_and_labels_can_come_apart(id, settings):
    """A schedule that predicts a row and learns it in the next entry is a plain pass."""
    X, y = noisy_classes(200, 6, 3)
    algorithm = make_algorithm(id, multiclass="native", **settings)
    plain = online_pass(algorithm, X, y, labels="all", keep="margins")
    apart = np.column_stack([np.arange(200) | ONLY_PREDICT, np.arange(200) | ONLY_LEARN]).ravel()
    result = online_pass(algorithm, X, y, apart, labels="all", keep="margins")
    assert counts(result) == counts(plain)
    np.testing.assert_array_equal(result.weights, plain.weights)
    np.testing.assert_array_equal(result.margins, plain.margins)
    assert plain.mistakes == np.count_nonzero(plain.margins != plain.labels)
    unlearned = online_pass(algorithm, X, y, np.arange(200) | ONLY_PREDICT, labels="all")
    assert (unlearned.updates, unlearned.mistakes) == (0, np.count_nonzero(y != 0))


def test_rows_of_zeros_and_classes_of_one_row():
    X, y = noisy_classes(100, 5, 3)
    X[::7] = 0.0
    alone = np.random.default_rng(0).normal(size=(17, 4))
    for id, settings in KERNELS:
        result = native(id, X, y, **settings)
        assert result.breakdowns == 0
        assert np.isfinite(result.weights).all()
        assert native(id, np.zeros((4, 3)), [2, 1, 0, 2], **settings).mistakes == 3
        # Nobody predicts a class before its first example, except for class 0.
        result = native(id, alone, np.arange(17), **settings)
        assert (result.n, result.mistakes, result.breakdowns) == (17, 16, 0)


def test_an_own_rule_learns_several_classes_unless_its_gain_depends_on_the_variance(digits):
    @second_order("own-arow", monotone=True)
    def own(m, v, mistake, t, p):
        loss = excess(1.0, m)
        return (0.0, 0.0, 0.0) if loss == 0.0 else (loss, loss / (v + 1.0), 1.0)

    @second_order("own-cw")
    def own_cw(m, v, mistake, t, p):
        loss = excess(math.sqrt(v), m)
        return loss, loss / (v + 1.0), loss / math.sqrt(v)

    X, y, order = digits
    for covariance in ("block", "shared", "diag"):
        mine, arow = (native(id, X, y, order[:300], covariance=covariance) for id in ("own-arow", "arow"))
        assert_same_bits(mine, arow)
    message = "own-cw has no native form .* c .* depends on the variance v.*; use multiclass: one-vs-rest"
    with pytest.raises(UserError, match=message):
        make_algorithm("own-cw", multiclass="native")
    assert online_pass("own-cw", *noisy_classes(50, 3, 3), labels="all").n == 50


NO_FORM = [
    ("averaged-pa", {}, "mean of the weights"),
    ("ftrl", {}, "ftrl has no native form for several classes"),
    ("nherd", {}, "depends on the variance"),
    ("sop", {}, "not the covariance of a Gaussian"),
    ("iellip", {}, "not the covariance of a Gaussian"),
    ("adviceptron", {}, "not a rule for one margin"),
    ("arow", {"kernel": "rbf"}, "a kernel and forgetting are for two classes"),
    ("arow", {"forgetting": 0.9}, "a kernel and forgetting are for two classes"),
    ("arow", {"covariance": "full"}, "covariance must be one of block, shared, diag, not 'full'"),
    ("pa", {"allocation": "prop"}, "allocation is for a perceptron"),
    ("perceptron", {"allocation": "some"}, "allocation must be one of max, uniform, prop"),
    ("arow-libol", {"covariance": "block"}, "the toolbox has covariance: shared"),
    ("arow", {"multiclass": "both"}, "multiclass must be one of one-vs-rest, native, not 'both'"),
    (
        "arow",
        {"multiclass": "one-vs-rest", "covariance": "block"},
        "covariance must be one of full, diag, not",
    ),
    ("arow-libol", {"multiclass": "one-vs-rest"}, "arow-libol learns several classes natively or not at all"),
]
TWO = "supports two classes only; remove multiclass"
NO_CONFIG = [
    ("arow-libol", "online", "arow-libol learns several classes"),
    ("{id: pa, multiclass: native}", "crossval", f"the protocol crossval {TWO}"),
    ("cw-libol", "stream", "the protocol stream supports only two"),
]


def test_what_has_no_native_form_says_why(tmp_path):
    def make(id, settings):
        make_algorithm(id, **{"multiclass": "native", **settings})

    def run_config(entry, protocol):
        text = f"protocol: {protocol}\ndatasets: [breast-cancer]\nalgorithms: [{entry}]\n"
        (tmp_path / "wrong.yaml").write_text(text)
        run(tmp_path / "wrong.yaml", tmp_path / "out")

    assert (find_wrong(NO_FORM, make), find_wrong(NO_CONFIG, run_config)) == ([], [])
    with pytest.raises(UserError, match="arow-libol learns several classes: it needs labels='all'"):
        online_pass("arow-libol", np.eye(2), [1.0, -1.0])
    assert "same label" in refusal(native, "arow", np.eye(3), [1, 1, 1])
    with pytest.raises(UserError, match=r"of 100,000 features needs .* for 20 classes"):
        start_classes(make_algorithm("arow", multiclass="native"), 100_000, 20)


def test_an_estimator_learns_labels_of_text(digits):
    X, y, order = digits
    words = np.array([f"digit {label}" for label in y])
    model = estimators.AROW(multiclass="native", shuffle=False).fit(X[order], words[order])
    expected = native("arow", X, y, order)
    assert (model.mistakes_.tolist(), model.updates_.tolist()) == ([expected.mistakes], [expected.updates])
    np.testing.assert_array_equal(model.coef_, expected.weights)
    assert model.score(X, words) > 0.95
    assert model.margin_variance(X).shape == (1797, 10)
    assert (model.margin_variance(X) > 0).all()
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError) as refused:
        model.predict_proba(X)
    assert "multiclass='native' has no probabilities; use" in str(refused.value.__cause__)


def test_a_config_runs_classes_both_ways(tmp_path, here):
    path, out = tmp_path / "both.yaml", tmp_path / "out"
    path.write_text(
        "datasets: [{name: digits-1-vs-7, labels: all}, breast-cancer]\npermutations: 2\ncurve: 5\n"
        "algorithms: [pa1, {id: pa1, multiclass: one-vs-rest, name: rest}, {id: pa1, multiclass: native},"
        " {id: arow, multiclass: native}, {id: perceptron, multiclass: native, allocation: prop}]\n"
    )
    run(path, out, jobs=1)
    records = [json.loads(line) for line in (out / "trials.jsonl").read_text().splitlines()]
    assert len(records) == 2 * 4 * 2  # the two entries of one-vs-rest are the same trials
    options = {each["algorithm"]: each["options"] for each in records if "multiclass" in each["options"]}
    assert options == {
        "pa1": {"multiclass": "native"},
        "arow": {"covariance": "block", "form": "covariance", "a": 1.0, "multiclass": "native"},
        "perceptron": {"allocation": "prop", "multiclass": "native"},
    }
    assert "digits-1-vs-7[all]" in here.out("report", out)
