"""A results folder as frames and arrays, the source of all tables, figures and statistics."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olbench.algorithms.algorithm import make_algorithm
from olbench.algorithms.spec import AlgorithmSpec
from olbench.analysis.contests import make_contest
from olbench.analysis.difference import Contest, Difference, Over
from olbench.analysis.reading import read_columns
from olbench.data.catalog import catalog
from olbench.errors import UserError, count, escape_controls, find_names, list_some, suggest
from olbench.learners.start import count_state_bytes
from olbench.learners.state import add_weights
from olbench.memory import pause_collector
from olbench.protocols import Protocol
from olbench.protocols.definition import numbers_of, scratch_bytes
from olbench.protocols.measuring import Measuring, check_measures, list_wanted
from olbench.protocols.recorded import RecordedRun, read_run
from olbench.protocols.specs import Experiment
from olbench.records import quantities as q
from olbench.records import run_file
from olbench.records.arrays import read_array
from olbench.records.compare import agree
from olbench.records.container import trust
from olbench.records.quantities import Quantity, mean_and_deviation
from olbench.records.run_file import CellFacts, DataFacts, RunFile
from olbench.records.shipped import REFERENCE, find_run

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
IDENTITY = ("dataset", "algorithm", "label")
RECORDED, DERIVED = "recorded", "derived"


@dataclass(frozen=True, repr=False)
class Entry(CellFacts):
    spec: AlgorithmSpec
    protocol: Protocol
    #: The trials that succeeded, ordered by number: one array per column, quicker to look up than a frame.
    columns: Mapping[str, NDArray[Any]]
    failures: tuple[str, ...]
    tuned: float | None
    points: NDArray[np.int64]
    curves: Mapping[str, Floats]
    #: The setting of its trials in the record, such as how their orders are drawn; empty without trials.
    recorded_setting: Mapping[str, Any] = field(default_factory=dict)
    #: What rows contributed to trials by group: "mistakes", "false_alarms" and sums of influences by measure,
    #: one row per trial and one column per group; without what some of the trials do not have.
    groups: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    #: The same by fifth of the pass, "t" for the number of rows.
    fifths: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Entry {self.label} on {self.dataset}: {self.done} of {count(self.planned, 'trial')}>"

    @property
    def done(self) -> int:
        return len(self.columns["number"])

    @cached_property
    def exclusive(self) -> bool:
        """Whether every trial was timed alone; only then is the time comparable."""
        return bool(self.done) and all(each == "exclusive" for each in self.columns["timing"])

    @property
    def overlap(self) -> float:
        """The size of a test set relative to its training set, if the trials share training rows; else 0."""
        folds = self.recorded_setting.get("folds", 1) if self.protocol.numbered == "fold" else 1
        return 1 / (folds - 1) if folds > 1 else 0.0

    @property
    def params_of_trials(self) -> list[dict[str, Any]]:
        """The parameters of each trial, and the options that are tuned for each."""
        numbers = self.columns["number"].tolist()
        apart = [self.choices[number] or {} for number in numbers] if self.choices else [{}] * self.done
        return [{**(self.params or {}), **each} for each in apart]

    @property
    def timing(self) -> str:
        return "exclusive" if self.exclusive else "shared"

    @property
    def flagged(self) -> int:
        return int(self._flags.sum())

    @property
    def first_flagged(self) -> str:
        return self.keys[int(self.columns["number"][self._flags.argmax()])]

    @cached_property
    def flags(self) -> dict[str, NDArray[np.bool_]]:
        """Which trials are in doubt, by the name of the doubt, such as breakdowns."""
        return {each.name: self.columns[each.name] > 0 for each in self.protocol.recorded if each.flag}

    @cached_property
    def _flags(self) -> NDArray[np.bool_]:
        return np.asarray(np.any([np.zeros(self.done, bool), *self.flags.values()], axis=0))

    def equals(self, other: "Entry") -> bool:
        """Return whether the trials of another entry have the same numbers, apart from times."""
        allowed, others = self._allowed, other.columns
        return allowed.keys() == other._allowed.keys() and all(
            agree(self.columns[name].tolist(), others[name].tolist(), each) for name, each in allowed.items()
        )

    @property
    def _allowed(self) -> dict[str, float]:
        """How far each repeatable number may be apart."""
        found = {each.name: each.allowed for each in numbers_of(self.protocol) if each.repeats}
        return {name: each for name, each in {"number": 0.0, **found}.items() if name in self.columns}

    def drop_flagged(self) -> "Entry":
        sound = ~self._flags
        return replace(
            self,
            columns={name: column[sound] for name, column in self.columns.items()},
            curves={name: curve[sound] for name, curve in self.curves.items()},
            groups={name: each[sound] for name, each in self.groups.items()},
            fifths={name: each[sound] for name, each in self.fifths.items()},
        )

    def values(self, quantity: Quantity) -> Floats:
        return quantity.column(self.columns)

    def mean(self, quantity: Quantity) -> float:
        return self.spread(quantity)[0]

    def align(self, values: Floats, size: int = 0) -> Floats:
        """Return values by the number of the trial, NaN for missing ones, to compare in pairs."""
        found = np.full(max(size, self.planned), np.nan)
        found[self.columns["number"].astype(np.int64)] = values
        return found

    def values_at(self, quantity: Quantity, point: str) -> Floats | None:
        """Return values at a point of the curves: "5", or "22%" for the one nearest to 22% of the last."""
        series = next((each for each in self.protocol.series if each.quantity == quantity), None)
        if series is None or not self.points.size:
            return None
        wanted = int(point.removesuffix("%"))
        place = np.abs(self.points - (wanted / 100 * self.points[-1] if "%" in point else wanted)).argmin()
        if "%" not in point and self.points[place] != wanted:
            return None
        column = self.curves[series.name][:, place]
        return np.asarray(column / self.points[place] if series.per_example else column, np.float64)

    def spread(self, quantity: Quantity) -> tuple[float, float]:
        if quantity.name not in self._spreads:
            self._spreads[quantity.name] = mean_and_deviation(self.values(quantity))
        return self._spreads[quantity.name]

    @cached_property
    def _spreads(self) -> dict[str, tuple[float, float]]:
        return {}

    @property
    def gap(self) -> str:
        name, planned = f"{self.label} on {self.dataset}", count(self.planned, "trial")
        if self.params is None and self.failures:
            return f"{name}: its tuning failed ({self.failures[0]})"
        if self.failures:
            return f"{name}: {len(self.failures)} of {planned} failed ({self.failures[0]})"
        if self.params is None:
            return f"{name}: its tuning is not finished"
        return "" if self.done >= self.planned else f"{name}: {self.done} of {planned} done"


class Within(NamedTuple):
    """The differences on one data set: which algorithm is the best, and which one the others are against."""

    best: str
    against: str
    differences: list[Difference]


#: By data set, the score of always predicting the more frequent class, and the entries no better than it.
Guesses = dict[str, tuple[float, list[Entry]]]


@dataclass(frozen=True)
class Costs:
    state_bytes: int | None
    #: "recorded", or "derived" from the form of the learner if the records are from before; else empty.
    state_from: str
    #: The most bytes of a trial without the examples, counted from its arrays and not measured.
    peak_bytes: int | None
    #: All examples over all seconds; shared or exclusive as the seconds are.
    examples_per_second: float | None


@dataclass(frozen=True)
class Results:
    """A results folder: its run file, its protocol, and its entries in the order of the config."""

    folder: Path
    run: RunFile
    entries: tuple[Entry, ...]
    #: All labels of the run if these are some of its entries, so that algorithms keep their looks.
    among: tuple[str, ...] = ()
    highlighted: tuple[str, ...] = ()
    #: The algorithm that differences are shown against; '' is the best on each data set.
    control: str = ""

    @property
    def config(self) -> Experiment:
        """The config of the run."""
        return self._recorded.config

    @property
    def protocol(self) -> Protocol:
        """The protocol of the run, with the quantities that its config asks for."""
        return self._recorded.protocol

    @cached_property
    def _recorded(self) -> RecordedRun:
        return RecordedRun(self.folder, self.run)

    @property
    def name(self) -> str:
        """The name of the folder or bundle, or of its parent for results that ship."""
        folder = self.folder.resolve()
        name = folder.parent.name if folder.name == REFERENCE else folder.name
        # A file name need not be valid Unicode; a report must.
        return name.encode(errors="replace").decode()

    @cached_property
    def datasets(self) -> list[str]:
        """The data sets in the order of the config."""
        return list(self._by_dataset)

    @cached_property
    def labels(self) -> list[str]:
        """The algorithms in the order of the config; one that is tuned in several ways has as many labels."""
        return list(dict.fromkeys(entry.label for entry in self.entries))

    @property
    def names(self) -> list[str]:
        """The algorithms in the order of the config, however they are tuned."""
        return list(dict.fromkeys(self.name_of(entry) for entry in self.entries))

    @property
    def tunings(self) -> tuple[str, ...]:
        """The tunings of the entries."""
        return self.protocol.experiment.tuning.ways

    def name_of(self, entry: Entry) -> str:
        """Return the label of an entry without its tuning."""
        return self._parts[entry.label][0]

    def tuning_of(self, entry: Entry) -> str:
        """Return the tuning of an entry."""
        return self._parts[entry.label][1]

    @cached_property
    def _parts(self) -> dict[str, tuple[str, str]]:
        """The name and the tuning that each label is made of."""
        (first, _), *others = self.protocol.experiment.tuning.suffixes.items()
        parts = {label: (label, first) for label in (*self.labels, *self.among)}
        for way, suffix in others:
            parts |= {each: (each.removesuffix(suffix), way) for each in parts if each.endswith(suffix)}
        return parts

    def of(self, dataset: str) -> list[Entry]:
        """Return the entries of a data set that have at least one trial."""
        return [entry for entry in self._by_dataset.get(dataset, ()) if entry.done]

    def entries_of(self, dataset: str, algorithm: str) -> list[Entry]:
        """Return the entries of an algorithm on a data set, with trials or without."""
        return [entry for entry in self._by_dataset.get(dataset, ()) if entry.algorithm == algorithm]

    @cached_property
    def _by_dataset(self) -> dict[str, list[Entry]]:
        by_dataset: dict[str, list[Entry]] = {}
        for entry in self.entries:
            by_dataset.setdefault(entry.dataset, []).append(entry)
        return by_dataset

    def costs(self, entry: Entry) -> Costs:
        """Return what an entry cost: bytes and examples per second."""
        return self._costs[entry.dataset, entry.label]

    @cached_property
    def _costs(self) -> dict[tuple[str, str], Costs]:
        return {
            (each.dataset, each.label): _find_costs(each, self.run.data.get(each.dataset))
            for each in self.entries
        }

    def contestants(self, dataset: str) -> list[Entry]:
        """Return the entries of a data set that are compared with each other: those of the first tuning."""
        return list(filter(self.is_contestant, self.of(dataset)))

    def is_contestant(self, entry: Entry) -> bool:
        """Return whether an entry is of the first tuning; only those are compared with each other."""
        return self.tuning_of(entry) == self.tunings[0]

    def comparable(self, dataset: str, quantity: Quantity) -> list[Entry]:
        """Return the contestants with a mean: a quantity that is undefined in one trial has none."""
        return [each for each in self.contestants(dataset) if not np.isnan(each.mean(quantity))]

    @cached_property
    def twins(self) -> dict[str, str]:
        """By label, the earlier one that it equals in every number of every trial, on the same data sets.

        Averaging, for example, changes no prediction of a pass. To rank both would count one learner twice.
        """
        own: dict[str, dict[str, Entry]] = {}
        for entry in (entry for name in self.datasets for entry in self.contestants(name)):
            own.setdefault(entry.label, {})[entry.dataset] = entry
        first: dict[str, str] = {}
        for label, entries in own.items():
            earlier = (name for name, twin in first.items() if name == twin)
            first[label] = next((name for name in earlier if are_equal(own[name], entries)), label)
        return {label: twin for label, twin in first.items() if twin != label}

    @cached_property
    def exclusive(self) -> bool:
        """Whether every trial of the run was timed alone."""
        return all(entry.exclusive for entry in self.entries if entry.done)

    @cached_property
    def best(self) -> dict[str, set[str]]:
        """By data set, the labels with the best mean of the headline or not significantly worse ones."""
        return self.best_by(self.protocol.quantities[0])

    def best_by(self, quantity: Quantity) -> dict[str, set[str]]:
        """Return, by data set, the labels with the best mean of a quantity or not significantly worse."""
        found = {name: self.contest(name, quantity) for name in self.datasets}
        return {name: each.bold(self._find_control(each)) if each else set() for name, each in found.items()}

    def _find_control(self, contest: Contest) -> str | None:
        return self.control if self.control in contest.labels else None

    def contest(self, dataset: str, quantity: Quantity) -> Contest | None:
        """Return what the algorithms on a data set are compared by; None if none has this quantity."""
        key = dataset, quantity.name
        if key not in self._contests:
            entries = self.comparable(dataset, quantity)
            self._contests[key] = make_contest([self] * len(entries), entries, quantity) if entries else None
        return self._contests[key]

    @cached_property
    def _contests(self) -> dict[tuple[str, str], Contest | None]:
        return {}

    @cached_property
    def within(self) -> dict[str, Within]:
        """By data set, the differences of the headline from the best algorithm, or from the control."""
        headline, found = self.protocol.quantities[0], {}
        for dataset in self.datasets:
            contest = self.contest(dataset, headline)
            if contest is None or len(self.contestants(dataset)) < 2:
                continue
            if self.control and self.control not in contest.labels:
                continue
            control = self._find_control(contest)
            found[dataset] = Within(contest.best, control or contest.best, contest.differences(control))
        return found

    @cached_property
    def overs(self) -> tuple[Over, ...]:
        """What the differences of the headline speak of."""
        found = (self.contest(name, self.protocol.quantities[0]) for name in self.datasets)
        return tuple(dict.fromkeys(each.over for each in found if each))

    def against(self, algorithm: str) -> "Results":
        """Return the results with every difference taken from one algorithm, by label, id or title."""
        compared = {each.label for name in self.datasets for each in self.contestants(name)}
        labels = [label for label in self.find_labels([algorithm]) if label in compared]
        if len(labels) != 1:
            reason = f"is {list_some(labels, 4)}; name one of them" if labels else "has no trial to compare"
            raise UserError(f"'{algorithm}' {reason}")
        return replace(self, control=labels[0])

    def overlap(self, dataset: str) -> float:
        """Return the overlap of the trials on a data set."""
        return max((entry.overlap for entry in self.of(dataset)), default=0.0)

    def is_best(self, entry: Entry) -> bool:
        """Return whether an entry is among the best on its data set; tables print these in bold."""
        return entry.label in self.best[entry.dataset]

    @cached_property
    def numbered(self) -> str:
        """What the numbers of the trials count: permutations or folds, or orders that are drawn otherwise."""
        usual = self.protocol.numbered
        drawn = [entry.recorded_setting.get("order") for entry in self.entries if entry.done]
        names = dict.fromkeys("windowed order" if each == "windows" else usual for each in drawn)
        return " or ".join(names) or usual

    @property
    def missing(self) -> list[str]:
        """One sentence per incomplete entry; errors of trials and names may have control characters."""
        return [escape_controls(entry.gap) for entry in self.entries if entry.gap]

    def to_frame(self) -> "pd.DataFrame":
        """Return one row per reported trial: data set, algorithm, number, and one column per quantity."""
        measured = (*self.protocol.quantities, *self.protocol.recorded)
        frames = (
            {
                **{name: getattr(entry, name) for name in IDENTITY},
                "params": entry.params_of_trials,
                "setting": [dict(entry.setting)] * entry.done,
                **{name: entry.columns[name] for name in ("choice", "number")},
                **{
                    each.name: entry.values(each) if each.ratio or each.formula else entry.columns[each.name]
                    for each in measured
                },
                q.STATE_BYTES.name: entry.columns[q.STATE_BYTES.name],
                "timing": entry.columns["timing"],
            }
            for entry in self.entries
        )
        return _concatenate(frames, [*IDENTITY, "params", "number"])

    def curves_to_frame(self) -> "pd.DataFrame":
        """Return one row per reported trial and point of its curves: the point, and one column per series.

        >>> load_results("scw").curves_to_frame().columns.tolist()
        ['dataset', 'algorithm', 'label', 'number', 't', 'mistakes', 'updates', 'seconds']
        """
        series, along = self.protocol.series, [each.along for each in self.protocol.series[:1]]
        frames = (
            {
                **{name: getattr(entry, name) for name in IDENTITY},
                "number": np.repeat(entry.columns["number"].astype(np.int64), entry.points.size),
                **{name: np.tile(entry.points, entry.done) for name in along},
                **{each.name: _as_counts(entry.curves[each.name].ravel()) for each in series},
            }
            for entry in self.entries
        )
        return _concatenate(frames, [*IDENTITY, "number", *along, *(each.name for each in series)])

    def to_parquet(self, folder: str | Path) -> list[Path]:
        """Write `to_frame` to trials.parquet and, if there are any, the curves to curves.parquet.

        Parameters, settings and choices are JSON texts: algorithms do not share them. It needs pyarrow, which
        `pip install "olbench[parquet]"` brings.
        """
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            needed = 'Parquet needs pyarrow; install it with `pip install "olbench[parquet]"`'
            raise UserError(needed) from None
        trials = self.to_frame()
        for name in ("params", "setting", "choice"):
            trials[name] = [json.dumps(value) if isinstance(value, dict) else "{}" for value in trials[name]]
        tables = {"trials": trials, "curves": self.curves_to_frame()}
        paths = {Path(folder, f"{name}.parquet"): table for name, table in tables.items() if len(table)}
        Path(folder).mkdir(parents=True, exist_ok=True)
        for path, table in paths.items():
            table.to_parquet(path, engine="pyarrow", index=False)
        return list(paths)

    def select(self, algorithms: Iterable[str] = (), datasets: Iterable[str] = ()) -> "Results":
        """Return the results of some algorithms, by label, id or title, on some data sets; () is all."""
        labels = self.find_labels(algorithms) or self.labels
        known: dict[str, Sequence[str]] = dict.fromkeys(self.datasets, ())
        places = [each for name in datasets for each in find_names(name, known, "data set", "the run")]
        chosen = (each for each in self.entries if each.label in labels)
        entries = tuple(each for each in chosen if each.dataset in (places or self.datasets))
        control = self.control if self.control in labels else ""
        return replace(self, entries=entries, among=self.among or tuple(self.labels), control=control)

    def highlight(self, algorithms: Iterable[str]) -> "Results":
        """Return the results with some algorithms, named by label, id or title, that stand out."""
        return replace(self, highlighted=tuple(self.find_labels(algorithms)))

    def find_labels(self, algorithms: Iterable[str]) -> list[str]:
        """Return the labels of algorithms that a user names by label, id or title."""
        known = {entry.label: entry.names for entry in self.entries}
        found = (find_names(name, known, "algorithm", "the run") for name in algorithms)
        return list(dict.fromkeys(label for labels in found for label in labels))

    def array(self, entry: Entry, number: int, name: str) -> NDArray[Any]:
        """Return an array that a trial stored next to the ledger, such as its predictions."""
        places = np.flatnonzero(entry.columns["number"] == number)
        references = entry.columns["arrays"][places[0]] if places.size else None
        if not isinstance(references, dict) or name not in references:
            trial = f"trial {number} of {entry.label} on {entry.dataset}"
            raise UserError(f"{self.folder}: {trial} has no {name}")
        return read_array(self.folder, references[name])

    def __repr__(self) -> str:
        counts = f"{count(len(self.datasets), 'data set')}, {count(len(self.labels), 'algorithm')}"
        return f"<Results of {self.name}: {counts}, protocol {self.config.protocol}>"


def _concatenate(frames: Iterable[dict[str, Any]], names: list[str]) -> "pd.DataFrame":
    import pandas as pd

    rows = [pd.DataFrame(frame) for frame in frames if len(frame["number"])]
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=names)


def _as_counts(values: Floats) -> NDArray[Any]:
    whole = values.astype(np.int64)
    return whole if np.array_equal(whole, values) else values


def _find_costs(entry: Entry, data: DataFacts | None) -> Costs:
    recorded = entry.columns[q.STATE_BYTES.name]
    state, origin = None, ""
    if entry.done and not np.isnan(recorded).any():
        state, origin = round(float(recorded.mean())), RECORDED
    elif entry.done and data is not None and (state := _derive_state(entry, data)) is not None:
        origin = DERIVED
    peak, setting = None, entry.recorded_setting
    if data is not None and state is not None:
        held = scratch_bytes(list_wanted(entry.protocol, "report"), data.rows, setting)
        peak = add_weights(state, data.features, setting.get("classes", 1)) + held
    return Costs(state, origin, peak, _find_rate(entry))


def _derive_state(entry: Entry, data: DataFacts) -> int | None:
    try:
        algorithm = make_algorithm(entry.algorithm, **entry.options)
    except UserError:  # a plugin that is not loaded
        return None
    setting = entry.recorded_setting
    # Bias is a feature that trials add if they scale the features themselves.
    added = "bias" in setting or entry.protocol.experiment.adds_bias
    return count_state_bytes(algorithm, data.features + added, setting.get("classes", 1))


def _find_rate(entry: Entry) -> float | None:
    """By the training rows of each epoch or, of one pass, by the last point of its curves."""
    if not entry.done or q.SECONDS.name not in entry.columns:
        return None
    if q.TRAINING_ROUNDS.name in entry.columns:
        rows = entry.columns[q.TRAINING_ROUNDS.name] * entry.columns.get(q.EPOCHS.name, 1)
        examples = float(rows.sum())
    else:
        is_pass = any(each.along == "t" for each in entry.protocol.series) and entry.points.size
        examples = float(entry.points[-1]) * entry.done if is_pass else 0.0
    seconds = float(entry.values(q.SECONDS).sum())
    return examples / seconds if examples > 0 and seconds > 0 else None


def find_guesses(results: Results) -> Guesses:
    headline, guesses = results.protocol.quantities[0], {}
    for dataset in results.datasets:
        share = _find_majority(results, dataset)
        guess = None if share is None else headline.guess(share)
        if guess is not None:
            entries = [e for e in results.of(dataset) if not headline.is_better(e.mean(headline), guess)]
            guesses[dataset] = guess, entries
    return guesses


def _find_majority(results: Results, dataset: str) -> float | None:
    facts, entry = results.run.data.get(dataset), catalog().get(dataset)
    if facts is None or not facts.rows:
        return None
    if facts.majority:
        return facts.majority / facts.rows
    is_known = entry is not None and entry.labels and entry.fingerprint == facts.fingerprint
    return max(entry.labels.values()) / sum(entry.labels.values()) if entry and is_known else None


def load_results(
    folder: str | Path,
    measures: Sequence[str] = (),
    *,
    trust_plugins: bool = False,
    kind: type[Results] = Results,
) -> Results:
    folder = find_run(folder)
    if trust_plugins:
        trust(folder)
    run = read_run(folder)
    run = _with_measures(run, measures) if measures else run
    with pause_collector():
        columns = read_columns(run, is_kept=not measures)
    specs = run.config.algorithms
    entries = tuple(
        Entry(**vars(cell), spec=specs[cell.entry], protocol=run.protocol, **own._asdict())
        for cell, own in zip(run.file.cells, columns, strict=True)
    )
    for entry in entries:
        if entry.done:
            check_measures(measures, entry.dataset, entry.recorded_setting.get("classes", 0))
    return kind(folder, run.file, entries)


def _with_measures(run: RecordedRun, names: Sequence[str]) -> RecordedRun:
    protocol = run.protocol
    if not isinstance(protocol, Measuring):
        raise UserError(f"the protocol {protocol.id} has no measures to choose from")
    for name in names:
        if name not in protocol.measures:
            hint = suggest(name, list(protocol.measures)) or f"; there are {', '.join(protocol.measures)}"
            raise UserError(f"there is no measure '{name}'{hint}")
    config = {**run.file.config, "measures": list(names)}
    return RecordedRun(run.folder, replace(run.file, config=config))


def drift_rows(entries: Iterable[Entry]) -> list[int]:
    """Return the rows at which the concept is known to drift, not the drifts that a detector found."""
    trials = (each for entry in entries for each in entry.columns.get("drifts", ()))
    return next((each["row"] for each in trials if isinstance(each, dict) and "depth" in each), [])


def are_equal(ones: Mapping[Any, Entry], others: Mapping[Any, Entry]) -> bool:
    """Return whether entries of the same keys agree in every number of every trial, apart from times."""
    return ones.keys() == others.keys() and all(one.equals(others[key]) for key, one in ones.items())


def newest(root: Path) -> Path:
    """Return the folder below `root` whose run began last or, without one, results that ship."""
    for pattern in (f"*/{run_file.NAME}", f"*/{REFERENCE}/{run_file.NAME}"):
        starts: dict[Path, str] = {}
        for path in root.glob(pattern):
            with suppress(UserError):  # skip folders that are not runs
                starts[path.parent] = read_run(path.parent).file.start
        if starts:
            return max(starts, key=lambda folder: starts[folder])
    raise UserError(f"there is no run below {root}/; start one with `olbench run CONFIG`, or name its folder")
