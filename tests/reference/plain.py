"""A long-double reference: every algorithm as its paper writes it, in plain NumPy, for counting only.

It shares no code with the package: Sigma is the textbook matrix, w and theta are kept where the papers keep
them, and the losses are compared with the tolerance that the project documents.
"""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

L = np.longdouble
TOLERANCE = L(1e-12)


@dataclass
class Counts:
    mistakes: int = 0
    updates: int = 0


def lost(wanted, got):
    loss = wanted - got
    return loss if loss > TOLERANCE * max(abs(wanted), abs(got)) else L(0)


def run(id, X, y, order, **params):
    """Run one pass and return the counts and the weights that predict."""
    X = X.astype(L)
    params = {name: value if isinstance(value, str) else L(value) for name, value in params.items()}
    learner = REFERENCES[id](X.shape[1], **params)
    counts = Counts()
    for t, i in enumerate(order, start=1):
        x, label = X[i], L(y[i])
        f = learner.score(x)
        mistake = (f >= 0) != (label > 0)
        counts.mistakes += int(mistake)
        counts.updates += int(learner.learn(x, label, f, bool(mistake), t))
    return counts, learner.weights()


class FirstOrder:
    def __init__(self, d, **params):
        self.w = np.zeros(d, dtype=L)
        self.k = 0
        self.__dict__.update(params)

    def score(self, x):
        return self.w @ x

    def weights(self):
        return self.w

    def learn(self, x, y, f, mistake, t):
        updated = self.step(x, y, f, mistake, t)
        self.k += int(updated)
        return updated


class Perceptron(FirstOrder):
    def step(self, x, y, f, mistake, t):
        if mistake:
            self.w = self.w + y * x
        return mistake


class MarginPerceptron(FirstOrder):
    def step(self, x, y, f, mistake, t):
        if y * f > self.margin:
            return False
        self.w = self.w + y * x
        return True


class PA(FirstOrder):
    def tau(self, loss, s):
        return loss / s

    def step(self, x, y, f, mistake, t):
        loss = lost(L(1), y * f)
        if loss > 0 and x @ x > 0:
            self.w = self.w + self.tau(loss, x @ x) * y * x
        return loss > 0


class PA1(PA):
    def tau(self, loss, s):
        return min(self.C, loss / s)


class PA2(PA):
    def tau(self, loss, s):
        return loss / (s + 1 / (2 * self.C))


class Adviceptron(PA2):
    """Without advice, adviceptron2010's problem (6) is that of PA-II with C = lam / 2."""

    def __init__(self, d, lam, mu, start, heads="all"):
        super().__init__(d, C=lam / 2)


class ROMMA(FirstOrder):
    def triggered(self, y, f, mistake):
        return mistake

    def step(self, x, y, f, mistake, t):
        if not self.triggered(y, f, mistake):
            return False
        s, q = x @ x, self.w @ self.w
        if s == 0:
            return True
        if q == 0:
            self.w = y * x
            return True
        denominator = s * q - f * f
        if denominator > TOLERANCE * s * q:
            self.w = ((s * q - y * f) * self.w + q * (y - f) * x) / denominator
        return True


class AROMMA(ROMMA):
    def triggered(self, y, f, mistake):
        return lost(L(1), y * f) > 0


class ALMA(FirstOrder):
    def step(self, x, y, f, mistake, t):
        norm = np.sqrt(x @ x)
        if norm == 0:
            return mistake
        unit, k = x / norm, L(self.k + 1)
        if y * (self.w @ unit) > (1 - self.alpha) * np.sqrt(L(8)) / (self.alpha * np.sqrt(k)):
            return False
        w = self.w + self.C / np.sqrt(k) * y * unit
        self.w = w / max(L(1), np.sqrt(w @ w))
        return True


