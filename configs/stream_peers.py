"""Learners of River and scikit-learn for streams.yaml; each is tuned as ours are, on the first rows."""

from olbench import Parameter, contestant

#: Three values a decade apart: a Python loop over half a million rows takes its time.
RATES = (0.01, 0.1, 1.0)


@contestant("river-pa1", title="River PA-I", parameters=(Parameter("C", 1.0, "aggressiveness", grid=RATES),))
def river_pa1(C):
    """Build River's passive-aggressive classifier."""
    from river.linear_model import PAClassifier

    return PAClassifier(C=C, mode=1, learn_intercept=False)


@contestant(
    "river-logistic",
    title="River logistic regression",
    parameters=(Parameter("rate", 0.01, "learning rate", grid=RATES),),
)
def river_logistic(rate):
    """Build River's logistic regression by gradient descent."""
    from river.linear_model import LogisticRegression
    from river.optim import SGD

    return LogisticRegression(optimizer=SGD(rate), intercept_lr=0.0)


@contestant("river-tree", title="River Hoeffding adaptive tree")
def river_tree():
    """Build River's adaptive tree, which replaces branches that no longer fit; it is not linear."""
    from river.tree import HoeffdingAdaptiveTreeClassifier

    return HoeffdingAdaptiveTreeClassifier(seed=0)


@contestant(
    "sklearn-logistic",
    title="scikit-learn logistic regression",
    parameters=(Parameter("eta0", 0.1, "learning rate", grid=RATES),),
)
def sklearn_logistic(eta0):
    """Build scikit-learn's logistic regression by gradient descent with a constant rate."""
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(
        loss="log_loss", learning_rate="constant", eta0=eta0, fit_intercept=False, random_state=0
    )
