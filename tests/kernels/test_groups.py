"""Mistakes are counted by group of their rows, in every kernel and on every path of a pass."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier

from olbench import make_algorithm, online_pass, wrap
from olbench.errors import UserError
from olbench.kernels import counters as at
from olbench.learners.passes import train, windowed_pass
from olbench.learners.schedules import make_schedule, with_groups
from olbench.learners.start import start
from olbench.records import seeds
from tests.cases import for_each

N, G = 300, 7
#: One for each kernel, and for both forms of a storage or a covariance where a kernel has them.
LEARNERS = [
    ("pa1", {}, 6),
    ("averaged-pa1", {}, 6),
    ("romma", {}, 6),
    ("fobos", {}, 6),
    ("arow", {}, 6),
    ("scw1", {}, 6),
    ("arow", {}, 130),
    ("cw", {"form": "root"}, 6),
    ("arow", {"covariance": "diag"}, 6),
    ("sop", {"covariance": "diag"}, 6),
    ("cw", {"covariance": "diag", "projection": "exact"}, 6),
    ("arow", {"kernel": "rbf", "gamma": 0.1}, 6),
    ("majority-so-far", {}, 6),
    ("object", {}, 6),
]
CLASSES = [
    ("pa1", {}, 6),
    ("pa1", {"multiclass": "native"}, 6),
    ("arow", {"multiclass": "native"}, 6),
    ("cw", {"multiclass": "native"}, 6),
    ("arow", {"multiclass": "native", "covariance": "diag"}, 6),
    ("cw", {"multiclass": "native", "covariance": "diag", "projection": "exact"}, 6),
]


def make(id, settings):
    if id == "object":
        return wrap(SGDClassifier(random_state=0))
    return make_algorithm(id, **settings)


def draw(d, classes=2):
    rng = np.random.default_rng([d, classes])
    X = rng.normal(size=(N, d)) * (rng.random((N, d)) < 0.7)
    scores = X @ rng.normal(size=(d, classes)) + 2.0 * rng.normal(size=(N, classes))
    y = np.where(scores[:, 0] > scores[:, 1], 1.0, -1.0) if classes == 2 else scores.argmax(axis=1)
    return X, y, rng.integers(0, G, N), rng.permutation(N)


def count_in_a_loop(predicted, truth, groups):
    counts = np.zeros((at.GROUPS, 2), np.int64)
    for guess, label, group in zip(predicted, truth, groups, strict=True):
        counts[group, int(label > 0)] += guess != label
    return counts


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@for_each(("id", "settings", "d"), LEARNERS)
def test_mistakes_are_counted_by_group_and_label(id, settings, d, storage):
    X, y, groups, order = draw(d)
    entries = with_groups(order, groups[order])
    plain = online_pass(make(id, settings), storage(X), y, order)
    kept = online_pass(make(id, settings), storage(X), y, entries, keep="margins")
    found = online_pass(make(id, settings), storage(X), y, entries, stopped=lambda: False)
    expected = count_in_a_loop(np.where(kept.positive, 1.0, -1.0), y[order], groups[order])
    assert expected.sum() == plain.mistakes > 20
    for result in (found, kept):
        np.testing.assert_array_equal(result.missed, expected)
        assert (result.mistakes, result.updates) == (plain.mistakes, plain.updates)
        assert result.missed[:, 0].sum() == result.curve.false_alarms[-1] == plain.curve.false_alarms[-1]
    np.testing.assert_array_equal(kept.groups, groups[order])
    np.testing.assert_array_equal(found.weights, plain.weights)
    # Without groups all rows are in the first.
    assert plain.missed[0].sum() == plain.mistakes


@for_each(("id", "settings", "d"), CLASSES)
def test_mistakes_of_several_classes_are_counted_by_true_and_by_predicted_class(id, settings, d):
    X, y, groups, order = draw(d, 4)
    entries = with_groups(order, groups[order])
    found = online_pass(make(id, settings), X, y, entries, labels="all")
    kept = online_pass(make(id, settings), X, y, entries, labels="all", keep="margins")
    expected = np.zeros((at.GROUPS, 8), np.int64)
    for predicted, row in zip(kept.margins.astype(int), order, strict=True):
        if predicted != y[row]:
            expected[groups[row], int(y[row])] += 1
            expected[groups[row], 4 + predicted] += 1
    np.testing.assert_array_equal(found.missed, expected)
    np.testing.assert_array_equal(kept.missed, expected)
    assert expected.sum() == 2 * found.mistakes > 40


@for_each(("id", "settings", "d"), [LEARNERS[0], LEARNERS[4], LEARNERS[-1]])
def test_a_label_that_comes_late_counts_when_it_is_predicted(id, settings, d):
    X, y, groups, _ = draw(d)
    schedule = make_schedule(np.arange(N) + 4)
    entries = schedule + with_groups(np.zeros(schedule.size, np.int64), groups[schedule & at.ROW])
    found = online_pass(make(id, settings), X, y, entries, keep="margins")
    expected = count_in_a_loop(np.where(found.positive, 1.0, -1.0), y, groups)
    np.testing.assert_array_equal(found.missed, expected)
    assert found.mistakes == online_pass(make(id, settings), X, y, schedule).mistakes > 0


def test_every_epoch_and_every_window_has_its_own_counts():
    X, y, groups, order = draw(6)
    entries = with_groups(order, groups[order])
    first, second = train("arow", X, y, [entries, entries])
    assert (first.missed.sum(), second.missed.sum()) == (first.mistakes, second.mistakes)
    halves = [(X[:150], y[:150], 0), (X[150:], y[150:], 150)]
    windows = [(A, b, with_groups(np.arange(150), groups[at : at + 150])) for A, b, at in halves]
    split = windowed_pass(make_algorithm("arow"), windows, 6, N, keep="margins")
    whole = online_pass("arow", X, y, with_groups(np.arange(N), groups))
    np.testing.assert_array_equal(split.missed, whole.missed)
    np.testing.assert_array_equal(split.groups, groups)


def test_an_entry_beyond_the_rows_or_groups_is_refused():
    X, y, _, _ = draw(6)
    for wrong in (-1, N, at.ROW, with_groups(np.array([N]), np.array([3]))[0], 3 * at.ONLY_PREDICT, -(2**53)):
        with pytest.raises(UserError, match=f"order names row {wrong}, but the rows are 0 to {N - 1}"):
            online_pass("arow", X, y, np.array([0, wrong]))


def test_a_learner_that_was_pickled_without_groups_counts_on():
    X, y, _, _ = draw(6)
    for id in ("pa1", "arow"):
        learner = start(make_algorithm(id), 6)
        for row in range(100):
            learner.step(X[row], y[row])
        before = learner.mistakes
        state = learner.__getstate__() | {"counters": learner.counters[: at.COUNTERS].copy()}
        old = pickle.loads(pickle.dumps(learner))
        old.__setstate__(pickle.loads(pickle.dumps(state)))
        for one in (old, learner):
            for row in range(100, 200):
                one.step(X[row], y[row])
        assert old.mistakes == learner.mistakes > before > 0
        np.testing.assert_array_equal(old.counters[: at.COUNTERS], learner.counters[: at.COUNTERS])


def test_groups_are_random_equal_in_size_and_the_same_for_all():
    for n, number in ((1, 1), (3, 1), (20, 10), (199, 99), (200, 100), (1234, 100)):
        groups = seeds.groups(5, "data", n)
        sizes = np.bincount(groups)
        assert (groups.size, sizes.size, sizes.max() - sizes.min() <= 1) == (n, number, True)
    assert not np.array_equal(seeds.groups(5, "data", 500), seeds.groups(6, "data", 500))
    assert not np.array_equal(seeds.groups(5, "data", 500), seeds.groups(5, "other", 500))
    assert np.corrcoef(np.arange(1234), groups)[0, 1] < 0.1
    np.testing.assert_array_equal(seeds.groups(5, "data", 6), [1, 0, 1, 0, 2, 2])


def test_groups_change_no_order():
    groups = seeds.groups(5, "data", 500)
    for part in seeds.PARTS:
        plain = seeds.order(5, "data", "report", 1, part, 500)
        carried = seeds.order(5, "data", "report", 1, part, 500, groups)
        np.testing.assert_array_equal(carried, with_groups(plain, groups[plain]))
        rows = np.concatenate([np.arange(500)[piece] for piece in seeds.pieces(5, "data", part, 500)])
        np.testing.assert_array_equal(rows, np.sort(plain))
        how = 5, "data", "report", 1, part, 500, 40, 120
        found = []
        for (places, entries), (_, order) in zip(
            seeds.windows(*how, groups), seeds.windows(*how), strict=True
        ):
            own = np.concatenate([np.arange(500)[place] for place in places])
            np.testing.assert_array_equal(entries, with_groups(order, groups[own[order]]))
            found += own[order].tolist()
        rows = np.concatenate([np.arange(500)[piece] for piece in seeds.pieces(5, "data", part, 500, 40)])
        np.testing.assert_array_equal(rows, sorted(found))
