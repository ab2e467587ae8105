"""Compiled learners beside the built-in loops, and the new ones beside other libraries."""

import importlib.util
from collections.abc import Callable
from typing import Any

from olbench import Parameter, add, compiled_learner, dot


@compiled_learner("compiled-pa1", arrays={"w": "d"}, parameters=(Parameter("C", 1.0, "largest step"),))
class CompiledPA1:
    """PA-I."""

    def score(arrays: Any, columns: Any, values: Any, t: int, p: Any) -> float:
        return dot(arrays.w, columns, values)

    def learn(arrays: Any, columns: Any, values: Any, y: float, t: int, p: Any) -> int:
        loss = 1.0 - y * dot(arrays.w, columns, values)
        if loss <= 0.0:
            return 0
        norm = 0.0
        for k in range(values.size):
            norm += values[k] * values[k]
        if norm == 0.0:
            return 1
        add(arrays.w, columns, values, y * min(p[0], loss / norm))
        return 2


@compiled_learner("compiled-arow", arrays={"mu": "d", "sigma": ("d x d", 1.0), "z": "d"})
class CompiledArow:
    """AROW with r = 1."""

    def score(arrays: Any, columns: Any, values: Any, t: int, p: Any) -> float:
        return dot(arrays.mu, columns, values)

    def learn(arrays: Any, columns: Any, values: Any, y: float, t: int, p: Any) -> int:
        loss = 1.0 - y * dot(arrays.mu, columns, values)
        if loss <= 0.0:
            return 0
        sigma, z = arrays.sigma, arrays.z
        for i in range(z.size):
            z[i] = dot(sigma[i], columns, values)
        beta = 1.0 / (dot(z, columns, values) + 1.0)
        add(arrays.mu, columns, z, loss * beta * y)
        for i in range(z.size):
            add(sigma[i], columns, z, -beta * z[i])
        return 2


def river_ftrl(examples: list[tuple[dict[int, float], bool]]) -> Callable[[], object] | None:
    if importlib.util.find_spec("river") is None:
        return None
    from river.linear_model import LogisticRegression
    from river.optim import FTRLProximal

    def run() -> object:
        model, mistakes = LogisticRegression(FTRLProximal(0.1, 1.0, 0.1, 0.0), intercept_lr=0.0), 0
        for x, label in examples:
            mistakes += model.predict_one(x) != label
            model.learn_one(x, label)
        return mistakes

    return run
