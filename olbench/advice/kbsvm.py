"""Knowledge-based support vector machines: the batch problem of which the online learners are a step a time.

adviceptron2010, eq. (4): minimise P(w) + lam L(xi) + mu sum_i L(eta_i, zeta_i) subject to
y (X w - b) + xi >= 1, D_i'u_i + z_i w + eta_i = 0, -d_i'u_i - z_i b + zeta_i >= 1 and xi, u, zeta >= 0.
Eq. (4) leaves P and L open. The quadratic form has P(w) = |w|^2 / 2 and halves of squares for L, as eq. (5)
has. The linear form has absolute values throughout, as the batch version that the paper refers to (Fung,
Mangasarian and Shavlik, NIPS 2003). The hinge form has P(w) = |w|^2 / 2 and absolute values for L, as the
usual SVM has.

Clarabel solves the quadratic and the hinge form: an interior-point solver, which CVXPY takes by default.
HiGHS, which comes with SciPy, solves the linear one. docs/advice.md has the times of this choice and of
others.
"""

from collections import OrderedDict
from dataclasses import dataclass
from itertools import pairwise
from threading import Lock
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from olbench.advice.sets import Advice
from olbench.errors import UserError
from olbench.learn.examples import Floats

Loss = Literal["quadratic", "linear", "hinge"]

#: Price of |u|^2 / 2, relative to mu: it singles out the shortest u where the advice leaves a choice.
RIDGE = 1e-7
#: Clarabel's tolerances and the price of |u|^2 / 2, the next where rounding keeps it from the one before.
ATTEMPTS = ((1e-10, 0.0), (1e-8, 0.0), (1e-8, RIDGE))
#: Solutions for advice alone that are kept: more than the folds and candidates of two tunings ask for.
KEPT = 128


@dataclass(frozen=True)
class KBSVM:
    """A solution: the plane w.x = b, the advice vectors u, and the value of the objective."""

    w: Floats
    b: float
    u: list[Floats]
    objective: float

    def decide(self, X: Any) -> Floats:
        """Return w.x - b for each row of X."""
        return np.asarray(X @ self.w).ravel() - self.b


def solve_kbsvm(
    X: Any, y: ArrayLike, advice: Advice, lam: float = 1.0, mu: float = 1.0, loss: Loss = "quadratic"
) -> KBSVM:
    """Solve eq. (4) for examples and advice; b is zero where the advice knows a constant feature.

    >>> from olbench.advice import AdviceSet
    >>> rule = AdviceSet([[-1.0, 0.0]], [-1.0], 1, "x1 >= 1 => +1")
    >>> solution = solve_kbsvm(np.array([[-1.0, 0.0]]), [-1.0], Advice((rule,), 2), lam=100.0, mu=100.0)
    >>> solution.decide(np.array([[1.0, 5.0], [-1.0, 5.0]])).round(1).tolist()
    [1.0, -1.0]
    """
    for name, value in (("lam", lam), ("mu", mu)):
        if not 0.0 < value < np.inf:
            raise UserError(f"kbsvm: {name} must lie in (0, inf), not {value!r}")
    if loss not in get_args(Loss):
        raise UserError(f"kbsvm: loss must be quadratic, linear or hinge, not {loss!r}")
    rows = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    labels = np.asarray(y, dtype=np.float64)
    if rows.ndim != 2 or rows.shape != (labels.size, advice.n):
        raise UserError(f"X must have one row per label and {advice.n} features, as the advice has")
    problem = _Problem(rows, labels, advice)
    solve = {"quadratic": _solve_quadratic, "linear": _solve_linear, "hinge": _solve_hinge}[loss]
    return problem.solution(*solve(problem, lam, mu))


def solve_advice(advice: Advice, mu: float = 1.0) -> KBSVM:
    """Solve the quadratic form for advice alone, without b: where `start: advice` begins."""
    key = (advice.fingerprint, mu)
    with _lock:
        solution = _known.get(key)
    if solution is None:
        problem = _Problem(np.empty((0, advice.n)), np.empty(0), advice, bias=False)
        solution = problem.solution(*_solve_quadratic(problem, 1.0, mu, ridge=RIDGE))
        with _lock:
            _known[key] = solution
            if len(_known) > KEPT:
                _known.popitem(last=False)
    return solution


