"""Every learner by plain loops in extended precision, as the papers write it; nothing is taken from olbench.

Sigma is the textbook matrix, and steps without a closed form are found by bisection.
"""

import math
from statistics import NormalDist

import numpy as np

from tests.crossings.contestants import OneByOne, RowByRow

L = np.longdouble


class UnderflowError(Exception):
    """A variance that no double can hold, or that rounding made negative: CW breaks down there."""


def excess(wanted, got):
    """Return a loss, or zero where it is within rounding of zero."""
    loss = L(wanted) - L(got)
    return loss if loss > 1e-12 * max(abs(wanted), abs(got)) else L(0)


def bisect(increasing, high):
    low = L(0)
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if increasing(middle) < 0 else (low, middle)
    return high


def hinged(tau, factor=1):
    """Return a rule that steps by tau where the margin is below 1."""

    def rule(p, m, s, mistake, q, t):
        loss = excess(1, m)
        return (loss, factor, tau(p, loss, s, t)) if loss and s else (loss, 1, 0)

    return rule


def romma(p, m, s, mistake, q, t):
    bottom = s * q - m * m
    if not mistake or (q and bottom <= 1e-12 * s * q):
        return float(mistake), 1, 0
    return (1, (s * q - m) / bottom, q * (1 - m) / bottom) if q else (1, 1, 1)


def aromma(p, m, s, mistake, q, t):
    return excess(1, m), *romma(p, m, s, excess(1, m) > 0, q, t)[1:]


def perceptron(p, m, s, mistake, q, t):
    return float(mistake), 1, float(mistake)


def clipped(p, loss, s, t):
    return min(p["C"], loss / s)


#: First order: (m, s, mistake, q, t) to the loss, the factor of w, and tau.
FIRST = {
    "perceptron": perceptron, "averaged-perceptron": perceptron, "romma": romma, "aromma": aromma,
    "margin-perceptron": lambda p, m, *_: (float(m <= p["margin"]), 1, float(m <= p["margin"])),
    "pa": hinged(lambda p, loss, s, t: loss / s), "pa1": hinged(clipped), "averaged-pa1": hinged(clipped),
    "pa2": hinged(lambda p, loss, s, t: loss / (s + 1 / (2 * L(p["C"])))),
    "ogd": hinged(lambda p, loss, s, t: p["C"] / np.sqrt(L(t))), "shrinking": hinged(clipped, L(0.9)),
}  # fmt: skip


def phi_of(p):
    return L(p["phi"]) if "phi" in p else L(NormalDist().inv_cdf(p["eta"]))


def cw_alpha(p, phi, m, v):
    psi, zeta = 1 + phi**2 / 2, 1 + phi**2
    return max(L(0), (-m * psi + np.sqrt(m**2 * phi**4 / 4 + v * phi**2 * zeta)) / (v * zeta))


def scw2_alpha(p, phi, m, v):
    n = v + 1 / (2 * L(p["C"]))
    g = phi * np.sqrt(phi**2 * m**2 * v**2 + 4 * n * v * (n + v * phi**2))
    return max(L(0), (-(2 * m * n + phi**2 * m * v) + g) / (2 * (n**2 + n * v * phi**2)))


def confident(find_alpha):
    """Return a rule with the constraint on the standard deviation."""

    def rule(p, m, v, mistake, t):
        phi = phi_of(p)
        loss = excess(phi * np.sqrt(v), m)
        alpha = find_alpha(p, phi, m, v) if loss and v else 0
        # sqrt(u) = (-k + sqrt(k^2 + 4 v)) / 2 with k = alpha v phi, written without the difference.
        k = alpha * v * phi
        return loss, alpha, alpha * phi * (k + np.sqrt(k**2 + 4 * v)) / (2 * v) if alpha else 0

    return rule


