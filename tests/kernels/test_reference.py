"""Every algorithm counts what a long-double reading of its paper counts."""

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from benchmarks.reference import page
from olbench import make_algorithm, online_pass
from olbench.algorithms import get_definition
from tests.examples import built_in, correlated, noisy
from tests.reference import compiled

pytestmark = pytest.mark.skipif(compiled.find_compiler() is None, reason="no C compiler")

#: The largest relative error of the weights.
CLOSE = 1e-6
SETTINGS = [
    ("perceptron", {}),
    *[("margin-perceptron", {"margin": margin}) for margin in (0.0, 1.0, 3.0)],
    ("pa", {}),
    ("averaged-perceptron", {}),
    ("averaged-pa", {}),
    *[(id, {"C": C}) for id in ("pa1", "averaged-pa1", "pa2", "nherd") for C in (0.0625, 1.0, 16.0)],
    ("romma", {}),
    ("aromma", {}),
    *[("alma", {"alpha": alpha, "C": 1.4}) for alpha in (0.5, 0.9, 1.0)],
    *[("ogd", {"C": 0.5, "loss": loss}) for loss in ("hinge", "logistic", "squared", "zero-one")],
    *[
        ("sgd", {"eta0": eta0, "lam": lam, "step": step})
        for eta0, lam, step in ((0.01, 1e-4, "sqrt"), (0.3, 0.1, "sqrt"), (1.0, 0.5, "inverse"))
    ],
    ("sop", {}),
    ("sop-libol", {}),
    *[("iellip", {"b": b, "c": 0.1}) for b in (0.3, 0.9, 1.0)],
    *[(id, {"eta": eta}) for id in ("cw", "cw-var") for eta in (0.5, 0.55, 0.7, 0.95)],
    *[("ons", {"gamma": gamma}) for gamma in (0.0625, 1.0, 16.0)],
    *[("arow", {"r": r}) for r in (0.0625, 1.0, 16.0)],
    *[(id, {"b": b}) for id in ("narow", "narow2010") for b in (0.0625, 1.0, 16.0)],
    *[
        (id, {"C": C, "eta": eta})
        for id in ("scw1", "scw2", "scw2-libol")
        for C, eta in ((0.0625, 0.55), (1.0, 0.75), (16.0, 0.95))
    ],
    *[
        (id, {"lam": lam, "mu": 0.5, "start": "zero"})
        for id in ("adviceptron", "adviceptron-printed", "adviceptron-exact")
        for lam in (0.0625, 16.0)
    ],
]
FAMILIES = {"first": "first", "second": "full", "advice": "advice"}
# Compiled learners are not in the reference; tests/algorithms/test_adaptive.py solves their problems.
RULES = [definition for definition in built_in() if definition.order != "compiled"]
DEFAULTS = [(definition.id, definition.resolve({})) for definition in RULES]


def find_differences(settings, X, y, order, **options):
    """Return the settings whose counts or weights differ from the reference."""
    data, differences = compiled.Data("", X, y), []
    for id, params in settings:
        ours = online_pass(make_algorithm(id, **params, **options), X, y, order=order)
        family = FAMILIES[get_definition(id).order]
        exact, other = compiled.run_twice(id, params, family, data, order)
        counts = (ours.mistakes, ours.updates, ours.breakdowns)
        error = compiled.find_error(ours.weights, exact.weights, getattr(ours.learner, "scale_exponent", 0))
        if not counts == exact.counts == other.counts or error > CLOSE:
            differences.append((id, params, counts, exact.counts, other.counts, error))
    return differences


SETS = {
    "noisy": noisy(n=250, d=12),
    "separable": noisy(n=250, d=12, noise=0.0, seed=1),
    "correlated": correlated(n=200, d=8),
    "zero rows": noisy(n=120, d=7, density=0.4, seed=5),
}
SETS["zero rows"][0][::9] = 0.0


def test_every_algorithm_is_compared():
    assert {id for id, _ in SETTINGS} == {definition.id for definition in RULES}


@pytest.mark.parametrize("name", SETS)
def test_counts_and_weights_equal_the_reference(name):
    X, y = SETS[name]
    order = np.random.default_rng(3).permutation(len(y))
    assert find_differences(SETTINGS, X, y, order) == []


@pytest.mark.parametrize("form", ["root", "covariance"])
def test_both_forms_count_the_same(form):
    X, y = SETS["noisy"]
    ids = ["cw", "cw-var", "arow", "nherd", "narow", "scw1", "scw2", "sop", "iellip"]
    settings = {id: (id, params) for id, params in reversed(SETTINGS) if id in ids}
    assert find_differences(settings.values(), X, y, np.arange(len(y)), form=form) == []


@pytest.mark.parametrize(("name", "rounds"), [("svmguide3", None), ("sonar.bz2", None), ("w1a.bz2", 800)])
def test_real_counts_equal_the_reference(mirror, name, rounds):
    X, labels = load_svmlight_file(str(mirror / name))
    X, y = X.toarray(), np.where(labels == labels.max(), 1.0, -1.0)
    order = np.random.default_rng(1).permutation(len(y))[:rounds]
    settings = [*DEFAULTS, ("cw", {"eta": 0.95})] if name == "svmguide3" else DEFAULTS
    assert find_differences(settings, X, y, order) == []


def test_the_tables_of_the_page_are_those_of_the_record():
    head, lines = page.read()
    assert page.PAGE.read_text(encoding="utf-8") == page.render(head, lines)
    reasons = {page.find_reason(line) for line in lines if line["outcome"] == "differs"}
    assert page.OURS not in reasons
