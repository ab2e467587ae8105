"""Scikit-learn estimators: one class per algorithm, on the same kernels as the benchmark.

A class has the parameters of its algorithm with their defaults; `help(AROW)` describes them. Its base has the
other parameters, and the attributes of a fitted estimator.

>>> import numpy as np
>>> from olbench.estimators import AROW
>>> X, y = np.array([[1.0, 0.0], [0.0, 1.0]] * 20), np.array(["ham", "spam"] * 20)
>>> AROW(r=0.5).fit(X, y).predict([[2.0, 0.0]]).tolist()
['ham']
"""

import math
from contextlib import suppress

from olbench.learners.classifiers import (
    EllipsoidClassifier,
    OnlineClassifier,
    SecondOrderClassifier,
    estimator,
)

with suppress(ModuleNotFoundError):  # the folder of a paper can be removed
    from olbench.papers.adviceptron2010.estimators import Adviceptron as Adviceptron
    from olbench.papers.adviceptron2010.estimators import AdviceptronExact as AdviceptronExact
    from olbench.papers.adviceptron2010.estimators import AdviceptronPrinted as AdviceptronPrinted
with suppress(ModuleNotFoundError):
    from olbench.papers.libol2013.estimators import SCW2Libol as SCW2Libol
    from olbench.papers.libol2013.estimators import SOPLibol as SOPLibol


@estimator("perceptron")
class Perceptron(OnlineClassifier):
    """The perceptron: add y x on every mistake (Rosenblatt, 1958).

    Parameters
    ----------
    allocation : {'max', 'uniform', 'prop'}, default='max'
        Who loses what the true class gains, with multiclass='native': the highest rival, all that score as
        high as the true class equally, or in proportion to their lead.
    """

    allocation: str = "max"


@estimator("margin-perceptron")
class MarginPerceptron(OnlineClassifier):
    """The perceptron that updates whenever m <= margin (Krauth and Mézard, 1987)."""

    margin: float = 1.0


@estimator("averaged-perceptron")
class AveragedPerceptron(OnlineClassifier):
    """The perceptron whose mean over all rounds predicts (Freund and Schapire, 1999)."""


@estimator("pa")
class PA(OnlineClassifier):
    """Passive-aggressive learning with a hard margin (Crammer et al., JMLR 2006)."""


@estimator("pa1")
class PA1(OnlineClassifier):
    """Passive-aggressive learning with linear slack (Crammer et al., JMLR 2006)."""

    C: float = 1.0


@estimator("pa2")
class PA2(OnlineClassifier):
    """Passive-aggressive learning with squared slack (Crammer et al., JMLR 2006)."""

    C: float = 1.0


@estimator("averaged-pa")
class AveragedPA(PA):
    """PA whose mean over all rounds predicts (Crammer et al., JMLR 2006)."""


@estimator("averaged-pa1")
class AveragedPA1(PA1):
    """PA-I whose mean over all rounds predicts (Crammer et al., JMLR 2006)."""


@estimator("romma")
class ROMMA(OnlineClassifier):
    """The relaxed online maximum margin algorithm (Li and Long, NIPS 1999)."""


@estimator("aromma")
class AggressiveROMMA(OnlineClassifier):
    """ROMMA that also updates when the margin is below one (Li and Long, NIPS 1999)."""


@estimator("alma")
class ALMA(OnlineClassifier):
    """The approximate large margin algorithm, p = 2 (Gentile, JMLR 2001)."""

    alpha: float = 0.9
    C: float = math.sqrt(2.0)


@estimator("ogd")
class OGD(OnlineClassifier):
    """Online gradient descent on the hinge, logistic, squared or zero-one loss (Zinkevich, ICML 2003)."""

    C: float = 1.0
    loss: str = "hinge"


@estimator("sgd")
class SGD(OnlineClassifier):
    """Stochastic gradient descent on the modified Huber loss; step is sqrt or inverse (Zhang, ICML 2004)."""

    eta0: float = 0.01
    lam: float = 0.0001
    step: str = "sqrt"


