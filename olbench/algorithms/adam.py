"""Adam on the logistic loss."""

import math
from typing import Any

from olbench.algorithms.compiled import compiled_learner
from olbench.algorithms.definition import Parameter
from olbench.kernels.helpers import dot
from olbench.kernels.losses import logistic_slope


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
)
class Adam:
    """Divide the decaying mean of each gradient by the root of that of its square, both without their bias.

    A row changes the weights and the means of its non-zero features only, as sparse versions of Adam do; on
    rows without zeros it is Algorithm 1.
    """

    def score(arrays: Any, columns: Any, values: Any, t: int, p: Any) -> float:
        return dot(arrays.w, columns, values)

    def learn(arrays: Any, columns: Any, values: Any, y: float, t: int, p: Any) -> int:
        slope = logistic_slope(y * dot(arrays.w, columns, values))
        if slope == 0.0:
            return 0
        alpha, beta1, beta2, epsilon = p[0], p[1], p[2], p[3]
        bias1, bias2 = 1.0 - beta1**t, 1.0 - beta2**t
        for k in range(columns.size):
            j, gradient = columns[k], -y * slope * values[k]
            arrays.first[j] = beta1 * arrays.first[j] + (1.0 - beta1) * gradient
            arrays.second[j] = beta2 * arrays.second[j] + (1.0 - beta2) * gradient * gradient
            mean, square = arrays.first[j] / bias1, arrays.second[j] / bias2
            arrays.w[j] -= alpha * mean / (math.sqrt(square) + epsilon)
        return 2 if columns.size else 1
