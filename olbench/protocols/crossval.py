"""The protocol `crossval`: train in several epochs, test on the rows that were held out.

Parameters and the number of epochs are tuned together, in one of three ways:

- nested: on a stratified fifth of the training rows of each fold. No test row takes part.
- paper: on one random split of all rows, as cw2012 (section 7.6) tunes. It leaks: the rows that choose are
  tested later.
- oracle: by the test errors themselves; a bound on what any tuning could reach, and no result.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from olbench.algorithms import get_definition
from olbench.algorithms.definition import Value
from olbench.config.specs import TRAINING_ROWS, Config
from olbench.data.prepare.scaling import scale_features
from olbench.data.readers.rows import choose_storage
from olbench.data.source import OpenData, Source
from olbench.learn.algorithm import make_algorithm
from olbench.learn.examples import Ints, as_examples
from olbench.learn.passes import PassResult, Predictor, StoppedError, predict_signs, train
from olbench.protocols import tuning
from olbench.protocols.definition import (
    Cell,
    Key,
    Known,
    Pairing,
    Protocol,
    Series,
    choice,
    protocol,
    whole,
    with_schema,
)
from olbench.protocols.folds import (
    DUPLICATES,
    Division,
    Duplicates,
    divide,
    split_stratified,
    thin_positives,
)
from olbench.protocols.tuning import Choice, Grid
from olbench.quantities import (
    EPOCHS,
    ERRORS,
    ROUNDS,
    SECONDS,
    TEST_ERROR,
    TRAINING_ERROR,
    TRAINING_ERRORS,
    TRAINING_ROUNDS,
)
from olbench.structs import many
from olbench.trials import seeds
from olbench.trials.trial import Outcome, Trial
from olbench.yaml_lines import Node

#: Errors are counted after each epoch, and recorded.
MOST_EPOCHS = 10_000
TUNINGS = ("nested", "paper", "oracle")
#: How the values of features are weighted: as they are, with every row scaled to length one, or by TF-IDF as
#: the training rows have it, and then scaled.
WEIGHTS = ("none", "unit", "tfidf")
Stopped = Callable[[], bool]
Bools = NDArray[np.bool_]


def _in_brackets(way: str) -> str:
    return f" [{way}]"


def read_share(node: Node, name: str) -> float:
    """Return a number above zero and at most one."""
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise node.fail(f"{name} must be a number above 0 and at most 1, not {node.shown()}")
    return float(value)


with_schema(read_share, {"type": "number", "exclusiveMinimum": 0, "maximum": 1})


@protocol
class CrossValidation(Protocol):
    """Divide the rows into folds; train on all but one, tune inside, and count the errors on that one."""

    id = "crossval"
    keys = (
        Key("folds", whole(2), 10, "parts into which the rows are divided"),
        Key("repeats", whole(1), 5, "divisions into folds; batch learners get one"),
        Key("epochs", whole(1, MOST_EPOCHS), 10, "most passes over the training rows; their number is tuned"),
        Key("duplicates", choice(*DUPLICATES), "refuse", "what to do with exact duplicates among the rows"),
    )
    entry_keys = (
        Key("weights", choice(*WEIGHTS), "none", "how the values of features are weighted"),
        Key("positives", read_share, 1.0, "share of the positive rows that takes part, chosen at random"),
    )
    tuning_keys = (
        Key("also", many(choice(*TUNINGS), 0), (), "further ways to tune, reported beside the first"),
        Key("seed", whole(0), 0, "which random split tunes, where one split of all rows does"),
    )
    order_free = ("repeats", "epochs", "weights", "tuning.also", "tuning.seed")
    searches = (*TUNINGS, "none")
    numbered = "fold"
    quantities = (TEST_ERROR, TRAINING_ERROR, SECONDS)
    recorded = (ROUNDS, ERRORS, TRAINING_ERRORS, TRAINING_ROUNDS, EPOCHS)
    series = (
        Series(
            "test_error", "test error (%)", TEST_ERROR, of="by_epoch", along="epoch",
            along_title="epochs over the training rows", level=True,
        ),
    )  # fmt: skip
    sections = (
        "headline", "overview", "verdicts", "evidence", "ranks", "significance", "results", "curves",
        "epochs", "training", "constraint", "claims", "tunings", "statistics", "algorithms", "datasets",
        "provenance",
    )  # fmt: skip
    pairings: ClassVar[Mapping[str, Pairing]] = {
        "training": Pairing(TRAINING_ERROR, "projection", "l2", "exact"),  # cw2012, Figure 5
        "constraint": Pairing(TEST_ERROR, "algorithm", "cw-var", "cw"),  # cw2008, Figure 2 (c)
    }
    followed = ("cw-var", "cw", "pa")  # cw2012, Figures 3 and 4
    fitted_on = TRAINING_ROWS
    orders_text = (
        "{} folds: random divisions of the rows, the same for every algorithm. Where a data set comes with a "
        "split of its own, that split is used. Every epoch takes a new random order of the training rows."
    )
    measures_text = (
        "Test error: the share of the held-out rows that are classified wrongly. Mean and sample standard "
        "deviation (n - 1) over the folds."
    )

    def __init__(self) -> None:
        self.duplicates = Duplicates()

    def repeats(self, config: Config) -> int:
        """Return how many folds an online learner is tested on."""
        return int(self.setting_of(config, "folds") * self.setting_of(config, "repeats"))

    def cells(self, config: Config, sources: Sequence[Source]) -> list[Cell]:
        """Return a cell for every data set, algorithm and way to tune."""
        policy = self.setting_of(config, "duplicates")
        for source in sources:
            self.duplicates.check(source, policy)
        return [
            FoldCell(self, config, source, spec, entry, way)
            for source in sources
            for entry, spec in enumerate(config.algorithms)
            for way in self.tunings(config)
        ]

    def tunings(self, config: Config) -> tuple[str, ...]:
        """Return the config's first way to tune, and the further ones."""
        return tuple(dict.fromkeys((config.tuning.search, *self.tuning_setting_of(config, "also"))))

    def read_label(self, config: Config, label: str) -> tuple[str, str]:
        """Return the name and the tuning, which is in brackets unless it is the first."""
        first, *others = self.tunings(config)
        for way in others:
            if label.endswith(_in_brackets(way)):
                return label.removesuffix(_in_brackets(way)), way
        return label, first

    def sample_size(self, trials: Any, config: Config) -> int:
        """Return how many rows were tested, each counted once however many divisions there are.

        The trials of the first division are those that store their errors. A division has as many folds as
        the config says, or one where the split is given.
        """
        return int(trials["n"][trials["arrays"].astype(bool)].sum())

    def overlap(self, setting: Mapping[str, Any]) -> float:
        """Return the size of a fold over that of the others; a given split is the same in every trial."""
        folds = setting.get("folds", 1)
        return 1 / (folds - 1) if folds > 1 else 0.0

    def has_curve(self, setting: Mapping[str, Any]) -> bool:
        """Return True: every trial has a curve."""
        return True

    def source_setting(self, config: Config, source: Source) -> dict[str, Any]:
        """Return how features are scaled, if the training rows of each trial decide."""
        reading = source.spec.reading
        if not reading.is_fitted_per_trial:
            return {}
        return {"scale": reading.scale, **({"bias": True} if reading.bias else {})}

    def cost(self, source: Source, algorithm: str, options: Mapping[str, Any]) -> float:
        """Return roughly how long a trial takes: passes over the data, many times that for batch learners."""
        slow = 1 if get_definition(algorithm).online else 20
        return float(source.n) * source.d * slow

    def run(self, trial: Trial, source: Source, stopped: Stopped) -> Outcome:
        """Run a fold, or the trial that scores every candidate."""
        usable = self.duplicates.usable_rows(source, trial.setting["duplicates"])
        work = _Work(trial, source.open(), stopped)
        if "positives" in trial.setting:
            random = seeds.generator(trial.seed, trial.dataset, "positives", 0)
            usable = thin_positives(usable, work.data.labels, trial.setting["positives"], random)
        if trial.role == "tune":
            return self._score(work, source, usable)
        division = divide(source, usable, trial.seed, trial.setting["folds"], trial.number)
        chosen: Choice = {}
        scores: Mapping[str, list[Any]] = {}
        if trial.setting["tuning"] == "nested":
            random = seeds.generator(trial.seed, trial.dataset, "nested", trial.number)
            inner = split_stratified(division.train, work.data.labels, random)
            table = work.score(inner)
            chosen, scores = table.best(trial.setting["ties"]), table.columns()
        return work.test(division, chosen, scores)

    def _score(self, work: "_Work", source: Source, usable: Ints) -> Outcome:
        """Score all candidates: on a random split of all rows, or on the test rows of a fold."""
        trial = work.trial
        if trial.setting["tuning"] == "oracle":
            division = divide(source, usable, trial.seed, trial.setting["folds"], trial.number)
        else:
            rows = usable if source.test_from is None else usable[usable < source.test_from]
            name = "tune" + (f" {trial.setting['split']}" if "split" in trial.setting else "")
            random = seeds.generator(trial.seed, trial.dataset, name, trial.number)
            division = split_stratified(rows, work.data.labels, random)
        table = work.score(division)
        numbers = {"n": division.test.size, "errors": int(table.errors.min())}
        return Outcome(numbers, {"scores": table.columns()})


