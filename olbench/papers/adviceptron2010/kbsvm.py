"""Knowledge-based support vector machines: the batch problem that the online learners solve step by step.

adviceptron2010, eq. (4): minimise P(w) + lam L(xi) + mu sum_i L(eta_i, zeta_i) subject to
y (X w - b) + xi >= 1, D_i'u_i + z_i w + eta_i = 0, -d_i'u_i - z_i b + zeta_i >= 1 and xi, u, zeta >= 0.
The quadratic form has P(w) = |w|^2 / 2 and halves of squares for L, the linear form absolute values (Fung,
Mangasarian and Shavlik, NIPS 2003).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from olbench.data.scale import as_dense
from olbench.errors import UserError, count
from olbench.learners.examples import Floats
from olbench.papers.adviceptron2010.sets import Advice

Loss = Literal["quadratic", "linear"]

#: Price of |u|^2 / 2, relative to mu: it selects the shortest u where the advice leaves a choice.
RIDGE = 1e-7
#: Clarabel's tolerances and the price of |u|^2 / 2; each is tried if rounding makes the one before fail.
ATTEMPTS = ((1e-10, 0.0), (1e-8, 0.0), (1e-8, RIDGE))


@dataclass(frozen=True)
class KBSVM:
    w: Floats
    b: float
    u: list[Floats]

    def decide(self, X: Any) -> Floats:
        return np.asarray(X @ self.w).ravel() - self.b


def solve_kbsvm(
    X: Any, y: ArrayLike, advice: Advice, lam: float = 1.0, mu: float = 1.0, loss: Loss = "quadratic"
) -> KBSVM:
    """Solve eq. (4) for examples and advice; b is zero where the advice has a constant feature.

    >>> from olbench.papers.adviceptron2010.sets import AdviceSet
    >>> rule = AdviceSet([[-1.0, 0.0]], [-1.0], 1, "x1 >= 1 => +1")
    >>> solution = solve_kbsvm(np.array([[-1.0, 0.0]]), [-1.0], Advice((rule,), 2), lam=100.0, mu=100.0)
    >>> solution.decide(np.array([[1.0, 5.0], [-1.0, 5.0]])).round(1).tolist()
    [1.0, -1.0]
    """
    rows, labels = as_dense(X), np.asarray(y, dtype=np.float64)
    if rows.shape[1] != advice.n:
        raise UserError(f"X must have {count(advice.n, 'feature')}, as the advice has")
    problem = _make_problem(rows.tobytes(), labels.tobytes(), advice)
    solve = {"quadratic": _solve_quadratic, "linear": _solve_linear}[loss]
    return problem.solution(solve(problem, lam, mu))


# More than the folds and candidates of two tunings need.
@lru_cache(maxsize=128)
def solve_advice(advice: Advice, mu: float = 1.0) -> KBSVM:
    """Solve the quadratic form for advice without examples and without b: where `start: advice` begins."""
    problem = _Problem(np.empty((0, advice.n)), np.empty(0), advice, bias=False, ridge=RIDGE)
    return problem.solution(_solve_quadratic(problem, 1.0, mu))


class KnowledgeClassifier:
    """The hyperplane that `solve` finds for examples and advice."""

    def __init__(self, advice: Advice | None, solve: Callable[[Any, Any, Advice], KBSVM]):
        self.advice, self.solve = advice, solve

    def fit(self, X: Any, y: Any) -> "KnowledgeClassifier":
        self.solution_ = self.solve(X, y, self.advice or Advice((), X.shape[1]))
        self.coef_: Floats = self.solution_.w
        return self

    def predict(self, X: Any) -> Floats:
        """Return the side of the hyperplane; on it, +1."""
        return np.where(self.solution_.decide(X) >= 0.0, 1.0, -1.0)


class _Problem:
    """Eq. (4) over (w, b, u, xi, eta, zeta); `ridge` times mu is the least price of |u|^2 / 2."""

    def __init__(self, X: Floats, y: Floats, advice: Advice, bias: bool = True, ridge: float = 0.0):
        self.n, self.ridge = advice.n, ridge
        n, t, m = advice.n, y.size, len(advice)
        sizes = [each.d.size for each in advice]
        ends = np.cumsum((0, n, 1, sum(sizes), t, n * m, m)).tolist()
        self.w, self.b, self.u, self.xi, self.eta, self.zeta = map(slice, ends[:-1], ends[1:])
        self.size, self.columns = ends[-1], np.cumsum([n + 1, *sizes])[:-1]
        biased = float(bias and advice.constant is None)
        z = np.array([each.z for each in advice], dtype=np.float64)[:, None]
        D, d = _stack([each.D.T for each in advice]), _stack([each.d[None] for each in advice])
        # D_i'u_i + z_i w + eta_i = 0, one block of n rows per set; then rows that times the variables are at
        # most minus one, as in (4) with the sign reversed.
        sets = [sp.kron(z, sp.eye(n)), None, D, None, sp.eye(n * m), None]
        slopes, signs = sp.csr_matrix(-y[:, None] * X), sp.csr_matrix(biased * y[:, None])
        examples = [slopes, signs, None, -sp.eye(t), None, None]
        rules = [None, sp.csr_matrix(biased * z), d, None, None, -sp.eye(m)]
        rows = sp.bmat([sets, examples, rules], "csr")
        self.equal, self.below = rows[: n * m], rows[n * m :]

    @cached_property
    def rows(self) -> Any:
        """E, A and -I for u of E x = 0, A x <= -1 and u >= 0, below each other."""
        return sp.vstack([self.equal, self.below, -_select(self.u, self.size)]).tocsc()

    def solution(self, x: Floats) -> KBSVM:
        u = np.maximum(x[: self.u.stop], 0.0)
        parts = np.split(u, self.columns)[1:]
        return KBSVM(x[self.w].copy(), float(x[self.b][0]), parts)


# More than a tuning has folds; its candidates differ only in lam and mu.
@lru_cache(maxsize=16)
def _make_problem(X: bytes, y: bytes, advice: Advice) -> _Problem:
    labels = np.frombuffer(y)
    return _Problem(np.frombuffer(X).reshape(labels.size, advice.n), labels, advice)


def _stack(blocks: list[Floats]) -> Any:
    return sp.block_diag([sp.csr_matrix(block) for block in blocks] or [sp.csr_matrix((0, 0))])


def _select(part: slice, size: int) -> Any:
    return sp.eye(part.stop - part.start, size, part.start)


def _solve_quadratic(problem: _Problem, lam: float, mu: float) -> Floats:
    import clarabel

    squares = np.zeros(problem.size)
    squares[problem.w], squares[problem.xi] = 1.0, lam
    squares[problem.eta], squares[problem.zeta] = mu, mu
    sizes = problem.equal.shape[0], problem.below.shape[0], problem.u.stop - problem.u.start
    limits = np.repeat([0.0, -1.0, 0.0], sizes)
    cones = [clarabel.ZeroConeT(sizes[0]), clarabel.NonnegativeConeT(sizes[1] + sizes[2])]
    for tolerance, least in ATTEMPTS:
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        squares[problem.u] = mu * max(problem.ridge, least)
        P = sp.diags(squares).tocsc()
        prices = np.zeros(problem.size)
        outcome = clarabel.DefaultSolver(P, prices, problem.rows, limits, cones, settings).solve()
        if outcome.status == clarabel.SolverStatus.Solved:
            return np.array(outcome.x)
    raise UserError(
        f"the solver could not find the KBSVM ({outcome.status}); bring the features to a similar scale"
    )


def _solve_linear(problem: _Problem, lam: float, mu: float) -> Floats:
    """Solve the linear form: a further variable bounds the absolute value of each entry of w and eta."""
    from scipy.optimize import linprog

    selected = sp.vstack([_select(part, problem.size) for part in (problem.w, problem.eta)])
    further = selected.shape[0]
    bounds = sp.eye(further)
    equal = sp.hstack([problem.equal, sp.csr_matrix((problem.equal.shape[0], further))], "csr")
    below = sp.bmat([[problem.below, None], [selected, -bounds], [-selected, -bounds]], "csr")
    limits = np.repeat([-1.0, 0.0], [problem.below.shape[0], 2 * further])
    prices, low = np.zeros(equal.shape[1]), np.full(equal.shape[1], -np.inf)
    prices[problem.xi], prices[problem.zeta] = lam, mu
    prices[problem.size :][: problem.n], prices[problem.size + problem.n :] = 1.0, mu
    low[problem.u] = low[problem.xi] = low[problem.zeta] = 0.0
    limited = np.column_stack([low, np.full(low.size, np.inf)])
    outcome = linprog(prices, below, limits, equal, np.zeros(equal.shape[0]), limited, method="highs")
    if outcome.status != 0:
        raise UserError(f"the linear program of the KBSVM could not be solved: {outcome.message}")
    return np.asarray(outcome.x)