class OGD(FirstOrder):
    def step(self, x, y, f, mistake, t):
        rate, m = self.C / np.sqrt(L(t)), y * f
        if self.loss == "hinge":
            loss = lost(L(1), m)
            slope = L(1) if loss > 0 else L(0)
        elif self.loss == "logistic":
            loss, slope = np.log1p(np.exp(-m)), 1 / (1 + np.exp(m))
            loss, slope = (loss, slope) if loss > TOLERANCE else (L(0), L(0))
        elif self.loss == "squared":
            slope = lost(L(1), m) - lost(m, L(1))
            loss = slope * slope / 2
        else:
            loss = slope = L(mistake)
        self.w = self.w + rate * slope * y * x
        return loss > 0


class SGD(FirstOrder):
    def step(self, x, y, f, mistake, t):
        eta = self.eta0 / np.sqrt(L(t)) if self.step_size == "sqrt" else 1 / (self.lam * t)
        m = y * f
        # the negative slope of the modified Huber loss
        slope = L(4) if m < -1 else 2 * lost(L(1), m)
        if x @ x > 0:
            self.w = self.w - eta * (self.lam * self.w - slope * y * x)
        return slope > 0

    def __init__(self, d, step, **params):
        super().__init__(d, **params)
        self.step_size = step


def averaged(base):
    """Return the learner that sums up its weights after every round."""

    class Averaged(base):
        def __init__(self, d, **params):
            super().__init__(d, **params)
            self.total, self.rounds = np.zeros(d, dtype=L), 0

        def learn(self, x, y, f, mistake, t):
            updated = super().learn(x, y, f, mistake, t)
            self.total, self.rounds = self.total + self.w, self.rounds + 1
            return updated

        def weights(self):
            return self.total / self.rounds

    return Averaged


class SecondOrder:
    def __init__(self, d, a=1, **params):
        self.mu = np.zeros(d, dtype=L)
        self.sigma = L(a) * np.eye(d, dtype=L)
        self.__dict__.update(params)
        if "eta" in params:
            self.phi = L(NormalDist().inv_cdf(float(params["eta"])))
            self.psi, self.zeta = 1 + self.phi**2 / 2, 1 + self.phi**2

    def score(self, x):
        return self.mu @ x

    def weights(self):
        return self.mu

    def learn(self, x, y, f, mistake, t):
        z = self.sigma @ x
        m, v = y * f, x @ z
        loss = self.loss(m, v)
        if loss > 0 and v > 0:
            alpha, beta = self.coefficients(m, v, loss)
            self.mu = self.mu + alpha * y * z
            self.sigma = self.sigma - beta * np.outer(z, z)
        return loss > 0

    def loss(self, m, v):
        return lost(L(1), m)


class Deviation(SecondOrder):
    def loss(self, m, v):
        return lost(self.phi * np.sqrt(v), m)

    def cw_alpha(self, m, v):
        phi = self.phi
        root = np.sqrt(m * m * phi**4 / 4 + v * phi**2 * self.zeta)
        return max(L(0), (-m * self.psi + root) / (v * self.zeta))

    def coefficients(self, m, v, loss):
        alpha = self.alpha_of(m, v)
        u = (-alpha * v * self.phi + np.sqrt(alpha**2 * v**2 * self.phi**2 + 4 * v)) ** 2 / 4
        return alpha, alpha * self.phi / (np.sqrt(u) + v * alpha * self.phi)


class CW(Deviation):
    def alpha_of(self, m, v):
        return self.cw_alpha(m, v)


class SCW1(Deviation):
    def alpha_of(self, m, v):
        return min(self.C, self.cw_alpha(m, v))


class SCW2(Deviation):
    def gamma(self, m, v, n):
        phi = self.phi
        return phi * np.sqrt(phi**2 * m**2 * v**2 + 4 * n * v * (n + v * phi**2))

    def alpha_of(self, m, v):
        n, phi = v + 1 / (2 * self.C), self.phi
        top = -(2 * m * n + phi**2 * m * v) + self.gamma(m, v, n)
        return max(L(0), top / (2 * (n**2 + n * v * phi**2)))