@dataclass(frozen=True)
class FoldCell(Cell):
    """One algorithm on one data set, tuned in one way."""

    way: str

    @property
    def label(self) -> str:
        """The name of the entry; a tuning other than the config's first is added in brackets."""
        name = super().label
        return name if self.way == self.config.tuning.search else f"{name}{_in_brackets(self.way)}"

    @property
    def folds(self) -> int:
        """How many folds a division has; a given split has one."""
        given = self.source.test_from is not None
        return 1 if given else int(self.protocol.setting_of(self.config, "folds"))

    @property
    def repeats(self) -> int:
        """How many trials report it: batch learners do not depend on an order, so one division is enough."""
        divisions = self.protocol.setting_of(self.config, "repeats") if self.definition.online else 1
        return self.folds * int(divisions)

    @cached_property
    def tuned_settings(self) -> Grid:
        """The number of epochs, which is chosen with the parameters."""
        return {"epochs": ()}

    @property
    def tuning_passes(self) -> int:
        """How many trials score candidates; nested tuning is part of the trials that are reported."""
        if not self.searched and not self.definition.online:
            return 0
        return {"paper": 1, "oracle": self.folds}.get(self.way, 0)

    @cached_property
    def searched(self) -> dict[str, tuple[Value, ...]]:
        """The parameters that are searched."""
        return dict(self.spec.grid) if self.way != "none" else {}

    @cached_property
    def start(self) -> Choice:
        """The parameters that are not searched."""
        resolved = self.definition.resolve(self.spec.params, self.spec.grid)
        return {name: value for name, value in resolved.items() if name not in self.searched}

    def step(self, known: Known) -> tuning.Step:
        """Return the choice of a tuning by trials of its own, once they are known; else what is fixed."""
        trials = self.tuning_trials({})
        if not trials:
            epochs = {"epochs": self._most_epochs} if self.way != "nested" else {}
            return tuning.Step((), {**self.start, **epochs})
        records = [known.get(trial.key) for trial in trials]
        good = [record for record in records if record is not None and record["status"] == "ok"]
        if len(good) < len(records):
            return tuning.Step(({},), None)
        table = _Table.read([record["scores"] for record in good], self._names)
        return tuning.Step(({},), {**self.start, **table.best(self.config.tuning.ties)})

    @property
    def _most_epochs(self) -> int:
        return int(self.protocol.setting_of(self.config, "epochs")) if self.definition.online else 1

    @property
    def _names(self) -> tuple[str, ...]:
        return (*self.searched, "epochs")

    def tuning_trials(self, candidate: Choice) -> list[Trial]:
        """Return the trials that score all candidates at once."""
        return self.plan(self.start, "tune", self.tuning_passes)

    def trial(self, choice: Choice, role: str, number: int, **setting: Any) -> Trial:
        """Return a trial with its folds, its grid and what the entry sets."""
        config = self.config
        own: dict[str, Any] = {
            "tuning": self.way if self.way == "nested" or role == "tune" else "fixed",
            "folds": self.folds,
            "most_epochs": self._most_epochs,
            "duplicates": self.protocol.setting_of(config, "duplicates"),
        }
        if own["tuning"] != "fixed":
            own["grid"] = {name: list(values) for name, values in self.searched.items()}
        if own["tuning"] == "nested":
            own["ties"] = config.tuning.ties
        # Defaults are left out, so that trials from before these keys existed keep their hashes.
        usual = {key.name: key.default for key in self.protocol.entry_keys}
        own |= {name: value for name, value in self.spec.settings.items() if value != usual[name]}
        if own["tuning"] == "paper" and (split := self.protocol.tuning_setting_of(config, "seed")):
            own["split"] = split
        return super().trial(choice, role, number, **{**own, **setting})


