"""AdaGrad with diagonal matrices on the hinge loss: by mirror descent, and by dual averaging."""

import math
from typing import Any

from olbench.algorithms.compiled import compiled_learner
from olbench.algorithms.definition import Parameter
from olbench.kernels.helpers import dot, inlined
from olbench.kernels.losses import excess, soften

SOURCE = "Duchi, Hazan & Singer, Adaptive subgradient methods, JMLR 12 (2011)"
ETA = Parameter("eta", 0.1, "size of a step", grid=(0.01, 0.1, 1.0, 10.0))
DELTA = Parameter("delta", 1e-8, "added to the root of each sum of squared gradients")


@compiled_learner(
    "adagrad",
    title="AdaGrad",
    source=f"{SOURCE}: mirror descent with diagonal matrices",
    arrays={"w": "d", "squares": "d"},
    parameters=(ETA, DELTA),
)
class AdaGrad:
    """Divide the step of each weight by the root of its summed squared gradients.

    w_j -= eta g_j / (delta + sqrt(G_j)), where G_j is the sum of g_j^2 up to this round.
    """

    def score(arrays: Any, columns: Any, values: Any, t: int, p: Any) -> float:
        return dot(arrays.w, columns, values)

    def learn(arrays: Any, columns: Any, values: Any, y: float, t: int, p: Any) -> int:
        if excess(1.0, y * dot(arrays.w, columns, values)) == 0.0:
            return 0
        eta, delta = p[0], p[1]
        for k in range(columns.size):
            j, x = columns[k], values[k]
            arrays.squares[j] += x * x
            arrays.w[j] += eta * y * x / (delta + math.sqrt(arrays.squares[j]))
        return 2 if columns.size else 1


@inlined
def score_da(arrays: Any, columns: Any, values: Any, t: int, p: Any) -> float:
    eta, delta, lam = p[0], p[1], p[2]
    score = 0.0
    for k in range(columns.size):
        j = columns[k]
        weight = eta * soften(arrays.total[j], lam * (t - 1)) / (delta + math.sqrt(arrays.squares[j]))
        score += weight * values[k]
    return score


@compiled_learner(
    "adagrad-da",
    title="AdaGrad-DA",
    source=f"{SOURCE}: dual averaging with diagonal matrices and an L1 penalty",
    arrays={"total": "d", "squares": "d"},
    parameters=(ETA, DELTA, Parameter("lam", 0.0, "weight of the penalty lam ||w||_1", closed="left")),
)
class AdaGradDA:
    """Minimise the mean of all gradients so far plus a penalty and a quadratic that adapts to each feature.

    After s rounds w_j = sign(u_j) eta max(0, |u_j| - lam s) / (delta + sqrt(G_j)), where u is minus the sum
    of the gradients.
    """

    score = score_da

    def learn(arrays: Any, columns: Any, values: Any, y: float, t: int, p: Any) -> int:
        if excess(1.0, y * score_da(arrays, columns, values, t, p)) == 0.0:
            return 0
        for k in range(columns.size):
            j, x = columns[k], values[k]
            arrays.squares[j] += x * x
            arrays.total[j] += y * x
        return 2 if columns.size else 1
