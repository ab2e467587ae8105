"""The protocol `online`: tune on orders of their own, then one pass for each permutation."""

from collections.abc import Callable, Mapping
from typing import Any

from olbench.algorithms import get_definition
from olbench.algorithms.definition import Definition
from olbench.data.source import Source
from olbench.learners import make_algorithm
from olbench.online import Curve, PassResult, online_pass
from olbench.protocols.definition import Cell, Key, Protocol, Series, protocol, whole
from olbench.quantities import (
    BREAKDOWNS,
    CPU_SECONDS,
    EFFECTIVE_UPDATES,
    MISTAKE_RATE,
    MISTAKES,
    ROUNDS,
    SECONDS,
    UPDATES,
)
from olbench.specs import Config
from olbench.trials import seeds
from olbench.trials.trial import Outcome, Trial

#: A round of a Python object takes as long as so many multiplications of a kernel.
OBJECT_COST = 50_000


@protocol
class Online(Protocol):
    """Predict each example, count a mistake, then learn from it; over random permutations of the data."""

    id = "online"
    keys = (
        Key("permutations", whole(1), 20, "random orders of each data set, the same for every algorithm"),
        Key("curve", whole(1), 50, "points of the online curves"),
    )
    tuning_keys = (Key("permutations", whole(1), 1, "random orders that score a candidate"),)
    searches = ("grid", "coordinate", "holdout", "none")
    quantities = (MISTAKE_RATE, UPDATES, SECONDS)
    recorded = (ROUNDS, MISTAKES, EFFECTIVE_UPDATES, BREAKDOWNS, CPU_SECONDS)
    scored_by = MISTAKES
    series = (
        Series("mistakes", "online cumulative mistake rate", MISTAKE_RATE, per_example=True),
        Series("updates", "cumulative number of updates", UPDATES),
        Series("seconds", "cumulative time (s)", SECONDS, timed=True),
    )
    orders_text = (
        "{} random permutations of each data set, the same for every algorithm. There is no test set: each "
        "example is predicted before it is learnt. Tuning uses other orders."
    )
    measures_text = (
        "Mistake rate: the share of rounds in which the sign of the margin before the update is wrong. "
        "Updates: rounds with a loss above zero. Mean and sample standard deviation (n - 1) over the "
        "permutations."
    )

    def refuse(self, definition: Definition) -> str:
        """Return why an algorithm has no online pass, or an empty text."""
        return refuse_batch(definition)

    def tuning_repeats(self, config: Config) -> int:
        """Return how many orders score a candidate."""
        return int(self.tuning_setting_of(config, "permutations"))

    def setting(self, config: Config, role: str) -> dict[str, Any]:
        """Return the rows that a trial sees, and how many points its curve has."""
        halves = {"tune": seeds.TUNING_HALF, "report": seeds.REPORTED_HALF}
        part = halves[role] if config.tuning.search == "holdout" else seeds.ALL
        return {"part": part, "points": self.setting_of(config, "curve") if role == "report" else 1}

    def cost(self, source: Source, algorithm: str, options: Mapping[str, Any]) -> float:
        """Return roughly how many multiplications a pass takes."""
        n, d = float(source.n), source.d
        if get_definition(algorithm).order == "object":
            return n * (d + OBJECT_COST)
        return n * d * (d if options.get("covariance") == "full" else 1)

    def run(self, trial: Trial, source: Source, stopped: Callable[[], bool]) -> Outcome:
        """Run one pass over the trial's order."""
        algorithm = make_algorithm(trial.algorithm, **trial.params, **trial.options)
        part, points = trial.setting["part"], trial.setting["points"]
        order = seeds.order(trial.seed, trial.dataset, trial.role, trial.number, part, source.n)
        data = source.open()
        result = online_pass(algorithm, data.examples, data.labels, order, points, stopped)
        return Outcome(_numbers(result), {"curve": columns_of(result.curve)})

    def probe_seconds(self, cell: Cell, seconds: float = 0.03) -> float:
        """Return an estimate of the seconds that a pass takes, from its first examples."""
        data = cell.source.open()
        first = {name: values[0] for name, values in cell.grid.items()}
        algorithm = make_algorithm(cell.spec.id, **{**cell.start, **first}, **cell.spec.options)
        order = seeds.order(cell.config.seed, cell.source.name, "report", 0, seeds.ALL, cell.source.n)
        size = min(64, order.size)
        online_pass(algorithm, data.examples, data.labels, order[:1], 1)
        while True:
            taken = online_pass(algorithm, data.examples, data.labels, order[:size], 1).seconds
            if taken >= seconds or size == order.size:
                return taken / size * cell.source.n
            size = min(4 * size, order.size)


def refuse_batch(definition: Definition) -> str:
    """Return why a batch learner has no online pass, or an empty text."""
    if definition.online:
        return ""
    return f"{definition.id} learns from all examples at once; it runs under protocol: crossval"


def _numbers(result: PassResult) -> dict[str, float | int]:
    return {
        "n": result.n,
        "mistakes": result.mistakes,
        "updates": result.updates,
        "effective_updates": result.effective_updates,
        "breakdowns": result.breakdowns,
        "seconds": round(result.seconds, 9),
        "cpu_seconds": round(result.cpu_seconds, 9),
    }


def columns_of(curve: Curve) -> dict[str, list[Any]]:
    """Return an online curve as a record keeps it."""
    return {
        "t": curve.t.tolist(),
        "mistakes": curve.mistakes.tolist(),
        "updates": curve.updates.tolist(),
        "seconds": curve.seconds.round(9).tolist(),
    }