@dataclass(frozen=True)
class _Table:
    """The errors of every candidate: one row per combination of parameters, one column per epoch."""

    names: tuple[str, ...]
    candidates: tuple[Choice, ...]
    errors: Ints

    def best(self, ties: str) -> dict[str, Value]:
        """Return the parameters and the number of epochs with the fewest errors."""
        places = np.argwhere(self.errors == self.errors.min())
        row, column = tuning.pick([tuple(place) for place in places.tolist()], ties)
        return {**self.candidates[row], "epochs": column + 1}

    def columns(self) -> dict[str, list[Any]]:
        """Return the table as columns of a record."""
        named = {name: [candidate[name] for candidate in self.candidates] for name in self.names}
        return {**named, "errors": self.errors.tolist()}

    @classmethod
    def read(cls, scores: Sequence[Mapping[str, Any]], names: tuple[str, ...]) -> "_Table":
        """Return the sum of the tables of some records."""
        params = tuple(name for name in names if name != "epochs")
        errors = np.sum([np.array(each["errors"], np.int64) for each in scores], axis=0)
        rows = range(errors.shape[0])
        candidates = tuple({name: scores[0][name][row] for name in params} for row in rows)
        return cls(params, candidates, errors)


@dataclass(frozen=True)
class _Fitted:
    """A learner on its test rows: which are wrong, its training errors, its time, its curve."""

    wrong: Bools
    training_errors: int
    seconds: float
    by_epoch: list[float]


