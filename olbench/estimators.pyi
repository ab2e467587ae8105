# Made from the definitions of the algorithms by tests/test_estimators.py.
from dataclasses import dataclass

from olbench.learners.classifiers import AllocatingClassifier, EllipsoidClassifier
from olbench.learners.classifiers import OnlineClassifier as OnlineClassifier
from olbench.learners.classifiers import SecondOrderClassifier as SecondOrderClassifier
from olbench.papers.adviceptron2010.estimator import TakesAdvice

ESTIMATORS: dict[str, type[OnlineClassifier]]

@dataclass(eq=False, repr=False, kw_only=True)
class Perceptron(AllocatingClassifier):
    """The perceptron: add y x on every mistake."""

@dataclass(eq=False, repr=False, kw_only=True)
class MarginPerceptron(OnlineClassifier):
    """The perceptron that updates whenever m <= margin."""

    margin: float = ...

@dataclass(eq=False, repr=False, kw_only=True)
class AveragedPerceptron(OnlineClassifier):
    """The perceptron whose mean over all rounds predicts."""

@dataclass(eq=False, repr=False, kw_only=True)
class PA(OnlineClassifier):
    """Passive-aggressive learning with a hard margin."""

@dataclass(eq=False, repr=False, kw_only=True)
class PA1(OnlineClassifier):
    """Passive-aggressive learning with linear slack."""

    C: float = ...

@dataclass(eq=False, repr=False, kw_only=True)
class PA2(OnlineClassifier):
    """Passive-aggressive learning with squared slack."""

    C: float = ...

@dataclass(eq=False, repr=False, kw_only=True)
class AveragedPA(OnlineClassifier):
    """Passive-aggressive learning with a hard margin, whose mean over all rounds predicts."""

@dataclass(eq=False, repr=False, kw_only=True)
class AveragedPA1(OnlineClassifier):
    """Passive-aggressive learning with linear slack, whose mean over all rounds predicts."""

    C: float = ...

@dataclass(eq=False, repr=False, kw_only=True)
class ROMMA(OnlineClassifier):
    """The relaxed online maximum margin algorithm."""

@dataclass(eq=False, repr=False, kw_only=True)
class AggressiveROMMA(OnlineClassifier):
    """ROMMA that also updates when the margin is below one."""

@dataclass(eq=False, repr=False, kw_only=True)
class ALMA(OnlineClassifier):
    """The approximate large margin algorithm, p = 2."""

    alpha: float = ...
    C: float = ...

@dataclass(eq=False, repr=False, kw_only=True)
class OGD(OnlineClassifier):
    """Online gradient descent on the hinge, logistic, squared or zero-one loss."""

    C: float = ...
    loss: str = ...

@dataclass(eq=False, repr=False, kw_only=True)
class SGD(OnlineClassifier):
    """Stochastic gradient descent on the modified Huber loss; step is sqrt or inverse."""

    eta0: float = ...
    lam: float = ...
    step: str = ...

@dataclass(eq=False, repr=False, kw_only=True)
class AdaGrad(OnlineClassifier):
    """Divide the step of each weight by the root of its summed squared gradients."""

    eta: float = ...
    delta: float = ...

@dataclass(eq=False, repr=False, kw_only=True)
class AdaGradDA(OnlineClassifier):
    """Minimise the mean of all gradients so far plus a penalty and a quadratic that adapts to each"""

    eta: float = ...
    delta: float = ...
    lam: float = ...

@dataclass(eq=False, repr=False, kw_only=True)
class FTRL(OnlineClassifier):
    """Follow the regularised leader, where each round's regulariser is centred at the weights of that"""

    alpha: float = ...
    beta: float = ...
    l1: float = ...
    l2: float = ...

@dataclass(eq=False, repr=False, kw_only=True)
class TruncatedGradient(OnlineClassifier):
    """Step against the gradient of the logistic loss; after every K rounds move small weights towards"""

    eta: float = ...
    gravity: float = ...
    K: float = ...
    theta: float = ...

