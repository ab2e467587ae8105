"""Learners of other libraries as contestants: one of River and one of scikit-learn."""

from olbench import Parameter, contestant


@contestant("my-river-pa1", title="River PA-I", parameters=(Parameter("C", 1.0, "aggressiveness"),))
def river_pa1(C):
    """Build River's passive-aggressive classifier."""
    from river.linear_model import PAClassifier

    return PAClassifier(C=C, mode=1, learn_intercept=False)


@contestant("my-sgd-logistic", title="Logistic regression by SGD")
def sklearn_logistic():
    """Build scikit-learn's logistic regression by stochastic gradient descent."""
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(loss="log_loss", random_state=0)
