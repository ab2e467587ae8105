"""What a protocol is: which trials a config asks for, what one trial measures, and how it is reported.

A protocol is a class with a decorator, in this folder or in a user's own file:

    from olbench import Protocol, protocol

    @protocol
    class Twice(Protocol):
        id = "twice"
        quantities = (Quantity("hits", "hits", 1, better="higher"),)
        ...
        def run(self, trial, source, stopped): ...

The engine and the reports know this class and nothing of the protocols that extend it.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

from olbench.algorithms import get_definition
from olbench.algorithms.algorithm import Algorithm, make_algorithm
from olbench.algorithms.definition import Definition, Value
from olbench.algorithms.spec import AlgorithmSpec
from olbench.data.source import Source
from olbench.data.spec import ALL_ROWS, FITTED_SCALES, PAST_ROWS, RUNNING, TRAINING_ROWS, DatasetSpec
from olbench.errors import UserError, plural, shorten
from olbench.learners.passes import online_pass
from olbench.learners.state import count_memory_bytes, count_state_bytes
from olbench.plugins import Registry, file_of
from olbench.protocols import tuning
from olbench.protocols.keys import value_for
from olbench.protocols.specs import Config
from olbench.protocols.tuning import Choice, Grid
from olbench.records import seeds
from olbench.records.quantities import Quantity
from olbench.records.trial import Outcome, Record, Trial, code_of
from olbench.structs import Key as Key
from olbench.structs import choice as choice
from olbench.structs import is_number
from olbench.structs import whole as whole
from olbench.structs import wholes as wholes
from olbench.structs import with_schema as with_schema

if TYPE_CHECKING:
    from olbench.learners.breakdowns import Breakdown

Known = Mapping[str, Record]
#: Trials that take about as long as each other: data set, algorithm, options.
Kind = tuple[str, str, str]
#: A round of a Python object takes as long as this many multiplications of a kernel.
OBJECT_COST = 50_000
#: How many times as long learners with rules take, and those that fit all examples at once.
SLOW = 20
#: The rows that an estimate of the time may read.
PROBED_ROWS = 2000
Stopped = Callable[[], bool]


@dataclass(frozen=True)
class Series:
    """A curve that trials record, one column of the series `of` against its column `along`."""

    name: str
    title: str
    quantity: Quantity
    of: str = "curve"
    along: str = "t"
    along_title: str = "number of samples"
    per_example: bool = False
    timed: bool = False
    #: Whether it is a level, such as a rate, rather than a count that grows: its axis need not begin at zero.
    level: bool = False
    #: The columns that the formula of its quantity takes, if the curve is computed from others.
    parts: tuple[str, ...] = ()

    @property
    def is_level(self) -> bool:
        return self.level or self.per_example


class Protocol(ABC):
    """A way to run an experiment. Subclasses declare the class attributes and implement `run`."""

    id: ClassVar[str]
    #: Raised whenever `run` would measure something else for the same trial; older trials then run again.
    version: ClassVar[int] = 1
    #: The keys that it adds to a config, to an entry of `algorithms`, and to `tuning`.
    keys: ClassVar[tuple[Key, ...]] = ()
    entry_keys: ClassVar[tuple[Key, ...]] = ()
    tuning_keys: ClassVar[tuple[Key, ...]] = ()
    searches: ClassVar[tuple[str, ...]] = ("grid", "coordinate", "none")
    #: Whether a trial tries all candidates of a tuning by itself; otherwise, each candidate has its trials.
    tunes_inside: ClassVar[bool] = False
    #: The keys that leave the orders and splits of the trials as they are; those of `tuning` with its name.
    #: Only runs that agree in all other keys can be compared in pairs, trial by trial.
    order_free: ClassVar[tuple[str, ...]] = ()
    #: Whether it can tell more than two classes apart.
    multiclass: ClassVar[bool] = False
    #: Whether trials predict examples apart from learning them, which takes a kernel of its own.
    is_tested: ClassVar[bool] = True
    #: What the number of a trial counts: permutations, folds or splits.
    numbered: ClassVar[str] = "permutation"
    #: Whether all trials that report a cell test equally many examples, their `n`.
    same_n: ClassVar[bool] = False
    #: What is reported, the quantity that ranks algorithms first.
    quantities: ClassVar[tuple[Quantity, ...]]
    #: What a record has besides.
    recorded: ClassVar[tuple[Quantity, ...]] = ()
    #: What a config can ask for in place of the usual quantities, by name.
    measures: ClassVar[Mapping[str, Quantity]] = {}
    #: The recorded numbers whose product is how many examples its seconds are about; "points" is the last
    #: point of its curves. Without any, reports show no examples per second.
    timed_examples: ClassVar[tuple[str, ...]] = ()
    #: Further fields of a record that sections of the report read.
    details: ClassVar[tuple[str, ...]] = ()
    #: What a tuning minimises or maximises; the first quantity unless said otherwise.
    scored_by: ClassVar[Quantity | None] = None
    series: ClassVar[tuple[Series, ...]] = ()
    #: Whether the curves of every reported trial have at least one point.
    curved: ClassVar[bool] = False
    #: The rows that decide how features of the user's own data are scaled; empty where none may.
    fitted_on: ClassVar[str] = ""

    @abstractmethod
    def run(self, trial: Trial, source: Source, stopped: Stopped) -> Outcome:
        """Run a trial. Long work asks `stopped` a few times a second, and raises StoppedError if so."""

    def find_breakdown(self, trial: Trial) -> "Breakdown | None":
        """Return where and why a trial first breaks down numerically, where it is a single pass."""
        return None

    def warm_up(self) -> None:  # noqa: B027
        """Compile what trials need besides their learners; most need nothing."""

    def extend(self, config: Config) -> Config:
        """Return a config with what every experiment of this protocol has, such as baselines."""
        return config

    def configured(self, config: Config) -> Self:
        """Return the protocol as a config asks for it, such as with other quantities."""
        return self

    def wanted(self, config: Config, role: str) -> tuple[str, ...]:
        """Return which numbers the record of a trial must have that the config asks for in particular.

        They change nothing about the trial, so its key stays; a record that lacks one is made again.
        """
        return ()

    def list_missing(self, config: Config, record: Record) -> list[str]:
        """Return which numbers that a config asks for are not in a record."""
        return [name for name in self.wanted(config, record["role"]) if name not in record]

    def repeats(self, config: Config) -> int:
        """Return how many trials report a cell, at most; by default the value of the key `numbered` + "s"."""
        given = self.setting_of(config, plural(self.numbered))
        return int(max(given.values()) if isinstance(given, Mapping) else given)

    def repeats_of(self, cell: "Cell") -> int:
        """Return how many trials report this cell, where that depends on its data or algorithm."""
        name = plural(self.numbered)
        if isinstance(self.setting_of(cell.config, name), Mapping):
            return int(self.setting_of(cell.config, name, cell.source.name))
        return self.repeats(cell.config)

    def tuning_repeats(self, config: Config) -> int:
        """Return how many trials score a candidate: by default the value of the key of `tuning`, or 1."""
        return int(self.setting_of(config, f"tuning.{plural(self.numbered)}") or 1)

    def tuning_passes(self, cell: "Cell") -> int:
        """Return how many trials the tuning of a cell takes."""
        candidates = tuning.count_candidates(cell.config.tuning.search, cell.grid, cell.start)
        return self.tuning_repeats(cell.config) * candidates

    def step(self, cell: "Cell", known: Known) -> tuning.Step:
        """Return how far the tuning of a cell is."""
        rule = cell.config.tuning
        return tuning.search(rule.search, cell.grid, cell.start, lambda c: cell.score(c, known), rule.ties)

    def trial_setting(self, cell: "Cell", choice: Choice, role: str) -> dict[str, Any]:
        """Return the whole setting of a trial of this role, with what was chosen for the cell."""
        return {**self.setting(cell.config, role), **cell.source_setting, **cell.setting_of(choice)}

    def tunings(self, config: Config) -> tuple[str, ...]:
        """Return the ways in which entries are tuned. Those of the first are compared with each other.

        The others are the value of its key `also` of `tuning`, and their labels end as `in_brackets` shows.
        """
        return tuple(dict.fromkeys((config.tuning.search, *(self.setting_of(config, "tuning.also") or ()))))

    def read_label(self, config: Config, label: str) -> tuple[str, str]:
        """Return the name in the label of an entry, and the way in which the entry is tuned."""
        first, *others = self.tunings(config)
        for way in others:
            if label.endswith(in_brackets(way)):
                return label.removesuffix(in_brackets(way)), way
        return label, first

    def setting(self, config: Config, role: str) -> dict[str, Any]:
        """Return what a trial of this role needs besides the fields of every trial."""
        return {}

    def source_setting(self, config: Config, source: Source) -> dict[str, Any]:
        """Return what a trial needs because of its data, such as how an order is drawn."""
        return {}

    def tuned_settings(self, config: Config) -> Grid:
        """Return the settings that are tuned like parameters, such as the number of epochs, by name."""
        return {}

    def refuse(self, definition: Definition) -> str:
        """Return why an algorithm cannot run under this protocol, or an empty text."""
        return ""

    def refuse_data(self, spec: DatasetSpec) -> str:
        """Return why the user's own data cannot be prepared as its spec says, or an empty text."""
        reading = spec.reading
        if reading.scale in FITTED_SCALES and self.fitted_on not in (ALL_ROWS, TRAINING_ROWS):
            other = "running or unit" if self.fitted_on == PAST_ROWS else "unit"
            return (
                f"scale: {reading.scale} would be fitted on rows that the protocol {self.id} tests; use "
                f"scale: {other}, or scale the file"
            )
        if reading.scale == RUNNING and self.fitted_on != PAST_ROWS:
            return (
                f"scale: {RUNNING} goes by the order of the file, and the protocol {self.id} has orders of "
                "its own; use protocol: stream, or another scale"
            )
        if reading.missing == "mean" and self.fitted_on != ALL_ROWS:
            return (
                f"missing: mean would be taken over rows that the protocol {self.id} tests; use zero or drop"
            )
        return ""

    def sample_size(self, trials: Any, config: Config) -> int:
        """Return how many examples the trials of an entry tested in all, each of them counted once."""
        return int(trials["n"].sum()) if "n" in trials else 0

    def overlap(self, setting: Mapping[str, Any]) -> float:
        """Return n_test / n_train of trials with this setting if each is a division of the same rows, else 0.

        Such trials share training rows, which correlates them; statistics over them are corrected for that.
        """
        return 0.0

    def name_order(self, setting: Mapping[str, Any]) -> str:
        """Return the noun for the number of a trial with this setting, such as fold."""
        return self.numbered

    def facts(self, source: Source) -> Mapping[str, Any]:
        """Return the facts on a data set that trials need besides its examples, as plain values.

        On a cluster, it travels with each trial and is in `source.facts` there.
        """
        return {}

    def has_curve(self, setting: Mapping[str, Any]) -> bool:
        """Return whether the curves of every reported trial with this setting have at least one point."""
        return self.curved

    def view(self, record: Record, setting: Mapping[str, Any]) -> Record:
        """Return a record as a cell with these settings reports it, where several cells share a trial."""
        return record

    def cost(self, source: Source, algorithm: str, options: Mapping[str, Any]) -> float:
        """Return roughly how many multiplications a trial takes, to compare it with others of its run."""
        definition = get_definition(algorithm)
        rounds, d = float(source.n) * max(1, source.classes), source.d
        if source.classes and options.get("multiclass") == "native":
            # All classes have a score, and two of them learn.
            is_matrix = options.get("covariance", "diag") != "diag"
            return float(source.n) * d * (source.classes + (2 * d if is_matrix else 0))
        if definition.order == "object":
            return rounds * (d + OBJECT_COST)
        if definition.slow or not definition.online:
            return rounds * d * SLOW
        return rounds * d * (d if options.get("covariance") == "full" else 1)

    def learner_bytes(self, cell: "Cell") -> int:
        """Return roughly how many bytes the learner of a trial takes."""
        algorithm = make_algorithm(cell.spec.id, **cell.params_of(cell.start), **cell.spec.options)
        return count_memory_bytes(algorithm, cell.source.d, cell.source.classes or 1)

    def state_bytes(self, algorithm: Algorithm, d: int, setting: Mapping[str, Any]) -> int | None:
        """Return the bytes of the learner of a trial on data with d features, as far as its form tells."""
        return count_state_bytes(algorithm, d, setting.get("classes", 1))

    def scratch_bytes(self, config: Config, n: int, setting: Mapping[str, Any]) -> int:
        """Return the bytes of what a trial holds besides the n examples and its learner: its order."""
        return 8 * n

    def shared_memory(self, cell: "Cell") -> int:
        """Return roughly how many bytes the examples take, once for all trials on them."""
        return cell.source.held_bytes

    def shuffled_bytes(self, cell: "Cell") -> int:
        """Return the bytes of examples that a trial reads in random order, and that must fit in memory."""
        return 0

    def rounds(self, cell: "Cell") -> float:
        """Return roughly how many examples a trial of a cell learns or tests, for the plan of a run."""
        return float(cell.source.n)

    def probe_seconds(self, cell: "Cell") -> float:
        """Return an estimate of the seconds that one trial of a cell takes, from a few of its rounds."""
        source = cell.source
        data = source.take([slice(0, None, math.ceil(source.n / PROBED_ROWS))])
        labels = "all" if source.classes else "two"
        first = {name: values[0] for name, values in {**cell.spec.grid, **cell.grid}.items() if values}
        params = cell.params_of({**cell.start, **first})
        algorithm = make_algorithm(cell.spec.id, **params, **cell.spec.options)
        order = seeds.order(cell.config.seed, source.name, "report", 0, seeds.ALL, data.examples.n)
        learn = partial(online_pass, algorithm, data.examples, data.labels, curve=1, labels=labels)
        learn(order[:1])  # the first round may take longer than the others
        size = 1
        while True:
            size = min(4 * size, order.size)
            taken = learn(order[:size]).seconds
            # A busy machine disturbs few rounds; only where they are slow are they enough.
            if taken >= (0.03 if size >= 64 else 1.0) or size == order.size:
                return taken / size * self.rounds(cell)

    def cells(self, config: Config, sources: Sequence[Source]) -> "list[Cell]":
        """Return the cells of a config: every algorithm on every data set, in all of its variants."""
        for source in sources:
            if reason := self.refuse_source(config, source):
                raise UserError(reason)
        return [
            Cell(self, config, source, spec, entry, **variant)
            for source in sources
            for entry, spec in enumerate(config.algorithms)
            for variant in self.variants(config, source, spec)
        ]

    def refuse_source(self, config: Config, source: Source) -> str:
        """Return why a data set does not suffice for what the config asks for, or an empty text."""
        return ""

    def variants(self, config: Config, source: Source, spec: AlgorithmSpec) -> Iterable[dict[str, Any]]:
        """Return the fields of each cell that an algorithm has on a data set; by default it has one."""
        return ({},)

    def setting_of(self, config: Config, name: str, dataset: str | None = None) -> Any:
        """Return the value of one of the protocol's keys, or its default; that for one data set, if asked.

        The names of the keys that it adds to `tuning` begin with "tuning.".
        """
        inside, _, key = name.rpartition(".")
        keys, given = (self.tuning_keys, config.tuning.settings) if inside else (self.keys, config.settings)
        default = next((each.default for each in keys if each.name == key), None)
        value = given.get(key, default)
        return value if dataset is None else value_for(value, dataset, default)

    @property
    def score(self) -> Quantity:
        """The quantity that a tuning compares."""
        return self.scored_by or self.quantities[0]

    @property
    def headline(self) -> Quantity:
        """The quantity that ranks algorithms."""
        return self.quantities[0]

    @property
    def judged(self) -> tuple[Quantity, ...]:
        """The quantities that are compared with what papers report."""
        return tuple(quantity for quantity in self.quantities if quantity.judged)

    @property
    def numbers(self) -> tuple[Quantity, ...]:
        """The numbers of a record; a ratio is computed from two of them."""
        return tuple(each for each in (*self.recorded, *self.quantities) if not each.ratio)

    @property
    def exact(self) -> tuple[Quantity, ...]:
        """The recorded numbers that must repeat to the last digit."""
        return tuple(each for each in self.numbers if each.exact)

    def quantity(self, name: str) -> Quantity:
        """Return one of the quantities by its name."""
        for quantity in (*self.quantities, *self.recorded):
            if quantity.name == name:
                return quantity
        known = ", ".join(each.name for each in (*self.quantities, *self.recorded))
        raise UserError(f"the protocol {self.id} measures no '{name}'; it measures {known}")

    def find_defect(self, record: Record) -> str:
        """Return why a record does not fit this protocol, such as a missing number, or ''."""
        for name, must_be_there in self._numbers.items():
            value = record.get(name, None if must_be_there else 0)
            if not is_number(value) and not (value is None and name in self._undefined):
                return f"its {name} is {'missing' if value is None else shorten(repr(value))}"
        usual = type(self).quantities[0]
        if usual.ratio and not record[usual.ratio[1]]:
            return f"its {usual.ratio[1]} is 0"
        for count, total in self._ratios:
            if record.get(count) and not record.get(total):
                return f"it has {count}, but its {total} is 0"
        return ""

    @cached_property
    def _numbers(self) -> dict[str, bool]:
        ranked, every = type(self).quantities[0].fields, (*self.quantities, *self.recorded)
        return {name: name in ranked for each in every for name in each.fields}

    @cached_property
    def _undefined(self) -> set[str]:
        usual = {each.name for each in (*type(self).quantities, *self.recorded)}
        return {each.name for each in self.quantities if each.name not in usual}

    @cached_property
    def _ratios(self) -> list[tuple[str, str]]:
        return [each.ratio for each in (*self.quantities, *self.recorded) if each.ratio]


