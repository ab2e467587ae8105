"""Crammer, Dredze & Pereira, Exact Convex Confidence-Weighted Learning (NIPS 2008)."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import minimize

from olbench.algorithms import get_definition
from olbench.algorithms.algorithm import make_algorithm
from olbench.learners.examples import Floats
from olbench.papers.audit import POINTS, Instance, Instances, gaussians, runs, stated_checks
from olbench.papers.audit.gaussians import Problem, confidence_loss, draw_problem, factor_6, least_margin
from olbench.papers.audit.runs import confident, nearest_point, replay, separable, tightest_comparator

check = stated_checks(__file__)
LEARNER = "cw"


def root_13(r: float, phi: float) -> float:
    """Return gamma sqrt(v) at the margin r = m / sqrt(v) as eq. (13) is printed, with psi."""
    psi = 1.0 + phi * phi / 2.0
    return (-r * psi + math.sqrt(r * r * psi * psi - psi * (r * r - phi * phi))) / psi


def root_14(r: float, phi: float) -> float:
    """Return alpha sqrt(v) at the margin r = m / sqrt(v) < phi: eq. (14)."""
    return gaussians.larger_root(r, 1.0, phi)


def miss(a: float, r: float, phi: float) -> float:
    """Return |m + alpha v - phi sqrt(u)| in units of sqrt(v)."""
    left = 0.5 * (-a * phi + math.sqrt(a * a * phi * phi + 4.0))  # sqrt(u / v), by eq. (12)
    return abs(r + a - phi * left)


@check
def equation_13(rng: np.random.Generator, trials: int) -> Instances:
    for r, phi in [(0.0, 1.0), (-3.0, 3.0), *_margins(rng, POINTS * trials)]:
        shown = {"m": r, "v": 1.0, "phi": phi, "gamma": root_13(r, phi), "alpha of (14)": root_14(r, phi)}
        shown["missed by"] = miss(root_13(r, phi), r, phi)
        yield Instance(shown["missed by"], miss(root_14(r, phi), r, phi), **shown)


def _margins(rng: np.random.Generator, count: int) -> Iterator[tuple[float, float]]:
    for _ in range(count):
        phi = rng.uniform(0.05, 3.0)
        yield rng.uniform(-5.0, phi), phi


@check
def smaller_root(rng: np.random.Generator, trials: int) -> Instances:
    return gaussians.compare_smaller_root(rng, trials)


@check
def trigger(rng: np.random.Generator, trials: int) -> Instances:
    return gaussians.compare_trigger(rng, trials, lambda *at: gaussians.quadratic_roots(*at)[1])


@check
def equation_14(rng: np.random.Generator, trials: int) -> Instances:
    def update(at: Problem) -> tuple[Floats, Floats]:
        return at.move(root_14(at.m / math.sqrt(at.v), at.phi) / math.sqrt(at.v))

    return gaussians.compare_optimum(gaussians.violated_problems(rng, trials), update)


@check
def eta_half(rng: np.random.Generator, trials: int) -> Instances:
    for _ in range(trials):
        X, y = separable(rng, 40, 3)
        run = replay(confident(LEARNER, 0.0), X, y)
        moved = max(float(np.abs(mean).max()) for mean in run.means)
        shown = {"n": len(y), "mistakes": run.mistakes, "updates": len(run.updates)}
        yield Instance(moved == 0.0 and (y < 0).any(), moved + len(run.updates), **shown)
        m, v = -rng.lognormal(), rng.lognormal()
        loss, alpha, gain = _rule_step(m, v, 0.0)
        # The constraint y mu.x >= 0 is met with equality: alpha v = -m.
        missed = max(abs(alpha * v + m), abs(gain), float(loss <= 0.0))
        yield Instance(None, missed - 1e-12, m=m, v=v, alpha=alpha)


def _rule_step(m: float, v: float, phi: float) -> tuple[float, float, float]:
    rule: Any = get_definition(LEARNER).rule
    return rule(m, v, m < 0.0, 1, (phi,))  # type: ignore[no-any-return]


@check
def first_round(rng: np.random.Generator, trials: int) -> Instances:
    for a, phi in [(1.0, 1.0), *((10.0 ** rng.uniform(-2, 2), rng.uniform(0.1, 3.0)) for _ in range(trials))]:
        x = rng.normal(size=3)
        x /= np.linalg.norm(x)
        run = replay(confident(LEARNER, phi, a=a), x[None, :], np.ones(1))
        margin, expected = run.updates[0].margin, phi * math.sqrt(a / (1.0 + phi * phi))
        aside = float(np.abs(run.means[-1] - margin * x).max())
        yield Instance(abs(margin - a), max(abs(margin - expected), aside), a=a, phi=phi, margin=margin)


@check
def equation_15(rng: np.random.Generator, trials: int) -> Instances:
    cases = [(np.ones(2), np.ones(2), 0.0, 1.0)]
    for _ in range(trials):
        phi = rng.uniform(0.1, 3.0)
        cases.append((rng.normal(size=3), rng.lognormal(size=3), rng.uniform(-2.0, 0.9 * phi), phi))
    for x, variances, r, phi in cases:
        v = float(variances @ (x * x))
        a = root_14(r, phi)
        gain = a * phi / (gaussians.remaining_deviation(a, 1.0, phi) * v)
        full = np.linalg.inv(np.diag(1.0 / variances) + gain * np.outer(x, x))
        diagonal = 1.0 / (1.0 / variances + gain * x * x)
        printed = np.abs(np.diag(full) / diagonal - 1.0).max()
        corrected = np.abs(np.diag(np.linalg.inv(full)) * diagonal - 1.0).max()
        shown = {"x": x, "Sigma": variances, "m": r * math.sqrt(v), "phi": phi, "(15)": diagonal}
        yield Instance(printed, corrected, **shown, **{"diagonal of (10)": np.diag(full)})


def printed_20(push: float, w: Floats, a: float, pi: Floats, gram: Floats) -> Any:
    """Return the coefficients of a round with nu_i = a."""
    return a, *runs.derived_form(push, w, a, pi, gram)[1:]


def printed_21(push: float, w: Floats, a: float, pi: Floats, gram: Floats) -> Any:
    """Return the coefficients of a round with x_r'x_s where x_r'x_i x_i'x_s belongs."""
    nu, _, border, corner = runs.derived_form(push, w, a, pi, gram)
    return nu, pi @ gram @ pi, border, corner


