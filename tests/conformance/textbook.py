"""Learners as one types them from the papers, sharing no code with the package: the subjects of the tests.

Each is a class of a few short methods, so that a planted defect is one method typed otherwise.
"""

import math
from statistics import NormalDist

import numpy as np


class Learner:
    """predict and partial_fit over one weight vector."""

    def __init__(self, d, **params):
        self.w = np.zeros(d)
        self.t = 0
        self.__dict__.update(params)

    def predict(self, X):
        return np.where(np.asarray(X) @ self.w >= 0, 1.0, -1.0)

    def partial_fit(self, X, y):
        for x, label in zip(X, y, strict=True):
            self.t += 1
            self.learn(x, label)
        return self


class FirstOrder(Learner):
    def learn(self, x, y):
        loss = self.loss(y * (self.w @ x))
        if loss > 0:
            self.w = self.w + self.tau(loss, x @ x) * y * x

    def loss(self, m):
        return max(0.0, 1 - m)


class PA(FirstOrder):
    def tau(self, loss, s):
        return loss / s if s else 0.0


class PA1(FirstOrder):
    def tau(self, loss, s):
        return min(self.C, loss / s) if s else 0.0


class PA2(FirstOrder):
    def tau(self, loss, s):
        return loss / (s + 1 / (2 * self.C))


class Perceptron(Learner):
    def learn(self, x, y):
        if self.predict(x) != y:
            self.w = self.w + y * x


class OGD(Learner):
    def learn(self, x, y):
        if y * (self.w @ x) < 1:
            self.w = self.w + self.C / math.sqrt(self.round()) * y * x

    def round(self):
        return self.t


class ROMMA(Learner):
    def learn(self, x, y):
        f = self.w @ x
        if self.predict(x) == y:
            return
        s, q = x @ x, self.w @ self.w
        if q == 0:
            self.w = y * x
        elif s * q - f * f > 1e-12 * s * q:
            self.w = self.combine((s * q - y * f) / (s * q - f * f), q * (y - f) / (s * q - f * f), x)

    def combine(self, c, d, x):
        return c * self.w + d * x


class SecondOrder(Learner):
    def __init__(self, d, **params):
        super().__init__(d, **params)
        self.S = np.eye(d)
        if "eta" in params:
            self.phi = self.quantile(params["eta"])

    def quantile(self, eta):
        return NormalDist().inv_cdf(eta)

    def learn(self, x, y):
        m, v = self.margin(x, y), self.variance(x)
        if self.triggered(m, v):
            self.update(x, y, *self.coefficients(m, v))

    def margin(self, x, y):
        return y * (self.w @ x)

    def variance(self, x):
        return x @ self.S @ x

    def triggered(self, m, v):
        return m < 1

    def update(self, x, y, alpha, beta):
        z = self.S @ x
        self.w = self.w + alpha * y * z
        self.S = self.S - beta * np.outer(z, z)


class AROW(SecondOrder):
    def coefficients(self, m, v):
        beta = 1 / (v + self.r)
        return (1 - m) * beta, beta


class NHERD(SecondOrder):
    def coefficients(self, m, v):
        C = self.C
        return (1 - m) / (v + 1 / C), (v + 2 / C) / (v + 1 / C) ** 2


class NAROW(SecondOrder):
    def coefficients(self, m, v):
        if v <= 1 / self.b:
            return 0.0, 0.0
        beta = 1 / (v + v / (self.b * v - 1))
        return (1 - m) * beta, beta


class CW(SecondOrder):
    def triggered(self, m, v):
        return v > 0 and self.phi * math.sqrt(v) - m > 1e-12 * max(abs(m), self.phi * math.sqrt(v))

    def coefficients(self, m, v):
        alpha = self.alpha(m, v)
        return alpha, self.beta(alpha, v)

    def alpha(self, m, v):
        return self.closed(m, v)

    def psi(self):
        return 1 + self.phi**2 / 2

    def zeta(self):
        return 1 + self.phi**2

    def under_root(self, m, v):
        return m * m * self.phi**4 / 4 + v * self.phi**2 * self.zeta()

    def closed(self, m, v):
        return max(0.0, (-m * self.psi() + math.sqrt(self.under_root(m, v))) / (v * self.zeta()))

    def root_u(self, alpha, v):
        return (-alpha * v * self.phi + math.sqrt((alpha * v * self.phi) ** 2 + 4 * v)) / 2

    def beta(self, alpha, v):
        return alpha * self.phi / (self.root_u(alpha, v) + v * alpha * self.phi)


class SCW1(CW):
    def alpha(self, m, v):
        return min(self.C, self.closed(m, v))


class SCW2(CW):
    def gamma(self, m, v, n):
        return self.phi * math.sqrt(self.phi**2 * m**2 * v**2 + 4 * n * v * (n + v * self.phi**2))

    def alpha(self, m, v):
        n = v + 1 / (2 * self.C)
        top = -(2 * m * n + self.phi**2 * m * v) + self.gamma(m, v, n)
        return max(0.0, top / (2 * (n * n + n * v * self.phi**2)))


class CWVar(SecondOrder):
    def triggered(self, m, v):
        return v > 0 and self.phi * v - m > 1e-12 * max(abs(m), self.phi * v)

    def coefficients(self, m, v):
        b = 1 + 2 * self.phi * m
        alpha = (-b + math.sqrt(b * b - 8 * self.phi * (m - self.phi * v))) / (4 * self.phi * v)
        return alpha, 2 * alpha * self.phi / (1 + 2 * alpha * self.phi * v)


class IELLIP(SecondOrder):
    def learn(self, x, y):
        v = self.variance(x)
        if self.predict(x) != y and v > 0:
            g = y * x / math.sqrt(v)
            step, c = self.S @ g, self.c * self.b ** self.exponent()
            self.w = self.w + (1 - self.margin(x, y)) / math.sqrt(v) * step
            self.S = (self.S - c * np.outer(step, step)) / (1 - c)

    def exponent(self):
        return self.t - 1


class Fits:
    """Fit all rows in one call: the style of a loop over epochs."""

    def __init__(self, learner, d, **params):
        self.make = lambda: learner(d, **params)
        self.epochs = 1

    def fit(self, X, y):
        self.model = self.make()
        for i in self.order(len(y)):
            self.model.learn(X[i], y[i])
        self.coef_ = self.model.w[None]
        return self

    def order(self, n):
        return range(n)

    def predict(self, X):
        return self.model.predict(X)