_lock = Lock()
_known: OrderedDict[tuple[str, float], KBSVM] = OrderedDict()


class _Problem:
    """The constraints of eq. (4) as sparse matrices over (w, b, u, xi, eta, zeta)."""

    def __init__(self, X: Floats, y: Floats, advice: Advice, bias: bool = True):
        self.n, self.t, self.m = advice.n, y.size, len(advice)
        self.sizes = [each.d.size for each in advice]
        widths = (self.n, 1, sum(self.sizes), self.t, self.n * self.m, self.m)
        ends = np.cumsum((0, *widths))
        self.w, self.b, self.u, self.xi, self.eta, self.zeta = (
            slice(int(begin), int(end)) for begin, end in pairwise(ends)
        )
        self.size = int(ends[-1])
        biased = float(bias and advice.constant is None)
        self.equal = self._equations(advice)
        self.below = self._inequalities(X, y, advice, biased)

    def _equations(self, advice: Advice) -> Any:
        """Return D_i'u_i + z_i w + eta_i = 0, one block of n rows per set."""
        entries = _Entries()
        column = self.u.start
        for i, each in enumerate(advice):
            rows = i * self.n + np.arange(self.n)
            entries.add_diagonal(rows, self.w.start + np.arange(self.n), float(each.z))
            entries.add_block(each.D.T, i * self.n, column)
            column += each.d.size
        everything = np.arange(self.n * self.m)
        entries.add_diagonal(everything, self.eta.start + everything, 1.0)
        return entries.matrix(self.n * self.m, self.size)

    def _inequalities(self, X: Floats, y: Floats, advice: Advice, biased: float) -> Any:
        """Return rows that times the variables are at most minus one, as in (4) with the sign reversed."""
        entries = _Entries()
        entries.add_block(-y[:, None] * X, 0, self.w.start)
        entries.add_block(biased * y[:, None], 0, self.b.start)
        entries.add_diagonal(np.arange(self.t), self.xi.start + np.arange(self.t), -1.0)
        column = self.u.start
        for i, each in enumerate(advice):
            entries.add_block(np.array([[biased * each.z]]), self.t + i, self.b.start)
            entries.add_block(each.d[None], self.t + i, column)
            column += each.d.size
        sets = np.arange(self.m)
        entries.add_diagonal(self.t + sets, self.zeta.start + sets, -1.0)
        return entries.matrix(self.t + self.m, self.size)

    def solution(self, x: Floats, objective: float) -> KBSVM:
        """Return the parts of the variables that matter."""
        u = np.maximum(x[self.u], 0.0)
        parts = np.split(u, np.cumsum(self.sizes)[:-1]) if self.sizes else []
        return KBSVM(x[self.w].copy(), float(x[self.b][0]), parts, objective)


