"""The protocol `shards`: models of disjoint parts of the data, combined (cw2012, sections 7.9 and 7.10)."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from operator import add
from typing import Annotated, Any, NamedTuple

import numpy as np

from olbench.algorithms import get_definition
from olbench.algorithms.definition import Definition
from olbench.algorithms.spec import AlgorithmSpec
from olbench.data.source import Source
from olbench.errors import UserError, count
from olbench.learners.examples import Floats, Ints
from olbench.learners.passes import run_learner
from olbench.learners.start import start
from olbench.learners.state import Learner
from olbench.papers.cw2012.combination import TITLES, Columns, Sums, count_features
from olbench.protocols.definition import Cell, InParts, Protocol, Stopped, fold, protocol, whole, wholes
from olbench.protocols.measuring import Scores, accuracy_series
from olbench.protocols.specs import ByDataset, Experiment, Tuning, by_dataset, setting_for
from olbench.protocols.tuning import Choice
from olbench.records import quantities as q
from olbench.records.trial import Outcome, Record, Trial
from olbench.structs import choice, one_or_many

AVERAGE, L2, KL, COUNTS = COMBINATIONS = ("average", "l2", "kl", "counts")
#: How labels name the combinations.
LABELS = {**TITLES, COUNTS: "counts"}
SINGLE = "single"
NUMBERS = ("right", "balanced_accuracy")
Curve = Mapping[str, list[Any]]
EMPTY: Curve = {"t": [], "accuracy": [], "balanced_accuracy": []}


FROM_1, FROM_2 = by_dataset(whole(1)), by_dataset(whole(2))


@dataclass(frozen=True)
class ShardsTuning(Tuning):
    rows: Annotated[ByDataset[int], FROM_2, "rows for tuning, which no split trains or tests on"] = 5000
    folds: Annotated[int, whole(2), "parts of the tuning rows, each held out once"] = 5


@dataclass(frozen=True)
class ShardsExperiment(Experiment):
    protocol: str = "shards"
    tuning: ShardsTuning = ShardsTuning()
    splits: Annotated[
        int, whole(1), "random splits into training and test rows, the same for every algorithm"
    ] = 4
    test: Annotated[ByDataset[int], FROM_1, "rows of a test set; all others are trained on"] = 10_000
    shards: Annotated[tuple[int, ...], wholes(2), "numbers of parts to train on separately"] = (10, 50, 100)
    combinations: Annotated[
        tuple[str, ...], one_or_many(choice(*COMBINATIONS)), "ways to combine the parts"
    ] = (AVERAGE, L2, KL)
    every: Annotated[ByDataset[int], FROM_1, "training rows between two tests of the single model"] = 10_000

    order_free = ("splits", "shards", "combinations", "every", "tuning.folds")


@dataclass(frozen=True)
class ShardsCell(Cell):
    ways: tuple[str, ...] = field(kw_only=True)

    @property
    def tuning_passes(self) -> int:
        """The number of tuning trials; all cells of an algorithm share the first cell's."""
        return super().tuning_passes if self.setting["shards"] == 1 else 0

    def trial_setting(self, choice: Choice, role: str) -> dict[str, Any]:
        """Return the rows of a trial; cells that share a trial have the same setting."""
        config, dataset, shards = self.config, self.source.name, self.setting["shards"]
        own: dict[str, Any] = {"tuning_rows": setting_for(config.tuning, "rows", dataset)}
        if role == "tune":
            return {**own, "folds": config.tuning.folds}
        own |= {"test": setting_for(config, "test", dataset), "shards": shards}
        if shards == 1:
            return {**own, "every": setting_for(config, "every", dataset)}
        return {**own, "combinations": list(self.ways)}


