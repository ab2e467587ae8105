"""Knowledge-based support vector machines: the batch problem that the online learners solve step by step.

adviceptron2010, eq. (4): minimise P(w) + lam L(xi) + mu sum_i L(eta_i, zeta_i) subject to
y (X w - b) + xi >= 1, D_i'u_i + z_i w + eta_i = 0, -d_i'u_i - z_i b + zeta_i >= 1 and xi, u, zeta >= 0.
As in eq. (5), P(w) is |w|^2 / 2, and L halves of squares.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from olbench.data.scale import as_dense
from olbench.errors import UserError, count
from olbench.learners.examples import Floats
from olbench.papers.adviceptron2010.sets import Advice

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


def solve_kbsvm(X: Any, y: ArrayLike, advice: Advice, lam: float = 1.0, mu: float = 1.0) -> KBSVM:
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
    return _make_problem(rows.tobytes(), labels.tobytes(), advice).solve(lam, mu)


# More than the folds and candidates of two tunings need.
@lru_cache(maxsize=128)
def solve_advice(advice: Advice, mu: float = 1.0) -> KBSVM:
    """Solve eq. (4) for advice without examples and without b: where `start: advice` begins."""
    return _Problem(np.empty((0, advice.n)), np.empty(0), advice, bias=False, ridge=RIDGE).solve(1.0, mu)


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
        # E, A and -I for u of E x = 0, A x <= -1 and u >= 0, below each other
        of_u = sp.eye(sum(sizes), self.size, self.u.start)
        self.rows = sp.vstack([rows, -of_u]).tocsc()
        self.sizes = n * m, t + m, sum(sizes)

    def solve(self, lam: float, mu: float) -> KBSVM:
        import clarabel

        squares = np.zeros(self.size)
        squares[self.w], squares[self.xi] = 1.0, lam
        squares[self.eta], squares[self.zeta] = mu, mu
        limits = np.repeat([0.0, -1.0, 0.0], self.sizes)
        cones = [clarabel.ZeroConeT(self.sizes[0]), clarabel.NonnegativeConeT(sum(self.sizes[1:]))]
        for tolerance, least in ATTEMPTS:
            settings = clarabel.DefaultSettings()
            settings.verbose = False
            settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
            squares[self.u] = mu * max(self.ridge, least)
            P, prices = sp.diags(squares).tocsc(), np.zeros(self.size)
            outcome = clarabel.DefaultSolver(P, prices, self.rows, limits, cones, settings).solve()
            if outcome.status == clarabel.SolverStatus.Solved:
                x = np.array(outcome.x)
                parts = np.split(np.maximum(x[: self.u.stop], 0.0), self.columns)[1:]
                return KBSVM(x[self.w].copy(), float(x[self.b][0]), parts)
        raise UserError(
            f"the solver could not find the KBSVM ({outcome.status}); bring the features to a similar scale"
        )


# More than a tuning has folds; its candidates differ only in lam and mu.
@lru_cache(maxsize=16)
def _make_problem(X: bytes, y: bytes, advice: Advice) -> _Problem:
    labels = np.frombuffer(y)
    return _Problem(np.frombuffer(X).reshape(labels.size, advice.n), labels, advice)


def _stack(blocks: list[Floats]) -> Any:
    return sp.block_diag([sp.csr_matrix(block) for block in blocks] or [sp.csr_matrix((0, 0))])
