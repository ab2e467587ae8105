"""Scikit-learn estimators: one class per algorithm, on the same kernels as the benchmark.

The bases describe the parameters that several estimators share, and the attributes of a fitted one.

>>> import numpy as np
>>> from olbench.estimators import AROW
>>> X, y = np.array([[1.0, 0.0], [0.0, 1.0]] * 20), np.array(["ham", "spam"] * 20)
>>> AROW(r=0.5).fit(X, y).predict([[2.0, 0.0]]).tolist()
['ham']
"""

import math
from contextlib import suppress
from dataclasses import dataclass

from olbench.learners.classifiers import (
    AllocatingClassifier,
    EllipsoidClassifier,
    OnlineClassifier,
    SecondOrderClassifier,
)

with suppress(ModuleNotFoundError):  # the folder of a paper can be removed
    from olbench.papers.adviceptron2010.estimators import Adviceptron as Adviceptron
    from olbench.papers.adviceptron2010.estimators import AdviceptronExact as AdviceptronExact
    from olbench.papers.adviceptron2010.estimators import AdviceptronPrinted as AdviceptronPrinted
with suppress(ModuleNotFoundError):
    from olbench.papers.libol2013.estimators import SCW2Libol as SCW2Libol
    from olbench.papers.libol2013.estimators import SOPLibol as SOPLibol


@dataclass(eq=False, repr=False, kw_only=True)
class Perceptron(AllocatingClassifier):
    """The perceptron: add y x on every mistake (Rosenblatt, 1958)."""

    algorithm_id = "perceptron"


@dataclass(eq=False, repr=False, kw_only=True)
class MarginPerceptron(OnlineClassifier):
    """The perceptron that updates whenever m <= margin (Krauth and Mézard, 1987).

    Parameters
    ----------
    margin : float, default=1.0
        Update whenever the signed margin is at most this; it lies in [0, inf).
    """

    algorithm_id = "margin-perceptron"
    margin: float = 1.0


@dataclass(eq=False, repr=False, kw_only=True)
class AveragedPerceptron(OnlineClassifier):
    """The perceptron whose mean over all rounds predicts (Freund and Schapire, 1999)."""

    algorithm_id = "averaged-perceptron"


@dataclass(eq=False, repr=False, kw_only=True)
class PA(OnlineClassifier):
    """Passive-aggressive learning with a hard margin (Crammer et al., JMLR 2006)."""

    algorithm_id = "pa"


@dataclass(eq=False, repr=False, kw_only=True)
class PA1(OnlineClassifier):
    """Passive-aggressive learning with linear slack (Crammer et al., JMLR 2006).

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness: cost of a margin violation; it lies in (0, inf).
    """

    algorithm_id = "pa1"
    C: float = 1.0


@dataclass(eq=False, repr=False, kw_only=True)
class PA2(OnlineClassifier):
    """Passive-aggressive learning with squared slack (Crammer et al., JMLR 2006).

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness: cost of a margin violation; it lies in (0, inf).
    """

    algorithm_id = "pa2"
    C: float = 1.0


@dataclass(eq=False, repr=False, kw_only=True)
class AveragedPA(OnlineClassifier):
    """PA whose mean over all rounds predicts (Crammer et al., JMLR 2006)."""

    algorithm_id = "averaged-pa"


@dataclass(eq=False, repr=False, kw_only=True)
class AveragedPA1(OnlineClassifier):
    """PA-I whose mean over all rounds predicts (Crammer et al., JMLR 2006).

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness: cost of a margin violation; it lies in (0, inf).
    """

    algorithm_id = "averaged-pa1"
    C: float = 1.0


@dataclass(eq=False, repr=False, kw_only=True)
class ROMMA(OnlineClassifier):
    """The relaxed online maximum margin algorithm (Li and Long, NIPS 1999)."""

    algorithm_id = "romma"