@estimator("adagrad")
class AdaGrad(OnlineClassifier):
    """AdaGrad on the hinge loss, by mirror descent (Duchi, Hazan and Singer, JMLR 2011)."""

    eta: float = 0.1
    delta: float = 1e-08


@estimator("adagrad-da")
class AdaGradDA(OnlineClassifier):
    """AdaGrad on the hinge loss, by dual averaging (Duchi, Hazan and Singer, JMLR 2011)."""

    eta: float = 0.1
    delta: float = 1e-08
    lam: float = 0.0


@estimator("ftrl")
class FTRL(OnlineClassifier):
    """FTRL-Proximal on the logistic loss (McMahan et al., KDD 2013)."""

    alpha: float = 0.1
    beta: float = 1.0
    l1: float = 0.1
    l2: float = 0.0


@estimator("tg")
class TruncatedGradient(OnlineClassifier):
    """Truncated gradient on the logistic loss (Langford, Li and Zhang, JMLR 2009)."""

    eta: float = 0.1
    gravity: float = 0.001
    K: float = 10.0
    theta: float = 1.0


@estimator("fobos")
class FOBOS(OnlineClassifier):
    """Forward-backward splitting on the hinge loss, with an L1 penalty (Duchi and Singer, JMLR 2009)."""

    eta: float = 0.1
    lam: float = 0.001


@estimator("rda")
class RDA(OnlineClassifier):
    """Regularised dual averaging on the logistic loss, with an L1 penalty (Xiao, JMLR 2010)."""

    gamma: float = 1.0
    lam: float = 0.001


@estimator("adam")
class Adam(OnlineClassifier):
    """Adam on the logistic loss (Kingma and Ba, ICLR 2015)."""

    alpha: float = 0.01
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-08


@estimator("sop")
class SOP(SecondOrderClassifier):
    """The second-order perceptron (Cesa-Bianchi, Conconi and Gentile, 2005)."""


@estimator("iellip")
class IELLIP(EllipsoidClassifier):
    """The improved ellipsoid method (Yang, Jin and Ye, ICML 2009)."""

    b: float = 0.9
    c: float = 0.1


@estimator("ons")
class ONS(EllipsoidClassifier):
    """The online Newton step on the logistic loss (Hazan, Agarwal and Kale, Machine Learning 2007)."""

    gamma: float = 1.0


@estimator("cw")
class CW(SecondOrderClassifier):
    """Confidence-weighted learning, standard-deviation form (Crammer, Dredze and Pereira, NIPS 2008)."""

    eta: float | None = None
    phi: float | None = None


@estimator("cw-var")
class CWVar(CW):
    """Confidence-weighted learning, variance form (Dredze, Crammer and Pereira, ICML 2008)."""


@estimator("nherd")
class NHERD(SecondOrderClassifier):
    """Normal herding (Crammer and Lee, NIPS 2010)."""

    C: float = 1.0


@estimator("arow")
class AROW(SecondOrderClassifier):
    """Adaptive regularisation of weights (Crammer, Kulesza and Dredze, NIPS 2009)."""

    r: float = 1.0


@estimator("narow")
class NAROW(SecondOrderClassifier):
    """Narrow AROW as LIBOL runs it."""

    b: float = 1.0


@estimator("narow2010")
class NAROW2010(NAROW):
    """Narrow AROW as first published (Orabona and Crammer, NIPS 2010)."""


@estimator("scw1")
class SCW1(SecondOrderClassifier):
    """Soft confidence-weighted learning with linear slack (Wang, Zhao and Hoi, ICML 2012)."""

    C: float = 1.0
    eta: float = 0.75


@estimator("scw2")
class SCW2(SecondOrderClassifier):
    """Soft confidence-weighted learning with squared slack (Wang, Zhao and Hoi, ICML 2012)."""

    C: float = 1.0
    eta: float = 0.9


ESTIMATORS: dict[str, type[OnlineClassifier]] = {
    name: each
    for name, each in list(globals().items())
    if isinstance(each, type) and issubclass(each, OnlineClassifier) and hasattr(each, "algorithm_id")
}
__all__ = ["OnlineClassifier", "SecondOrderClassifier", "estimator", *ESTIMATORS]
