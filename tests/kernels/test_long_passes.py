"""Passes of 100,000 rounds, one per kernel, against the reference in C.

Quantities that a kernel carries from round to round may drift. Short passes do not show it.
`make reference` compares all algorithms on all data sets.
"""

from functools import cache

import numpy as np
import pytest

from olbench.algorithms import get_definition
from olbench.learners.learners import BLOCKED_FROM
from olbench.papers.adviceptron2010.sets import Advice, AdviceSet
from tests.reference import compiled
from tests.reference.comparison import compare, make

ROUNDS = 100_000
#: The largest relative error of the weights. Doubles summed over 100,000 rounds stay well below it.
CLOSE = 1e-9

#: kernel: name of the examples, state of the reference, algorithm, parameters, options
PASSES = {
    "first_order": ("skewed", "first", "romma", {}, {}),
    "averaged": ("skewed", "first", "averaged-pa1", {"C": 0.0625}, {}),
    "covariance": ("skewed", "full", "arow", {"r": 0.0625}, {"form": "covariance"}),
    "root": ("skewed", "full", "cw", {"eta": 0.95}, {"form": "root"}),
    "blocked": ("wide", "full", "scw1", {}, {"form": "covariance"}),
    "diagonal-kl": ("skewed", "kl", "cw-var", {"eta": 0.95}, {"covariance": "diag", "projection": "kl"}),
    "diagonal-l2": ("skewed", "l2", "scw1", {}, {"covariance": "diag", "projection": "l2"}),
    "exact": ("skewed", "exact", "cw-var", {"eta": 0.95}, {"covariance": "diag", "projection": "exact"}),
    "product": ("skewed", "product", "sop", {}, {"covariance": "diag"}),
    "dual": ("separable", "full", "scw1", {}, {"kernel": "linear"}),
    "advice": ("separable", "advice", "adviceptron", {}, {}),
    "compiled-adagrad": ("skewed", "first", "adagrad", {}, {}),
    "compiled-adagrad-da": ("skewed", "first", "adagrad-da", {"lam": 0.001}, {}),
    "compiled-ftrl": ("skewed", "first", "ftrl", {"l2": 0.5}, {}),
    "compiled-adam": ("skewed", "first", "adam", {}, {}),
    "compiled-tg": ("skewed", "first", "tg", {"K": 3.5}, {}),
    "compiled-fobos": ("skewed", "first", "fobos", {}, {}),
    "compiled-rda": ("skewed", "first", "rda", {}, {}),
}


def skewed():
    """Return examples that no hyperplane separates: ROMMA's w grows to 1e10, so an error of ||w||^2 shows."""
    rng = np.random.default_rng(0)
    X = np.hstack([np.eye(10)[rng.integers(10, size=ROUNDS)], 0.3 * rng.normal(size=(ROUNDS, 12))])
    score = X[:, 10] * X[:, 11] + 0.5 * X[:, 13] + 0.05 * X[:, 0]
    return X, np.where(score > np.quantile(score, 0.9), 1.0, -1.0)


def wide():
    """Return enough features for the kernel of large matrices; few updates make most rounds quick."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(ROUNDS, BLOCKED_FROM + 5))
    score = X[:, :20] @ rng.normal(size=20)
    return X, np.where(score + 0.02 * rng.normal(size=ROUNDS) >= 0, 1.0, -1.0)


def separable():
    """Return examples of two classes with a gap between them, which takes few updates to learn."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(ROUNDS, 8))
    direction = np.ones(8) / np.sqrt(8.0)
    score = X @ direction
    X += np.outer(np.where(score >= 0, 0.3, -0.3), direction)
    return X, np.where(score >= 0, 1.0, -1.0)


SETS = {"skewed": skewed, "wide": wide, "separable": separable}


@cache
def data(name):
    return compiled.Data(name, *SETS[name]())


def rules(d):
    D = np.zeros((2, d))
    D[0, 0] = D[1, 1] = -1.0
    first = AdviceSet(D, np.array([-0.5, -0.5]), 1)
    return Advice((first, AdviceSet(-D[:1], np.array([-0.25]), -1)), d)


@pytest.mark.skipif(compiled.find_compiler() is None, reason="no C compiler")
@pytest.mark.parametrize("kernel", PASSES)
def test_a_long_pass_equals_the_reference(kernel):
    name, family, id, params, options = PASSES[kernel]
    examples = data(name)
    order = np.random.default_rng(1).permutation(ROUNDS)
    advice = rules(examples.X.shape[1]) if family == "advice" else None
    way = "root" if id == "cw" and family == "full" else family
    exact = compiled.run(id, get_definition(id).resolve(params), way, examples, order, advice)
    counts, parted, error = compare(make(id, params, options, advice), examples, order, exact)
    assert parted == 0, f"parts from the reference in round {parted:,}"
    assert counts == exact.counts
    assert error < CLOSE
