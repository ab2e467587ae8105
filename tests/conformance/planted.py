"""Planted defects: textbook learners with one thing typed otherwise, and what they must be called.

A case is (algorithm, parameters, class, the entries of the catalogue that name it).
"""

import math

import numpy as np

from tests.conformance.textbook import (
    AROW,
    CW,
    IELLIP,
    NHERD,
    OGD,
    PA,
    PA1,
    PA2,
    ROMMA,
    SCW1,
    SCW2,
    Fits,
    Learner,
    Perceptron,
    SecondOrder,
)


class DiagonalVariance(SecondOrder):
    def variance(self, x):
        return (x * x) @ np.diag(self.S)


class ArowDiagonal(DiagonalVariance, AROW): ...


class CwDiagonal(DiagonalVariance, CW): ...


class Distribution(SCW1):
    def quantile(self, eta):
        return 0.5 * (1 + math.erf(eta / math.sqrt(2)))


class Larger(SCW1):
    def alpha(self, m, v):
        return max(self.C, self.closed(m, v))


class TwiceV(SCW2):
    def gamma(self, m, v, n):
        return self.phi * math.sqrt(self.phi**2 * m**2 * v * 2 + 4 * n * v * (n + v * self.phi**2))


class LibolGamma(SCW2):
    def gamma(self, m, v, n):
        phi = self.phi
        return math.sqrt(2 * phi**4 * m**2 * v + 4 * n * v * phi**2 * (n + 2 * phi * v))


class NoHalf(SCW1):
    def psi(self):
        return 1 + self.phi**2


class NoZeta(SCW1):
    def under_root(self, m, v):
        return m * m * self.phi**4 / 4 + v * self.phi**2


class GrowingSigma(AROW):
    def update(self, x, y, alpha, beta):
        super().update(x, y, alpha, -beta)


class AwayFromLabel(PA):
    def tau(self, loss, s):
        return -super().tau(loss, s)


class LateEllipsoid(IELLIP):
    def exponent(self):
        return self.t


class LateGradient(OGD):
    def round(self):
        return self.t + 1


class MarginWithoutLabel(AROW):
    def margin(self, x, y):
        return self.w @ x


class StepWithoutLabel(PA1):
    def learn(self, x, y):
        loss = self.loss(y * (self.w @ x))
        if loss > 0:
            self.w = self.w + self.tau(loss, x @ x) * x


class StaleVariance(AROW):
    def variance(self, x):
        sigma, self.old = getattr(self, "old", self.S), self.S
        return x @ sigma @ x


class Twice(Learner):
    def learn(self, x, y):
        super().learn(x, y)
        super().learn(x, y)


class PaTwice(Twice, PA1): ...


class ScwTwice(Twice, SCW1): ...


class Single(PA2):
    def learn(self, x, y):
        super().learn(x.astype(np.float32).astype(float), y)


class SigmaFirst(AROW):
    def update(self, x, y, alpha, beta):
        z = self.S @ x
        self.S = self.S - beta * np.outer(z, z)
        self.w = self.w + alpha * y * (self.S @ x)


class MeanFirst(SCW1):
    def update(self, x, y, alpha, beta):
        v = self.variance(x)
        self.w = self.w + alpha * y * (self.S @ x)
        z = self.S @ x
        again = self.beta(self.alpha(self.margin(x, y), v), v)
        self.S = self.S - again * np.outer(z, z)


class UnregularisedMean(AROW):
    def coefficients(self, m, v):
        return (1 - m) / v if v else 0.0, 1 / (v + self.r)


class SlackInBeta(SCW2):
    def beta(self, alpha, v):
        return super().beta(alpha, v + 1 / (2 * self.C))


class SlackInLoss(PA2):
    def tau(self, loss, s):
        return (loss + 1 / (2 * self.C)) / s if s else 0.0


class DoubleC(PA2):
    def tau(self, loss, s):
        return loss / (s + 1 / self.C)


class Shuffled(Fits):
    def order(self, n):
        return np.random.default_rng(3).permutation(n)


