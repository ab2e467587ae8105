"""The protocol `crossval`: train in several epochs, test on held-out rows.

Parameters and the number of epochs are tuned together, in one of three ways:

- nested: on a stratified fifth of the training rows of each fold; no test row is used.
- paper: on one random split of all rows, as in cw2012 (section 7.6). It leaks: the rows that tune are tested
  later.
- oracle: by the test errors themselves. This bounds what any tuning could reach; it is not a result.
"""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from olbench.algorithms.definition import Value
from olbench.data.dataset import Dataset, choose_storage, duplicate_groups
from olbench.data.scale import scale_features
from olbench.data.source import Source
from olbench.data.spec import TRAINING_ROWS
from olbench.errors import UserError, count
from olbench.learners.contestants import BatchLearner
from olbench.learners.examples import Floats, Ints
from olbench.learners.passes import Predictor, StoppedError, predict_signs, train
from olbench.protocols import tuning
from olbench.protocols.definition import Cell, Known, Protocol, Series, Stopped, choice, protocol, whole
from olbench.protocols.specs import SEARCH, Experiment, Tuning
from olbench.protocols.tuning import Choice, Grid
from olbench.records import quantities as q
from olbench.records import seeds
from olbench.records.trial import Outcome, Trial
from olbench.structs import Key, checked, is_number, many

MOST_EPOCHS = 10_000
TUNINGS = ("nested", "paper", "oracle")
DUPLICATES = ("refuse", "remove", "keep")
#: Two of three rows have the same label, and one of these can be held out.
FEWEST_SPLIT = 3
#: Weights of feature values: none, every row scaled to length one, or TF-IDF fitted on the training rows and
#: then scaled.
WEIGHTS = ("none", "unit", "tfidf")
#: Where the curve of a trial is in its record: the series, its column of epochs, and the title of the axis.
BY_EPOCH = ("by_epoch", "epoch", "epochs over the training rows")


read_share = checked(
    float,
    lambda value: is_number(value) and 0 < value <= 1,
    "a number above 0 and at most 1",
    {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
)


@dataclass(frozen=True)
class CrossvalTuning(Tuning):
    search: Annotated[str, choice(*TUNINGS, "none"), SEARCH] = "none"
    also: Annotated[
        tuple[str, ...], many(choice(*TUNINGS), 0), "further ways to tune, reported as separate rows"
    ] = ()
    seed: Annotated[int, whole(0), "which random split tunes, with search: paper"] = 0

    @property
    def ways(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.search, *self.also)))


@dataclass(frozen=True)
class CrossvalExperiment(Experiment):
    protocol: str = "crossval"
    tuning: CrossvalTuning = CrossvalTuning()
    folds: Annotated[int, whole(2), "parts into which the rows are divided"] = 10
    repeats: Annotated[int, whole(1), "divisions into folds; batch learners get one"] = 5
    epochs: Annotated[int, whole(1, MOST_EPOCHS), "most passes over the training rows; tuned"] = 10
    duplicates: Annotated[str, choice(*DUPLICATES), "how to treat exact duplicates of rows"] = "refuse"

    entry_keys = (
        Key("weights", choice(*WEIGHTS), "none", "how the values of features are weighted"),
        Key("positives", read_share, 1.0, "share of the positive rows that takes part, chosen at random"),
    )
    fitted_on = TRAINING_ROWS
    order_free = ("repeats", "epochs", "weights", "tuning.also", "tuning.seed")


