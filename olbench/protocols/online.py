"""The protocol `online`: tune on separate orders, then make one pass for each permutation."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

from olbench.algorithms.definition import Definition
from olbench.algorithms.spec import AlgorithmSpec
from olbench.data.source import Source
from olbench.data.spec import ALL_ROWS
from olbench.errors import UserError
from olbench.learners.breakdowns import Breakdown, find_breakdown
from olbench.learners.examples import Groups, Ints
from olbench.learners.passes import Curve, PassResult, online_pass, windowed_pass
from olbench.protocols import measuring
from olbench.protocols.definition import BLOCK_BYTES, WINDOW_BLOCKS, Protocol, Series, Stopped, protocol
from olbench.protocols.measuring import (
    Keep,
    Measures,
    Measuring,
    MeasuringCell,
    drawn_rows,
    find_keep,
    measure_pass,
)
from olbench.protocols.specs import SEARCH, Experiment, ExtendedTuning
from olbench.records import quantities as q
from olbench.records import seeds
from olbench.records.trial import Outcome, Trial
from olbench.structs import choice, whole

ORDERS = (
    "exact: permutations of all rows; windows: random blocks, shuffled within windows, for data larger than "
    "memory"
)


#: The most work, as passes x rows x features (squared for a full covariance), of tuning every permutation.
MOST_WORK = 1e10
#: The keys of a tuning that decide parameters, but no reported order.
TUNING_KEYS = ("permutations", "extend", "per")


def refuse_batch(protocol: Protocol, definition: Definition) -> None:
    if not definition.online:
        raise UserError(f"{definition.id} learns from all examples at once; it runs under protocol: crossval")


@dataclass(frozen=True)
class OnlineTuning(ExtendedTuning):
    search: Annotated[str, choice("grid", "coordinate", "holdout", "none"), SEARCH] = "none"
    permutations: Annotated[int, whole(1), "random orders that score a candidate"] = 1
    per: Annotated[str | None, choice("permutation"), "tune each permutation on orders of its own"] = None

    @property
    def is_repeated(self) -> bool:
        return self.per is not None


def choose_tuning(
    algorithms: Iterable[AlgorithmSpec], rows: int, features: int, permutations: int
) -> OnlineTuning:
    """Return a tuning of each permutation where that is little work on any machine, else one for all."""
    work = 0.0
    for spec in algorithms:
        is_matrix = spec.options.get("covariance", "diag") != "diag"
        passes = permutations * math.prod(map(len, spec.grid.values())) if spec.grid else 0
        work += float(passes) * rows * features ** (2 if is_matrix else 1)
    per, orders = ("permutation", 1) if work <= MOST_WORK else (None, 3)
    return OnlineTuning(search="grid", extend=True, permutations=orders, per=per)


@dataclass(frozen=True)
class OnlineExperiment(Experiment):
    permutations: Annotated[int, whole(1), "random orders of each data set, shared by all algorithms"] = 20
    curve: Annotated[int, whole(1), "points of the online curves"] = 50
    order: Annotated[str, choice("exact", "windows"), ORDERS] = "exact"
    measures: Measures = None
    keep: Keep = None
    tuning: OnlineTuning = OnlineTuning()

    multiclass = True
    fitted_on = ALL_ROWS
    order_free = ("permutations", "curve", "measures", "keep", *(f"tuning.{key}" for key in TUNING_KEYS))

    @property
    def tuning_repeats(self) -> int:
        return self.tuning.permutations

    def setting(self, role: str) -> dict[str, Any]:
        halves = {"tune": seeds.TUNING_HALF, "report": seeds.REPORTED_HALF}
        part = halves[role] if self.tuning.search == "holdout" else seeds.ALL
        return {"part": part, "points": self.curve if role == "report" else 1}


class OnlineCell(MeasuringCell):
    @cached_property
    def source_setting(self) -> dict[str, Any]:
        """The number of classes unless it is two, and how orders are drawn unless exactly."""
        source = self.source
        own: dict[str, Any] = {"labels": "all", "classes": source.classes} if source.classes else {}
        if self.config.order == "exact":
            return own
        block = max(1, source.n * BLOCK_BYTES // max(1, source.bytes))
        return {**own, "order": "windows", "block": block, "window": WINDOW_BLOCKS * block}

    @property
    def shared_memory(self) -> int:
        # With windows, a data set is never loaded as a whole.
        return self.source.memory_bytes if _is_windowed(self.source_setting) else super().shared_memory

    def count_labels(self) -> Ints:
        source, setting = self.source, self.trial_setting(self.start, "report")
        return source.count_labels(*drawn_rows(self.config.seed, source, setting))

    @property
    def shuffled_bytes(self) -> int:
        return 0 if _is_windowed(self.source_setting) else self.source.bytes


@protocol
class Online(Measuring):
    """Predict each example, count a mistake, then learn from it; over random permutations of the data."""

    id = "online"
    experiment: OnlineExperiment = OnlineExperiment((), ())
    quantities = (q.MISTAKE_RATE, q.UPDATES, q.SECONDS)
    recorded = (q.SAME_ROUNDS, *measuring.CONFUSION, q.EFFECTIVE_UPDATES, q.BREAKDOWNS, q.CPU_SECONDS)
    series = (
        Series("mistakes", "online cumulative mistake rate", q.MISTAKE_RATE, per_example=True, required=True),
        Series("updates", "cumulative number of updates", q.UPDATES),
        Series("seconds", "cumulative time (s)", q.SECONDS, timed=True),
    )

    refuse = refuse_batch

    def cells(self, sources: Sequence[Source]) -> list[OnlineCell]:
        for source in sources:
            self.check_source(source)
        return [OnlineCell(self, *each) for each in self.experiment.entries(sources)]

    def run(self, trial: Trial, source: Source, stopped: Stopped) -> Outcome:
        if _is_windowed(trial.setting):
            result = _run_windows(trial, source, stopped)
        else:
            data, order = source.open(), _draw_order(trial, source, _find_groups(trial, source))
            how = trial.setting["points"], stopped, trial.setting.get("labels", "two"), find_keep(trial)
            result = online_pass(trial.make_algorithm(), data.examples, data.labels, order, *how)
        numbers = {"n": result.n, **counts_of(result), "cpu_seconds": round(result.cpu_seconds, 9)}
        measured = measure_pass(trial, result, source)
        series = {"curve": columns_of(result.curve), **measured.series}
        state = result.learner.state_bytes
        return Outcome({**numbers, **measured.measured}, series, arrays=measured.arrays, state_bytes=state)

    def find_breakdown(self, trial: Trial) -> Breakdown | None:
        if _is_windowed(trial.setting):
            return None
        data, order = trial.source.open(), _draw_order(trial, trial.source)
        labels = trial.setting.get("labels", "two")
        return find_breakdown(trial.make_algorithm(), data.examples, data.labels, order, labels)


def _is_windowed(setting: Mapping[str, Any]) -> bool:
    return bool(setting.get("order") == "windows")


def _find_groups(trial: Trial, source: Source) -> Groups | None:
    return seeds.groups(trial.seed, trial.dataset, source.n) if trial.role == "report" else None


def _draw_order(trial: Trial, source: Source, groups: Groups | None = None) -> Ints:
    part = trial.setting["part"]
    return seeds.order(trial.seed, trial.dataset, trial.role, trial.number, part, source.n, groups)


def _run_windows(trial: Trial, source: Source, stopped: Stopped) -> PassResult:
    part, block, window = (trial.setting[name] for name in ("part", "block", "window"))
    order = (trial.seed, trial.dataset, trial.role, trial.number, part, source.n, block, window)
    sizes = (rows.size for _, rows in seeds.windows(*order))
    n = source.n if part == seeds.ALL else sum(sizes)

    def take() -> Iterator[tuple[Any, Any, Any]]:
        for places, rows in seeds.windows(*order, _find_groups(trial, source)):
            data = source.take(places)
            yield data.examples, data.labels, rows

    points, classes = trial.setting["points"], trial.setting.get("classes", 0)
    algorithm, keep = trial.make_algorithm(), find_keep(trial)
    return windowed_pass(algorithm, take(), source.d, n, points, stopped, classes, keep)


def counts_of(result: PassResult) -> dict[str, float | int]:
    names = ("mistakes", "updates", "effective_updates", "breakdowns")
    return {name: getattr(result, name) for name in names} | {"seconds": round(result.seconds, 9)}


def columns_of(curve: Curve) -> dict[str, list[Any]]:
    names = ("t", "mistakes", "positives", "false_alarms", "updates")
    counts = {name: getattr(curve, name).tolist() for name in names}
    return {**counts, "seconds": curve.seconds.round(9).tolist()}
