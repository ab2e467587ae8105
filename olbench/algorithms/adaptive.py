"""Step sizes that adapt to each feature: AdaGrad, FTRL-Proximal and Adam."""

import math
from typing import Any

from olbench.algorithms.compiled import compiled_learner
from olbench.algorithms.definition import Parameter
from olbench.kernels.helpers import dot, inlined
from olbench.kernels.losses import excess, logistic_slope, soften

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


@compiled_learner(
    "ftrl",
    title="FTRL",
    source="McMahan et al., Ad click prediction: a view from the trenches, KDD 2013, Algorithm 1",
    arrays={"w": "d", "z": "d", "squares": "d"},
    parameters=(
        Parameter("alpha", 0.1, "size of a step", grid=(0.01, 0.1, 1.0, 10.0)),
        Parameter("beta", 1.0, "added to the root of each sum of squared gradients"),
        Parameter("l1", 0.1, "weight of the penalty l1 ||w||_1", closed="left", grid=(0.01, 0.1, 1.0)),
        Parameter("l2", 0.0, "weight of the penalty l2 / 2 ||w||^2", closed="left"),
    ),
)
class FTRL:
    """Follow the regularised leader, where each round's regulariser is centred at the weights of that round.

    w_j = 0 if |z_j| <= l1, else -(z_j - sign(z_j) l1) / ((beta + sqrt(n_j)) / alpha + l2).
    """

    def score(arrays: Any, columns: Any, values: Any, t: int, p: Any) -> float:
        return dot(arrays.w, columns, values)

    def learn(arrays: Any, columns: Any, values: Any, y: float, t: int, p: Any) -> int:
        slope = logistic_slope(y * dot(arrays.w, columns, values))
        if slope == 0.0:
            return 0
        alpha, beta, l1, l2 = p[0], p[1], p[2], p[3]
        for k in range(columns.size):
            j, gradient = columns[k], -y * slope * values[k]
            root = math.sqrt(arrays.squares[j])
            arrays.squares[j] += gradient * gradient
            new_root = math.sqrt(arrays.squares[j])
            arrays.z[j] += gradient - (new_root - root) / alpha * arrays.w[j]
            arrays.w[j] = -soften(arrays.z[j], l1) / ((beta + new_root) / alpha + l2)
        return 2 if columns.size else 1


@compiled_learner(
    "adam",
    title="Adam",
    source="Kingma & Ba, Adam: a method for stochastic optimization, ICLR 2015, Algorithm 1",
    arrays={"w": "d", "first": "d", "second": "d"},
    parameters=(
        Parameter("alpha", 0.01, "size of a step", grid=(1e-3, 1e-2, 0.1)),
        Parameter("beta1", 0.9, "decay of the mean gradient", high=1.0, closed="left"),
        Parameter("beta2", 0.999, "decay of the mean squared gradient", high=1.0, closed="left"),
        Parameter("epsilon", 1e-8, "added to the root of the mean squared gradient"),
    ),
    version=2,
)
class Adam:
    """Divide the decaying mean of each gradient by the root of the mean of its square, both without bias.

    A row changes the weights and the means of its non-zero features only, as sparse versions of Adam do; on
    rows without zeros it is Algorithm 1.

    m_j = beta1 m_j + (1 - beta1) g_j, v_j = beta2 v_j + (1 - beta2) g_j^2,
    w_j -= alpha m_j / (1 - beta1^t) / (sqrt(v_j / (1 - beta2^t)) + epsilon).
    """

    def score(arrays: Any, columns: Any, values: Any, t: int, p: Any) -> float:
        return dot(arrays.w, columns, values)

    def learn(arrays: Any, columns: Any, values: Any, y: float, t: int, p: Any) -> int:
        slope = logistic_slope(y * dot(arrays.w, columns, values))
        alpha, beta1, beta2, epsilon = p[0], p[1], p[2], p[3]
        bias1, bias2 = 1.0 - beta1**t, 1.0 - beta2**t
        for k in range(columns.size):
            j, gradient = columns[k], -y * slope * values[k]
            arrays.first[j] = beta1 * arrays.first[j] + (1.0 - beta1) * gradient
            arrays.second[j] = beta2 * arrays.second[j] + (1.0 - beta2) * gradient * gradient
            mean, square = arrays.first[j] / bias1, arrays.second[j] / bias2
            arrays.w[j] -= alpha * mean / (math.sqrt(square) + epsilon)
        return 2 if columns.size else 1