@dataclass(frozen=True)
class CrossvalCell(Cell):
    way: str = field(kw_only=True)

    tunes_inside = True
    tuned_settings: ClassVar[Grid] = {"epochs": ()}

    @property
    def repeats(self) -> int:
        """How many folds are reported; batch learners do not depend on an order and get one division."""
        return self.folds * (int(self.config.repeats) if self.definition.online else 1)

    @property
    def folds(self) -> int:
        return 1 if self.source.test_from is not None else int(self.config.folds)

    @property
    def most_epochs(self) -> int:
        return int(self.config.epochs) if self.definition.online else 1

    @cached_property
    def memory(self) -> int:
        """A trial that scales or weighs the features has a copy of them."""
        is_copied = self.source_setting or self.spec.settings.get("weights", "none") != "none"
        return super().memory + (self.source.bytes if is_copied else 0)

    @property
    def rounds(self) -> float:
        tuned = self.repeats if self.way == "nested" else self.tuning_passes
        passes = self.repeats + tuned * math.prod(map(len, self.spec.grid.values()))
        return super().rounds * self.most_epochs * passes / (self.repeats + self.tuning_passes)

    @property
    def tuning_passes(self) -> int:
        if not self.spec.grid and not self.definition.online:
            return 0
        return {"paper": 1, "oracle": self.folds}.get(self.way, 0)

    def step(self, known: Known, place: int = 0) -> tuning.Step:
        trials = self.tuning_trials(self.start)
        if not trials:
            epochs = {"epochs": self.most_epochs} if self.way != "nested" else {}
            return tuning.Step((), {**self.start, **epochs})
        records = [known.get(trial.key) for trial in trials]
        good = [record for record in records if record is not None and record["status"] == "ok"]
        if len(good) < len(records):
            return tuning.Step((self.start,), None)
        table = _Table.read([record["scores"] for record in good])
        return tuning.Step((self.start,), {**self.start, **table.best(self.config.tuning.ties)})

    @cached_property
    def source_setting(self) -> dict[str, Any]:
        reading = self.source.spec.reading
        if not reading.is_fitted_per_trial:
            return {}
        return {"scale": reading.scale, **({"bias": True} if reading.bias else {})}

    def count_labels(self) -> Ints:
        source = self.source
        rows = find_usable(source, self.config.duplicates)
        tested = rows if source.test_from is None else rows[rows >= source.test_from]
        return source.count_labels(seeds.groups(self.config.seed, source.name, source.n), [tested])

    def trial_setting(self, choice: Choice, role: str) -> dict[str, Any]:
        config = self.config
        own: dict[str, Any] = {
            "tuning": self.way if self.way == "nested" or role == "tune" else "fixed",
            "folds": self.folds,
            "most_epochs": self.most_epochs,
            "duplicates": config.duplicates,
        }
        if own["tuning"] != "fixed":
            own["grid"] = {name: list(values) for name, values in self.spec.grid.items()}
        if own["tuning"] == "nested":
            own["ties"] = config.tuning.ties
        # Without defaults, so that trials from before these keys existed keep their hashes.
        usual = {key.name: key.default for key in config.entry_keys}
        own |= {name: value for name, value in self.spec.settings.items() if value != usual[name]}
        if own["tuning"] == "paper" and config.tuning.seed:
            own["split"] = config.tuning.seed
        return {**super().trial_setting(choice, role), **own}


@protocol
class CrossValidation(Protocol):
    """Divide the rows into folds; train on all but one, tune inside, and count the errors on that one."""

    id = "crossval"
    experiment: CrossvalExperiment = CrossvalExperiment((), ())
    numbered = "fold"
    quantities = (q.TEST_ERROR, q.TRAINING_ERROR, q.SECONDS)
    recorded = (q.ROUNDS, q.ERRORS, q.TRAINING_ERRORS, q.TRAINING_ROUNDS, q.EPOCHS)
    series = (Series("test_error", "test error (%)", q.TEST_ERROR, *BY_EPOCH, level=True, required=True),)

    def cells(self, sources: Sequence[Source]) -> list[CrossvalCell]:
        folds, policy, ways = self.experiment.folds, self.experiment.duplicates, self.experiment.tuning.ways
        for source in sources:
            rows = find_usable(source, policy).size
            if source.test_from is None and rows < folds:
                raise UserError(
                    f"{source.name} has {count(rows, 'row')} to divide into {folds} folds; lower 'folds'"
                )
            if rows < FEWEST_SPLIT and "paper" in ways:
                raise UserError(
                    f"{source.name} has {count(rows, 'row')}, but search: paper needs at least {FEWEST_SPLIT}"
                )
            if policy == "refuse":
                refuse_duplicates(source)
        return [
            CrossvalCell(self, *each, suffix=suffix, way=way)
            for each in self.experiment.entries(sources)
            for way, suffix in self.experiment.tuning.suffixes.items()
        ]

    def run(self, trial: Trial, source: Source, stopped: Stopped) -> Outcome:
        usable = find_usable(source, trial.setting["duplicates"])
        work = _Work(trial, source.open(), stopped)
        if "positives" in trial.setting:
            random = trial.generator("positives", 0)
            usable = thin_positives(usable, work.data.labels, trial.setting["positives"], random)
        if trial.role == "tune":
            return self._score(work, source, usable)
        division = divide(source, usable, trial.seed, trial.setting["folds"], trial.number)
        chosen: Choice = {}
        scores: Mapping[str, list[Any]] = {}
        if trial.setting["tuning"] == "nested":
            inner = split_stratified(division.train, work.data.labels, trial.generator("nested"))
            table = work.score(inner)
            chosen, scores = table.best(trial.setting["ties"]), table.columns()
        return work.test(division, chosen, scores)

    def _score(self, work: "_Work", source: Source, usable: Ints) -> Outcome:
        trial = work.trial
        if trial.setting["tuning"] == "oracle":
            division = divide(source, usable, trial.seed, trial.setting["folds"], trial.number)
        else:
            rows = usable if source.test_from is None else usable[usable < source.test_from]
            name = "tune" + (f" {trial.setting['split']}" if "split" in trial.setting else "")
            division = split_stratified(rows, work.data.labels, trial.generator(name))
        table = work.score(division)
        numbers = {"n": division.test.size, "errors": int(table.errors.min())}
        return Outcome(numbers, {"scores": table.columns()})


