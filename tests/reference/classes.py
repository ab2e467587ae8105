"""A long-double reference for several classes: every native learner in plain NumPy, for counting only.

It shares no code with the package. Covariances are textbook matrices, CW's are inverted anew from precisions
where they would cancel, and the roots of the exact steps are found by bisection.
"""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

L = np.longdouble
TOLERANCE = L(1e-12)


def lost(wanted, got):
    """Return the loss; a smaller share of the larger term than the tolerance is none."""
    loss = wanted - got
    return loss if loss > TOLERANCE * max(abs(wanted), abs(got)) else L(0)


@dataclass
class ClassCounts:
    mistakes: int
    updates: int
    confusion: np.ndarray


def run_classes(id, X, y, order, classes, **settings):
    X = X.astype(L)
    learner = NATIVE[id](X.shape[1], classes, **settings)
    confusion = np.zeros((classes, classes), int)
    updates = 0
    for t, i in enumerate(order, start=1):
        x, truth = X[i], int(y[i])
        F = learner.mu @ x
        predicted = int(np.argmax(F))
        confusion[truth, predicted] += 1
        others = F.copy()
        others[truth] = -np.inf
        rival = int(np.argmax(others))
        updates += int(learner.learn(x, truth, rival, F, predicted != truth, L(t)))
    return ClassCounts(int(confusion.sum() - np.trace(confusion)), updates, confusion), learner


class Means:
    def __init__(self, d, classes, **settings):
        self.mu = np.zeros((classes, d), L)
        self.__dict__.update(settings)

    def move(self, tau, x, truth, rival):
        self.mu[truth] = self.mu[truth] + tau * x
        self.mu[rival] = self.mu[rival] - tau * x


class PerceptronClasses(Means):
    allocation, strict = "max", False

    def learn(self, x, truth, rival, F, mistake, t):
        if not mistake:
            return False
        if self.allocation == "max":
            self.move(L(1), x, truth, rival)
            return True
        above = F[truth] < F if self.strict else F[truth] <= F
        above[truth] = False
        self.mu[truth] = self.mu[truth] + x
        leads = np.where(above, F - F[truth], L(0))
        if self.allocation == "uniform" or leads.sum() == 0:
            leads = above.astype(L)
        if above.any():
            self.mu = self.mu - np.outer(leads / leads.sum(), x)
        return True


class HingeClasses(Means):
    def learn(self, x, truth, rival, F, mistake, t):
        loss = lost(L(1), F[truth] - F[rival])
        if loss > 0 and x.any():
            self.move(self.tau(loss, 2 * (x @ x), t), x, truth, rival)
        return loss > 0


class PAClasses(HingeClasses):
    def tau(self, loss, s, t):
        return min(L(getattr(self, "C", np.inf)), loss / s)


class PA2Classes(HingeClasses):
    def tau(self, loss, s, t):
        return loss / (s + 1 / (2 * L(self.C)))


class OGDClasses(HingeClasses):
    def tau(self, loss, s, t):
        return L(self.C) / np.sqrt(t)


class RommaClasses(Means):
    aggressive, partial = False, False

    def learn(self, x, truth, rival, F, mistake, t):
        m = F[truth] - F[rival]
        if not (lost(L(1), m) > 0 if self.aggressive else mistake):
            return False
        q, s = (self.mu**2).sum(), 2 * (x @ x)
        if q == 0:
            self.move(L(1), x, truth, rival)
        elif s * q - m * m > L(1e-12) * s * q:
            scaled = [truth, rival] if self.partial else slice(None)
            self.mu[scaled] = self.mu[scaled] * ((s * q - m) / (s * q - m * m))
            self.move(q * (1 - m) / (s * q - m * m), x, truth, rival)
        return True


class AggressiveRommaClasses(RommaClasses):
    aggressive = True


class Gaussians(Means):
    """Covariances of the classes: K of them, or one for all."""

    covariance, a = "block", 1.0

    def __init__(self, d, classes, **settings):
        super().__init__(d, classes, **settings)
        self.shared = self.covariance == "shared" or isinstance(self, (ArowToolbox, CWToolbox))
        self.sigma = [L(self.a) * np.eye(d, dtype=L) for _ in range(1 if self.shared else classes)]
        if "eta" in settings:
            self.phi = L(NormalDist().inv_cdf(float(self.eta)))

    def learn(self, x, truth, rival, F, mistake, t):
        m = F[truth] - F[rival]
        owners = (0, 0) if self.shared else (truth, rival)
        z = [self.sigma[k] @ x for k in owners]
        v = [x @ each for each in z]
        loss = self.loss(m, v)
        if loss > 0 and x.any():
            alpha, c = self.step(loss, m, v)
            self.mu[truth] = self.mu[truth] + alpha * z[0]
            self.mu[rival] = self.mu[rival] - alpha * z[1]
            for k in range(1 if self.shared else 2):
                self.sigma[owners[k]] = self.shrink(self.sigma[owners[k]], x, z[k], v[k], c)
        return loss > 0

    def shrink(self, sigma, x, z, v, c):
        return sigma - np.outer(z, z) * (c / (1 + c * v))