def _compare_forms(rng: np.random.Generator, trials: int, printed: runs.Form, *first: Any) -> Instances:
    """Use short runs: a kernel form loses digits by subtraction as Sigma shrinks."""
    drawn = (
        (*separable(rng, 8, 3), 10.0 ** rng.uniform(-1, 1), float(rng.choice(runs.PHIS)))
        for _ in range(trials)
    )
    for X, y, a, phi in (first, *drawn):
        yield runs.compare_forms(confident(LEARNER, phi, a=a), (phi,), X, y, printed, phi=phi)


@check
def equation_20(rng: np.random.Generator, trials: int) -> Instances:
    return _compare_forms(rng, trials, printed_20, np.ones((1, 1)), -np.ones(1), 1.0, 1.0)


@check
def equation_21(rng: np.random.Generator, trials: int) -> Instances:
    return _compare_forms(rng, trials, printed_21, np.eye(2), np.ones(2), 1.0, 1.0)


@check
def theorem_2(rng: np.random.Generator, trials: int) -> Instances:
    for number in range(trials):
        X, y = separable(rng, 15, 2)
        phi, a = float(rng.choice(runs.PHIS)), 10.0 ** rng.uniform(-1, 1)
        features, gram = X, X @ X.T
        if number % 2:
            gram = gram**2
            features = np.column_stack([X[:, 0] ** 2, math.sqrt(2.0) * X[:, 0] * X[:, 1], X[:, 1] ** 2])
            y = np.where(features @ np.array([1.0, 1.0, -1.0]) >= 0.0, 1.0, -1.0)
        run = replay(confident(LEARNER, phi, a=a), features, y)
        dual = runs.expand(gram, y, a, runs.scalar_step(LEARNER, (phi,)), runs.derived_form)
        counts = float((dual.mistakes, dual.updates) != (run.mistakes, len(run.updates)))
        gap = max(runs.largest_difference(dual, features, a, run), counts)
        yield Instance(gap, phi=phi, a=a, mistakes=run.mistakes, kernel_mistakes=dual.mistakes)


