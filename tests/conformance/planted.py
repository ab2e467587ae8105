"""Planted defects: textbook learners with one thing typed otherwise, and what they must be called.

A case is (algorithm, parameters, class, the entries of the catalogue that name it).
"""

import math

import numpy as np

from tests.conformance import textbook as book
from tests.conformance.correct import SOP, SparsePa2


def retype(base, **methods):
    """Return a class with some methods typed otherwise."""
    return type(base.__name__, (base,), methods)


def update_sigma_first(self, x, y, alpha, beta):
    z = self.S @ x
    self.S = self.S - beta * np.outer(z, z)
    self.w = self.w + alpha * y * (self.S @ x)


def update_mean_first(self, x, y, alpha, beta):
    v = self.variance(x)
    self.w = self.w + alpha * y * (self.S @ x)
    z = self.S @ x
    again = self.beta(self.alpha(self.margin(x, y), v), v)
    self.S = self.S - again * np.outer(z, z)


def update_along_row(self, x, y, alpha, beta):
    z = self.S @ x
    self.w = self.w + alpha * y * x
    self.S = self.S - beta * np.outer(z, z)


def update_sigma_along_row(self, x, y, alpha, beta):
    self.w = self.w + alpha * y * (self.S @ x)
    self.S = self.S - beta * np.outer(x, x)


def update_and_fade(self, x, y, alpha, beta):
    book.AROW.update(self, x, y, alpha, beta)
    self.S = 0.999 * self.S


def learn_along(direction):
    """Return a first-order step along something else than y x."""

    def learn(self, x, y):
        loss = self.loss(y * (self.w @ x))
        if loss > 0:
            self.w = self.w + self.tau(loss, x @ x) * direction(x, y)

    return learn


def learn_twice(base):
    def learn(self, x, y):
        base.learn(self, x, y)
        base.learn(self, x, y)

    return retype(base, learn=learn)


def diagonal_variance(self, x):
    return (x * x) @ np.diag(self.S)


def stale_variance(self, x):
    sigma, self.old = getattr(self, "old", self.S), self.S
    return x @ sigma @ x


def libol_gamma(self, m, v, n):
    phi = self.phi
    return math.sqrt(2 * phi**4 * m**2 * v + 4 * n * v * phi**2 * (n + 2 * phi * v))


class Bias(book.PA1):
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
        self.inner = book.AROW(d + 1, **params)

    def predict(self, X):
        return self.inner.predict(np.hstack([X, np.ones((len(X), 1))]))

    def partial_fit(self, X, y):
        self.inner.partial_fit(np.hstack([X, np.ones((len(X), 1))]), y)

    @property
    def coef_(self):
        return self.inner.w[:-1]


class UnitRows(book.AROW):
    def __init__(self, d, r):
        super().__init__(d, r=1 / r)

    def learn(self, x, y):
        super().learn(x / np.linalg.norm(x) if x.any() else x, y)


class LibolSOP(SOP):
    """Sigma shrinks in every round, sign(0) is a mistake, and w predicts without Sigma."""

    def decision_function(self, X):
        return X @ self.w

    def predict(self, X):
        return np.sign(X @ self.w)

    def partial_fit(self, X, y):
        self.S = self.with_row(X[0])
        if np.sign(self.w @ self.S @ X[0]) != y[0]:
            self.w = self.w + y[0] * X[0]


class SparseAlma(SparsePa2):
    """Only the weights of the features in a row are projected, and the row keeps its length."""

    def __init__(self, alpha, C):
        self.alpha, self.C, self.w, self.k = alpha, C, {}, 1

    def learn_one(self, x, y):
        x, label, root = {j: value for j, value in x.items() if value}, (1 if y else -1), math.sqrt(self.k)
        if label * self.score(x) < (1 - self.alpha) / (self.alpha * root):
            self.w |= {j: self.w.get(j, 0.0) + self.C / root * label * value for j, value in x.items()}
            norm = max(1.0, math.hypot(*self.w.values()))
            self.w |= {j: self.w[j] / norm for j in x}
            self.k += 1