def cw_var(p, m, v, mistake, t):
    phi = phi_of(p)
    loss, b = excess(phi * v, m), 1 + 2 * phi * m
    alpha = (-b + np.sqrt(b**2 - 8 * phi * (m - phi * v))) / (4 * phi * v) if loss and v else 0
    return loss, alpha, 2 * alpha * phi


def regularised(noise):
    """Return AROW's rule with another r in each round; infinite where nothing changes."""

    def rule(p, m, v, mistake, t):
        loss, r = excess(1, m), noise(p, v, mistake, t)
        return (loss, loss / (v + r), 1 / r) if loss else (loss, 0, 0)

    return rule


def nherd(p, m, v, mistake, t):
    loss, C = excess(1, m), L(p["C"])
    return (loss, loss / (v + 1 / C), C * (2 + C * v)) if loss else (loss, 0, 0)


def iellip(p, m, v, mistake, t):
    c = L(p["c"]) * L(p["b"]) ** (t - 1)
    return (1, (1 - m) / v, c / ((1 - c) * v)) if mistake and v else (float(mistake), 0, 0)


#: Second order: (m, v, mistake, t) to the loss, alpha, and the precision c that the step adds along x.
SECOND = {
    "cw": confident(cw_alpha), "scw1": confident(lambda p, *mv: min(p["C"], cw_alpha(p, *mv))),
    "scw2": confident(scw2_alpha), "cw-var": cw_var, "nherd": nherd, "iellip": iellip,
    "arow": regularised(lambda p, v, mistake, t: L(p["r"])),
    "narow": regularised(lambda p, v, mistake, t: v / (p["b"] * v - 1) if v > 1 / L(p["b"]) else L(np.inf)),
    "fading": regularised(lambda p, v, mistake, t: p["r"] * np.sqrt(L(t)) * (0.5 if mistake else 1)),
}  # fmt: skip


def libol_cw(p, m, v, mistake, t):
    """CW and SCW-I for several classes as LIBOL has them, with v = x' Sigma x."""
    phi = phi_of(p)
    loss, psi = excess(phi * np.sqrt(v), m), 1 + phi**2 / 2
    if not loss or not v:
        return loss, 0, 0
    root = np.sqrt(m**2 * psi**2 - m**2 * psi + 2 * v * phi**2 * psi)
    alpha = min(max(L(0), (-m * psi + root) / (2 * v * psi)), L(p.get("C", np.inf)))
    u = (-alpha * v * phi + np.sqrt(alpha**2 * v**2 * phi**2 + 8 * v)) ** 2 / 8
    beta = alpha * phi / (np.sqrt(2 * u) + alpha * phi * v)
    return loss, alpha, beta / (1 - beta * v)


#: LIBOL's rules for several classes: one Sigma for all, and the variance of one of them.
LIBOL = {"arow": SECOND["arow"], "cw": libol_cw, "scw1": libol_cw}


def remaining(parts, c):
    """Return the standard deviation that a gain c leaves of these parts of the variance."""
    return np.sqrt((parts / (1 + c * parts)).sum())


def deviation_step(phi, m, parts, slack=0, most=math.inf):
    """Return alpha and c of CW where each part of the variance shrinks on its own, by bisection."""
    n, high = parts.sum() + slack, L(1)

    def lacking(c):
        return phi * m - remaining(parts, c) * (phi**2 - c * n)

    while lacking(high) < 0:
        high *= 4
    c = bisect(lacking, high)
    alpha = c * remaining(parts, c) / phi
    if alpha > most:
        alpha, c = most, bisect(lambda c: c * remaining(parts, c) - most * phi, c)
    return alpha, c


def exact_step(id, p, m, parts):
    phi, v = phi_of(p), parts.sum()
    if id == "cw":
        return deviation_step(phi, m, parts)
    alpha = bisect(lambda a: m + a * v - phi * (parts / (1 + 2 * a * phi * parts)).sum(), (phi * v - m) / v)
    return alpha, 2 * alpha * phi


def times(sigma, x):
    return sigma @ x if sigma.ndim == 2 else sigma * x


