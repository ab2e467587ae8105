"""The Adviceptron: passive-aggressive learning with rules, in three ways to move what it makes of them.

All share the step of w (adviceptron2010, Update Rule 1), which solves problem (6). They differ in how they
move the vector u of each rule, for which the paper states problem (10):
minimise |u - u_t|^2 / 2 + mu / 2 (|D'u + z w|^2 + (1 + d'u)_+^2) over u >= 0.
"""

from functools import partial
from typing import Any, get_args

from olbench.algorithms.definition import Estimator, Parameter, Traits, batch_contestant
from olbench.papers.adviceptron2010.kbsvm import KnowledgeClassifier, Loss
from olbench.papers.adviceptron2010.kernels.cone import descend
from olbench.papers.adviceptron2010.kernels.sets import solve, truncate
from olbench.papers.adviceptron2010.learner import ESTIMATOR, advice
from olbench.papers.adviceptron2010.sets import Advice

PAPER = "Kunapuli et al., ECML 2010 (adviceptron2010)"
LAM = Parameter(
    "lam", 1.0, "price of a margin violation on an example", grid=tuple(10.0**k for k in range(-3, 4))
)
MU = Parameter("mu", 1.0, "price of leaving the advice", grid=tuple(10.0**k for k in range(-3, 4)))
START = Parameter(
    "start",
    "zero",
    "begin at zero, as the paper does, or at the batch solution for the advice alone",
    choices=("zero", "advice"),
)
HEADS = Parameter(
    "heads",
    "all",
    "learn from all rules, or from those for the positive class only",
    choices=("all", "positive"),
)
learner = partial(
    advice,
    parameters=(LAM, MU, START, HEADS),
    traits=Traits(True, False, True, False, source="olbench, by the definitions of scw2012"),
    constants=lambda lam, mu, start, heads: (lam, mu),
)


@learner(
    "adviceptron",
    title="Adviceptron",
    source=f"{PAPER}, Algorithm 1",
    estimator=Estimator(
        "Passive-aggressive learning with rules (Algorithm 1 of the Adviceptron paper).", base=ESTIMATOR
    ),
)
def adviceptron(i: int, sets: Any, p: Any, w: Any, u: Any, room: Any) -> Any:
    """Solve (10) without u >= 0, hinge and all, then truncate: Algorithm 1 as its problem means it."""
    gap = solve(i, sets, p, w, u, room)
    truncate(i, sets, max(gap, 0.0), u, room)


@learner(
    "adviceptron-printed",
    title="Adviceptron (printed)",
    source=f"{PAPER}, eq. (13)",
    estimator=Estimator("The Adviceptron with eq. (13) to the letter.", base=ESTIMATOR),
)
def printed(i: int, sets: Any, p: Any, w: Any, u: Any, room: Any) -> Any:
    """Follow eq. (13) to the letter: (1 + d'u)^2 counts where its hinge is inactive, too."""
    gap = solve(i, sets, p, w, u, room)
    truncate(i, sets, gap, u, room)


@learner(
    "adviceptron-exact",
    title="Adviceptron (exact)",
    source=f"problem (10) of {PAPER}, solved",
    estimator=Estimator("The Adviceptron with the exact solution of its cone problem.", base=ESTIMATOR),
)
def exact(i: int, sets: Any, p: Any, w: Any, u: Any, room: Any) -> Any:
    """Solve (10) with its cone u >= 0: coordinate descent, and pivoting where that creeps."""
    mu = p[1]
    descend(i, sets, mu, w, u, room)


@batch_contestant(
    "kbsvm",
    title="KBSVM",
    source="Fung, Mangasarian and Shavlik, NIPS 2003; adviceptron2010, eq. (4)",
    parameters=(
        LAM,
        MU,
        Parameter(
            "loss",
            "quadratic",
            "squares as in eq. (5), absolute values throughout (linear) or of slacks (hinge)",
            choices=get_args(Loss),
        ),
    ),
    takes=("advice",),
)
def kbsvm(lam: float, mu: float, loss: Loss, advice: Advice | None = None) -> KnowledgeClassifier:
    """Return a knowledge-based support vector machine; without advice, a linear one."""
    return KnowledgeClassifier(advice, lam, mu, loss)


@batch_contestant(
    "rules-alone",
    title="Rules alone",
    source="eq. (4) of adviceptron2010 without examples",
    parameters=(Parameter("mu", 1.0, "price of leaving the advice"),),
    takes=("advice",),
)
def rules_alone(mu: float, advice: Advice | None = None) -> KnowledgeClassifier:
    """Return the hyperplane of the advice alone, where `start: advice` begins; examples play no part."""
    return KnowledgeClassifier(advice, 1.0, mu, alone=True)
