"""Small sets of examples for tests, and what a pass over them counts."""

import numpy as np

from olbench.algorithms import definitions
from olbench.data.dataset import Dataset
from olbench.data.source import Source
from olbench.data.spec import DatasetSpec


def built_in():
    """Return the learners of two classes that ship, without the baselines, which look at no example."""
    return [each for each in _rules() if not each.only_native]


def built_in_native():
    """Return the learners that only several classes have, as a toolbox has them."""
    return [each for each in _rules() if each.only_native]


def _rules():
    return [
        each
        for each in definitions()
        if each.rule and each.rule.__module__.startswith("olbench.") and each.order != "baseline"
    ]


def make_source(name, X, y):
    return Source(DatasetSpec(name), Dataset(name, X, y, ""), can_reload=False)


def noisy(n=300, d=12, noise=0.15, seed=0, density=1.0, scale=1.0):
    """Return examples of a random linear concept, some labels flipped, some entries zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
    y = np.where(X @ rng.normal(size=d) >= 0, 1.0, -1.0)
    y[rng.random(n) < noise] *= -1
    return scale * X, y


def correlated(n=300, d=12, noise=0.05, seed=0):
    """Return examples with features of very different scale and strong correlation."""
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(d, d)) * np.logspace(-1, 1, d)
    X = rng.normal(size=(n, d)) @ mixing
    y = np.where(X @ rng.normal(size=d) >= 0, 1.0, -1.0)
    y[rng.random(n) < noise] *= -1
    return X, y


def counts(result):
    return result.mistakes, result.updates, result.effective_updates, result.breakdowns