@dataclass(eq=False, repr=False, kw_only=True)
class AggressiveROMMA(OnlineClassifier):
    """ROMMA that also updates when the margin is below one (Li and Long, NIPS 1999)."""

    algorithm_id = "aromma"


@dataclass(eq=False, repr=False, kw_only=True)
class ALMA(OnlineClassifier):
    """The approximate large margin algorithm, p = 2 (Gentile, JMLR 2001).

    Parameters
    ----------
    alpha : float, default=0.9
        Accuracy: the margin found is at least 1 - alpha of the largest one; it lies in (0, 1].
    C : float, default=1.41421
        Length of the first step; it lies in (0, inf).
    """

    algorithm_id = "alma"
    alpha: float = 0.9
    C: float = math.sqrt(2.0)


@dataclass(eq=False, repr=False, kw_only=True)
class OGD(OnlineClassifier):
    """Online gradient descent on the hinge, logistic, squared or zero-one loss (Zinkevich, ICML 2003).

    Parameters
    ----------
    C : float, default=1.0
        Size of the first step; it lies in (0, inf).
    loss : {'hinge', 'logistic', 'squared', 'zero-one'}, default='hinge'
        The loss whose gradient is followed.
    """

    algorithm_id = "ogd"
    C: float = 1.0
    loss: str = "hinge"


@dataclass(eq=False, repr=False, kw_only=True)
class SGD(OnlineClassifier):
    """Stochastic gradient descent on the modified Huber loss; step is sqrt or inverse (Zhang, ICML 2004).

    Parameters
    ----------
    eta0 : float, default=0.01
        Size of the first step of the schedule sqrt; it lies in (0, inf).
    lam : float, default=0.0001
        Weight of the penalty lam / 2 ||w||^2; it lies in (0, inf).
    step : {'sqrt', 'inverse'}, default='sqrt'
        The schedule: sqrt is eta0 / sqrt(t), inverse is 1 / (lam t).
    """

    algorithm_id = "sgd"
    eta0: float = 0.01
    lam: float = 0.0001
    step: str = "sqrt"


@dataclass(eq=False, repr=False, kw_only=True)
class AdaGrad(OnlineClassifier):
    """AdaGrad on the hinge loss, by mirror descent (Duchi, Hazan and Singer, JMLR 2011).

    Parameters
    ----------
    eta : float, default=0.1
        Size of a step; it lies in (0, inf).
    delta : float, default=1e-08
        Added to the root of each sum of squared gradients; it lies in (0, inf).
    """

    algorithm_id = "adagrad"
    eta: float = 0.1
    delta: float = 1e-08


@dataclass(eq=False, repr=False, kw_only=True)
class AdaGradDA(OnlineClassifier):
    """AdaGrad on the hinge loss, by dual averaging (Duchi, Hazan and Singer, JMLR 2011).

    Parameters
    ----------
    eta : float, default=0.1
        Size of a step; it lies in (0, inf).
    delta : float, default=1e-08
        Added to the root of each sum of squared gradients; it lies in (0, inf).
    lam : float, default=0.0
        Weight of the penalty lam ||w||_1; it lies in [0, inf).
    """

    algorithm_id = "adagrad-da"
    eta: float = 0.1
    delta: float = 1e-08
    lam: float = 0.0


@dataclass(eq=False, repr=False, kw_only=True)
class FTRL(OnlineClassifier):
    """FTRL-Proximal on the logistic loss (McMahan et al., KDD 2013).

    Parameters
    ----------
    alpha : float, default=0.1
        Size of a step; it lies in (0, inf).
    beta : float, default=1.0
        Added to the root of each sum of squared gradients; it lies in (0, inf).
    l1 : float, default=0.1
        Weight of the penalty l1 ||w||_1; it lies in [0, inf).
    l2 : float, default=0.0
        Weight of the penalty l2 / 2 ||w||^2; it lies in [0, inf).
    """

    algorithm_id = "ftrl"
    alpha: float = 0.1
    beta: float = 1.0
    l1: float = 0.1
    l2: float = 0.0


