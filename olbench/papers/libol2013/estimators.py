"""Scikit-learn estimators of the toolbox's variants."""

from dataclasses import dataclass

from olbench.learners.classifiers import SecondOrderClassifier


@dataclass(eq=False, repr=False, kw_only=True)
class SOPLibol(SecondOrderClassifier):
    """The second-order perceptron as LIBOL runs it."""

    algorithm_id = "sop-libol"


@dataclass(eq=False, repr=False, kw_only=True)
class SCW2Libol(SecondOrderClassifier):
    """SCW-II with the formula of the LIBOL toolbox, which is not the optimum (2012).

    Parameters
    ----------
    C : float, default=1.0
        Cost of violating the confidence constraint; it lies in (0, inf).
    eta : float, default=0.9
        Confidence: the probability with which the example must be classified correctly; it lies in [0.5, 1).
    """

    algorithm_id = "scw2-libol"
    C: float = 1.0
    eta: float = 0.9
