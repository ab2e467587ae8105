"""Correct implementations in other styles, none of which may be accused: (algorithm, parameters, factory)."""

import math

import numpy as np

from tests.conformance import textbook as book


class Rooted(book.SecondOrder):
    """Sigma = A'A, updated by Potter's formula; no covariance is shown."""

    def __init__(self, d, **params):
        super().__init__(d, **params)
        self.A = self.__dict__.pop("S")

    def learn(self, x, y):
        a = self.A @ x
        v, m = a @ a, y * (self.w @ x)
        if not self.triggered(m, v):
            return
        alpha, beta = self.coefficients(m, v)
        z = self.A.T @ a
        self.w = self.w + alpha * y * z
        if v > 0:
            self.A = self.A - (1 - math.sqrt(max(0.0, 1 - beta * v))) / v * np.outer(a, z)


def rooted(base):
    return type("Rooted", (Rooted, base), {})


class MisnamedRoot(rooted(book.AROW)):
    """Its attribute sigma is no covariance, but the root of one."""

    @property
    def sigma(self):
        return self.A


class Precision(book.AROW):
    """Keeps the inverse of Sigma."""

    def __init__(self, d, **params):
        super().__init__(d, **params)
        self.P = self.__dict__.pop("S")

    def learn(self, x, y):
        z = np.linalg.solve(self.P, x)
        m, v = y * (self.w @ x), x @ z
        if m < 1:
            self.w = self.w + (1 - m) / (v + self.r) * y * z
            self.P = self.P + np.outer(x, x) / self.r


class Single:
    """All arithmetic in single precision."""

    def __init__(self, learner, d, **params):
        self.inner = learner(d, **params)
        self.round()

    def round(self):
        self.inner.w, self.inner.S = self.inner.w.astype(np.float32), self.inner.S.astype(np.float32)
        self.coef_ = self.inner.w

    def predict(self, X):
        return self.inner.predict(X)

    def partial_fit(self, X, y):
        for x, label in zip(X.astype(np.float32), y, strict=True):
            self.inner.t += 1
            self.inner.learn(x, np.float32(label))
            self.round()


class SparseArow:
    """Dictionaries by feature, as River has them; labels are bools."""

    def __init__(self, r):
        self.r, self.weights, self.cov = r, {}, {}

    def entry(self, i, j):
        return self.cov.get((i, j), float(i == j))

    def predict_one(self, x):
        return sum(self.weights.get(i, 0.0) * value for i, value in x.items()) >= 0

    def learn_one(self, x, y):
        label = 1.0 if y else -1.0
        m = label * sum(self.weights.get(i, 0.0) * value for i, value in x.items())
        if m >= 1:
            return
        known = {*x, *self.weights}
        z = {i: sum(self.entry(i, j) * value for j, value in x.items()) for i in known}
        beta = 1 / (sum(z[i] * value for i, value in x.items()) + self.r)
        for i in known:
            self.weights[i] = self.weights.get(i, 0.0) + (1 - m) * beta * label * z[i]
        for i in known:
            for j in known:
                self.cov[i, j] = self.entry(i, j) - beta * z[i] * z[j]


class SparsePa2:
    """Like River's, but its labels are -1 and +1."""

    def __init__(self, C):
        self.C, self.w = C, {}

    def score(self, x):
        return sum(self.w.get(i, 0.0) * value for i, value in x.items())

    def predict_one(self, x):
        return 1 if self.score(x) >= 0 else -1

    def learn_one(self, x, y):
        tau = max(0.0, 1 - y * self.score(x)) / (sum(v * v for v in x.values()) + 1 / (2 * self.C))
        for i, value in x.items():
            self.w[i] = self.w.get(i, 0.0) + tau * y * value


class Dual:
    """PA-I as a sum over the rows it has learnt; only its scores are shown."""

    def __init__(self, C):
        self.C, self.rows, self.taus = C, [], []

    def decision_function(self, X):
        return np.array([sum(t * (row @ x) for t, row in zip(self.taus, self.rows, strict=True)) for x in X])

    def predict(self, X):
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def partial_fit(self, X, y, classes=None):
        loss = 1 - y[0] * self.decision_function(X)[0]
        if loss > 0 and X.any():
            self.rows.append(X[0])
            self.taus.append(y[0] * min(self.C, loss / (X[0] @ X[0])))


class Hidden:
    """Shows predictions and nothing else."""

    __slots__ = ("model",)

    def __init__(self, model):
        self.model = model

    def predict(self, X):
        return self.model.predict(X)

    def partial_fit(self, X, y):
        self.model.partial_fit(X, y)