@dataclass(frozen=True)
class Division:
    train: Ints
    test: Ints


@cache
def _group_duplicates(source: Source) -> Ints:
    return duplicate_groups(source.open().examples.matrix())


def find_usable(source: Source, policy: str) -> Ints:
    rows = np.arange(source.n, dtype=np.int64)
    return rows[_group_duplicates(source) == rows] if policy == "remove" else rows


def refuse_duplicates(source: Source) -> None:
    repeated = int(np.count_nonzero(_group_duplicates(source) != np.arange(source.n)))
    if repeated:
        raise UserError(
            f"{source.name} has {count(repeated, 'exact duplicate')} of other rows, which could be in the "
            "training and the test rows at once; add `duplicates: remove` or `duplicates: keep` to the config"
        )


def divide(source: Source, usable: Ints, seed: int, folds: int, number: int) -> Division:
    """Return fold number % folds of division number // folds, or the fixed split of data with test rows."""
    if source.test_from is not None:
        return Division(usable[usable < source.test_from], usable[usable >= source.test_from])
    repeat, fold = divmod(number, folds)
    shuffled = usable[seeds.generator(seed, source.name, "split", repeat).permutation(usable.size)]
    test = shuffled[fold::folds]
    train = np.concatenate([shuffled[other::folds] for other in range(folds) if other != fold])
    return Division(np.sort(train), np.sort(test))


def split_stratified(rows: Ints, labels: Floats, random: np.random.Generator, share: float = 0.2) -> Division:
    held = []
    for label in np.unique(labels[rows]):
        own = rows[labels[rows] == label]
        count = min(max(1, round(share * own.size)), own.size - 1)
        held.append(random.permutation(own)[: max(count, 0)])
    test = np.sort(np.concatenate(held))
    return Division(np.setdiff1d(rows, test), test)


def thin_positives(rows: Ints, labels: Floats, share: float, random: np.random.Generator) -> Ints:
    positive = rows[labels[rows] > 0]
    kept = random.permutation(positive)[: max(1, round(share * positive.size))]
    return np.sort(np.concatenate([rows[labels[rows] <= 0], kept]))


@dataclass(frozen=True)
class _Table:
    candidates: tuple[Choice, ...]
    errors: Ints

    def best(self, ties: str) -> dict[str, Value]:
        places = np.argwhere(self.errors == self.errors.min())
        row, column = tuning.pick([tuple(place) for place in places.tolist()], ties)
        return {**self.candidates[row], "epochs": column + 1}

    def columns(self) -> dict[str, list[Any]]:
        named = {name: [each[name] for each in self.candidates] for name in self.candidates[0]}
        return {**named, "errors": self.errors.tolist()}

    @classmethod
    def read(cls, scores: Sequence[Mapping[str, Any]]) -> "_Table":
        errors = np.sum([np.array(each["errors"], np.int64) for each in scores], axis=0)
        named = {name: values for name, values in scores[0].items() if name != "errors"}
        rows = range(errors.shape[0])
        return cls(tuple({name: values[row] for name, values in named.items()} for row in rows), errors)