@check
def lemma_3(rng: np.random.Generator, trials: int) -> Instances:
    """Run CW from Sigma_1 = I and from a I, a between 1e-8 and 1e8."""
    worst = dict.fromkeys(runs.PHIS, 0.0)
    for number in range(trials):
        X, y = separable(rng, 60, 4)
        phi, a = runs.PHIS[number % len(runs.PHIS)], 10.0 ** rng.uniform(-8, 8)
        run, scaled = replay(confident(LEARNER, phi), X, y), replay(confident(LEARNER, phi, a=a), X, y)
        counts = (run.mistakes, len(run.updates)), (scaled.mistakes, len(scaled.updates))
        gap = _scale_gap(run, scaled, a) if counts[0] == counts[1] else math.inf
        worst[phi] = max(worst[phi], gap)
        yield Instance(gap, a=a, phi=phi, mistakes=run.mistakes, scaled_mistakes=scaled.mistakes)
    words = ", ".join(f"{gap:.0e} at phi = {phi:g}" for phi, gap in worst.items())
    yield f"Largest relative errors of eq. (17) over all rounds: {words}"


def _scale_gap(run: runs.Replay, scaled: runs.Replay, a: float) -> float:
    """Return the largest relative deviation from eq. (17)."""
    root, gaps = math.sqrt(a), [0.0]
    for one, other in zip(run.updates, scaled.updates, strict=True):
        gaps += [abs(other.m / root - one.m) / math.sqrt(one.v), abs(other.v / a - one.v) / one.v]
        gaps.append(abs(other.alpha * root - one.alpha) * math.sqrt(one.v))
        gaps.append(abs(other.variance / a - one.variance) / one.variance)
    for befores, afters, scale in ((run.means, scaled.means, root), (run.covariances, scaled.covariances, a)):
        for before, after in zip(befores, afters, strict=True):
            gaps.append(float(np.abs(after / scale - before).max() / max(np.abs(before).max(), 1e-300)))
    return max(gaps)


@check
def loss_variance(rng: np.random.Generator, trials: int) -> Instances:
    """Measure the variance of y w.x over draws of w whose mean and covariance are exactly mu and Sigma."""
    first = Problem(np.zeros(1), np.eye(1), np.ones(1), 1.0, 1.0)
    for one in (first, *(draw_problem(rng) for _ in range(trials))):
        margins = one.y * gaussians.matched_draws(rng, one.mean, one.covariance, 200) @ one.x
        printed, variance = float(one.mean @ one.covariance @ one.mean), float(margins.var())
        shown = {"mu": one.mean, "Sigma": one.covariance, "x": one.x, "mu' Sigma mu": printed}
        corrected = abs(one.v / variance - 1.0)
        yield Instance(abs(printed / variance - 1.0), corrected, **shown, **{"variance of y w.x": variance})


def _phis(rng: np.random.Generator, count: int) -> list[Decimal]:
    return [Decimal(1), *(Decimal(10.0 ** rng.uniform(-2, 1)) for _ in range(count))]


@check
def lemma_5_1(rng: np.random.Generator, trials: int) -> Instances:
    for phi in _phis(rng, trials):
        gap = max(abs(confidence_loss(phi, phi)), abs(confidence_loss(Decimal(0), phi) - 1))
        yield Instance(gap, phi=phi)


@check
def lemma_5_2(rng: np.random.Generator, trials: int) -> Instances:
    for phi in _phis(rng, POINTS * trials):
        low, high = sorted(phi - Decimal(10.0 ** rng.uniform(-4, 2)) for _ in range(2))
        first, middle, last = (confidence_loss(x, phi) for x in (low, (low + high) / 2, high))
        fall, bend = (last - first) / first, (middle - (first + last) / 2) / first
        yield Instance(max(fall, bend), phi=phi, low=low, high=high)


@check
def lemma_5_3(rng: np.random.Generator, trials: int) -> Instances:
    for phi in _phis(rng, POINTS * trials):
        x = -Decimal(10.0 ** rng.uniform(-6, 3))
        yield Instance(1 - confidence_loss(x, phi), phi=phi, x=x)


@check
def lemma_5_4(rng: np.random.Generator, trials: int) -> Instances:
    for phi in _phis(rng, trials):
        for T in (1, 10, 100, 1000):
            x = -2 * T * (1 + phi * phi).sqrt() / phi
            error = abs(confidence_loss(x, phi) * phi * phi / (x * x * (1 + phi * phi)) - 1)
            yield Instance(error * 16 * T * T / 9 - 1, phi=phi, x=x, error=error)


