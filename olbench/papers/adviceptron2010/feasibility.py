"""Linear programs about polyhedra: whether one is empty, whether two intersect."""

import numpy as np

from olbench.errors import UserError
from olbench.learners.examples import Floats
from olbench.papers.adviceptron2010.sets import Advice


def is_empty(D: Floats, d: Floats) -> bool:
    """Return whether no x satisfies D x <= d.

    >>> is_empty(np.array([[1.0], [-1.0]]), np.array([10.0, -18.5]))
    True
    """
    from scipy.optimize import linprog

    # Rows of one size keep the solver's absolute tolerance meaningful for bounds in any unit.
    sizes = np.maximum(np.abs(D).max(axis=1, initial=0.0), 1e-300)
    outcome = linprog(
        np.zeros(D.shape[1]), A_ub=D / sizes[:, None], b_ub=d / sizes, bounds=(None, None), method="highs"
    )
    if outcome.status not in (0, 2):
        raise UserError(f"the linear program on a rule could not be solved: {outcome.message}")
    return bool(outcome.status == 2)


def conflicts(advice: Advice) -> list[tuple[int, int]]:
    return [
        (i, j)
        for i, left in enumerate(advice)
        for j, right in enumerate(advice)
        if i < j and left.z != right.z
        if not is_empty(np.vstack([left.D, right.D]), np.append(left.d, right.d))
    ]


def unsatisfiable(advice: Advice) -> list[int]:
    """Sets that contain the origin: there d >= 0, so -d'u <= 0 < 1 for every u >= 0."""
    return [i for i, each in enumerate(advice) if (each.d >= 0.0).all()]
