"""Learners that keep weights at zero: truncated gradient, FOBOS and regularised dual averaging.

The penalty moves every weight in every round. A weight catches up when its feature occurs: two
moves equal one move by their sum.
"""

import math
from typing import Any

from olbench.algorithms.compiled import compiled_learner
from olbench.algorithms.definition import Parameter
from olbench.kernels.helpers import inlined
from olbench.kernels.losses import excess, logistic_slope, soften

LAM = Parameter("lam", 1e-3, "weight of the penalty lam ||w||_1", closed="left", grid=(1e-4, 1e-3, 1e-2))


@inlined
def truncate(weight: float, rounds: float, p: Any) -> float:
    """Return a weight after the truncations that it has missed."""
    eta, gravity, K, theta = p[0], p[1], p[2], p[3]
    return soften(weight, rounds * eta * gravity * K) if abs(weight) <= theta else weight


@inlined
def score_truncated(arrays: Any, columns: Any, values: Any, t: int, p: Any) -> float:
    score, done = 0.0, math.floor((t - 1) / p[2])
    for k in range(columns.size):
        j = columns[k]
        score += truncate(arrays.w[j], done - arrays.seen[j], p) * values[k]
    return score


@compiled_learner(
    "tg",
    title="Truncated gradient",
    source="Langford, Li & Zhang, Sparse online learning via truncated gradient, JMLR 10 (2009)",
    arrays={"w": "d", "seen": "d"},
    parameters=(
        Parameter("eta", 0.1, "size of a step", grid=(0.01, 0.1, 1.0)),
        Parameter("gravity", 1e-3, "pull towards zero", closed="left", grid=(1e-4, 1e-3, 1e-2)),
        Parameter("K", 10.0, "rounds between two truncations", low=1.0, closed="left"),
        Parameter("theta", 1.0, "only weights up to this size are truncated"),
    ),
)
class TruncatedGradient:
    """Step against the gradient of the logistic loss; after every K rounds move small weights towards zero.

    w = w - eta g; in rounds K, 2 K, ... w_j = sign(w_j) max(0, |w_j| - K eta gravity) where |w_j| <= theta.
    """

    score = score_truncated

    def learn(arrays: Any, columns: Any, values: Any, y: float, t: int, p: Any) -> int:
        slope = logistic_slope(y * score_truncated(arrays, columns, values, t, p))
        if slope == 0.0:
            return 0
        done = math.floor((t - 1) / p[2])
        for k in range(columns.size):
            j = columns[k]
            arrays.w[j] = truncate(arrays.w[j], done - arrays.seen[j], p) + p[0] * slope * y * values[k]
            arrays.seen[j] = done
        return 2 if columns.size else 1


@inlined
def score_fobos(arrays: Any, columns: Any, values: Any, t: int, p: Any) -> float:
    score = 0.0
    for k in range(columns.size):
        j = columns[k]
        score += soften(arrays.w[j], p[1] * (arrays.total[0] - arrays.seen[j])) * values[k]
    return score


@compiled_learner(
    "fobos",
    title="FOBOS",
    source="Duchi & Singer, Efficient online and batch learning using forward backward splitting, JMLR 10 "
    "(2009)",
    arrays={"w": "d", "seen": "d", "total": "1"},
    parameters=(Parameter("eta", 0.1, "size of the first step", grid=(0.01, 0.1, 1.0, 10.0)), LAM),
    version=2,
)
class Fobos:
    """Step against the gradient of the hinge loss by eta / sqrt(t), then towards the least penalty.

    w_j = sign(v_j) max(0, |v_j| - lam eta / sqrt(t)) for v = w - eta / sqrt(t) g; `total` sums the steps.
    """

    score = score_fobos

    def learn(arrays: Any, columns: Any, values: Any, y: float, t: int, p: Any) -> int:
        eta, lam, total = p[0] / math.sqrt(t), p[1], arrays.total[0]
        loss = excess(1.0, y * score_fobos(arrays, columns, values, t, p))
        arrays.total[0] += eta
        if loss == 0.0:
            return 0
        for k in range(columns.size):
            j = columns[k]
            weight = soften(arrays.w[j], lam * (total - arrays.seen[j])) + eta * y * values[k]
            # The penalty of this round is not a difference of sums, so it can cancel the step exactly.
            arrays.w[j] = soften(weight, lam * eta)
            arrays.seen[j] = arrays.total[0]
        return 2 if columns.size else 1


@inlined
def score_rda(arrays: Any, columns: Any, values: Any, t: int, p: Any) -> float:
    score, rounds = 0.0, t - 1
    for k in range(columns.size):
        score += soften(arrays.total[columns[k]], p[1] * rounds) * values[k]
    return score / (p[0] * math.sqrt(rounds)) if rounds > 0 else 0.0


@compiled_learner(
    "rda",
    title="RDA",
    source="Xiao, Dual averaging methods for regularized stochastic learning and online optimization, JMLR "
    "11 (2010), Algorithm 1",
    arrays={"total": "d"},
    parameters=(Parameter("gamma", 1.0, "weight of the quadratic", grid=(0.1, 1.0, 10.0, 100.0)), LAM),
)
class RDA:
    """Minimise the mean of all gradients so far, lam ||w||_1 and gamma / (2 sqrt(s)) ||w||^2.

    After s rounds of the logistic loss w_j = sign(u_j) max(0, |u_j| - lam s) / (gamma sqrt(s)), where u is
    minus the sum of the gradients.
    """

    score = score_rda

    def learn(arrays: Any, columns: Any, values: Any, y: float, t: int, p: Any) -> int:
        slope = logistic_slope(y * score_rda(arrays, columns, values, t, p))
        if slope == 0.0:
            return 0
        for k in range(columns.size):
            arrays.total[columns[k]] += y * slope * values[k]
        return 2 if columns.size else 1