def begin_sigma(d, options):
    one = np.ones(d, L) if options.get("covariance") == "diag" else np.eye(d, dtype=L)
    return L(options.get("a", 1)) * one


def shrink(sigma, x, c, projection):
    """Return Sigma after precision c is added along x: a matrix, or a diagonal by its projection."""
    z = times(sigma, x)
    beta = c / (1 + c * (x @ z))
    if sigma.ndim == 2:
        return sigma - beta * np.outer(z, z)
    return sigma - beta * z**2 if projection == "l2" else sigma / (1 + c * sigma * x**2)


class Counting:
    is_sure = True

    def __init__(self):
        self.updates = self.effective = self.learnt = 0

    def begin(self):
        """Prepare for an example whose label is there."""

    def score(self, x):
        """Return what predicts a row that is not learnt."""
        return self.look(x)[1]

    def test(self, x):
        return self.score(x) >= 0

    def count(self, loss, changed):
        self.updates += bool(loss > 0)
        self.effective += bool(changed)


class FirstOrder(Counting):
    def __init__(self, id, d, p, options):
        super().__init__()
        self.id, self.p, self.w, self.total = id, p, np.zeros(d, L), np.zeros(d, L)

    def look(self, x):
        f = self.w @ x
        return f >= 0, f, None

    def score(self, x):
        return (self.total if self.id.startswith("averaged") else self.w) @ x

    def learn(self, x, y):
        self.learnt += 1
        f, s = self.w @ x, x @ x
        mistake, q = (f >= 0) != (y > 0), self.w @ self.w
        loss, factor, tau = FIRST[self.id](self.p, y * f, s, mistake, q, self.learnt)
        self.count(loss, s > 0 and (factor != 1 or tau != 0))
        if s > 0:
            self.w = factor * self.w + tau * y * x
        self.total = self.total + self.w


class Adaptive(FirstOrder):
    """AdaGrad, and FOBOS with every weight moved in every round."""

    squares = L(0)

    def learn(self, x, y):
        self.learnt += 1
        loss = excess(1, y * (self.w @ x))
        self.count(loss, loss > 0 and x.any())
        step = np.full(x.size, self.p["eta"] / np.sqrt(L(self.learnt)))
        if self.id == "adagrad":
            self.squares = self.squares + (loss > 0) * x**2
            step = self.p["eta"] / (L(self.p["delta"]) + np.sqrt(self.squares))
        self.w = self.w + (loss > 0) * step * y * x
        if self.id == "fobos":
            self.w = np.sign(self.w) * np.maximum(0, np.abs(self.w) - step * self.p["lam"])


class Gaussian(Counting):
    def __init__(self, id, d, p, options):
        super().__init__()
        self.id, self.p, self.mu, self.begun = id, p, np.zeros(d, L), False
        self.sigma, self.projection = begin_sigma(d, options), options.get("projection")
        self.a, self.growth = self.sigma.max(), 1 / L(options.get("forgetting", 1))

    def begin(self):
        if self.learnt and self.growth > 1:
            variances = self.sigma if self.sigma.ndim == 1 else np.diag(self.sigma)
            scale = np.sqrt(np.minimum(self.growth, self.a / variances))
            self.sigma = self.sigma * (scale**2 if self.sigma.ndim == 1 else np.outer(scale, scale))
        self.begun = True

    def look(self, x):
        f, v = self.mu @ x, x @ times(self.sigma, x)
        share = NormalDist().cdf(float(f / np.sqrt(v))) if v > 0 else 0.5
        return f >= 0, f, None if self.id == "iellip" else share

    def learn(self, x, y):
        if not self.begun:
            self.begin()
        self.begun, self.learnt = False, self.learnt + 1
        f, v = self.mu @ x, x @ times(self.sigma, x)
        m = y * f
        if v and v <= 1e-200:
            raise UnderflowError
        loss, alpha, c = SECOND[self.id](self.p, m, v, (f >= 0) != (y > 0), self.learnt)
        if self.projection == "exact" and loss and v:
            alpha, c = exact_step(self.id, self.p, m, (self.sigma * x * x)[x != 0])
        # NAROW shrinks v to 1 / b: rounding decides whether a duplicate changes anything.
        self.is_sure &= self.id != "narow" or abs(v * self.p["b"] - 1) > 1e-9
        changed = v > 0 and (alpha != 0 or c != 0)
        self.count(loss, changed)
        if changed:
            self.mu = self.mu + alpha * y * times(self.sigma, x)
            self.sigma = shrink(self.sigma, x, c, self.projection)