class SOP:
    """The second-order perceptron with its own w; it predicts with the Sigma that has x in it."""

    def __init__(self, d):
        self.w, self.S = np.zeros(d), np.eye(d)

    def with_row(self, x):
        z = self.S @ x
        return self.S - np.outer(z, z) / (1 + x @ z)

    def predict(self, X):
        return np.array([1.0 if self.w @ self.with_row(x) @ x >= 0 else -1.0 for x in X])

    def partial_fit(self, X, y):
        if self.predict(X)[0] != y[0]:
            self.S = self.with_row(X[0])
            self.w = self.w + y[0] * X[0]


class ALMA:
    def __init__(self, d, alpha, C):
        self.w, self.alpha, self.C, self.k = np.zeros(d), alpha, C, 1

    def predict(self, X):
        return np.where(X @ self.w >= 0, 1.0, -1.0)

    def partial_fit(self, X, y):
        if not X.any():
            return
        x = X[0] / np.linalg.norm(X[0])
        if y[0] * (self.w @ x) <= (1 - self.alpha) * math.sqrt(8) / (self.alpha * math.sqrt(self.k)):
            self.w = self.w + self.C / math.sqrt(self.k) * y[0] * x
            self.w = self.w / max(1.0, np.linalg.norm(self.w))
            self.k += 1


class AveragedPerceptron(book.Perceptron):
    """Its coef_ is the mean over all rounds, kept lazily."""

    def __init__(self, d):
        super().__init__(d)
        self.late = np.zeros(d)

    def learn(self, x, y):
        if self.predict(x) != y:
            self.w = self.w + y * x
            self.late = self.late + (self.t - 1) * y * x

    @property
    def coef_(self):
        return self.w - self.late / self.t if self.t else self.w


def tuple_step(state, x, y):
    """AROW with r = 0.7 as a pure function."""
    mu, sigma = state or (np.zeros(x.size), np.eye(x.size))
    m, z = y * (mu @ x), sigma @ x
    if m >= 1:
        return mu, sigma
    beta = 1 / (x @ z + 0.7)
    return mu + (1 - m) * beta * y * z, sigma - beta * np.outer(z, z)


def dict_step(state, x, y, C):
    """PA-I over a state by name."""
    w = state["w"] if state else np.zeros(x.size)
    loss = max(0.0, 1 - y * (w @ x))
    return {"w": w + (min(C, loss / (x @ x)) * y * x if x.any() else 0.0)}


def in_place_step(state, x, y):
    """A perceptron that changes its array in place."""
    state = np.zeros(x.size) if state is None else state
    if (state @ x >= 0) != (y > 0):
        state += y * x
    return state


R, C, ETA, SOFT = {"r": 0.7}, {"C": 0.4}, {"eta": 0.8}, {"C": 0.3, "eta": 0.8}
CORRECT = [
    (id, params, subject)
    for id, params, subjects in (
        ("arow", R, [book.AROW, MisnamedRoot, Precision, SparseArow, tuple_step]),
        ("arow", R, [lambda d: Single(book.AROW, d, **R), lambda d: book.Fits(book.AROW, d, **R)]),
        ("arow", R, [lambda d: Hidden(book.AROW(d, **R))]),
        ("pa1", C, [dict_step, Dual, book.PA1]),
        ("pa2", C, [SparsePa2, book.PA2]),
        ("pa", {}, [book.PA]),
        ("perceptron", {}, [book.Perceptron, in_place_step, lambda d: book.Fits(book.Perceptron, d)]),
        ("averaged-perceptron", {}, [AveragedPerceptron]),
        ("romma", {}, [book.ROMMA]),
        ("alma", {"alpha": 0.7, "C": 1.2}, [ALMA]),
        ("ogd", C, [book.OGD]),
        ("sop", {}, [SOP]),
        ("iellip", {"b": 0.6, "c": 0.2}, [book.IELLIP]),
        ("nherd", C, [book.NHERD]),
        ("narow", {"b": 3.0}, [book.NAROW]),
        ("cw", ETA, [book.CW, rooted(book.CW), lambda d: Single(book.CW, d, **ETA)]),
        ("cw-var", ETA, [book.CWVar]),
        ("scw1", SOFT, [book.SCW1, rooted(book.SCW1), lambda d: Single(book.SCW1, d, **SOFT)]),
        ("scw2", SOFT, [book.SCW2, lambda d: book.Fits(book.SCW2, d, **SOFT)]),
    )
    for subject in subjects
]
