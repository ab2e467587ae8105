"""The Adviceptron: passive-aggressive learning with rules, in three ways to move what it makes of them.

All share the step of w (adviceptron2010, Update Rule 1), which solves problem (6). They differ in how they
move the vector u of each rule, for which the paper states problem (10):
minimise |u - u_t|^2 / 2 + mu / 2 (|D'u + z w|^2 + (1 + d'u)_+^2) over u >= 0.
"""

from functools import partial
from typing import Any

from olbench.algorithms.definition import Estimator, Parameter, Traits, advice
from olbench.kernels.advice_sets import solve, truncate
from olbench.kernels.cone import descend

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
    estimator=Estimator("Passive-aggressive learning with rules (Algorithm 1 of the Adviceptron paper)."),
)
def adviceptron(i: int, sets: Any, p: Any, w: Any, u: Any, room: Any) -> Any:
    """Solve (10) without u >= 0, hinge and all, then truncate: Algorithm 1 as its problem means it."""
    gap = solve(i, sets, p, w, u, room)
    truncate(i, sets, max(gap, 0.0), u, room)


@learner(
    "adviceptron-printed",
    title="Adviceptron (printed)",
    source=f"{PAPER}, eq. (13)",
    estimator=Estimator("The Adviceptron with eq. (13) to the letter."),
)
def printed(i: int, sets: Any, p: Any, w: Any, u: Any, room: Any) -> Any:
    """Follow eq. (13) to the letter: (1 + d'u)^2 counts where its hinge is inactive, too."""
    gap = solve(i, sets, p, w, u, room)
    truncate(i, sets, gap, u, room)


@learner(
    "adviceptron-exact",
    title="Adviceptron (exact)",
    source=f"problem (10) of {PAPER}, solved",
    estimator=Estimator("The Adviceptron with the exact solution of its cone problem."),
)
def exact(i: int, sets: Any, p: Any, w: Any, u: Any, room: Any) -> Any:
    """Solve (10) with its cone u >= 0: coordinate descent, and pivoting where that creeps."""
    mu = p[1]
    descend(i, sets, mu, w, u, room)