@check
def lemma_5_5(rng: np.random.Generator, trials: int) -> Instances:
    """Go ten times nearer to phi: a constant stays, a square falls to a hundredth."""
    for phi in _phis(rng, trials):
        gap, psi = phi * Decimal("1e-9"), 1 + phi * phi / 2
        near, nearer = confidence_loss(phi - gap, phi), confidence_loss(phi - gap / 10, phi)
        # A of the statement, half of f''(phi)
        curvature = (1 + phi * phi) / (phi * phi * psi * psi)
        ratio = near / (curvature * gap * gap)
        shown = {"phi": phi, "distance": gap, "f": near, "f ten times nearer": nearer}
        yield Instance(abs(near / nearer - 1), abs(ratio - 1), **shown)


@check
def lemma_5_6(rng: np.random.Generator, trials: int) -> Instances:
    """Take alpha from the rule that olbench runs."""
    for r, phi in _margins(rng, POINTS * trials):
        v = 10.0 ** rng.uniform(-4, 4)
        m = r * math.sqrt(v)
        _, alpha, _ = _rule_step(m, v, phi)
        loss = confidence_loss(Decimal(m) / Decimal(v).sqrt(), Decimal(phi))
        gap = abs(factor_6(phi) * alpha * alpha * v / float(loss) - 1.0)
        # Next to phi, the loss has as few digits as phi - r.
        if phi - r > 1e-5 * phi:
            yield Instance(gap, m=m, v=v, phi=phi, alpha=alpha)


@check
def figure_4(rng: np.random.Generator, trials: int) -> Instances:
    for _ in range(POINTS * trials):
        small, large = sorted(Decimal(10.0 ** rng.uniform(-2, 1)) for _ in range(2))
        x = Decimal(rng.uniform(-5.0, 1.2 * float(large)))
        losses = [confidence_loss(x, phi) if x < phi else Decimal(0) for phi in (small, large)]
        wrong = losses[1] - losses[0] if x <= 0 else losses[0] - losses[1]
        yield Instance(wrong, x=x, small=small, large=large)


def _runs(rng: np.random.Generator, trials: int) -> Iterator[tuple[float, runs.Replay, runs.Comparator]]:
    first = replay(confident(LEARNER, 1.0), np.ones((1, 1)), -np.ones(1))
    yield 1.0, first, tightest_comparator(first)
    for _ in range(trials):
        X, y = separable(rng, int(rng.integers(20, 120)), int(rng.integers(2, 7)))
        for phi in runs.PHIS:
            run = replay(confident(LEARNER, phi), X, y)
            if comparator := runs.find_comparator(run):
                yield phi, run, comparator


@check
def theorem_4(rng: np.random.Generator, trials: int) -> Instances:
    broken, count = dict.fromkeys(runs.PHIS, 0), 0
    for number, (phi, run, comparator) in enumerate(_runs(rng, trials)):
        right = factor_6(phi) * comparator.cost
        excess = max(run.mistakes / run.squares, run.squares / right) - 1.0
        middle = factor_6(phi) * run.squares
        shown = {"phi": phi, "mistakes": run.mistakes, "sum alpha^2 v": run.squares}
        shown |= {"times (1 + phi^2) / phi^2": middle, "right side": right}
        if number == 0:
            shown = {"x": 1.0, "y": -1.0, **shown}
        else:
            broken[phi] += excess > 0.0
            count += phi == runs.PHIS[0]
        yield Instance(excess, max(run.mistakes / middle, middle / right) - 1.0, **shown)
    for phi in runs.PHIS:
        for _ in range(max(1, trials // 20)):
            ratio, rows = _tightest_run(rng, phi)
            yield Instance(None, ratio - 1.0, phi=phi, rows=rows)
    words = ", ".join(f"{broken[phi]} of {count} at phi = {phi:g}" for phi in runs.PHIS)
    yield f"Mistakes exceed the printed middle term in {words}"


def _tightest_run(rng: np.random.Generator, phi: float) -> tuple[float, Floats]:
    """Return the largest ratio of sum alpha^2 v to the bracket that an optimiser finds on three examples."""

    def ratio(parameters: Floats) -> float:
        rows = parameters.reshape(3, 2)
        run = replay(confident(LEARNER, phi), rows, np.ones(3))
        comparator = runs.find_comparator(run)
        return -run.squares / comparator.cost if comparator else 0.0

    answer = minimize(ratio, rng.normal(size=6), method="Nelder-Mead", options={"maxfev": 150})
    return -float(answer.fun), answer.x.reshape(3, 2)


@check
def separability(rng: np.random.Generator, trials: int) -> Instances:
    """A confident example without an update, then its opposite: (18) can be satisfied, separation cannot."""
    cases = [(np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0.5], [-1, -1, -0.5]]), 1.0)]
    for _ in range(trials):
        z = np.abs(rng.normal(size=(2, 3)))
        z = np.vstack([z, z.sum(axis=0) + 0.2 * rng.normal(size=3)])
        cases.append((np.vstack([z, -z[2]]), float(rng.choice(runs.PHIS))))
    for rows, phi in cases:
        run = replay(confident(LEARNER, phi), rows, np.ones(len(rows)))
        if comparator := runs.find_comparator(run):
            shown = {"y": 1, "phi": phi, "updates": len(run.updates), "mu*": comparator.mean}
            # The conditions (18) concern only examples with an update.
            whole, covered = runs.is_separable(rows), runs.is_separable(run.rows)
            yield Instance(not whole, not covered, x=rows, **shown)