@protocol
class Shards(InParts, Protocol):
    """Train models on disjoint parts of the training rows; test each, their combinations, and one of all."""

    id = "shards"
    experiment: ShardsExperiment = ShardsExperiment((), ())
    numbered = "split"
    quantities = (q.ACCURACY, q.BALANCED_ACCURACY, q.SECONDS)
    recorded = (q.SAME_ROUNDS, q.RIGHT, q.TRAINING_ROUNDS, q.BREAKDOWNS, q.MODEL_BYTES)
    # Combined models have no curve.
    series = accuracy_series("training examples", required=False)

    def refuse(self, definition: Definition) -> None:
        if definition.order not in ("first", "second") or definition.product:
            raise UserError(f"{definition.id} is not just a weight vector, which protocol: shards combines")

    def cells(self, sources: Sequence[Source]) -> list[ShardsCell]:
        for source in sources:
            self._check_rows(source)
        return [cell for each in self.experiment.entries(sources) for cell in self._variants(*each)]

    def _check_rows(self, source: Source) -> None:
        config = self.experiment
        test = setting_for(config, "test", source.name)
        tuned = setting_for(config.tuning, "rows", source.name)
        most, folds = max(config.shards, default=1), config.tuning.folds
        if source.n - test - tuned < most:
            raise UserError(
                f"{source.name} has {count(source.n, 'row')}: {test:,} for testing and {tuned:,} for tuning "
                f"leave none for some of {most} shards; lower 'test', 'rows' of the tuning, or 'shards'"
            )
        if config.tuning.search != "none" and folds > tuned:
            raise UserError(
                f"{count(tuned, 'tuning row')} of {source.name} cannot be divided into {folds:,} folds; "
                "lower 'folds' of the tuning, or raise its 'rows'"
            )

    def _variants(self, source: Source, spec: AlgorithmSpec, entry: int) -> Iterator[ShardsCell]:
        """Yield one model of all the data, then the combinations, which share the trials of their shards."""
        ways = self._ways(spec)
        for shards, way in [(1, SINGLE), *product(self.experiment.shards, ways)]:
            suffix = "" if shards == 1 else f" ({shards} shards, {LABELS[way]})"
            setting, is_view = {"shards": shards, "combination": way}, way not in (SINGLE, *ways[:1])
            yield ShardsCell(
                self, source, spec, entry, ways=ways, suffix=suffix, setting=setting, is_view=is_view
            )

    def _ways(self, spec: AlgorithmSpec) -> tuple[str, ...]:
        second = get_definition(spec.id).order == "second"
        if second and spec.options.get("covariance") != "diag":
            raise UserError(
                f"{spec.id}: protocol: shards combines models by feature, which needs covariance: diag"
            )
        # Without variances, KL is L2.
        return tuple(way for way in self.experiment.combinations if second or way != KL)

    def view(self, record: Record, setting: Mapping[str, Any]) -> Record:
        way = setting.get("combination", SINGLE)
        own = {name: record.get(f"{name}_{way}") for name in NUMBERS}
        return record if way == SINGLE or None in own.values() else {**record, **own}

    def run(self, trial: Trial, source: Source, stopped: Stopped) -> Outcome:
        work = _Work(trial, source, stopped)
        if trial.role == "tune":
            return work.score()
        if trial.setting["shards"] == 1:
            return work.train_single()
        parts = (work.train_part(part) for part in range(self.parts(trial)))
        return work.finish(fold(parts, Part.join))

    def parts(self, trial: Trial) -> int:
        return int(trial.setting["shards"]) if trial.role != "tune" and trial.setting["shards"] > 1 else 0

    def run_part(self, trial: Trial, part: int, stopped: Stopped) -> "Part":
        return _Work(trial, trial.source, stopped).train_part(part)

    def finish(self, trial: Trial, joined: "Part", stopped: Stopped) -> Outcome:
        return _Work(trial, trial.source, stopped).finish(joined)


class _Test:
    """Test rows; of a model, only the weights of their own features are needed."""

    def __init__(self, work: "_Work", rows: Ints):
        examples = work.source.open().examples
        self.features, _ = work._count_features(rows)
        self.examples, self.order, self.positive = examples, rows, work.labels[rows] > 0
        self.vector = np.zeros(work.source.d)

    def score(self, weights: Floats) -> Scores:
        from olbench.kernels.rows import score_rows

        self.vector[self.features] = weights
        scores = np.empty(self.order.size)
        score_rows(self.examples.rows(), self.order, self.vector, scores)
        # sign(0) = +1
        return Scores.count((scores >= 0.0) == self.positive, self.positive)


