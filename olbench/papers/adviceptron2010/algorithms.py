"""The Adviceptron: passive-aggressive learning with rules, followed in three ways; and the batch learners.

All share the step of w (adviceptron2010, Update Rule 1), which solves problem (6). They differ in how they
move the vector u of each rule, for which the paper states problem (10):
minimise |u - u_t|^2 / 2 + mu / 2 (|D'u + z w|^2 + (1 + d'u)_+^2) over u >= 0.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from olbench.algorithms.algorithm import Algorithm
from olbench.algorithms.definition import Definition, Parameter, Traits, batch_contestant, make_decorator
from olbench.errors import UserError, count
from olbench.learners.examples import Floats
from olbench.learners.state import Array, Arrays, KernelLearner, family
from olbench.papers.adviceptron2010.kbsvm import KnowledgeClassifier, solve_advice, solve_kbsvm
from olbench.papers.adviceptron2010.kernels.cone import descend, solve, truncate
from olbench.papers.adviceptron2010.sets import Advice

PAPER = "Kunapuli et al., ECML 2010 (adviceptron2010)"
POWERS = tuple(10.0**k for k in range(-3, 4))
LAM = Parameter("lam", 1.0, "price of a margin violation on an example", grid=POWERS)
MU = Parameter("mu", 1.0, "price of leaving the advice", grid=POWERS)
START = Parameter(
    "start",
    "zero",
    "begin at zero, as the paper does, or at the batch solution for the advice without examples",
    choices=("zero", "advice"),
)
HEADS = Parameter(
    "heads",
    "all",
    "learn from all rules, or from those for the positive class only",
    choices=("all", "positive"),
)


def learner(id: str, title: str, source: str) -> Callable[..., Definition]:
    """Define an algorithm by a step (i, sets, p, w, u, scratch) that moves the u of advice set i.

    `kernels.step` describes what the step sees; it is named, not imported, because it imports numba.
    """
    family_fields = {
        "takes": ("advice",),
        "signature": f"{__package__}.kernels.step:ADVICE_STEP",
        "slow": True,
        "parameters": (LAM, MU, START, HEADS),
        "traits": Traits(True, False, True, False, source="olbench, by the definitions of scw2012"),
        "constants": lambda lam, mu, start, heads: (lam, mu),
    }
    return make_decorator(id, title, source, "advice", family_fields)


@learner("adviceptron", title="Adviceptron", source=f"{PAPER}, Algorithm 1")
def adviceptron(i: int, sets: Any, p: Any, w: Any, u: Any, scratch: Any) -> Any:
    """Solve (10) without u >= 0, hinge and all, then truncate: Algorithm 1 as its problem means it."""
    gap = solve(i, sets, p, w, u, scratch)
    truncate(i, sets, max(gap, 0.0), u, scratch)


@learner("adviceptron-printed", title="Adviceptron (printed)", source=f"{PAPER}, eq. (13)")
def printed(i: int, sets: Any, p: Any, w: Any, u: Any, scratch: Any) -> Any:
    """Follow eq. (13) to the letter: (1 + d'u)^2 counts where its hinge is inactive, too."""
    gap = solve(i, sets, p, w, u, scratch)
    truncate(i, sets, gap, u, scratch)


@learner("adviceptron-exact", title="Adviceptron (exact)", source=f"problem (10) of {PAPER}, solved")
def exact(i: int, sets: Any, p: Any, w: Any, u: Any, scratch: Any) -> Any:
    """Solve (10) with its cone u >= 0: coordinate descent, and pivoting where that is slow."""
    mu = p[1]
    descend(i, sets, mu, w, u, scratch)


@batch_contestant(
    "kbsvm",
    title="KBSVM",
    source="Fung, Mangasarian and Shavlik, NIPS 2003; adviceptron2010, eq. (4)",
    parameters=(LAM, MU, Parameter("loss", "quadratic", "squares, as in eq. (5)", choices=("quadratic",))),
    takes=("advice",),
)
def kbsvm(lam: float, mu: float, loss: str, advice: Advice | None = None) -> KnowledgeClassifier:
    """Return a knowledge-based support vector machine; without advice, a linear one."""
    return KnowledgeClassifier(advice, partial(solve_kbsvm, lam=lam, mu=mu))


@batch_contestant(
    "rules-alone",
    title="Rules alone",
    source="eq. (4) of adviceptron2010 without examples",
    parameters=(Parameter("mu", 1.0, "price of leaving the advice"),),
    takes=("advice",),
)
def rules_alone(mu: float, advice: Advice | None = None) -> KnowledgeClassifier:
    """Return the hyperplane of the advice without examples, where `start: advice` begins."""
    return KnowledgeClassifier(advice, lambda X, y, rules: solve_advice(rules, mu))


@family("advice")
class AdviceLearner(KernelLearner):
    """A weight vector w and a vector u >= 0 for the inequalities of every advice set."""

    w: Floats
    r: Floats
    u: Floats
    scratch: Floats

    def __init__(self, algorithm: Algorithm, d: int, classes: int = 1):
        self.advice = find_advice(algorithm, d)
        if self.advice.n != d:
            raise UserError(
                f"the advice has {count(self.advice.n, 'feature')}, but the examples have {d}; a "
                "constant feature needs advice.with_constant()"
            )
        super().__init__(algorithm, d, classes)
        self.sets = pack(self.advice, float(self.p[1]))

    @classmethod
    def declare(cls, algorithm: Algorithm, d: int, classes: int) -> Arrays:
        advice = find_advice(algorithm, d)
        sizes = [each.d.size for each in advice]
        largest, total = max(sizes, default=0), sum(sizes)
        starts: tuple[Any, ...] = (0.0, 0.0, 0.0)
        if algorithm.params["start"] == "advice" and sizes:
            solution = solve_advice(advice, float(algorithm.params["mu"]))
            starts = solution.w, mean_estimate(advice, solution.u), np.concatenate(solution.u)
        own = {
            "w": Array((d,), starts[0]),
            "r": Array((d,), starts[1]),
            "u": Array((total,), starts[2]),
            "scratch": Array((largest + max(largest, d) + total,)),
        }
        return super().declare(algorithm, d, classes) | own

    @classmethod
    def plan_bytes(cls, algorithm: Algorithm, d: int, classes: int) -> None:
        """Return None: the state depends on the advice."""

    def _kernel(self) -> tuple[Any, tuple[Any, ...]]:
        from olbench.papers.adviceptron2010.kernels.step import run

        return run, (self.w, self.r, self.u, self.sets, self.scratch, self.counters)

    @property
    def weights(self) -> Floats:
        return self.w.copy()

    @property
    def advice_vectors(self) -> list[Floats]:
        ends = np.cumsum([each.d.size for each in self.advice])
        return [part.copy() for part in np.split(self.u, ends[:-1])] if ends.size else []


def find_advice(algorithm: Algorithm, d: int) -> Advice:
    advice: Advice = algorithm.extras.get("advice") or Advice((), d)
    return advice.positive if algorithm.params["heads"] == "positive" else advice


def mean_estimate(advice: Advice, u: list[Floats]) -> Floats:
    """Return r, the mean of -z D'u over the sets (adviceptron2010, Update Rule 1)."""
    estimates = [-each.z * (each.D.T @ part) for each, part in zip(advice, u, strict=True)]
    return np.asarray(np.mean(estimates, axis=0))


@lru_cache(maxsize=128)
def pack(advice: Advice, mu: float) -> tuple[Any, ...]:
    """Cached, since a tuning starts many learners with the same advice and mu; kernels only read it."""
    from olbench.papers.adviceptron2010.kernels.step import prepare

    sizes = np.array([each.d.size for each in advice], dtype=np.int64)
    D = sp.csr_matrix(np.vstack([np.empty((0, advice.n)), *(each.D for each in advice)]))
    sets = (
        D.data,
        D.indices.astype(np.uint32),
        D.indptr.astype(np.int64),
        np.concatenate([[], *(each.d for each in advice)]),
        np.append(0, np.cumsum(sizes)),
        np.array([each.z for each in advice], dtype=np.float64),
        np.empty(np.sum(sizes**2)),
        np.append(0, np.cumsum(sizes**2)),
        np.empty(np.sum(sizes)),
        np.empty(len(advice)),
        np.asarray(D.multiply(D).sum(axis=1), dtype=np.float64).ravel(),
    )
    prepare(sets, mu, advice.n, sets[6], sets[8], sets[9])
    return sets