@check
def chain_18(rng: np.random.Generator, trials: int) -> Instances:
    """Take Sigma* = Sigma_{n+1}, as the paper does."""
    cases = [(1.0, replay(confident(LEARNER, 1.0), np.array([[10.0]]), np.ones(1)))]
    for _ in range(trials):
        phi = float(rng.choice(runs.PHIS))
        cases.append((phi, replay(confident(LEARNER, phi), *separable(rng, 30, 3))))
    for phi, run in cases:
        for update in run.updates:
            u, star = update.variance, float(update.z @ run.covariances[-1] @ update.z)
            left = phi * math.sqrt(u)
            shown = {"phi": phi, "x'Sigma x": u, "phi sqrt(x'Sigma x)": left, "x'Sigma* x": star}
            yield Instance(star / left - 1.0, least_margin(star, phi) / left - 1.0, **shown)


@check
def unit_margin(rng: np.random.Generator, trials: int) -> Instances:
    for phi, run, _ in _runs(rng, trials):
        precision = run.precision
        mean = nearest_point(precision, run.rows, np.linalg.norm(run.rows, axis=1))
        log_det = float(np.linalg.slogdet(precision)[1])
        sigma = log_det + float(np.trace(np.linalg.inv(precision))) - len(mean)
        bound = factor_6(phi) * sigma + (1.0 + phi * phi) * float(mean @ precision @ mean)
        yield Instance(run.mistakes / bound - 1.0, phi=phi, mistakes=run.mistakes, bound=bound)


@check
def theorem_4_noise(rng: np.random.Generator, trials: int) -> Instances:
    reason = ""
    for X, y in [(np.ones((1, 1)), np.ones(1)), *(separable(rng, 15, 3) for _ in range(trials))]:
        X, y = np.vstack([X, X]), np.concatenate([y, -y])
        phi = float(rng.choice(runs.PHIS))
        run = replay(confident(LEARNER, phi), X, y)
        if runs.is_separable(run.rows):
            continue
        try:
            tightest_comparator(run)
            yield Instance(1.0, phi=phi, updates=len(run.updates))
        except runs.NotSeparableError as error:
            yield Instance(0.0)
            reason = str(error)
    yield f"Refused: {reason}"


@check
def lemma_6(rng: np.random.Generator, trials: int) -> Instances:
    for _ in range(trials):
        X, y = separable(rng, 12, 3)
        phi = float(rng.choice(runs.PHIS))
        run = replay(confident(LEARNER, phi), X, y)
        for row, after in enumerate(run.means[1:]):
            mean, z = run.means[row], y[row] * X[row]
            wanted = phi * math.sqrt(float(z @ run.covariances[row + 1] @ z)) - float(mean @ z)
            size = float(np.abs(after - mean).max())
            if size > 0.0:
                metric = gaussians.inverse_of(run.covariances[row])
                shift = nearest_point(metric, z[None, :], np.array([wanted]))
                yield Instance(np.abs(mean + shift - after).max() / size, phi=phi, wanted=wanted)