class ArowClasses(Gaussians):
    def loss(self, m, v):
        return lost(L(1), m)

    def step(self, loss, m, v):
        return loss / (v[0] + v[1] + L(self.r)), 1 / L(self.r)


class CWClasses(Gaussians):
    """The root c of r(c) (phi^2 - c n) = phi m, by bisection."""

    def loss(self, m, v):
        return lost(self.phi * np.sqrt(v[0] + v[1]), m)

    def slack(self):
        return L(0)

    def deviation(self, c, v):
        return np.sqrt(sum(each / (1 + c * each) for each in v))

    def step(self, loss, m, v):
        n = v[0] + v[1] + self.slack()
        c = bisect(lambda c: self.deviation(c, v) * (self.phi**2 - c * n) - self.phi * m)
        alpha = c * self.deviation(c, v) / self.phi
        if alpha > L(getattr(self, "most", np.inf)):
            alpha = L(self.most)
            c = bisect(lambda c: alpha * self.phi - c * self.deviation(c, v))
        return alpha, c


class SCW1Classes(CWClasses):
    def __init__(self, d, classes, **settings):
        super().__init__(d, classes, **settings)
        self.most = self.C


class SCW2Classes(CWClasses):
    def slack(self):
        return 1 / (2 * L(self.C))


class ArowToolbox(ArowClasses):
    def step(self, loss, m, v):
        return loss / (v[0] + L(self.r)), 1 / L(self.r)


class CWToolbox(Gaussians):
    """The formulas of LIBOL's multi-class CW, with v = x' Sigma x."""

    def loss(self, m, v):
        return lost(self.phi * np.sqrt(v[0]), m)

    def step(self, loss, m, v):
        v, phi = v[0], self.phi
        psi = 1 + phi**2 / 2
        root = np.sqrt(m**2 * psi**2 - m**2 * psi + 2 * v * phi**2 * psi)
        alpha = min(max(L(0), (-m * psi + root) / (2 * v * psi)), L(getattr(self, "C", np.inf)))
        u = (-alpha * v * phi + np.sqrt(alpha**2 * v**2 * phi**2 + 8 * v)) ** 2 / 8
        beta = alpha * phi / (np.sqrt(2 * u) + alpha * phi * v)
        return alpha, beta / (1 - beta * v)


class PerceptronToolbox(PerceptronClasses):
    strict = True


class RommaToolbox(RommaClasses):
    partial = True


class AggressiveRommaToolbox(AggressiveRommaClasses):
    partial = True


class Diagonals:
    """Diagonal covariances of the classes, updated by their projection."""

    projection = "kl"

    def __init__(self, d, classes, **settings):
        super().__init__(d, classes, **settings)
        self.sigma = [np.full(d, L(self.a)) for _ in range(classes)]

    def learn(self, x, truth, rival, F, mistake, t):
        m = F[truth] - F[rival]
        z = [self.sigma[k] * x for k in (truth, rival)]
        v = [x @ each for each in z]
        loss = self.loss(m, v)
        if loss > 0 and x.any():
            alpha, c = self.exact(m, z, x) if self.projection == "exact" else self.step(loss, m, v)
            self.mu[truth] = self.mu[truth] + alpha * z[0]
            self.mu[rival] = self.mu[rival] - alpha * z[1]
            for k, own in ((truth, v[0]), (rival, v[1])):
                sigma = self.sigma[k]
                beta = c / (1 + c * own)
                kl = sigma / (1 + c * sigma * x * x)
                self.sigma[k] = sigma - beta * (sigma * x) ** 2 if self.projection == "l2" else kl
        return loss > 0

    def exact(self, m, z, x):
        """Return the step that meets CW's constraint with the diagonal that it leaves behind."""
        parts = np.concatenate([each * x for each in z])
        v = parts.sum()

        def after(c):
            return np.sqrt((parts / (1 + c * parts)).sum())

        c = bisect(lambda c: after(c) * (self.phi**2 - c * v) - self.phi * m)
        return c * after(c) / self.phi, c


def bisect(f):
    """Return where a decreasing function above zero at zero is zero."""
    high = L(1)
    while f(high) > 0:
        high *= 2
    low = L(0)
    if high == 1:
        while f(high) <= 0 and high > L(1e-30):
            high /= 2
        low, high = high, 2 * high
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) > 0 else (low, middle)
    return (low + high) / 2


NATIVE = {
    "perceptron": PerceptronClasses, "pa": PAClasses, "pa1": PAClasses, "pa2": PA2Classes, "ogd": OGDClasses,
    "romma": RommaClasses, "aromma": AggressiveRommaClasses, "arow": ArowClasses, "cw": CWClasses,
    "scw1": SCW1Classes, "scw2": SCW2Classes, "perceptron-libol": PerceptronToolbox,
    "romma-libol": RommaToolbox, "aromma-libol": AggressiveRommaToolbox, "arow-libol": ArowToolbox,
    "cw-libol": CWToolbox, "scw1-libol": CWToolbox,
}  # fmt: skip
NATIVE |= {f"{id} diag": type(id, (Diagonals, NATIVE[id]), {}) for id in ("arow", "cw", "scw1", "scw2")}
