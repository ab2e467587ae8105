"""Compiled learners to compare with the built-in loops, and the peers of those that ship."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from olbench import Parameter, add, compiled_learner, dot, project


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
        project(sigma, columns, values, z)
        beta = 1.0 / (dot(z, columns, values) + 1.0)
        add(arrays.mu, columns, z, loss * beta * y)
        for i in range(z.size):
            add(sigma[i], columns, z, -beta * z[i])
        return 2


@dataclass(frozen=True)
class Peers:
    """What River and Vowpal Wabbit have like one of our learners; empty if they have nothing like it."""

    #: River's optimiser, its settings, the loss and the settings of the linear model.
    optimizer: str = ""
    settings: Mapping[str, float] = field(default_factory=dict)
    loss: str = "Log"
    model: Mapping[str, float] = field(default_factory=dict)
    #: The options of Vowpal Wabbit.
    options: str = ""
    #: How a peer differs, or why there is none; empty if all do the same.
    note: str = ""


#: The peers of the learners that are not from the papers, with the parameters that ours have by default.
PEERS = {
    "adagrad": Peers(
        optimizer="AdaGrad",
        settings={"lr": 0.1},
        loss="Hinge",
        options="--adaptive --learning_rate 0.1 --loss_function hinge",
        note="Vowpal Wabbit works in single precision and without delta",
    ),
    "adagrad-da": Peers(note="neither library has it"),
    "ftrl": Peers(
        optimizer="FTRLProximal",
        settings={"alpha": 0.1, "beta": 1.0, "l1": 0.1, "l2": 0.0},
        options="--ftrl --ftrl_alpha 0.1 --ftrl_beta 1 --l1 0.1 --loss_function logistic",
    ),
    "tg": Peers(
        options="--sgd --learning_rate 0.1 --l1 0.001 --loss_function logistic",
        note="River does not have it; Vowpal Wabbit truncates all weights in every round; its steps decay",
    ),
    "fobos": Peers(
        optimizer="SGD",
        settings={"lr": 0.1},
        loss="Hinge",
        model={"l1": 1e-3},
        options="--sgd --learning_rate 0.1 --l1 0.001 --loss_function hinge",
        note="not like for like: both libraries have stochastic gradients with an L1 penalty of their own",
    ),
    "rda": Peers(note="neither library has it"),
    "adam": Peers(
        optimizer="Adam",
        settings={"lr": 0.01},
        note="River moves every weight that it has seen in every round; Vowpal Wabbit does not have it",
    ),
    "ons": Peers(
        optimizer="Newton", settings={"lr": 1.0, "eps": 1.0}, note="Vowpal Wabbit has only a sketch of it"
    ),
}


def river_model(peers: Peers) -> Callable[[], Any]:
    """Return a function that makes River's counterpart, without an intercept."""
    from river import linear_model, optim

    def make() -> Any:
        optimizer = getattr(optim, peers.optimizer)(**peers.settings)
        loss = getattr(optim.losses, peers.loss)()
        return linear_model.LogisticRegression(optimizer, loss, intercept_lr=0.0, **peers.model)

    return make