@check
def lemma_7(rng: np.random.Generator, trials: int) -> Instances:
    """Sum the losses (24) of the margins on runs; zeta from eq. (29)."""
    for phi, run, comparator in _runs(rng, trials):
        margins = (Decimal(each.m / math.sqrt(each.v)) for each in run.updates)
        losses = math.fsum(float(confidence_loss(margin, Decimal(phi))) for margin in margins)
        d = len(comparator.mean)
        kl = gaussians.divergence(comparator.mean, comparator.covariance, np.zeros(d), np.eye(d))
        spread = math.fsum(each.gain * float(comparator.mean @ each.z) ** 2 for each in run.updates)
        bound = factor_6(phi) * (2.0 * kl + spread)
        yield Instance(losses / bound - 1.0, phi=phi, losses=losses, bound=bound)


@check
def fixed_alpha(rng: np.random.Generator, trials: int) -> Instances:
    others = 0
    for _ in range(trials):
        one, alpha = draw_problem(rng), rng.lognormal()
        gain = fixed_gain(alpha, one.phi)
        optimum = one.step(alpha, gain / (1.0 + gain * one.v))
        slope = gaussians.largest_slope(partial(_fixed_lagrangian, one, alpha), *optimum, rng)
        yield Instance(slope, alpha=alpha, **one.shown)
        X, y = separable(rng, 40, 3)
        run = replay(make_algorithm("sop"), X, y)
        mistakes, mean, covariance = _run_fixed(X, y, alpha, gradient_step)
        gaps = [np.abs(mean / alpha - run.means[-1]).max(), np.abs(covariance - run.covariances[-1]).max()]
        gap = max(*gaps, mistakes != run.mistakes)
        yield Instance(gap, alpha=alpha, mistakes=mistakes, sop_mistakes=run.mistakes)
        others += _run_fixed(X, y, alpha, _optimal_step)[0] != run.mistakes
    yield (
        "With 2 alpha phi = 1 the variant makes SOP's mistakes, has its Sigma and alpha times its mu. With "
        f"the optimal step of mu in place of the gradient step, mistakes differ in {others} of {trials} runs"
    )


def fixed_gain(alpha: float, phi: float) -> float:
    """Return the coefficient of x x' in the update of Sigma^-1 for a fixed alpha, without the square root."""
    return 2.0 * alpha * phi


def _fixed_lagrangian(one: Problem, alpha: float, mean: Floats, covariance: Floats) -> float:
    """Return (5) with the variance in place of the standard deviation."""
    shortfall = replace(one, constraint="variance").shortfall(mean, covariance)
    return gaussians.divergence(mean, covariance, one.mean, one.covariance) + alpha * shortfall


#: (mu, Sigma^-1 before and after the update, alpha y x) -> mu after it.
MoveMean = Callable[[Floats, Floats, Floats, Floats], Floats]


def gradient_step(mean: Floats, before: Floats, after: Floats, push: Floats) -> Floats:
    """Move Sigma^-1 mu, the vector that SOP keeps, down the gradient of -alpha y w.x."""
    return np.asarray(np.linalg.solve(after, before @ mean + push), dtype=np.float64)


def _optimal_step(mean: Floats, before: Floats, after: Floats, push: Floats) -> Floats:
    """Move mu to the optimum of the Lagrangian, eq. (6)."""
    return np.asarray(mean + np.linalg.solve(before, push), dtype=np.float64)


def _run_fixed(X: Floats, y: Floats, alpha: float, move: MoveMean) -> tuple[int, Floats, Floats]:
    """Run the variant with phi = 1 / (2 alpha), mistake-driven as SOP is; return mistakes, mu and Sigma."""
    mistakes, mean, precision = 0, np.zeros(X.shape[1]), np.eye(X.shape[1])
    for x, label in zip(X, y, strict=True):
        if (1.0 if mean @ x >= 0.0 else -1.0) != label:
            mistakes += 1
            after = precision + fixed_gain(alpha, 0.5 / alpha) * np.outer(x, x)
            mean, precision = move(mean, precision, after, alpha * label * x), after
    return mistakes, mean, gaussians.inverse_of(precision)