@dataclass(eq=False, repr=False, kw_only=True)
class TruncatedGradient(OnlineClassifier):
    """Truncated gradient on the logistic loss (Langford, Li and Zhang, JMLR 2009).

    Parameters
    ----------
    eta : float, default=0.1
        Size of a step; it lies in (0, inf).
    gravity : float, default=0.001
        Pull towards zero; it lies in [0, inf).
    K : float, default=10.0
        Rounds between two truncations; it lies in [1, inf).
    theta : float, default=1.0
        Only weights up to this size are truncated; it lies in (0, inf).
    """

    algorithm_id = "tg"
    eta: float = 0.1
    gravity: float = 0.001
    K: float = 10.0
    theta: float = 1.0


@dataclass(eq=False, repr=False, kw_only=True)
class FOBOS(OnlineClassifier):
    """Forward-backward splitting on the hinge loss, with an L1 penalty (Duchi and Singer, JMLR 2009).

    Parameters
    ----------
    eta : float, default=0.1
        Size of the first step; it lies in (0, inf).
    lam : float, default=0.001
        Weight of the penalty lam ||w||_1; it lies in [0, inf).
    """

    algorithm_id = "fobos"
    eta: float = 0.1
    lam: float = 0.001


@dataclass(eq=False, repr=False, kw_only=True)
class RDA(OnlineClassifier):
    """Regularised dual averaging on the logistic loss, with an L1 penalty (Xiao, JMLR 2010).

    Parameters
    ----------
    gamma : float, default=1.0
        Weight of the quadratic; it lies in (0, inf).
    lam : float, default=0.001
        Weight of the penalty lam ||w||_1; it lies in [0, inf).
    """

    algorithm_id = "rda"
    gamma: float = 1.0
    lam: float = 0.001


@dataclass(eq=False, repr=False, kw_only=True)
class Adam(OnlineClassifier):
    """Adam on the logistic loss (Kingma and Ba, ICLR 2015).

    Parameters
    ----------
    alpha : float, default=0.01
        Size of a step; it lies in (0, inf).
    beta1 : float, default=0.9
        Decay of the mean gradient; it lies in [0, 1).
    beta2 : float, default=0.999
        Decay of the mean squared gradient; it lies in [0, 1).
    epsilon : float, default=1e-08
        Added to the root of the mean squared gradient; it lies in (0, inf).
    """

    algorithm_id = "adam"
    alpha: float = 0.01
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-08


@dataclass(eq=False, repr=False, kw_only=True)
class SOP(SecondOrderClassifier):
    """The second-order perceptron (Cesa-Bianchi, Conconi and Gentile, 2005)."""

    algorithm_id = "sop"


@dataclass(eq=False, repr=False, kw_only=True)
class IELLIP(EllipsoidClassifier):
    """The improved ellipsoid method (Yang, Jin and Ye, ICML 2009).

    Its ellipsoid is not a Gaussian, so there are no probabilities.

    Parameters
    ----------
    b : float, default=0.9
        Decay of the shrinkage, round by round; it lies in (0, 1].
    c : float, default=0.1
        Shrinkage of the ellipsoid in the first round; it lies in (0, 1).
    """

    algorithm_id = "iellip"
    b: float = 0.9
    c: float = 0.1


@dataclass(eq=False, repr=False, kw_only=True)
class ONS(EllipsoidClassifier):
    """The online Newton step on the logistic loss (Hazan, Agarwal and Kale, Machine Learning 2007).

    Its matrix is not the covariance of a Gaussian, so there are no probabilities.

    Parameters
    ----------
    gamma : float, default=1.0
        Steps are divided by this; it lies in (0, inf).
    """

    algorithm_id = "ons"
    gamma: float = 1.0


