"""Kunapuli et al., Online Knowledge-Based Support Vector Machines (ECML 2010): formulas, lemmas, Theorem 1.

One advice set is (D, d, z); with it, L_xi(w) = (1 - y w.x)_+ (15), L_eta(w, u) = |D'u + z w|^2 (16) and
L_zeta(u) = (1 + d'u)_+ (17).
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog, minimize, nnls

from olbench.algorithms.algorithm import make_algorithm
from olbench.learners.examples import Floats, as_examples
from olbench.learners.passes import online_pass
from olbench.learners.start import start
from olbench.papers.adviceptron2010.algorithms import mean_estimate
from olbench.papers.adviceptron2010.sets import Advice, AdviceSet, is_empty
from olbench.papers.audit import Instance, Instances, stated_checks

#: A difference below this share of its terms is rounding.
ROUNDING = 1e-9
check = stated_checks(__file__)


@dataclass(frozen=True)
class Round:
    each: AdviceSet
    w: Floats
    u: Floats
    x: Floats
    y: float
    lam: float
    mu: float

    @property
    def shown(self) -> dict[str, Any]:
        return {**show_set(self.each), "mu": self.mu, "w": self.w, "u": self.u}

    @property
    def eta(self) -> float:
        return l_eta(self.each, self.w, self.u)

    @property
    def zeta_2(self) -> float:
        return l_zeta(self.each, self.u) ** 2

    def objective(self, u: Floats) -> float:
        losses = l_eta(self.each, self.w, u) + l_zeta(self.each, u) ** 2
        return float(0.5 * np.sum((u - self.u) ** 2) + 0.5 * self.mu * losses)


def show_set(each: AdviceSet) -> dict[str, Any]:
    return {"D": each.D, "d": each.d, "z": each.z}


def draw_price(rng: np.random.Generator) -> float:
    return float(10.0 ** rng.uniform(-2.0, 2.0))


def draw_set(rng: np.random.Generator, n: int) -> AdviceSet:
    k = int(rng.integers(1, 5))
    return AdviceSet(rng.normal(size=(k, n)), rng.normal(size=k), int(rng.choice([-1, 1])))


def draw_rounds(rng: np.random.Generator, count: int) -> Iterator[Round]:
    for _ in range(count):
        n = int(rng.integers(1, 5))
        each = draw_set(rng, n)
        u = np.maximum(0.0, rng.normal(size=each.d.size))
        y = float(rng.choice([-1.0, 1.0]))
        yield Round(each, rng.normal(size=n), u, rng.normal(size=n), y, draw_price(rng), draw_price(rng))


def relative(violation: float, *terms: float) -> float:
    return violation / max(1e-300, *(abs(term) for term in terms))


def l_eta(each: AdviceSet, w: Floats, u: Floats) -> float:
    return float(np.sum((each.D.T @ u + each.z * w) ** 2))


def l_zeta(each: AdviceSet, u: Floats) -> float:
    return max(0.0, 1.0 + float(each.d @ u))


def l_xi(w: Floats, x: Floats, y: float) -> float:
    return max(0.0, 1.0 - y * float(w @ x))


def gradient(each: AdviceSet, w: Floats, u: Floats) -> Floats:
    return np.asarray(each.D @ (each.D.T @ u + each.z * w) + each.d * l_zeta(each, u))


def printed_step(one: Round) -> tuple[Floats, float]:
    """Return the untruncated u and gamma of eq. (13), by its matrix H."""
    D, d, u, n = one.each.D, one.each.d, one.u, one.w.size
    upper = [-(D.T @ D + np.eye(n) / one.mu), (D.T @ d)[:, None]]
    H = np.block([upper, [(d @ D)[None], np.array([[-(d @ d + 1.0 / one.mu)]])]])
    dual = np.linalg.solve(H, np.append(D.T @ u + one.each.z * one.w, -d @ u - 1.0))
    return u + D @ dual[:n] - d * dual[n], float(dual[n])


def hinge_step(one: Round) -> Floats:
    moved, gamma = printed_step(one)
    if gamma < 0.0:
        D, right = one.each.D, one.u - one.mu * one.each.z * (one.each.D @ one.w)
        moved = np.asarray(np.linalg.solve(np.eye(one.u.size) + one.mu * D @ D.T, right), dtype=np.float64)
    return moved


def cone_solution(one: Round) -> Floats:
    """Return the solution of (10) as non-negative least squares; its hinge is a square or is absent."""
    root, each = math.sqrt(one.mu), one.each
    found = []
    for rows, right in (([root * each.d[None]], [[-root]]), ([], [])):
        A = np.vstack([np.eye(one.u.size), root * each.D.T, *rows])
        found.append(nnls(A, np.concatenate([one.u, -root * each.z * one.w, *right]))[0])
    return min(found, key=one.objective)


def unconstrained_minimum(one: Round) -> float:
    """Return the least objective of (10) without u >= 0, by a general optimiser from both closed forms."""

    def slope(u: Floats) -> Floats:
        return u - one.u + one.mu * gradient(one.each, one.w, u)

    starts = (one.u, printed_step(one)[0], hinge_step(one))
    options = {"ftol": 1e-16, "gtol": 1e-12}
    found = [minimize(one.objective, at, jac=slope, method="L-BFGS-B", options=options) for at in starts]
    return min(float(each.fun) for each in found)


def w_step(w: Floats, x: Floats, y: float, r: Floats, m: int, lam: float, mu: float) -> tuple[Floats, float]:
    """Return w^{t+1} and alpha of Update Rule 1."""
    nu = 1.0 / (1.0 + m * mu)
    alpha = l_xi(nu * w + (1.0 - nu) * r, x, y) / (1.0 / lam + nu * float(x @ x))
    moved: Floats = nu * (w + alpha * y * x) + (1.0 - nu) * r
    return moved, alpha


def has_certificate(each: AdviceSet, w: Floats, b: float) -> bool:
    limits = {"A_ub": each.d[None], "b_ub": [-each.z * b], "A_eq": each.D.T, "b_eq": -each.z * w}
    return bool(linprog(np.zeros(each.d.size), **limits, bounds=(0, None), method="highs").status == 0)


@check
def equation_3(rng: np.random.Generator, trials: int) -> Instances:
    """Solve both as linear programs, where a set is not empty."""
    both = [0, 0]
    while sum(both) < trials:
        n = int(rng.integers(1, 4))
        each = draw_set(rng, n)
        if is_empty(each.D, each.d):
            continue
        w = -each.z * each.D.T @ np.maximum(0.0, rng.normal(size=each.d.size))
        if rng.random() < 0.5:
            w = w + 0.3 * rng.normal(size=n)
        b = float(rng.normal())
        lowest = linprog(each.z * w, A_ub=each.D, b_ub=each.d, bounds=(None, None), method="highs")
        implied = lowest.status == 0 and lowest.fun - each.z * b >= 0.0
        both[int(implied)] += 1
        agree = implied == has_certificate(each, w, b)
        yield Instance(not agree, w=w, b=b, **show_set(each))
    yield f"The implication held in {both[1]} of {sum(both)} instances"


@check
def update_1(rng: np.random.Generator, trials: int) -> Instances:
    """Compare the objective of (6) at the closed form with its least value, found along all directions."""
    for one in draw_rounds(rng, trials):
        m = int(rng.integers(1, 4))
        r = rng.normal(size=(m, one.w.size))
        closed, _ = w_step(one.w, one.x, one.y, r.mean(axis=0), m, one.lam, one.mu)

        def value(w: Floats, one: Round = one, r: Floats = r) -> float:
            near = np.sum((w - one.w) ** 2) + one.lam * l_xi(w, one.x, one.y) ** 2
            return float(0.5 * near + 0.5 * one.mu * np.sum((r - w) ** 2))

        best = minimize(value, closed, method="BFGS", options={"gtol": 1e-10}).fun
        steps = 1e-4 * rng.normal(size=(50, one.w.size))
        best = min(best, *(value(closed + step) for step in steps))
        yield Instance(relative(value(closed) - best, best), w=one.w, x=one.x, r=r)


@check
def equation_7_beta(rng: np.random.Generator, trials: int) -> Instances:
    """Compare beta of (7) with what its constraint demands: beta_i = mu eta_i = mu z_i (r_i - w^{t+1})."""
    first = 0
    for trial, one in enumerate(draw_rounds(rng, trials)):
        m = int(rng.integers(1, 4))
        # A run starts with w = 0 and r = 0.
        begins = trial % 4 == 0
        w = np.zeros_like(one.w) if begins else one.w
        r = np.zeros((m, w.size)) if begins else rng.normal(size=(m, w.size))
        mean = r.mean(axis=0)
        moved, alpha = w_step(w, one.x, one.y, mean, m, one.lam, one.mu)
        active = float(alpha > 0.0)
        nu = 1.0 / (1.0 + m * one.mu)
        quotient = w + active * one.lam * one.y * one.x + m * one.mu * mean
        quotient /= 1.0 / nu + active * one.lam * (one.x @ one.x)
        true = r - moved
        size = max(float(np.abs(true).max()), float(np.abs(moved).max()))
        gap = float(np.abs((r - quotient) - true).max()) / size
        first += begins and gap <= ROUNDING
        # With the right multipliers, both forms of (7) give the same w^{t+1}.
        rebuilt = w + alpha * one.y * one.x + one.mu * np.sum(true, axis=0)
        corrected = float(np.abs(rebuilt - moved).max()) / size
        yield Instance(gap, corrected, w=w, r=r, x=one.x, y=one.y, lam=one.lam, mu=one.mu)
    yield f"In {first} of {(trials + 3) // 4} first rounds, with w = 0 and r = 0, the printed form agrees"


@check
def no_advice(rng: np.random.Generator, trials: int) -> Instances:
    for _ in range(trials):
        X, y = rng.normal(size=(12, 3)), rng.choice([-1.0, 1.0], size=12)
        lam = draw_price(rng)
        algorithms = make_algorithm("adviceptron", lam=lam), "pa", make_algorithm("pa2", C=lam / 2.0)
        ours, pa, pa2 = (online_pass(each, X, y).weights for each in algorithms)
        gaps = [float(np.abs(ours - other).max()) for other in (pa, pa2)]
        yield Instance(*gaps, X=X, y=y, lam=lam)


@check
def update_2(rng: np.random.Generator, trials: int) -> Instances:
    negative = 0
    for one in draw_rounds(rng, trials):
        moved, gamma = printed_step(one)
        negative += gamma < 0.0
        best = unconstrained_minimum(one)
        gaps = [relative(one.objective(u) - best, best) for u in (moved, hinge_step(one))]
        yield Instance(*gaps, **one.shown, gamma=gamma)
    yield f"gamma was negative in {negative} of {trials} instances; (14) assumes that it is not"


@check
def truncation(rng: np.random.Generator, trials: int) -> Instances:
    optimal = 0
    for one in draw_rounds(rng, trials):
        solution = cone_solution(one)
        best, value = one.objective(solution), one.objective(np.maximum(0.0, hinge_step(one)))
        # At the optimum the slope is zero where u > 0, and not negative where u = 0.
        slope = solution - one.u + one.mu * gradient(one.each, one.w, solution)
        size = float(np.abs(solution).sum() + np.abs(one.u).sum() + one.mu * np.abs(one.each.D).sum())
        slack = np.where(solution > 0.0, np.abs(slope), np.maximum(0.0, -slope))
        gap = relative(value - best, best)
        optimal += gap <= ROUNDING
        yield Instance(gap, float(slack.max()) / size, **one.shown)
    yield f"Truncation was optimal in {optimal / trials:.0%} of the steps"


@check
def lemma_1_1(rng: np.random.Generator, trials: int) -> Instances:
    for one in draw_rounds(rng, trials):
        moved = hinge_step(one)
        steps = [one.mu * gradient(one.each, one.w, u) for u in (one.u, moved)]
        size = max(float(np.abs(each).max()) for each in (one.u, moved, steps[1]))
        yield Instance(*(float(np.abs(moved - (one.u - step)).max()) / size for step in steps), **one.shown)


@check
def lemma_1_2(rng: np.random.Generator, trials: int) -> Instances:
    for one in draw_rounds(rng, trials):
        slope = float(np.sum(gradient(one.each, one.w, one.u) ** 2))
        bounds = (
            norm_2(one.each.D) * one.eta + float(one.each.d @ one.each.d) * one.zeta_2,
            spread(one.each) * (one.eta + one.zeta_2),
        )
        yield Instance(*(relative(slope - bound, slope, bound) for bound in bounds), **one.shown)


def norm_2(D: Floats) -> float:
    return float(np.linalg.norm(D, 2)) ** 2


def spread(each: AdviceSet) -> float:
    return norm_2(np.column_stack([each.D, each.d]))


@check
def lemma_2(rng: np.random.Generator, trials: int) -> Instances:
    for one in draw_rounds(rng, trials):
        m = int(rng.integers(1, 4))
        nu, r = 1.0 / (1.0 + m * one.mu), rng.normal(size=one.w.size)
        moved, _ = w_step(one.w, one.x, one.y, r, m, one.lam, one.mu)
        hat = nu * one.w + (1.0 - nu) * r
        gain = nu * one.lam / (1.0 + nu * one.lam * float(one.x @ one.x)) * l_xi(hat, one.x, one.y) ** 2

        def slack(w: Floats, one: Round = one, nu: float = nu, r: Floats = r, moved: Floats = moved) -> float:
            right = nu * one.lam * l_xi(w, one.x, one.y) ** 2 + (1.0 - nu) * np.sum((w - r) ** 2)
            return float(right - np.sum((w - moved) ** 2) + np.sum((w - one.w) ** 2))

        nearest = minimize(slack, moved, method="BFGS", options={"gtol": 1e-10}).x
        for comparator in (nearest, moved, one.w, r, np.zeros_like(r)):
            sizes = float(np.sum((comparator - moved) ** 2)), float(np.sum((comparator - one.w) ** 2)), gain
            yield Instance(relative(gain - slack(comparator), *sizes), w=one.w, r=r)


#: Few random instances break the printed Lemma 3; this one does.
KNOWN_SET = AdviceSet(
    np.array([[0.932, 0.4473], [0.1993, -1.431], [0.4999, 0.2787]]), np.array([1.843, -0.4455, 0.309]), -1
)
KNOWN_U = np.array([0.716, 0.8837, 0.4543])
KNOWN_ROUND = Round(KNOWN_SET, np.array([-0.1603, -1.67]), KNOWN_U, np.ones(2), y=1.0, lam=1.0, mu=0.07528)


@check
def lemma_3(rng: np.random.Generator, trials: int) -> Instances:
    for one in (KNOWN_ROUND, *draw_rounds(rng, trials)):
        each, mu = one.each, one.mu
        gains = (
            mu * ((1.0 - mu * norm_2(each.D)) * one.eta + (1.0 - mu * float(each.d @ each.d)) * one.zeta_2),
            mu / (1.0 + mu * spread(each)) * (one.eta + one.zeta_2),
        )
        steps = (printed_step(one)[0], hinge_step(one))
        for is_corrected, gain, step in zip((False, True), gains, steps, strict=True):
            moved = np.maximum(0.0, step)
            for comparator in (nearest_advice_vector(one, moved), np.zeros_like(one.u), moved, one.u):
                after, before = (float(np.sum((comparator - u) ** 2)) for u in (moved, one.u))
                price = mu * (l_eta(each, one.w, comparator) + l_zeta(each, comparator) ** 2)
                violation = relative(after - before - (price - gain), after, before, price, gain)
                forms = (None, violation) if is_corrected else (violation, None)
                yield Instance(*forms, **one.shown, comparator=comparator)


def nearest_advice_vector(one: Round, moved: Floats) -> Floats:
    """Return the u* >= 0 at which the bound of Lemma 3 is tightest: a convex problem, |u*|^2 cancels."""
    found = minimize(
        lambda u: one.mu * (l_eta(one.each, one.w, u) + l_zeta(one.each, u) ** 2) + 2.0 * u @ (moved - one.u),
        moved,
        jac=lambda u: 2.0 * one.mu * gradient(one.each, one.w, u) + 2.0 * (moved - one.u),
        bounds=[(0.0, 1e3)] * one.u.size,
        method="L-BFGS-B",
    )
    return np.asarray(found.x, dtype=np.float64)


@check
def lemma_4(rng: np.random.Generator, trials: int) -> Instances:
    for _ in range(trials):
        n = int(rng.integers(1, 5))
        sets = [draw_set(rng, n) for _ in range(int(rng.integers(1, 5)))]
        u = [np.maximum(0.0, rng.normal(size=each.d.size)) for each in sets]
        w = rng.normal(size=n)
        estimates = np.array([-each.z * each.D.T @ part for each, part in zip(sets, u, strict=True)])
        losses = np.mean([l_eta(each, w, part) for each, part in zip(sets, u, strict=True)])
        left, right = np.sum((w - estimates.mean(axis=0)) ** 2), np.mean(np.sum((w - estimates) ** 2, axis=1))
        yield Instance(relative(max(float(left - right), abs(float(losses - right))), float(right)), w=w)


@dataclass(frozen=True)
class AdviceRun:
    X: Floats
    y: Floats
    advice: Advice
    lam: float
    mu: float
    w: Floats
    u: list[list[Floats]]

    @property
    def nu(self) -> float:
        return 1.0 / (1.0 + len(self.advice) * self.mu)


def make_run(id: str, X: Floats, y: Floats, advice: Advice, lam: float, mu: float) -> AdviceRun:
    learner: Any = start(make_algorithm(id, lam=lam, mu=mu, advice=advice), X.shape[1])
    rows = as_examples(X).rows()
    w, u = [learner.weights], []
    for t in range(y.size):
        u.append(learner.advice_vectors)
        learner.run(rows, y, np.array([t]))
        w.append(learner.weights)
    return AdviceRun(X, y, advice, lam, mu, np.array(w), u)


def left_printed(run: AdviceRun) -> float:
    """Return T times the left side of (18), with X, Delta and delta as small as they may be."""
    X_2 = float(np.max(np.sum(run.X**2, axis=1)))
    Delta_2 = max(norm_2(each.D) for each in run.advice)
    delta_2 = max(float(each.d @ each.d) for each in run.advice)
    total = 0.0
    for t in range(run.y.size):
        total += run.lam / (1.0 + run.nu * run.lam * X_2) * l_xi(run.w[t], run.X[t], run.y[t]) ** 2
        for each, u in zip(run.advice, run.u[t], strict=True):
            total += run.mu * (1.0 - run.mu * Delta_2) * l_eta(each, run.w[t], u)
            total += run.mu * (1.0 - run.mu * delta_2) * l_zeta(each, u) ** 2
    return float(total)


def left_corrected(run: AdviceRun) -> float:
    X_2 = float(np.max(np.sum(run.X**2, axis=1)))
    total = 0.0
    for t in range(run.y.size):
        hat = run.nu * run.w[t] + (1.0 - run.nu) * mean_estimate(run.advice, run.u[t])
        total += run.lam / (1.0 + run.nu * run.lam * X_2) * l_xi(hat, run.X[t], run.y[t]) ** 2
        for each, u in zip(run.advice, run.u[t], strict=True):
            losses = l_eta(each, run.w[t + 1], u) + l_zeta(each, u) ** 2
            total += run.mu / (1.0 + run.mu * spread(each)) * losses
    return float(total)


def right_side(run: AdviceRun, w: Floats, u: list[Floats]) -> tuple[float, Floats]:
    """Return T times the right side of (18) and its slope.

    The sum over t is read as covering all three R, and L_zeta(u^2) in their definition as L_zeta(u)^2.
    """
    total, slope = float(w @ w) / run.nu + sum(float(part @ part) for part in u), 2.0 * w / run.nu
    parts = [2.0 * part for part in u]
    for t in range(run.y.size):
        loss = l_xi(w, run.X[t], run.y[t])
        total += run.lam * loss**2
        slope = slope - 2.0 * run.lam * loss * run.y[t] * run.X[t]
        for i, (each, star, now) in enumerate(zip(run.advice, u, run.u[t], strict=True)):
            etas = l_eta(each, w, now), l_eta(each, run.w[t + 1], star)
            total += run.mu * (l_zeta(each, star) ** 2 + etas[0] + etas[1])
            slope = slope + 2.0 * run.mu * each.z * (each.D.T @ now + each.z * w)
            parts[i] = parts[i] + 2.0 * run.mu * gradient(each, run.w[t + 1], star)
    return float(total), np.concatenate([slope, *parts])


def tightest_right_side(run: AdviceRun) -> tuple[float, Floats]:
    """Return the least right side and its w."""
    n, sizes = run.X.shape[1], [each.d.size for each in run.advice]

    def side(x: Floats) -> tuple[float, Floats]:
        return right_side(run, x[:n], np.split(x[n:], np.cumsum(sizes)[:-1]))

    start = np.zeros(n + sum(sizes))
    bounds = [(None, None)] * n + [(0.0, None)] * sum(sizes)
    found = minimize(side, start, jac=True, bounds=bounds, method="L-BFGS-B").x
    return min(((side(x)[0], x[:n]) for x in (start, found)), key=lambda pair: pair[0])


def alternating_run(id: str) -> AdviceRun:
    """Return a run that breaks (18): weak advice pulls w to r = 0, and w-hat loses less on the next label.

    An optimiser found its numbers.
    """
    X, y = np.ones((60, 1)), np.tile([1.0, -1.0], 30)
    one = AdviceSet(np.array([[0.09]]), np.array([0.09]), 1)
    return make_run(id, X, y, Advice((one, one), 1), 0.65, 0.54)


def random_run(rng: np.random.Generator, id: str) -> AdviceRun:
    n, m, T = int(rng.integers(1, 4)), int(rng.integers(1, 4)), int(rng.integers(1, 15))
    scale = 10.0 ** rng.uniform(-1.5, 0.5)
    drawn = [draw_set(rng, n) for _ in range(m)]
    sets = tuple(AdviceSet(scale * each.D, scale * each.d, each.z) for each in drawn)
    X, y = rng.normal(size=(T, n)), rng.choice([-1.0, 1.0], size=T)
    return make_run(id, X, y, Advice(sets, n), draw_price(rng), draw_price(rng))


@check
def theorem_1(rng: np.random.Generator, trials: int) -> Instances:
    vacuous = at_random = 0
    for _ in range(trials):
        run = random_run(rng, "adviceptron-printed")
        vacuous += run.mu * max(norm_2(each.D) for each in run.advice) >= 1.0
        violation, shown = judge(run, left_printed)
        at_random += violation > ROUNDING
        yield Instance(violation, **shown)
        violation, shown = judge(random_run(rng, "adviceptron"), left_corrected)
        yield Instance(None, violation, **shown)
    for id in ("adviceptron-printed", "adviceptron"):
        run = alternating_run(id)
        (printed, shown), (corrected, same) = judge(run, left_printed), judge(run, left_corrected)
        yield Instance(printed, **shown)
        yield Instance(None, corrected, **same)
    yield (
        f"{at_random} of {trials} random runs break it, but a search found a run that does: alternating "
        f"labels and weak advice. In {vacuous} random runs mu Delta^2 >= 1, so the left side does not bound "
        "L_eta"
    )


def judge(run: AdviceRun, left_side: Callable[[AdviceRun], float]) -> tuple[float, dict[str, Any]]:
    left, (right, w), first = left_side(run), tightest_right_side(run), next(iter(run.advice))
    shown = {"X": run.X, "y": run.y, "lam": run.lam, "mu": run.mu, "m": len(run.advice), "D": first.D}
    shown |= {"d": first.d, "left": left, "right": right, "comparator": w}
    return relative(left - right, left, right), shown