class TwoEpochs(Fits):
    def order(self, n):
        return [*range(n)] * 2


class Bias(PA1):
    b = 0.0

    def predict(self, X):
        return np.where(np.asarray(X) @ self.w + self.b >= 0, 1.0, -1.0)

    def learn(self, x, y):
        loss = self.loss(y * (self.w @ x + self.b))
        if loss > 0 and x.any():
            step = self.tau(loss, x @ x) * y
            self.w, self.b = self.w + step * x, self.b + step


class ConstantFeature:
    """AROW over rows with a 1 appended, of which only the weights of the given features show."""

    def __init__(self, d, **params):
        self.inner = AROW(d + 1, **params)

    def predict(self, X):
        return self.inner.predict(np.hstack([X, np.ones((len(X), 1))]))

    def partial_fit(self, X, y):
        self.inner.partial_fit(np.hstack([X, np.ones((len(X), 1))]), y)

    @property
    def coef_(self):
        return self.inner.w[:-1]


class HerdingAsArow(NHERD):
    def coefficients(self, m, v):
        return (1 - m) / (v + 1 / self.C), 1 / (v + 1 / self.C)


class VarianceTrigger(CW):
    def triggered(self, m, v):
        return v > 0 and self.phi * v > m


class RowDirection(AROW):
    def update(self, x, y, alpha, beta):
        z = self.S @ x
        self.w = self.w + alpha * y * x
        self.S = self.S - beta * np.outer(z, z)


class RowInSigma(NHERD):
    def update(self, x, y, alpha, beta):
        self.w = self.w + alpha * y * (self.S @ x)
        self.S = self.S - beta * np.outer(x, x)


class RootNorm(PA):
    def tau(self, loss, s):
        return super().tau(loss, math.sqrt(s))


class UForRoot(CW):
    def root_u(self, alpha, v):
        return super().root_u(alpha, v) ** 2


class NoShrink(ROMMA):
    def combine(self, c, d, x):
        return self.w + d * x


class MistypedEccw(CwDiagonal):
    def under_root(self, m, v):
        return m * m * self.phi / 4 + v * self.phi**2 * self.psi()


class UnitRows(AROW):
    def __init__(self, d, r):
        super().__init__(d, r=1 / r)

    def learn(self, x, y):
        super().learn(x / np.linalg.norm(x) if x.any() else x, y)


class ZeroOne(AROW):
    def learn(self, x, y):
        super().learn(x, max(0.0, y))


def shuffled(d, **params):
    return Shuffled(Perceptron, d, **params)


def two_epochs(d, **params):
    return TwoEpochs(PA1, d, **params)