class SCW2Libol(SCW2):
    def gamma(self, m, v, n):
        phi = self.phi
        return np.sqrt(2 * phi**4 * m**2 * v + 4 * n * v * phi**2 * (n + 2 * phi * v))


class CWVar(SecondOrder):
    def loss(self, m, v):
        return lost(self.phi * v, m)

    def coefficients(self, m, v, loss):
        phi = self.phi
        b = 1 + 2 * phi * m
        alpha = max(L(0), (-b + np.sqrt(b * b - 8 * phi * (m - phi * v))) / (4 * phi * v))
        return alpha, 2 * alpha * phi / (1 + 2 * alpha * phi * v)


class AROW(SecondOrder):
    def coefficients(self, m, v, loss):
        beta = 1 / (v + self.r)
        return loss * beta, beta


class NHERD(SecondOrder):
    def coefficients(self, m, v, loss):
        C = self.C
        return loss / (v + 1 / C), (v + 2 / C) / (v + 1 / C) ** 2


class NAROW(SecondOrder):
    def coefficients(self, m, v, loss):
        if v <= 1 / self.b:
            return L(0), L(0)
        beta = 1 / (v + v / (self.b * v - 1))
        return loss * beta, beta


class NAROW2010(SecondOrder):
    def __init__(self, d, **params):
        super().__init__(d, **params)
        self.theta = np.zeros(d, dtype=L)

    def learn(self, x, y, f, mistake, t):
        if lost(L(1), y * f) == 0:
            return False
        z = self.sigma @ x
        v = x @ z
        if v > 1 / self.b:
            self.sigma = self.sigma - np.outer(z, z) / (v + v / (self.b * v - 1))
        self.theta = self.theta + y * x
        self.mu = self.sigma @ self.theta
        return True


class SOP(SecondOrder):
    every_round = False

    def __init__(self, d, **params):
        super().__init__(d, **params)
        self.w = np.zeros(d, dtype=L)

    def with_x(self, x):
        z = self.sigma @ x
        return self.sigma - np.outer(z, z) / (1 + x @ z)

    def score(self, x):
        return self.w @ (self.with_x(x) @ x)

    def weights(self):
        return self.sigma @ self.w

    def learn(self, x, y, f, mistake, t):
        if mistake or self.every_round:
            self.sigma = self.with_x(x)
        if mistake:
            self.w = self.w + y * x
        return mistake


class SOPLibol(SOP):
    every_round = True


class IELLIP(SecondOrder):
    def learn(self, x, y, f, mistake, t):
        v = x @ (self.sigma @ x)
        if mistake and v > 0:
            g = y * x / np.sqrt(v)
            step = self.sigma @ g
            c = self.c * self.b ** (t - 1)
            self.mu = self.mu + (1 - y * f) / np.sqrt(v) * step
            self.sigma = (self.sigma - c * np.outer(step, step)) / (1 - c)
        return mistake


REFERENCES = {
    "perceptron": Perceptron, "margin-perceptron": MarginPerceptron, "pa": PA, "pa1": PA1, "pa2": PA2,
    "romma": ROMMA, "aromma": AROMMA, "alma": ALMA, "ogd": OGD, "sop": SOP, "sop-libol": SOPLibol,
    "iellip": IELLIP, "cw": CW, "cw-var": CWVar, "nherd": NHERD, "arow": AROW, "narow": NAROW,
    "narow2010": NAROW2010, "scw1": SCW1, "scw2": SCW2, "scw2-libol": SCW2Libol, "sgd": SGD,
    "averaged-perceptron": averaged(Perceptron), "averaged-pa": averaged(PA), "averaged-pa1": averaged(PA1),
    "adviceptron": Adviceptron, "adviceptron-printed": Adviceptron, "adviceptron-exact": Adviceptron,
}  # fmt: skip
