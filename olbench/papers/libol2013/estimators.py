"""Scikit-learn estimators of the toolbox's variants."""

from olbench.learners.classifiers import SecondOrderClassifier, estimator


@estimator("sop-libol")
class SOPLibol(SecondOrderClassifier):
    """The second-order perceptron as LIBOL runs it."""


@estimator("scw2-libol")
class SCW2Libol(SecondOrderClassifier):
    """SCW-II with the formula of the LIBOL toolbox, which is not the optimum (2012)."""

    C: float = 1.0
    eta: float = 0.9