@dataclass(eq=False)
class _Work:
    """The work of one trial, with one learner that is reset between models."""

    trial: Trial
    source: Source
    stopped: Stopped

    @cached_property
    def labels(self) -> Floats:
        return self.source.open().labels

    @cached_property
    def learner(self) -> Learner:
        return start(self.trial.make_algorithm(), self.source.d)

    @cached_property
    def test(self) -> _Test:
        return _Test(self, self.split[1])

    def _count_features(self, rows: Ints) -> tuple[Columns, Ints]:
        return count_features(self.source.open().examples.matrix()[rows])

    def _rows(self) -> tuple[Ints, Ints]:
        order = self.trial.generator("shards tuning", 0).permutation(self.source.n).astype(np.int64)
        first, others = np.split(order, [self.trial.setting["tuning_rows"]])
        return first, others

    @cached_property
    def split(self) -> tuple[Ints, Ints]:
        others = self._rows()[1]
        order = others[self.trial.generator("shards split").permutation(others.size)]
        test, train = np.split(order, [self.trial.setting["test"]])
        return train, test

    def _learn(self, order: Ints) -> float:
        data = self.source.open()
        return run_learner(self.learner, data.examples, data.labels, order, 1, self.stopped).seconds

    def score(self) -> Outcome:
        rows, total, seconds, breakdowns = self._rows()[0], Scores(np.zeros(2), np.zeros(2)), 0.0, 0
        folds = np.array_split(rows, self.trial.setting["folds"])
        for number, held in enumerate(folds):
            train = np.concatenate(folds[:number] + folds[number + 1 :])
            seconds += self._learn(train)
            breakdowns += self.learner.breakdowns
            test = _Test(self, held)
            total += test.score(self.learner.moments_at(test.features)[0])
            self.learner.reset(self._count_features(train)[0])
        return self._outcome(total, rows.size, seconds, breakdowns=breakdowns)

    def train_single(self) -> Outcome:
        (train, _), test, seconds = self.split, self.test, 0.0
        every = self.trial.setting["every"]
        ends = [*range(every, train.size, every), train.size]
        curve: Curve = {"t": ends, "accuracy": [], "balanced_accuracy": []}
        for begin, end in zip([0, *ends], ends, strict=False):
            seconds += self._learn(train[begin:end])
            score = test.score(self.learner.moments_at(test.features)[0])
            curve["accuracy"].append(round(float(score.accuracy), 6))
            curve["balanced_accuracy"].append(round(float(score.balanced), 6))
        outcome = self._outcome(score, train.size, seconds, curve, breakdowns=self.learner.breakdowns)
        return replace(outcome, state_bytes=self.learner.state_bytes)

    def train_part(self, part: int) -> "Part":
        started = time.perf_counter()
        rows = np.array_split(self.split[0], self.trial.setting["shards"])[part]
        seconds = self._learn(rows)
        score = self.test.score(self.learner.moments_at(self.test.features)[0])
        columns, counts = self._count_features(rows)
        wanted = counts if COUNTS in self.trial.setting["combinations"] else None
        model = Sums.of(columns, *self.learner.moments_at(columns), wanted, self.learner.algorithm.a)
        breakdowns = self.learner.breakdowns
        self.learner.reset(columns)
        return Part(model, score, seconds, time.perf_counter() - started - seconds, breakdowns, model.bytes)

    def finish(self, joined: "Part") -> Outcome:
        n, test, sums = self.trial.setting["shards"], self.test, joined.sums
        mean = Scores(joined.score.right / n, joined.score.total / n)
        ways = [way for way in self.trial.setting["combinations"] if way != AVERAGE]
        scores = {AVERAGE: mean, **{way: test.score(sums.weights(way, test.features)) for way in ways}}
        numbers = {
            f"{name}_{way}": value for way, score in scores.items() for name, value in score.numbers.items()
        }
        best = next((scores[way] for way in (KL, L2, COUNTS) if way in scores), mean)
        own: dict[str, Any] = {"breakdowns": joined.breakdowns, "model_bytes": joined.bytes // n}
        own |= numbers | {"combine_seconds": round(joined.combine_seconds, 9), "combined_bytes": sums.bytes}
        return self._outcome(best, self.split[0].size, joined.seconds, **own)

    @staticmethod
    def _outcome(score: Scores, learnt: int, seconds: float, curve: Curve = EMPTY, **others: Any) -> Outcome:
        numbers = {
            "n": int(score.total.sum()),
            **score.numbers,
            "training_n": learnt,
            **{"breakdowns": 0, "model_bytes": 0, "seconds": round(seconds, 9), **others},
        }
        return Outcome(numbers, {"curve": curve})


class Part(NamedTuple):
    sums: Sums
    score: Scores
    seconds: float
    combine_seconds: float
    breakdowns: int
    bytes: int

    def join(self, other: "Part") -> "Part":
        started = time.perf_counter()
        both = Part(*map(add, self, other))
        return both._replace(combine_seconds=both.combine_seconds + time.perf_counter() - started)