class Started(book.PA1):
    def __init__(self, d, **params):
        super().__init__(d, **params)
        self.w = np.full(d, 0.01)


def shuffled(d, **params):
    visits = {"order": lambda self, n: np.random.default_rng(3).permutation(n)}
    return retype(book.Fits, **visits)(book.Perceptron, d, **params)


def two_epochs(d, **params):
    return retype(book.Fits, order=lambda self, n: [*range(n)] * 2)(book.PA1, d, **params)


R, C, ETA, SOFT = {"r": 0.7}, {"C": 0.4}, {"eta": 0.8}, {"C": 0.3, "eta": 0.8}
IELLIP = {"b": 0.6, "c": 0.2}
#: (algorithm, parameters, class, methods typed otherwise, the entries that name it)
RETYPED = [
    ("arow", R, book.AROW, {"variance": diagonal_variance}, {"variance-from-diagonal"}),
    ("scw1", SOFT, book.SCW1, {"quantile": lambda self, eta: 0.5 * (1 + math.erf(eta / math.sqrt(2)))},
     {"cdf-for-quantile"}),
    ("scw1", SOFT, book.SCW1, {"alpha": lambda self, m, v: max(self.C, self.closed(m, v))}, {"max-for-min"}),
    ("scw2", SOFT, book.SCW2,
     {"gamma": lambda self, m, v, n: self.phi * math.sqrt(
         self.phi**2 * m**2 * v * 2 + 4 * n * v * (n + v * self.phi**2))},
     {"doubled-for-squared-variance"}),
    ("scw2", SOFT, book.SCW2, {"gamma": libol_gamma}, {"scw2-libol"}),
    ("scw1", SOFT, book.SCW1, {"psi": lambda self: 1 + self.phi**2}, {"psi-without-half"}),
    ("scw1", SOFT, book.SCW1, {"under_root": lambda self, m, v: m * m * self.phi**4 / 4 + v * self.phi**2},
     {"zeta-missing-in-root"}),
    ("arow", R, book.AROW,
     {"coefficients": lambda self, m, v: ((1 - m) / (v + self.r), 1 / (2 * v + self.r))}, {"beta-for-gain"}),
    ("arow", R, book.AROW,
     {"update": lambda self, x, y, alpha, beta: book.AROW.update(self, x, y, alpha, -beta)},
     {"covariance-grows"}),
    ("pa", {}, book.PA, {"tau": lambda self, loss, s: -book.PA.tau(self, loss, s)}, {"step-negated"}),
    ("iellip", IELLIP, book.IELLIP, {"exponent": lambda self: self.t}, {"round-from-two"}),
    ("ogd", C, book.OGD, {"round": lambda self: self.t + 1}, {"schedule-from-two"}),
    ("arow", R, book.AROW, {"margin": lambda self, x, y: self.w @ x}, {"label-forgotten-in-margin"}),
    ("pa1", C, book.PA1, {"learn": learn_along(lambda x, y: x)}, {"label-forgotten-in-step"}),
    ("arow", R, book.AROW, {"variance": stale_variance}, {"stale-variance"}),
    ("pa1", C, learn_twice(book.PA1), {}, {"C-doubled"}),
    ("scw1", SOFT, learn_twice(book.SCW1), {}, {"double-update"}),
    ("pa2", C, book.PA2,
     {"learn": lambda self, x, y: book.PA2.learn(self, x.astype(np.float32).astype(float), y)},
     {"single-precision-rows"}),
    ("arow", R, book.AROW, {"update": update_sigma_first}, {"covariance-first"}),
    ("scw1", SOFT, book.SCW1, {"update": update_mean_first}, {"decided-again"}),
    ("arow", R, book.AROW,
     {"coefficients": lambda self, m, v: ((1 - m) / v if v else 0.0, 1 / (v + self.r))},
     {"regularised-covariance-only"}),
    ("scw2", SOFT, book.SCW2,
     {"beta": lambda self, alpha, v: book.SCW2.beta(self, alpha, v + 1 / (2 * self.C))},
     {"regularised-variance"}),
    ("pa2", C, book.PA2, {"tau": lambda self, loss, s: (loss + 1 / (2 * self.C)) / s if s else 0.0},
     {"regularised-loss"}),
    ("pa2", C, book.PA2, {"tau": lambda self, loss, s: loss / (s + 1 / self.C)}, {"C-halved"}),
    ("nherd", C, book.NHERD,
     {"coefficients": lambda self, m, v: ((1 - m) / (v + 1 / self.C), 1 / (v + 1 / self.C))}, {"arow"}),
    ("cw", ETA, book.CW, {"triggered": lambda self, m, v: v > 0 and self.phi * v > m}, {"variance-trigger"}),
    ("arow", R, book.AROW, {"update": update_along_row}, {"row-for-direction"}),
    ("nherd", C, book.NHERD, {"update": update_sigma_along_row}, {"row-for-direction-in-covariance"}),
    ("pa", {}, book.PA, {"tau": lambda self, loss, s: book.PA.tau(self, loss, math.sqrt(s))}, {"root-norm"}),
    ("cw", ETA, book.CW, {"root_u": lambda self, alpha, v: book.CW.root_u(self, alpha, v) ** 2},
     {"variance-after-for-deviation"}),
    ("romma", {}, book.ROMMA, {"combine": lambda self, c, d, x: self.w + d * x}, {"shrink-forgotten"}),
    ("cw", ETA, book.CW,
     {"variance": diagonal_variance,
      "under_root": lambda self, m, v: m * m * self.phi / 4 + v * self.phi**2 * self.psi()},
     {"variance-from-diagonal", "phi-psi-mistyped"}),
    ("arow", R, book.AROW, {"learn": lambda self, x, y: book.AROW.learn(self, x, max(0.0, y))},
     {"labels-zero-one"}),
]  # fmt: skip
PLANTED = [
    *((id, params, retype(base, **methods), names) for id, params, base, methods, names in RETYPED),
    ("perceptron", {}, shuffled, {"visits the rows in an order of its own"}),
    ("pa1", C, two_epochs, {"passes 2 times over the rows"}),
    ("pa1", C, Bias, {"bias-beside"}),
    ("arow", R, ConstantFeature, {"bias-feature"}),
    ("arow", R, UnitRows, {"r-inverted", "unit-rows"}),
    ("sop", {}, LibolSOP, {"sop-libol", "zero-is-mistake", "predicts-without-sigma"}),
    ("alma", {"alpha": 0.8, "C": 1.2}, SparseAlma, {"raw-rows", "partial-projection"}),
]


def slow_root(self, m, v):
    return math.sqrt(1 - m) / (v + self.r), 1 / (v + self.r)


def predict_late(self, X):
    return np.where(np.asarray(X) @ self.w >= 0.3, 1.0, -1.0)


#: Defects that the catalogue does not know: (algorithm, parameters, class, the places that are right).
UNKNOWN = [
    ("arow", R, retype(book.AROW, coefficients=slow_root), {"step"}),
    ("arow", R, retype(book.AROW, update=update_and_fade), {"covariance"}),
    ("pa1", C, retype(book.PA1, loss=lambda self, m: max(0.0, 1 - m) if 1 - m > 0.1 else 0.0), {"trigger"}),
    ("pa1", C, Started, {"start"}),
    ("pa1", C, retype(book.PA1, predict=predict_late), {"prediction"}),
    ("pa1", C, retype(book.PA1, learn=learn_along(lambda x, y: y * x[::-1])), {"direction"}),
]