@dataclass(frozen=True)
class _Work:
    """What one trial does with the data."""

    trial: Trial
    data: OpenData
    stopped: Stopped

    @property
    def is_online(self) -> bool:
        """Whether the algorithm learns example by example."""
        return get_definition(self.trial.algorithm).online

    def _weigh(self, train: Ints) -> "_Work":
        """Return the same work on scaled and weighted features; the training rows alone decide how."""
        setting = self.trial.setting
        weights = setting.get("weights", "none")
        if "scale" in setting:
            scaled = scale_features(
                self.data.examples.matrix(), setting["scale"], setting.get("bias", False), train
            )
            examples = as_examples(choose_storage(scaled))
            self = replace(self, data=replace(self.data, examples=examples))
        if weights == "none":
            return self
        from sklearn.feature_extraction.text import TfidfTransformer

        matrix = sp.csr_matrix(self.data.examples.matrix())
        weighted = TfidfTransformer(use_idf=weights == "tfidf").fit(matrix[train]).transform(matrix)
        return replace(self, data=replace(self.data, examples=as_examples(weighted)))

    def orders(self, rows: Ints) -> Iterator[Ints]:
        """Yield the order of the training rows in each epoch, the same for every algorithm."""
        trial = self.trial
        random = seeds.generator(trial.seed, trial.dataset, f"{trial.role} epochs", trial.number)
        for _ in range(trial.setting["most_epochs"]):
            yield rows[random.permutation(rows.size)]

    def make(self, params: Choice) -> Any:
        """Return the algorithm with these parameters besides the fixed ones."""
        return make_algorithm(self.trial.algorithm, **{**self.trial.params, **params}, **self.trial.options)

    def score(self, division: Division) -> _Table:
        """Return the errors of every candidate on the held-out rows, after every epoch."""
        self = self._weigh(division.train)
        grid = self.trial.setting["grid"]
        candidates = tuple(tuning.products({name: tuple(values) for name, values in grid.items()}))
        errors = [self._errors_by_epoch(candidate, division) for candidate in candidates]
        return _Table(tuple(grid), candidates, np.array(errors, np.int64))

    def _errors_by_epoch(self, candidate: Choice, division: Division) -> list[int]:
        if not self.is_online:
            return [int(np.count_nonzero(self._fit(candidate, division).wrong))]
        epochs = self._run_epochs(candidate, division)
        return [self._count_wrong(result.learner, division.test) for result in epochs]

    def _run_epochs(self, candidate: Choice, division: Division) -> Iterator[PassResult]:
        orders = self.orders(division.train)
        return train(self.make(candidate), self.data.examples, self.data.labels, orders, 1, self.stopped)

    def _find_wrong(self, learner: Predictor, rows: Ints) -> Bools:
        """Return for each row whether the learner is wrong about it."""
        wrong: Bools = predict_signs(learner, self.data.examples, rows) != self.data.labels[rows]
        return wrong

    def _count_wrong(self, learner: Predictor, rows: Ints) -> int:
        return int(np.count_nonzero(self._find_wrong(learner, rows)))

    def test(self, division: Division, chosen: Choice, scores: Mapping[str, list[Any]]) -> Outcome:
        """Train with what was chosen, and count the errors on the test rows."""
        self = self._weigh(division.train)
        params = {name: value for name, value in chosen.items() if name != "epochs"}
        epochs = int(chosen.get("epochs", self.trial.setting.get("epochs", 1)))
        fitted = self._train(params, epochs, division) if self.is_online else self._fit(params, division)
        numbers = {
            "n": division.test.size,
            "errors": int(np.count_nonzero(fitted.wrong)),
            "training_n": division.train.size,
            "training_errors": fitted.training_errors,
            "epochs": epochs,
            "seconds": round(fitted.seconds, 9),
        }
        epoch_numbers = list(range(1, len(fitted.by_epoch) + 1))
        series: dict[str, Mapping[str, list[Any]]] = {
            "by_epoch": {"epoch": epoch_numbers, "test_error": fitted.by_epoch}
        }
        if scores:
            series["scores"] = scores
        # One division is enough for McNemar's test, in which every row counts once.
        first = self.trial.number < self.trial.setting["folds"]
        return Outcome(numbers, series, chosen, {"wrong": fitted.wrong} if first else {})

    def _fit(self, candidate: Choice, division: Division) -> _Fitted:
        """Fit a batch learner."""
        if self.stopped():
            raise StoppedError
        learner = self.make(candidate).start_batch()
        started = time.perf_counter()
        learner.fit(self.data.examples.rows(), self.data.labels, division.train)
        seconds = time.perf_counter() - started
        wrong = self._find_wrong(learner, division.test)
        errors = self._count_wrong(learner, division.train)
        return _Fitted(wrong, errors, seconds, [round(float(wrong.mean()), 6)])

    def _train(self, params: Choice, epochs: int, division: Division) -> _Fitted:
        """Train an online learner as long as its curve needs; keep its state after the chosen epoch."""
        by_epoch, seconds, kept = [], 0.0, None
        for result in self._run_epochs(params, division):
            seconds += result.seconds
            wrong = self._find_wrong(result.learner, division.test)
            by_epoch.append(round(float(wrong.mean()), 6))
            if len(by_epoch) == epochs:
                kept = _Fitted(wrong, self._count_wrong(result.learner, division.train), seconds, by_epoch)
        assert kept is not None
        return kept