class SecondOrderPerceptron(Counting):
    """w and S = (Sigma^-1 + x x')^-1, or its diagonal, which predict with w . S x."""

    def __init__(self, id, d, p, options):
        super().__init__()
        self.w, self.sigma = np.zeros(d, L), begin_sigma(d, options)

    def look(self, x):
        f, z = self.w @ times(shrink(self.sigma, x, 1, "kl"), x), times(self.sigma, x)
        if self.sigma.ndim == 1:
            return f >= 0, f, None
        # The margin of the record is that of mu = Sigma w, which has the same sign.
        share = NormalDist().cdf(float(self.w @ z / np.sqrt(x @ z))) if x.any() else 0.5
        return f >= 0, self.w @ z, share

    def learn(self, x, y):
        self.learnt += 1
        mistake = self.look(x)[0] != (y > 0)
        self.count(mistake, mistake and x.any())
        if mistake:
            self.w, self.sigma = self.w + y * x, shrink(self.sigma, x, 1, "kl")


class Object(Counting):
    """A Python object, given all features or the non-zero ones; before it learns, +1 is predicted."""

    def __init__(self, id, d, p, options):
        super().__init__()
        self.id, self.model = id, RowByRow(**p) if id == "row-by-row" else OneByOne(**p)

    def _read(self, x):
        if self.id == "row-by-row":
            return x.astype(float)[None, :]
        seen = enumerate(x.astype(float).tolist())
        return {j: value for j, value in seen if value or self.id == "one-by-one"}

    def look(self, x):
        if not self.learnt:
            return True, 0.0, None
        row = self._read(x)
        if isinstance(self.model, OneByOne):
            shares = self.model.predict_proba_one(row)
            return bool(self.model.predict_one(row)), shares[True] - shares[False], None
        return self.model.predict(row)[0] > 0, float(self.model.decision_function(row)[0]), None

    def test(self, x):
        return self.look(x)[0]

    def learn(self, x, y):
        self.learnt += 1
        self.count(1, True)
        if isinstance(self.model, OneByOne):
            self.model.learn_one(self._read(x), y > 0)
        else:
            self.model.partial_fit(self._read(x), np.array([y]))


class LastLabel(Counting):
    def __init__(self, id, d, p, options):
        super().__init__()
        self.id, self.last, self.total = id, 1.0, 0.0

    def look(self, x):
        f = self.last if self.id == "no-change" else self.total / max(1, self.learnt)
        return f >= 0, f, None

    def learn(self, x, y):
        self.learnt, self.last, self.total = self.learnt + 1, y, self.total + y


def start(id, d, p, options, classes=0):
    if classes:
        return (Native if "multiclass" in options else OneVsRest)(id, d, p, options, classes)
    known = {"sop": SecondOrderPerceptron, **dict.fromkeys(("one-by-one", "non-zeros", "row-by-row"), Object)}
    known |= dict.fromkeys(FIRST, FirstOrder) | dict.fromkeys(SECOND, Gaussian)
    known |= dict.fromkeys(("adagrad", "fobos"), Adaptive)
    return known.get(id, LastLabel)(id, d, p, options)