@dataclass(frozen=True)
class _Work:
    trial: Trial
    data: Dataset
    stopped: Stopped

    def _weigh(self, train: Ints) -> "_Work":
        setting = self.trial.setting
        weights = setting.get("weights", "none")
        if "scale" in setting:
            scaled = scale_features(
                self.data.examples.matrix(), setting["scale"], setting.get("bias", False), train
            )
            self = replace(self, data=replace(self.data, X=choose_storage(scaled)))
        if weights == "none":
            return self
        from sklearn.feature_extraction.text import TfidfTransformer

        matrix = sp.csr_matrix(self.data.examples.matrix())
        weighted = TfidfTransformer(use_idf=weights == "tfidf").fit(matrix[train]).transform(matrix)
        return replace(self, data=replace(self.data, X=weighted))

    def score(self, division: Division) -> _Table:
        self = self._weigh(division.train)
        candidates = tuple(tuning.products(self.trial.setting["grid"]))
        errors = [
            [self._count_wrong(learner, division.test) for learner, _ in self._learn(candidate, division)]
            for candidate in candidates
        ]
        return _Table(candidates, np.array(errors, np.int64))

    def _learn(self, params: Choice, division: Division) -> Iterator[tuple[Predictor, float]]:
        algorithm, data = self.trial.make_algorithm(**params), self.data
        if self.trial.definition.online:
            rows, random = division.train, self.trial.generator(f"{self.trial.role} epochs")
            epochs = range(self.trial.setting["most_epochs"])
            orders = (rows[random.permutation(rows.size)] for _ in epochs)
            for result in train(algorithm, data.examples, data.labels, orders, 1, self.stopped):
                yield result.learner, result.seconds
            return
        if self.stopped():
            raise StoppedError
        learner, started = BatchLearner(algorithm), time.perf_counter()
        learner.fit(data.examples.rows(), data.labels, division.train)
        yield learner, time.perf_counter() - started

    def _find_wrong(self, learner: Predictor, rows: Ints) -> NDArray[np.bool_]:
        return np.asarray(predict_signs(learner, self.data.examples, rows) != self.data.labels[rows])

    def _count_wrong(self, learner: Predictor, rows: Ints) -> int:
        return int(np.count_nonzero(self._find_wrong(learner, rows)))

    def _measure_groups(self, rows: Ints, wrong: NDArray[np.bool_]) -> dict[str, list[Any]]:
        """Return mistakes on tested rows by group and, if not all rows take part, how many were tested."""
        trial, labels = self.trial, self.data.labels
        groups, number = (
            seeds.groups(trial.seed, trial.dataset, labels.size)[rows],
            seeds.count_groups(labels.size),
        )
        positive = labels[rows] > 0
        chosen = {"mistakes": wrong, "false_alarms": wrong & ~positive}
        if "positives" in trial.setting:
            chosen |= {"n": np.ones(rows.size, bool), "positives": positive}
        return {name: np.bincount(groups[each], minlength=number).tolist() for name, each in chosen.items()}

    def test(self, division: Division, chosen: Choice, scores: Mapping[str, list[Any]]) -> Outcome:
        self = self._weigh(division.train)
        params = {name: value for name, value in chosen.items() if name != "epochs"}
        epochs = int(chosen.get("epochs", self.trial.setting.get("epochs", 1)))
        by_epoch: list[float] = []
        taken = 0.0
        # The curve may continue after the chosen epoch, whose learner is the result.
        for learner, seconds in self._learn(params, division):
            taken += seconds
            found = self._find_wrong(learner, division.test)
            by_epoch.append(round(float(found.mean()), 6))
            if len(by_epoch) == epochs:
                wrong, state = found, learner.state_bytes
                numbers = {
                    "n": division.test.size,
                    "errors": int(np.count_nonzero(wrong)),
                    "training_n": division.train.size,
                    "training_errors": self._count_wrong(learner, division.train),
                    "epochs": epochs,
                    "seconds": round(taken, 9),
                }
        series: dict[str, Mapping[str, list[Any]]] = {
            "by_epoch": {"epoch": list(range(1, len(by_epoch) + 1)), "test_error": by_epoch}
        }
        if scores:
            series["scores"] = scores
        series["groups"] = self._measure_groups(division.test, wrong)
        # McNemar's test counts every row once, so one division is enough.
        first = self.trial.number < self.trial.setting["folds"]
        return Outcome(numbers, series, chosen, {"wrong": wrong} if first else {}, state)
