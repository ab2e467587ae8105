"""The protocol `online`: tune on orders of their own, then one pass for each permutation."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from olbench.algorithms import get_definition
from olbench.algorithms.definition import Definition
from olbench.config import AlgorithmSpec, Config
from olbench.engine import seeds
from olbench.engine.provenance import code_version
from olbench.experiments import tuning
from olbench.experiments.sources import Source
from olbench.experiments.trial import Record, Trial
from olbench.experiments.tuning import Params
from olbench.learners import make_algorithm
from olbench.online import PassResult, online_pass

#: What is known about trials so far, by key.
Known = Mapping[str, Record]
#: A round of a Python object takes as long as so many multiplications of a kernel.
OBJECT_COST = 50_000


@dataclass(frozen=True)
class Cell:
    """One algorithm on one data set: its tuning, then its reported permutations."""

    config: Config
    source: Source
    spec: AlgorithmSpec

    @property
    def definition(self) -> Definition:
        """The definition of the algorithm."""
        return get_definition(self.spec.id)

    @property
    def label(self) -> str:
        """The id and, where the config has it more than once, what sets this entry apart from the others."""
        alike = [_settings(spec) for spec in self.config.algorithms if spec.id == self.spec.id]
        if len(alike) == 1:
            return self.spec.id
        own = _settings(self.spec)
        apart = [text for text in own if any(text not in other for other in alike)]
        return f"{self.spec.id} ({', '.join(apart) or 'defaults'})"

    @property
    def kind(self) -> tuple[str, str, str]:
        """What its trials have in common that decides how long they take."""
        return self.source.name, self.spec.id, str(dict(self.spec.options))

    @property
    def cost(self) -> float:
        """Roughly how long a trial takes, to compare with those of other cells."""
        return cost(self.source, self.spec.id, self.spec.options)

    @property
    def tuning_passes(self) -> int:
        """How many passes the tuning takes."""
        kind, start = self.config.tuning, self.definition.resolve(self.spec.params, self.spec.grid)
        return kind.permutations * tuning.passes(kind.search, self.spec.grid, start)

    def planned(self, known: Known) -> int:
        """Return how many trials there will be, as far as is known."""
        return self.tuning_passes + self.config.permutations

    def step(self, known: Known) -> tuning.Step:
        """Return how far the tuning is."""
        start = self.definition.resolve(self.spec.params, self.spec.grid)
        kind = self.config.tuning
        return tuning.search(
            kind.search, self.spec.grid, start, lambda params: self._score(params, known), kind.ties
        )

    def _score(self, params: Params, known: Known) -> float | None:
        records = [known.get(trial.key) for trial in self.tuning_trials(params)]
        found = [record for record in records if record is not None]
        if len(found) < len(records):
            return None
        return sum(record["mistakes"] if record["status"] == "ok" else math.inf for record in found)

    def trials(self, known: Known) -> Iterator[Trial]:
        """Yield every trial that is determined by what is known: of the tuning, then of the report."""
        step = self.step(known)
        for params in step.asked:
            yield from self.tuning_trials(params)
        if step.chosen is not None:
            yield from self.report_trials(step.chosen)

    def reported(self, known: Known) -> list[Trial]:
        """Return the trials of the report; none before the tuning has chosen."""
        chosen = self.step(known).chosen
        return [] if chosen is None else self.report_trials(chosen)

    def tuning_trials(self, params: Params) -> list[Trial]:
        """Return the passes that score a candidate."""
        part = "tuning half" if self.config.tuning.search == "holdout" else "all"
        return [self._trial(params, "tune", part, p) for p in range(self.config.tuning.permutations)]

    def report_trials(self, params: Params) -> list[Trial]:
        """Return the passes that are reported."""
        part = "reported half" if self.config.tuning.search == "holdout" else "all"
        return [self._trial(params, "report", part, p) for p in range(self.config.permutations)]

    @cached_property
    def _trials(self) -> dict[tuple[Any, ...], Trial]:
        """Those made so far: they are asked for again and again, and their keys are hashes."""
        return {}

    def _trial(self, params: Params, role: str, part: str, permutation: int) -> Trial:
        place = (*params.items(), role, part, permutation)
        trial = self._trials.get(place)
        if trial is None:
            trial = self._trials[place] = self._new_trial(params, role, part, permutation)
        return trial

    def _new_trial(self, params: Params, role: str, part: str, permutation: int) -> Trial:
        return Trial(
            dataset=self.source.name,
            fingerprint=self.source.fingerprint,
            algorithm=self.spec.id,
            params=params,
            options=self.spec.options,
            seed=self.config.seed,
            role=role,
            part=part,
            permutation=permutation,
            points=self.config.curve if role == "report" else 1,
            kernels=code_version(self.spec.id),
        )


def _settings(spec: AlgorithmSpec) -> list[str]:
    """Return everything that a config says about an algorithm, a text each."""
    searched = {
        name: "tuned" if tuple(values) == get_definition(spec.id).grid.get(name) else f"[{_listed(values)}]"
        for name, values in spec.grid.items()
    }
    return [f"{name}={value}" for name, value in {**spec.params, **searched, **spec.options}.items()]


def _listed(values: Sequence[Any]) -> str:
    return ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values)


def cells(config: Config, sources: list[Source]) -> list[Cell]:
    """Return the cells of a config: every algorithm on every data set that is there."""
    return [Cell(config, source, spec) for source in sources for spec in config.algorithms]


def cost(source: Source, algorithm: str, options: Mapping[str, Any]) -> float:
    """Return roughly how many multiplications a pass takes."""
    n, d = float(source.examples.n), source.examples.d
    if get_definition(algorithm).order == "object":
        return n * (d + OBJECT_COST)
    return n * d * (d if options.get("covariance") == "full" else 1)


def run_trial(trial: Trial, source: Source, stopped: Callable[[], bool]) -> Record:
    """Run a trial and return its record."""
    algorithm = make_algorithm(trial.algorithm, **trial.params, **trial.options)
    order = seeds.order(
        trial.seed, trial.dataset, trial.role, trial.permutation, trial.part, source.examples.n
    )
    result = online_pass(algorithm, source.examples, source.labels, order, trial.points, stopped)
    return {"key": trial.key, **trial.identity(), **_measured(result), "timing": "shared", "status": "ok",
            "error": None}  # fmt: skip


def _measured(result: PassResult) -> dict[str, Any]:
    curve = result.curve
    return {
        "n": result.n,
        "mistakes": result.mistakes,
        "updates": result.updates,
        "effective_updates": result.effective_updates,
        "breakdowns": result.breakdowns,
        "seconds": round(result.seconds, 9),
        "cpu_seconds": round(result.cpu_seconds, 9),
        "curve": {
            "t": curve.t.tolist(),
            "mistakes": curve.mistakes.tolist(),
            "updates": curve.updates.tolist(),
            "seconds": curve.seconds.round(9).tolist(),
        },
    }


def probe(cell: Cell, seconds: float = 0.03) -> float:
    """Return the seconds an example takes, from the first examples of the first order."""
    examples = cell.source.examples
    params = {name: values[0] for name, values in cell.spec.grid.items()} | dict(cell.spec.params)
    algorithm = make_algorithm(cell.spec.id, **params, **cell.spec.options)
    order = seeds.order(cell.config.seed, cell.source.name, "report", 0, "all", examples.n)
    size, taken = min(64, order.size), 0.0
    online_pass(algorithm, examples, cell.source.labels, order[:1], 1)
    while True:
        taken = online_pass(algorithm, examples, cell.source.labels, order[:size], 1).seconds
        if taken >= seconds or size == order.size:
            return taken / size
        size = min(4 * size, order.size)