SOFT = {"C": 0.3, "eta": 0.8}
PLANTED = [
    ("arow", {"r": 0.7}, ArowDiagonal, {"variance-from-diagonal"}),
    ("cw", {"eta": 0.8}, CwDiagonal, {"variance-from-diagonal"}),
    ("scw1", SOFT, Distribution, {"cdf-for-quantile"}),
    ("scw1", SOFT, Larger, {"max-for-min"}),
    ("scw2", SOFT, TwiceV, {"doubled-for-squared-variance"}),
    ("scw2", SOFT, LibolGamma, {"scw2-libol"}),
    ("scw1", SOFT, NoHalf, {"psi-without-half"}),
    ("scw1", SOFT, NoZeta, {"zeta-missing-in-root"}),
    ("arow", {"r": 0.7}, GrowingSigma, {"covariance-grows"}),
    ("pa", {}, AwayFromLabel, {"step-negated"}),
    ("iellip", {"b": 0.6, "c": 0.2}, LateEllipsoid, {"round-from-two"}),
    ("ogd", {"C": 0.4}, LateGradient, {"schedule-from-two"}),
    ("arow", {"r": 0.7}, MarginWithoutLabel, {"label-forgotten-in-margin"}),
    ("pa1", {"C": 0.4}, StepWithoutLabel, {"label-forgotten-in-step"}),
    ("arow", {"r": 0.7}, StaleVariance, {"stale-variance"}),
    ("pa1", {"C": 0.4}, PaTwice, {"C-doubled"}),
    ("scw1", SOFT, ScwTwice, {"double-update"}),
    ("pa2", {"C": 0.4}, Single, {"single-precision-rows"}),
    ("arow", {"r": 0.7}, SigmaFirst, {"covariance-first"}),
    ("scw1", SOFT, MeanFirst, {"decided-again"}),
    ("arow", {"r": 0.7}, UnregularisedMean, {"regularised-covariance-only"}),
    ("scw2", SOFT, SlackInBeta, {"regularised-variance"}),
    ("pa2", {"C": 0.4}, SlackInLoss, {"regularised-loss"}),
    ("pa2", {"C": 0.4}, DoubleC, {"C-halved"}),
    ("perceptron", {}, shuffled, {"visits the rows in an order of its own"}),
    ("pa1", {"C": 0.4}, two_epochs, {"passes 2 times over the rows"}),
    ("pa1", {"C": 0.4}, Bias, {"bias-beside"}),
    ("arow", {"r": 0.7}, ConstantFeature, {"bias-feature"}),
    ("nherd", {"C": 0.4}, HerdingAsArow, {"arow"}),
    ("cw", {"eta": 0.8}, VarianceTrigger, {"variance-trigger"}),
    ("arow", {"r": 0.7}, RowDirection, {"row-for-direction"}),
    ("nherd", {"C": 0.4}, RowInSigma, {"row-for-direction-in-covariance"}),
    ("pa", {}, RootNorm, {"root-norm"}),
    ("cw", {"eta": 0.8}, UForRoot, {"variance-after-for-deviation"}),
    ("romma", {}, NoShrink, {"shrink-forgotten"}),
    ("cw", {"eta": 0.8}, MistypedEccw, {"variance-from-diagonal", "phi-psi-mistyped"}),
    ("arow", {"r": 0.7}, UnitRows, {"r-inverted", "unit-rows"}),
    ("arow", {"r": 0.7}, ZeroOne, {"labels-zero-one"}),
]


class SlowRoot(AROW):
    def coefficients(self, m, v):
        return math.sqrt(1 - m) / (v + self.r), 1 / (v + self.r)


class Fading(AROW):
    def update(self, x, y, alpha, beta):
        super().update(x, y, alpha, beta)
        self.S = 0.999 * self.S


class Lazy(PA1):
    def loss(self, m):
        return max(0.0, 1 - m) if 1 - m > 0.1 else 0.0


class Triangle(AROW):
    def update(self, x, y, alpha, beta):
        z = np.triu(self.S) @ x
        self.w = self.w + alpha * y * z
        self.S = self.S - beta * np.outer(self.S @ x, self.S @ x)


class Started(PA1):
    def __init__(self, d, **params):
        super().__init__(d, **params)
        self.w = np.full(d, 0.01)


class Threshold(PA1):
    def predict(self, X):
        return np.where(np.asarray(X) @ self.w >= 0.3, 1.0, -1.0)


class Swapped(PA1):
    def learn(self, x, y):
        loss = self.loss(y * (self.w @ x))
        if loss > 0:
            self.w = self.w + self.tau(loss, x @ x) * y * x[::-1]


#: Defects that the catalogue does not know: (algorithm, parameters, class, the places that are right).
UNKNOWN = [
    ("arow", {"r": 0.7}, SlowRoot, {"step"}),
    ("arow", {"r": 0.7}, Fading, {"covariance"}),
    ("pa1", {"C": 0.4}, Lazy, {"trigger"}),
    ("arow", {"r": 0.7}, Triangle, {"direction", "covariance"}),
    ("pa1", {"C": 0.4}, Started, {"start"}),
    ("pa1", {"C": 0.4}, Threshold, {"prediction"}),
    ("pa1", {"C": 0.4}, Swapped, {"direction"}),
]
