"""The family of algorithms that take advice: its decorator, its learner, and what its kernel needs."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from olbench.algorithms.algorithm import Algorithm
from olbench.algorithms.definition import Definition, make_decorator
from olbench.errors import UserError, count
from olbench.learners.examples import Floats
from olbench.learners.learners import KernelLearner
from olbench.learners.start import family
from olbench.papers.adviceptron2010.sets import Advice

#: What definitions and estimators of the family name: the modules import numba and scikit-learn.
STEP = f"{__package__}.kernels.step:ADVICE_STEP"
ESTIMATOR = f"{__package__}.estimator:TakesAdvice"


def advice(id: str, *, title: str = "", source: str = "", **declared: Any) -> Callable[..., Definition]:
    """Define an algorithm that takes advice by a step (i, sets, p, w, u, room) that moves u for advice set i.

    `kernels.step` describes what the step sees. Further keywords are fields of Definition.
    """
    family_fields = {"takes": ("advice",), "signature": STEP, "slow": True}
    return make_decorator(id, title, source, "advice", family_fields | declared)


@family("advice")
class AdviceLearner(KernelLearner):
    """A weight vector w and a vector u >= 0 for the inequalities of every advice set."""

    def __init__(self, algorithm: Algorithm, d: int):
        super().__init__(algorithm, d)
        advice: Advice = algorithm.extras.get("advice") or Advice((), d)
        if advice.n != d:
            raise UserError(
                f"the advice is about {count(advice.n, 'feature')}, but the examples have {d}; a constant "
                "feature needs advice.with_constant()"
            )
        self.advice = advice = advice.positive if algorithm.params["heads"] == "positive" else advice
        self.sets = pack(advice, float(self.p[1]))
        self.w: Floats = np.zeros(d)
        self.r: Floats = np.zeros(d)
        self.u: Floats = np.zeros(sum(each.d.size for each in advice))
        largest = max((each.d.size for each in advice), default=0)
        self.room: Floats = np.zeros(largest + max(largest, d) + self.u.size)
        if algorithm.params["start"] == "advice" and advice.sets:
            from olbench.papers.adviceptron2010.kbsvm import solve_advice

            solution = solve_advice(self.advice, mu=float(self.p[1]))
            self.w[:] = solution.w
            self.u[:] = np.concatenate(solution.u)
            self.r[:] = mean_estimate(self.advice, solution.u)

    def _kernel(self) -> tuple[Any, tuple[Any, ...]]:
        from olbench.papers.adviceptron2010.kernels.step import run

        return run, (self.w, self.r, self.u, self.sets, self.room, self.counters)

    @property
    def weights(self) -> Floats:
        return self.w.copy()

    @property
    def advice_vectors(self) -> list[Floats]:
        ends = np.cumsum([each.d.size for each in self.advice])
        return [part.copy() for part in np.split(self.u, ends[:-1])] if ends.size else []


def mean_estimate(advice: Advice, u: list[Floats]) -> Floats:
    """Return r, the mean of -z D'u over the sets (adviceptron2010, Update Rule 1)."""
    estimates = [-each.z * (each.D.T @ part) for each, part in zip(advice, u, strict=True)]
    return np.asarray(np.mean(estimates, axis=0))


@lru_cache(maxsize=128)
def pack(advice: Advice, mu: float) -> tuple[Any, ...]:
    """Kept, since a tuning starts many learners with the same advice and mu; kernels only read it."""
    from olbench.papers.adviceptron2010.kernels.step import prepare

    sizes = [each.d.size for each in advice]
    D = sp.csr_matrix(np.vstack([np.empty((0, advice.n)), *(each.D for each in advice)]))
    inverses = [np.empty((size, size)) for size in sizes]
    directions = [np.empty(size) for size in sizes]
    factors = [
        prepare(each.D, each.d, mu, inverse, direction)
        for each, inverse, direction in zip(advice, inverses, directions, strict=True)
    ]
    norms: Floats = np.asarray(D.multiply(D).sum(axis=1), dtype=np.float64).ravel()
    return (
        np.ascontiguousarray(D.data, dtype=np.float64),
        np.ascontiguousarray(D.indices, dtype=np.int32).view(np.uint32),
        np.ascontiguousarray(D.indptr, dtype=np.int64),
        np.concatenate([[], *(each.d for each in advice)]),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.array([each.z for each in advice], dtype=np.float64),
        np.concatenate([[], *(inverse.ravel() for inverse in inverses)]),
        np.cumsum([0, *(size * size for size in sizes)])[:-1].astype(np.int64),
        np.concatenate([[], *directions]),
        np.array(factors, dtype=np.float64),
        norms,
    )