class _Entries:
    """Entries of a sparse matrix, gathered first: joining many small sparse matrices takes far longer."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.columns: list[Any] = []
        self.values: list[Any] = []

    def add_block(self, block: Floats, row: int, column: int) -> None:
        """Add a dense block with its upper left corner at (row, column); its zeros are left out."""
        rows, columns = np.nonzero(block)
        self.rows.append(rows + row)
        self.columns.append(columns + column)
        self.values.append(block[rows, columns])

    def add_diagonal(self, rows: Any, columns: Any, value: float) -> None:
        """Add the same value at each pair of rows and columns."""
        self.rows.append(rows)
        self.columns.append(columns)
        self.values.append(np.full(rows.size, value))

    def matrix(self, height: int, width: int) -> Any:
        """Return all entries as one matrix."""
        parts = (np.concatenate(each) for each in (self.rows, self.columns))
        return sp.csr_matrix((np.concatenate(self.values), tuple(parts)), shape=(height, width))


def _solve_quadratic(problem: _Problem, lam: float, mu: float, ridge: float = 0.0) -> tuple[Floats, float]:
    """Solve the quadratic form; `ridge` is the least price of |u|^2 / 2, relative to mu."""
    squares = np.zeros(problem.size)
    squares[problem.w], squares[problem.xi] = 1.0, lam
    squares[problem.eta], squares[problem.zeta] = mu, mu
    rows = sp.vstack([problem.equal, problem.below, _at_least_zero(problem.size, problem.u)])
    limits = np.zeros(rows.shape[0])
    limits[problem.equal.shape[0] :][: problem.below.shape[0]] = -1.0
    return _run_clarabel(problem, squares, np.zeros(problem.size), rows, limits, mu, ridge)


def _solve_hinge(problem: _Problem, lam: float, mu: float) -> tuple[Floats, float]:
    """Solve the hinge form, with bounds on |eta| as further variables at the end."""
    count = problem.eta.stop - problem.eta.start
    size = problem.size + count
    squares, prices = np.zeros(size), np.zeros(size)
    squares[problem.w] = 1.0
    prices[problem.xi], prices[problem.zeta], prices[problem.size :] = lam, mu, mu
    equal, below = (
        sp.hstack([each, sp.csr_matrix((each.shape[0], count))]) for each in (problem.equal, problem.below)
    )
    eta, bound = -_at_least_zero(size, problem.eta), _at_least_zero(size, slice(problem.size, size))
    positive = [_at_least_zero(size, each) for each in (problem.u, problem.xi, problem.zeta)]
    rows = sp.vstack([equal, below, eta + bound, bound - eta, *positive])
    limits = np.zeros(rows.shape[0])
    limits[equal.shape[0] :][: below.shape[0]] = -1.0
    x, objective = _run_clarabel(problem, squares, prices, rows, limits, mu)
    return x[: problem.size], objective


def _at_least_zero(size: int, part: slice) -> Any:
    """Return rows that times the variables are minus those of a part."""
    count = part.stop - part.start
    places = np.arange(count)
    return sp.csr_matrix((-np.ones(count), (places, places + part.start)), shape=(count, size))


def _run_clarabel(
    problem: _Problem,
    squares: Floats,
    prices: Floats,
    rows: Any,
    limits: Floats,
    mu: float,
    ridge: float = 0.0,
) -> tuple[Floats, float]:
    """Minimise squares . x^2 / 2 + prices . x where rows x <= limits; the first rows are the equations."""
    import clarabel

    equations = problem.equal.shape[0]
    cones = [clarabel.ZeroConeT(equations), clarabel.NonnegativeConeT(limits.size - equations)]
    status = None
    for tolerance, least in ATTEMPTS:
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        squares[problem.u] = mu * max(ridge, least)
        P = sp.diags(squares).tocsc()
        outcome = clarabel.DefaultSolver(P, prices, rows.tocsc(), limits, cones, settings).solve()
        status = outcome.status
        if status == clarabel.SolverStatus.Solved:
            return np.array(outcome.x), float(outcome.obj_val)
    raise UserError(f"the solver could not find the KBSVM ({status}); bring the features to a similar scale")


def _solve_linear(problem: _Problem, lam: float, mu: float) -> tuple[Floats, float]:
    """Solve the linear form as a linear program, with bounds on |w| and |eta| as further variables."""
    from scipy.optimize import linprog

    n, count = problem.n, problem.eta.stop - problem.eta.start
    absolute = np.r_[problem.w, problem.eta]
    selected = sp.csr_matrix(
        (np.ones(n + count), (np.arange(n + count), absolute)), shape=(n + count, problem.size)
    )
    prices = np.zeros(problem.size)
    prices[problem.xi], prices[problem.zeta] = lam, mu
    c = np.concatenate([prices, np.ones(n), np.full(count, mu)])
    identity = sp.eye(n + count)
    rows = sp.vstack([
        sp.hstack([problem.below, sp.csr_matrix((problem.below.shape[0], n + count))]),
        sp.hstack([selected, -identity]),
        sp.hstack([-selected, -identity]),
    ])  # fmt: skip
    limits = np.concatenate([-np.ones(problem.below.shape[0]), np.zeros(2 * (n + count))])
    low = np.full(c.size, -np.inf)
    low[problem.u] = low[problem.xi] = low[problem.zeta] = 0.0
    equal = sp.hstack([problem.equal, sp.csr_matrix((problem.equal.shape[0], n + count))])
    outcome = linprog(
        c, rows.tocsr(), limits, equal.tocsr(), np.zeros(equal.shape[0]),
        bounds=np.column_stack([low, np.full(c.size, np.inf)]), method="highs",
    )  # fmt: skip
    if outcome.status != 0:
        raise UserError(f"the linear program of the KBSVM could not be solved: {outcome.message}")
    return np.asarray(outcome.x[: problem.size]), float(outcome.fun)
