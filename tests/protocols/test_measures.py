"""Every measure is the one of scikit-learn, with ties and with a class missing."""

import warnings

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from olbench.protocols import measures
from olbench.protocols.measures import Counts

THEIRS = {
    "accuracy": metrics.accuracy_score,
    "sensitivity": lambda y, p: metrics.recall_score(y, p, zero_division=0),
    "specificity": lambda y, p: metrics.recall_score(y, p, pos_label=-1, zero_division=0),
    "precision": lambda y, p: metrics.precision_score(y, p, zero_division=0),
    "f1": lambda y, p: metrics.f1_score(y, p, zero_division=0),
    "balanced_accuracy": metrics.balanced_accuracy_score,
    "kappa": metrics.cohen_kappa_score,
    "mcc": metrics.matthews_corrcoef,
}
THEIRS["g_mean"] = lambda y, p: np.sqrt(THEIRS["sensitivity"](y, p) * THEIRS["specificity"](y, p))
#: Few values, so that there are ties; sometimes one class only, in truth or in prediction.
margins = st.lists(st.sampled_from([-2.0, -0.5, 0.0, 0.25, 1.0, 1.5]), min_size=1, max_size=60)


@given(margins, st.randoms(use_true_random=False), st.sampled_from([0.0, 0.1, 0.5, 1.0]))
@settings(max_examples=120, deadline=None)
def test_measures_are_those_of_scikit_learn(f, random, share):
    f = np.array(f)
    y = np.array([1.0 if random.random() < share else -1.0 for _ in f])
    predicted = np.where(f >= 0, 1.0, -1.0)
    counts = Counts.of(y.size, *map(np.count_nonzero, (predicted != y, y > 0, (f >= 0) & (y < 0))))
    for name, theirs in THEIRS.items():
        measure = getattr(measures, name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = theirs(y, predicted)
        np.testing.assert_allclose(measure(counts), expected, rtol=0, atol=1e-12, err_msg=name)
    both = 0 < np.count_nonzero(y > 0) < y.size
    area = metrics.roc_auc_score(y, f) if both else np.nan
    np.testing.assert_allclose(measures.auc(y, f), area, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        measures.of_margins("squared_loss", y, f), metrics.mean_squared_error(y, f), atol=1e-12
    )
    if both:
        np.testing.assert_allclose(
            measures.of_margins("hinge_loss", y, f), metrics.hinge_loss(y, f), atol=1e-12
        )
    probabilities = (f + 2) / 3.5
    loss = metrics.log_loss(y, np.column_stack([1 - probabilities, probabilities]), labels=[-1.0, 1.0])
    np.testing.assert_allclose(measures.of_margins("log_loss", y, probabilities), loss, atol=1e-12)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=80))
@settings(max_examples=100, deadline=None)
def test_measures_of_several_classes_are_those_of_scikit_learn(pairs):
    truth, predicted = np.array(pairs).T
    matrix = np.zeros((5, 5), int)
    np.add.at(matrix, (truth, predicted), 1)
    found = measures.of_matrix(matrix)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = {
            "balanced_accuracy": metrics.balanced_accuracy_score(truth, predicted),
            "kappa": metrics.cohen_kappa_score(truth, predicted),
            "macro_f1": metrics.f1_score(truth, predicted, average="macro", zero_division=0),
        }
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, atol=1e-12, err_msg=name)


def test_a_loss_that_is_not_finite_is_no_number():
    assert np.isnan(measures.of_margins("hinge_loss", np.array([1.0, -1.0]), np.array([0.0, np.inf])))
    assert np.isnan(measures.of_margins("squared_loss", np.array([1.0]), np.array([1e300])))
    assert np.isnan(measures.of_margins("hinge_loss", np.empty(0), np.empty(0)))
