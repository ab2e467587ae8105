"""Baselines: the labels without the examples, and batch learners of scikit-learn (cw2012, Table 4)."""

from typing import Any

from olbench.algorithms.definition import Parameter, baseline, batch_contestant

SOURCE = "Bifet, de Francisci Morales, Read, Holmes & Pfahringer, KDD 2015, section 3"


@baseline("no-change", title="no change", source=SOURCE)
def no_change(negatives: int, positives: int, last: float, p: Any) -> Any:
    """Predict the label learnt last; on a stream with runs of equal labels this is hard to beat."""
    return last


@baseline("majority-so-far", title="majority so far", source=SOURCE)
def majority_so_far(negatives: int, positives: int, last: float, p: Any) -> Any:
    """Predict the more frequent label so far."""
    return (positives - negatives) / max(1, positives + negatives)


MODELS = ("multinomial", "bernoulli")
#: Regularisation strengths, wide enough for binary and count features alike.
C_GRID = tuple(10.0**k for k in range(-3, 4))
C = Parameter("C", 1.0, "inverse strength of the squared penalty on the weights", grid=C_GRID)


@batch_contestant(
    "naive-bayes",
    title="Naive Bayes",
    source="McCallum & Nigam, AAAI workshop 1998; scikit-learn's naive_bayes",
    parameters=(
        Parameter("alpha", 1.0, "count that is added to every feature", grid=(0.01, 0.1, 1.0)),
        Parameter("model", "multinomial", "counts, or presence and absence of every feature", choices=MODELS),
    ),
)
def naive_bayes(alpha: float, model: str) -> Any:
    """Assume features independent given the class. The multinomial model needs values of at least zero."""
    from sklearn.naive_bayes import BernoulliNB, MultinomialNB

    return MultinomialNB(alpha=alpha) if model == "multinomial" else BernoulliNB(alpha=alpha)


@batch_contestant(
    "maxent",
    title="Maxent",
    source="Fan et al., LIBLINEAR, JMLR 9 (2008); LogisticRegression, Gaussian prior of variance C",
    parameters=(C, Parameter("iterations", 1000.0, "most iterations of the solver", low=1.0, closed="left")),
)
def maxent(C: float, iterations: float) -> Any:
    """Maximise the entropy: for two classes this is logistic regression with a Gaussian prior.

    LIBLINEAR's trust-region Newton method meets its tolerance in a few steps; with many features L-BFGS
    takes longer, or stops before it has converged. The prior is on the bias as well.
    """
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=C, solver="liblinear", max_iter=int(iterations))


@batch_contestant(
    "svm",
    title="SVM",
    source="Fan et al., LIBLINEAR, JMLR 9 (2008); scikit-learn's LinearSVC (hinge loss, dual)",
    parameters=(C, Parameter("iterations", 10_000.0, "most sweeps of the solver", low=1.0, closed="left")),
)
def svm(C: float, iterations: float) -> Any:
    """Maximise the margin with linear slack, by coordinate descent on the dual."""
    from sklearn.svm import LinearSVC

    return LinearSVC(C=C, loss="hinge", max_iter=int(iterations), random_state=0)


@batch_contestant("majority", title="Majority", source="the more frequent class of the training examples")
def majority() -> Any:
    """Return a classifier that predicts the more frequent class, whatever the features."""
    from sklearn.dummy import DummyClassifier

    return DummyClassifier(strategy="most_frequent")


@batch_contestant("always-no", title="Always no", source="the negative class, whatever the examples")
def always_no() -> Any:
    """Return a classifier that predicts -1."""
    from sklearn.dummy import DummyRegressor

    return DummyRegressor(strategy="constant", constant=-1.0)
