"""Baselines: the last label, or the more frequent one so far."""

import numpy as np
import pytest

from olbench import online_pass
from olbench.learners.schedules import make_schedule
from tests.cases import for_each


@pytest.fixture
def labels(rng):
    return np.where(rng.random(500) < 0.6, 1.0, -1.0)


def last(known):
    return known[-1] if known else 1.0


def majority(known):
    return 1.0 if sum(known) >= 0 else -1.0


@for_each("delay", [0, 1, 7])
@for_each(("id", "guess"), [("no-change", last), ("majority-so-far", majority)])
def test_a_baseline_predicts_from_the_labels_that_are_there(labels, id, guess, delay):
    n = labels.size
    schedule = make_schedule(np.arange(n) + 1 + delay)
    result = online_pass(id, np.zeros((n, 2)), labels, order=schedule, keep="margins")
    expected = [guess(labels[: max(0, t - delay)].tolist()) for t in range(n)]
    assert np.where(result.margins >= 0, 1.0, -1.0).tolist() == expected
    assert result.mistakes == np.count_nonzero(np.array(expected) != labels)
    assert result.updates == 0
    assert result.effective_updates == n - delay


def test_several_classes_have_the_same_baselines(rng):
    y = rng.choice(4, 300, p=[0.1, 0.2, 0.5, 0.2])
    X = np.zeros((300, 1))
    same = online_pass("no-change", X, y, labels="all", keep="margins").margins
    assert same[1:].tolist() == y[:-1].tolist()
    frequent = online_pass("majority-so-far", X, y, labels="all", keep="margins").margins
    assert frequent[1:].tolist() == [int(np.argmax(np.bincount(y[:t], minlength=4))) for t in range(1, 300)]