@dataclass(eq=False, repr=False, kw_only=True)
class CW(SecondOrderClassifier):
    """Confidence-weighted learning, standard-deviation form (Crammer, Dredze and Pereira, NIPS 2008).

    Parameters
    ----------
    eta : float or None, default=None
        Confidence: the probability with which the example must be classified correctly; it lies in [0.5, 1);
        0.7 if nothing is given.
    phi : float or None, default=None
        Confidence as a number of standard deviations, phi = Phi^-1(eta); it lies in [0, inf), and replaces
        eta.
    """

    algorithm_id = "cw"
    eta: float | None = None
    phi: float | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class CWVar(SecondOrderClassifier):
    """Confidence-weighted learning, variance form (Dredze, Crammer and Pereira, ICML 2008).

    Parameters
    ----------
    eta : float or None, default=None
        Confidence: the probability with which the example must be classified correctly; it lies in [0.5, 1);
        0.7 if nothing is given.
    phi : float or None, default=None
        Confidence as a number of standard deviations, phi = Phi^-1(eta); it lies in [0, inf), and replaces
        eta.
    """

    algorithm_id = "cw-var"
    eta: float | None = None
    phi: float | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class NHERD(SecondOrderClassifier):
    """Normal herding (Crammer and Lee, NIPS 2010).

    Parameters
    ----------
    C : float, default=1.0
        Cost of the squared hinge loss; it lies in (0, inf).
    """

    algorithm_id = "nherd"
    C: float = 1.0


@dataclass(eq=False, repr=False, kw_only=True)
class AROW(SecondOrderClassifier):
    """Adaptive regularisation of weights (Crammer, Kulesza and Dredze, NIPS 2009).

    Parameters
    ----------
    r : float, default=1.0
        Regularisation: a larger r gives each example less weight; it lies in (0, inf).
    """

    algorithm_id = "arow"
    r: float = 1.0


@dataclass(eq=False, repr=False, kw_only=True)
class NAROW(SecondOrderClassifier):
    """Narrow AROW as LIBOL runs it.

    Parameters
    ----------
    b : float, default=1.0
        Inverse of the variance v above which the covariance shrinks; it lies in (0, inf).
    """

    algorithm_id = "narow"
    b: float = 1.0


@dataclass(eq=False, repr=False, kw_only=True)
class NAROW2010(SecondOrderClassifier):
    """Narrow AROW as first published (Orabona and Crammer, NIPS 2010).

    Parameters
    ----------
    b : float, default=1.0
        Inverse of the variance v above which the covariance shrinks; it lies in (0, inf).
    """

    algorithm_id = "narow2010"
    b: float = 1.0


@dataclass(eq=False, repr=False, kw_only=True)
class SCW1(SecondOrderClassifier):
    """Soft confidence-weighted learning with linear slack (Wang, Zhao and Hoi, ICML 2012).

    Parameters
    ----------
    C : float, default=1.0
        Cost of violating the confidence constraint; it lies in (0, inf).
    eta : float, default=0.75
        Confidence: the probability with which the example must be classified correctly; it lies in [0.5, 1).
    """

    algorithm_id = "scw1"
    C: float = 1.0
    eta: float = 0.75


@dataclass(eq=False, repr=False, kw_only=True)
class SCW2(SecondOrderClassifier):
    """Soft confidence-weighted learning with squared slack (Wang, Zhao and Hoi, ICML 2012).

    Parameters
    ----------
    C : float, default=1.0
        Cost of violating the confidence constraint; it lies in (0, inf).
    eta : float, default=0.9
        Confidence: the probability with which the example must be classified correctly; it lies in [0.5, 1).
    """

    algorithm_id = "scw2"
    C: float = 1.0
    eta: float = 0.9


ESTIMATORS: dict[str, type[OnlineClassifier]] = {
    name: each
    for name, each in list(globals().items())
    if isinstance(each, type) and issubclass(each, OnlineClassifier) and hasattr(each, "algorithm_id")
}
__all__ = ["OnlineClassifier", "SecondOrderClassifier", *ESTIMATORS]