@dataclass(eq=False, repr=False, kw_only=True)
class FOBOS(OnlineClassifier):
    """Step against the gradient of the hinge loss by eta / sqrt(t), then towards the least penalty."""

    eta: float = ...
    lam: float = ...

@dataclass(eq=False, repr=False, kw_only=True)
class RDA(OnlineClassifier):
    """Minimise the mean of all gradients so far, lam ||w||_1 and gamma / (2 sqrt(s)) ||w||^2."""

    gamma: float = ...
    lam: float = ...

@dataclass(eq=False, repr=False, kw_only=True)
class Adam(OnlineClassifier):
    """Divide the decaying mean of each gradient by the root of that of its square, both without their"""

    alpha: float = ...
    beta1: float = ...
    beta2: float = ...
    epsilon: float = ...

@dataclass(eq=False, repr=False, kw_only=True)
class SOP(SecondOrderClassifier):
    """The second-order perceptron."""

@dataclass(eq=False, repr=False, kw_only=True)
class IELLIP(EllipsoidClassifier):
    """The improved ellipsoid method. Its ellipsoid is not a Gaussian, so there are no probabilities."""

    b: float = ...
    c: float = ...

@dataclass(eq=False, repr=False, kw_only=True)
class ONS(EllipsoidClassifier):
    """Step by w -= A^-1 g / gamma, where A is I / a plus the sum of g g' up to this round."""

    gamma: float = ...

@dataclass(eq=False, repr=False, kw_only=True)
class CW(SecondOrderClassifier):
    """Confidence-weighted learning, standard-deviation form."""

    eta: float | None = ...
    phi: float | None = ...

@dataclass(eq=False, repr=False, kw_only=True)
class CWVar(SecondOrderClassifier):
    """Confidence-weighted learning, variance form."""

    eta: float | None = ...
    phi: float | None = ...

@dataclass(eq=False, repr=False, kw_only=True)
class NHERD(SecondOrderClassifier):
    """Normal herding."""

    C: float = ...

@dataclass(eq=False, repr=False, kw_only=True)
class AROW(SecondOrderClassifier):
    """Adaptive regularisation of weights."""

    r: float = ...

@dataclass(eq=False, repr=False, kw_only=True)
class NAROW(SecondOrderClassifier):
    """Narrow AROW as LIBOL runs it."""

    b: float = ...

@dataclass(eq=False, repr=False, kw_only=True)
class NAROW2010(SecondOrderClassifier):
    """Narrow AROW as first published."""

    b: float = ...

@dataclass(eq=False, repr=False, kw_only=True)
class SCW1(SecondOrderClassifier):
    """Soft confidence-weighted learning with linear slack."""

    C: float = ...
    eta: float = ...

@dataclass(eq=False, repr=False, kw_only=True)
class SCW2(SecondOrderClassifier):
    """Soft confidence-weighted learning with squared slack."""

    C: float = ...
    eta: float = ...

@dataclass(eq=False, repr=False, kw_only=True)
class Adviceptron(TakesAdvice):
    """Passive-aggressive learning with rules (Algorithm 1 of the Adviceptron paper)."""

    lam: float = ...
    mu: float = ...
    start: str = ...
    heads: str = ...

@dataclass(eq=False, repr=False, kw_only=True)
class AdviceptronPrinted(TakesAdvice):
    """The Adviceptron with eq. (13) to the letter."""

    lam: float = ...
    mu: float = ...
    start: str = ...
    heads: str = ...

@dataclass(eq=False, repr=False, kw_only=True)
class AdviceptronExact(TakesAdvice):
    """The Adviceptron with the exact solution of its cone problem."""

    lam: float = ...
    mu: float = ...
    start: str = ...
    heads: str = ...

@dataclass(eq=False, repr=False, kw_only=True)
class SOPLibol(SecondOrderClassifier):
    """The second-order perceptron as LIBOL runs it."""

@dataclass(eq=False, repr=False, kw_only=True)
class SCW2Libol(SecondOrderClassifier):
    """SCW-II with the formula of the LIBOL toolbox, which is not the optimum."""

    C: float = ...
    eta: float = ...
