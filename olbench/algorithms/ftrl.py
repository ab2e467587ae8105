"""FTRL-Proximal on the logistic loss, with L1 and L2 penalties."""

import math
from typing import Any

from olbench.algorithms.compiled import compiled_learner
from olbench.algorithms.definition import Parameter
from olbench.kernels.helpers import dot
from olbench.kernels.losses import logistic_slope, soften


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