def in_brackets(way: str) -> str:
    return f" [{way}]"


REGISTRY: Registry[Protocol] = Registry(
    "the protocol",
    room="olbench.protocols",
    part="protocol",
    group="olbench.protocols",
    first=("online", "crossval"),
)


def protocol(definition: type[Protocol]) -> type[Protocol]:
    """Register a protocol; a name may be defined again only in the file where it was defined before."""
    REGISTRY.add(definition.id, definition(), definition.__module__, f"{file_of(definition.__module__)}: ")
    return definition


@dataclass(frozen=True)
class Cell:
    """One algorithm on one data set: its tuning, then the trials that are reported.

    A protocol may have several cells of an entry and a data set, such as one for each way to tune.
    """

    protocol: Protocol
    config: Config
    source: Source
    spec: AlgorithmSpec
    entry: int
    suffix: str = field(default="", kw_only=True)
    setting: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    is_view: bool = field(default=False, kw_only=True)
    detail: Any = field(default=None, kw_only=True)
    _plan: dict[tuple[Any, ...], list[Trial]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def definition(self) -> Definition:
        return get_definition(self.spec.id)

    @property
    def label(self) -> str:
        """The given name, or else the id and what sets it apart from others with that id; and the suffix."""
        return label_of(self.config, self.spec) + self.suffix

    @property
    def kind(self) -> Kind:
        """What its trials have in common that decides how long they take."""
        return self.source.name, self.spec.id, str(dict(self.spec.options))

    @cached_property
    def memory(self) -> int:
        """Roughly how many bytes a trial takes besides the examples: its learner and its order."""
        scratch = self.protocol.scratch_bytes(self.config, self.source.n, self.source_setting)
        return self.protocol.learner_bytes(self) + scratch

    @property
    def repeats(self) -> int:
        return self.protocol.repeats_of(self)

    @cached_property
    def defaults(self) -> Mapping[str, Value]:
        return self.definition.resolve(self.spec.params, self.spec.grid)

    @cached_property
    def start(self) -> Choice:
        """Where a tuning starts: parameters and tuned settings, without those that trials choose."""
        settings = {name: values[0] for name, values in self.tuned_settings.items() if values}
        inside = self.spec.grid if self.protocol.tunes_inside else ()
        return {name: value for name, value in self.defaults.items() if name not in inside} | settings

    @cached_property
    def tuned_settings(self) -> Grid:
        return dict(self.protocol.tuned_settings(self.config))

    @cached_property
    def grid(self) -> Grid:
        return {} if self.protocol.tunes_inside else {**self.spec.grid, **self.tuned_settings}

    @property
    def tuning_passes(self) -> int:
        return self.protocol.tuning_passes(self)

    def planned(self, known: Known) -> int:
        return self.tuning_passes + (0 if self.is_view else self.repeats)

    def step(self, known: Known) -> tuning.Step:
        return self.protocol.step(self, known)

    def score(self, choice: Choice, known: Known) -> float | None:
        records = [known.get(trial.key) for trial in self.tuning_trials(choice)]
        found = [record for record in records if record is not None]
        if len(found) < len(records):
            return None
        if any(record["status"] != "ok" for record in found):
            return math.inf
        quantity = self.protocol.score
        loss = sum(float(quantity.loss(quantity.of(record))) for record in found)
        return tuning.UNDEFINED if math.isnan(loss) else loss

    def is_undecided(self, known: Known) -> bool:
        """Return whether the measure is undefined for every candidate, so that `ties` chose."""
        chosen = self.step(known).chosen
        return chosen is not None and self.tuning_passes > 0 and self.score(chosen, known) == tuning.UNDEFINED

    def trials(self, known: Known) -> Iterator[Trial]:
        """Yield every trial that is determined by what is known: of the tuning, then of the report."""
        step = self.step(known)
        for candidate in step.asked:
            yield from self.tuning_trials(candidate)
        if step.chosen is not None:
            yield from self.report_trials(step.chosen)

    def reported(self, known: Known) -> list[Trial]:
        chosen = self.step(known).chosen
        return [] if chosen is None else self.report_trials(chosen)

    def tuning_trials(self, candidate: Choice) -> list[Trial]:
        """Return the trials that score a candidate, or all candidates where trials tune by themselves."""
        protocol = self.protocol
        count = self.tuning_passes if protocol.tunes_inside else protocol.tuning_repeats(self.config)
        return self.plan(candidate, "tune", count)

    def report_trials(self, chosen: Choice) -> list[Trial]:
        return self.plan(chosen, "report", self.repeats)

    def plan(self, choice: Choice, role: str, count: int, **setting: Any) -> list[Trial]:
        """Return the first `count` trials of a choice. They are made once and kept: keys are hashes."""
        place = (role, count, *choice.items(), *setting.items())
        if place not in self._plan:
            self._plan[place] = [self.trial(choice, role, number, **setting) for number in range(count)]
        return self._plan[place]

    def params_of(self, choice: Choice) -> dict[str, Value]:
        return {name: value for name, value in choice.items() if name not in self.tuned_settings}

    def view(self, record: Record) -> Record:
        return self.protocol.view(record, self.setting_of({}))

    def setting_of(self, choice: Choice) -> dict[str, Any]:
        tuned = {name: value for name, value in choice.items() if name in self.tuned_settings}
        return {**self.setting, **tuned}

    @cached_property
    def source_setting(self) -> dict[str, Any]:
        return self.protocol.source_setting(self.config, self.source)

    @cached_property
    def _code(self) -> str:
        return code_of(self.definition, self.protocol.version)

    def trial(self, choice: Choice, role: str, number: int, **setting: Any) -> Trial:
        return Trial(
            protocol=self.protocol.id,
            dataset=self.source.name,
            fingerprint=self.source.fingerprint,
            algorithm=self.spec.id,
            params=self.params_of(choice),
            options=self.spec.options,
            seed=self.config.seed,
            role=role,
            number=number,
            setting={**self.protocol.trial_setting(self, choice, role), **setting},
            code=self._code,
            source=self.source,
            wanted=self.protocol.wanted(self.config, role),
        )


def label_of(config: Config, spec: AlgorithmSpec) -> str:
    if spec.name:
        return spec.name
    alike = [_describe(each) for each in config.algorithms if each.id == spec.id and not each.name]
    if len(alike) < 2:
        return spec.id
    apart = [text for text in _describe(spec) if any(text not in other for other in alike)]
    return f"{spec.id} ({', '.join(apart) or 'defaults'})"


def _describe(spec: AlgorithmSpec) -> list[str]:
    searched = {
        name: "tuned" if tuple(values) == get_definition(spec.id).grid.get(name) else f"[{_list(values)}]"
        for name, values in spec.grid.items()
    }
    said = {**spec.params, **searched, **spec.options, **spec.settings}
    return [f"{name}={value}" for name, value in said.items()]


def _list(values: Sequence[Any]) -> str:
    return ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values)