class OneVsRest:
    def __init__(self, id, d, p, options, classes):
        self.learners = [start(id, d, p, options) for _ in range(classes)]

    def begin(self):
        for each in self.learners:
            each.begin()

    def look(self, x):
        return int(np.argmax([each.look(x)[1] for each in self.learners])), None, None

    def test(self, x):
        return int(np.argmax([each.score(x) for each in self.learners]))

    def learn(self, x, y):
        for k, each in enumerate(self.learners):
            each.learn(x, 1.0 if y == k else -1.0)

    @property
    def updates(self):
        return sum(each.updates for each in self.learners)

    @property
    def effective(self):
        return sum(each.effective for each in self.learners)

    @property
    def is_sure(self):
        return all(each.is_sure for each in self.learners)


class Native(Counting):
    def __init__(self, id, d, p, options, classes):
        super().__init__()
        self.id, self.is_libol = id.removesuffix("-libol"), id.endswith("-libol")
        self.p, self.options, self.mu = p, options, np.zeros((classes, d), L)
        is_shared = self.is_libol or options.get("covariance") == "shared"
        self.owner = [0] * classes if is_shared else list(range(classes))
        self.sigma = [begin_sigma(d, options) for _ in self.owner]

    def look(self, x):
        return int(np.argmax(self.mu @ x)), None, None

    def test(self, x):
        return self.look(x)[0]

    def learn(self, x, y):
        self.learnt += 1
        F = self.mu @ x
        wrong, rival = int(np.argmax(F)) != y, int(np.argmax(np.where(np.arange(F.size) == y, -np.inf, F)))
        step = self._first_order if self.id in FIRST else self._second_order
        loss, changed = step(x, int(y), rival, F, wrong)
        self.count(loss, changed and x.any())

    def _first_order(self, x, y, rival, F, wrong):
        s, q = 2 * (x @ x), (self.mu**2).sum()
        m = F[y] - F[rival]
        loss, factor, tau = FIRST[self.id](self.p, m, s, wrong, q, self.learnt)
        parts = (np.arange(F.size) == rival).astype(L)
        if self.id == "perceptron" and self.options.get("allocation", "max") != "max" and wrong:
            above = (F[y] < F if self.is_libol else F[y] <= F) & (np.arange(F.size) != y)
            leads = np.where(above, F - F[y], L(0))
            parts = above.astype(L) if self.options["allocation"] == "uniform" or not leads.sum() else leads
            parts = parts / (parts.sum() or 1)
        if s:
            parts[y] -= 1
            scaled = [y, rival] if self.is_libol else slice(None)
            self.mu[scaled] = factor * self.mu[scaled]
            self.mu = self.mu - tau * np.outer(parts, x)
        return loss, factor != 1 or tau != 0

    def _second_order(self, x, y, rival, F, wrong):
        pair = self.owner[y], self.owner[rival]
        z = [times(self.sigma[k], x) for k in pair]
        v = np.array([x @ each for each in z])
        m, V, p = F[y] - F[rival], v[0] if self.is_libol else v.sum(), self.p
        if V and V <= 1e-200:
            raise UnderflowError
        loss, alpha, c = (LIBOL if self.is_libol else SECOND)[self.id](p, m, V, wrong, self.learnt)
        if not loss or not V or not (alpha or c):
            return loss, False
        if self.id in ("cw", "scw1", "scw2") and not self.is_libol:
            slack = 1 / (2 * L(p["C"])) if self.id == "scw2" else 0
            most = p["C"] if self.id == "scw1" else math.inf
            exact = self.options.get("projection") == "exact"
            parts = np.concatenate([(each * x)[x != 0] for each in z]) if exact else v
            alpha, c = deviation_step(phi_of(p), m, parts, slack, most)
        self.mu[y] = self.mu[y] + alpha * z[0]
        self.mu[rival] = self.mu[rival] - alpha * z[1]
        for k in set(pair):
            self.sigma[k] = shrink(self.sigma[k], x, c, self.options.get("projection"))
        return loss, True
