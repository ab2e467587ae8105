"""A protocol is a class with a decorator, here or in a user's own file (docs/architecture.md).

Its experiment is a dataclass whose fields are the keys of a config. A protocol makes cells, and a cell makes
trials. The engine and the reports know only these two classes, not the protocols that extend them.
"""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from olbench.algorithms import get_definition
from olbench.algorithms.algorithm import make_algorithm
from olbench.algorithms.definition import Definition, Value
from olbench.algorithms.spec import AlgorithmSpec, choose_options
from olbench.data.source import Source
from olbench.errors import UserError, plural
from olbench.learners.examples import Ints
from olbench.learners.passes import kept_bytes
from olbench.learners.start import count_memory_bytes
from olbench.plugins import Registry
from olbench.protocols import tuning
from olbench.protocols.measures import FROM_MARGINS
from olbench.protocols.specs import Experiment, setting_for
from olbench.protocols.tuning import Choice, Grid
from olbench.records.quantities import Quantity
from olbench.records.trial import Kind, Outcome, Record, Trial, code_of, make_plain
from olbench.structs import choice as choice
from olbench.structs import whole as whole
from olbench.structs import wholes as wholes

if TYPE_CHECKING:
    from olbench.learners.breakdowns import Breakdown

Known = Mapping[str, Record]
Stopped = Callable[[], bool]
T = TypeVar("T")
#: Orders in windows: the bytes of a block of neighbouring rows, and how many random blocks are shuffled
#: together. Both are fixed, so that an order does not depend on the machine.
BLOCK_BYTES, WINDOW_BLOCKS = 4 << 20, 8
#: The memory for a window: its rows, the blocks they are copied from, and their norms.
WINDOW_BYTES = 3 * BLOCK_BYTES * WINDOW_BLOCKS


@dataclass(frozen=True)
class Series:
    """A curve that trials record: a column of the series `of` against its column `along`."""

    name: str
    title: str
    quantity: Quantity
    of: str = "curve"
    along: str = "t"
    along_title: str = "number of samples"
    per_example: bool = False
    timed: bool = False
    #: Whether it is a level, such as a rate, and not a growing count: its axis need not start at zero.
    level: bool = False
    #: The columns that the formula of its quantity takes, if the curve is computed from other curves.
    parts: tuple[str, ...] = ()
    #: Whether the curve of every reported trial has at least one point.
    required: bool = False

    @property
    def is_level(self) -> bool:
        return self.level or self.per_example


class Protocol(ABC):
    """A way to run an experiment. Subclasses declare the class attributes and implement `run`."""

    id: ClassVar[str]
    #: Increase it when `run` would measure something else for the same trial: older trials then run again.
    version: ClassVar[int] = 1
    #: The content of its configs; the experiment of the class itself is empty and has the defaults.
    experiment: Experiment = Experiment((), ())
    #: The reported quantities. The first ranks algorithms and scores the candidates of a tuning.
    quantities: tuple[Quantity, ...]
    #: Further quantities in a record.
    recorded: ClassVar[tuple[Quantity, ...]] = ()
    series: tuple[Series, ...] = ()
    #: What trials are numbered by: permutation, fold or split. The key of the plural name has their number.
    numbered: ClassVar[str] = "permutation"
    #: Whether every trial draws its data anew, so that trials are a sample of the source.
    draws_data: ClassVar[bool] = False

    def __init__(self, experiment: Experiment | None = None):
        if experiment is not None:
            self.experiment = experiment

    @abstractmethod
    def run(self, trial: Trial, source: Source, stopped: Stopped) -> Outcome:
        """Run a trial. Call `stopped` a few times a second, and raise StoppedError if it returns true."""

    def cells(self, sources: Sequence[Source]) -> "Sequence[Cell]":
        """Return the cells of the experiment: every algorithm on every data set, in all of its variants."""
        return [Cell(self, *each) for each in self.experiment.entries(sources)]

    @cached_property
    def alike(self) -> Mapping[str, tuple[int, Counter[str]]]:
        """For each id, how many entries without a name have it, and how many of these have each setting."""
        entries: dict[str, list[AlgorithmSpec]] = {}
        for spec in self.experiment.algorithms:
            if not spec.name:
                entries.setdefault(spec.id, []).append(spec)
        return {
            id: (len(specs), Counter(text for spec in specs for text in _describe(spec)))
            for id, specs in entries.items()
        }

    def refuse(self, definition: Definition) -> None:  # noqa: B027
        """Raise a UserError if an algorithm cannot run under this protocol."""

    def view(self, record: Record, setting: Mapping[str, Any]) -> Record:
        """Return a record as a cell with this setting reports it; several cells may share a trial."""
        return record

    def find_breakdown(self, trial: Trial) -> "Breakdown | None":
        """Return where and why a trial that is a single pass first breaks down numerically."""
        return None


class InParts(ABC):
    """A mix-in for protocols whose trials have parts, which a cluster may spread over its workers.

    Their `run` returns what `finish` makes of all parts, joined by `fold`.
    """

    @abstractmethod
    def parts(self, trial: Trial) -> int:
        """Return the number of parts of a trial; 0 if it can only be run as a whole."""

    @abstractmethod
    def run_part(self, trial: Trial, part: int, stopped: Stopped) -> Any:
        """Return the result of a part. It can be pickled and has a method `join` for another such result."""

    @abstractmethod
    def finish(self, trial: Trial, joined: Any, stopped: Stopped) -> Outcome: ...


def fold(leaves: Iterable[T], join: Callable[[T, T], T]) -> T:
    """Join in a binary tree whose shape depends only on how many leaves there are; hold log2(n) subtrees."""
    trees: list[tuple[int, T]] = []
    for leaf in leaves:
        height, tree = 0, leaf
        while trees and trees[-1][0] == height:
            tree = join(trees.pop()[1], tree)
            height += 1
        trees.append((height, tree))
    _, total = trees.pop()
    while trees:
        total = join(trees.pop()[1], total)
    return total


def needs_margins(wanted: Collection[str]) -> bool:
    return not {"predictions", *FROM_MARGINS}.isdisjoint(wanted)


def scratch_bytes(wanted: Collection[str], n: int, setting: Mapping[str, Any]) -> int:
    """Return the bytes of an order of n examples, of their classes, and of what is kept per prediction.

    An order in windows takes memory for one window only. A stream keeps all margins.
    """
    keeps = needs_margins(wanted) or "scored" in setting
    keep = "variances" if "log_loss" in wanted else "margins" if keeps else ""
    order = WINDOW_BYTES if setting.get("order") == "windows" else 8 * n
    return order + (8 * n if "classes" in setting else 0) + kept_bytes(n, keep)


def numbers_of(protocol: Protocol) -> tuple[Quantity, ...]:
    """Return the numbers of a record; a ratio is computed from two of them."""
    return tuple(each for each in (*protocol.recorded, *protocol.quantities) if not each.ratio)


def find_quantity(protocol: Protocol, name: str) -> Quantity:
    every = (*protocol.quantities, *protocol.recorded)
    for each in every:
        if each.name == name:
            return each
    known = ", ".join(each.name for each in every)
    raise UserError(f"the protocol {protocol.id} measures no '{name}'; it measures {known}")


REGISTRY: Registry[Protocol] = Registry(
    "the protocol",
    room="olbench.protocols",
    part="protocol",
    group="olbench.protocols",
    first=("online", "crossval"),
)


def protocol(definition: type[Protocol]) -> type[Protocol]:
    """Register a protocol; an id may be defined again only in the file that defined it."""
    REGISTRY.add(definition.id, definition(), definition.__module__)
    return definition


@dataclass(frozen=True)
class Stage:
    """What known records decide about a cell: how far its tunings are, and which trials it needs."""

    cell: "Cell"
    steps: Sequence[tuning.Step]
    #: Of the tuning, then of the report; a later stage may need more.
    trials: Sequence[Trial]
    #: The reported trials whose tuning is finished.
    reported: Sequence[Trial]

    @property
    def passes(self) -> int:
        """The number of trials of its tuning, with those beyond the grid that are known by now."""
        cell, rule = self.cell, self.cell.config.tuning
        if not rule.extends:
            return cell.tuning_passes
        grids = (step.grid for step in self.steps)
        candidates = sum(tuning.count_candidates(rule.search, grid, cell.start) for grid in grids)
        return int(cell.config.tuning_repeats) * candidates

    @property
    def planned(self) -> int:
        """How many trials the cell needs; a view shares its reported trials with another cell."""
        return self.passes + (0 if self.cell.is_view else self.cell.repeats)


@dataclass(frozen=True)
class Cell:
    """One algorithm on one data set: its tuning, then the trials that are reported.

    A protocol may have several cells for an entry and a data set, such as one for each way to tune.
    """

    protocol: Protocol
    source: Source
    spec: AlgorithmSpec
    entry: int
    suffix: str = field(default="", kw_only=True)
    setting: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    is_view: bool = field(default=False, kw_only=True)
    _plan: dict[tuple[Any, ...], list[Trial]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    #: Whether a trial tries all candidates of a tuning itself; otherwise each candidate has its own trials.
    tunes_inside: ClassVar[bool] = False

    @property
    def config(self) -> Any:
        """The experiment of its protocol."""
        return self.protocol.experiment

    @property
    def definition(self) -> Definition:
        """The algorithm, as its file declares it."""
        return get_definition(self.spec.id)

    @property
    def label(self) -> str:
        """The given name, or the id with the settings that distinguish it from other entries of that id."""
        spec = self.spec
        if spec.name:
            return spec.name + self.suffix
        alike, shared = self.protocol.alike.get(spec.id, (0, Counter()))
        if alike < 2:
            return spec.id + self.suffix
        apart = [text for text in _describe(spec) if shared[text] < alike]
        return f"{spec.id} ({', '.join(apart) or 'defaults'}){self.suffix}"

    def kind(self, role: str, options: Mapping[str, Any] | None = None) -> Kind:
        """What decides how long its trials take; by default with the first of options that are tuned."""
        chosen = self.all_options[0] if options is None else options
        return self.source.name, self.spec.id, str(dict(chosen)), role

    @property
    def repeats(self) -> int:
        """How many trials are reported: by default the field of the experiment that `numbered` names."""
        return int(setting_for(self.config, plural(self.protocol.numbered), self.source.name))

    @property
    def tuning_passes(self) -> int:
        """The number of trials of its tuning."""
        return int(self.config.tuning_repeats) * self._candidates * self.tunings

    @cached_property
    def _candidates(self) -> int:
        return tuning.count_candidates(self.config.tuning.search, self.grid, self.start)

    @property
    def tunings(self) -> int:
        """How many tunings it has: one, or one for each reported trial."""
        return self.repeats if self.config.tuning.is_repeated and self._candidates else 1

    @cached_property
    def source_setting(self) -> dict[str, Any]:
        """The settings of trials that depend on the data, such as how an order is drawn."""
        return {}

    @cached_property
    def tuned_settings(self) -> Grid:
        """The settings that are tuned like parameters, such as the number of epochs."""
        return {}

    @cached_property
    def tuned_options(self) -> Grid:
        """The options that are tuned like parameters, such as the covariance."""
        options = self.definition.searched_options
        return {name: values for name, values in self.spec.grid.items() if name in options}

    @cached_property
    def all_options(self) -> list[Mapping[str, Any]]:
        """The options of its trials, one mapping for each combination of tuned ones."""
        return [self.options_of(choice) for choice in tuning.products(self.tuned_options)]

    def wanted(self, role: str) -> tuple[str, ...]:
        """Return the numbers that the experiment adds to the record of a trial.

        They do not change the trial, so its key stays; a record without one of them is computed again.
        """
        return ()

    def trial_setting(self, choice: Choice, role: str) -> dict[str, Any]:
        """Return the whole setting of a trial with this role and choice."""
        return {**self.config.setting(role), **self.source_setting, **self.setting_of(choice)}

    def count_labels(self) -> Ints | None:
        """Return, by group and label, the rows that reported trials predict; None if these have no groups."""
        return None

    def step(self, known: Known, place: int = 0) -> tuning.Step:
        """Return the state of a tuning: the candidates to try, and the winner."""
        rule, parameters = self.config.tuning, self.definition.searchable
        # Only whole degrees are valid, so that a ratio or a step leads nowhere.
        extended = {name: parameters[name] for name in parameters if name != "degree"} if rule.extends else {}

        def score(choice: Choice) -> float | None:
            return self.score(choice, known, place)

        return tuning.search(rule.search, self.grid, self.start, score, rule.ties, extended)

    @property
    def learner_bytes(self) -> int:
        """Roughly the bytes that the learner of a trial takes."""
        made = (
            make_algorithm(self.spec.id, **self.params_of(self.start), **each) for each in self.all_options
        )
        return max(count_memory_bytes(each, self.source.d, self.source.classes or 1) for each in made)

    @cached_property
    def memory(self) -> int:
        """Roughly how many bytes a trial takes in addition to the examples: learner, order, margins."""
        classes = {"classes": self.source.classes} if self.source.classes else {}
        setting = {**classes, **self.config.setting("report"), **self.source_setting}
        return self.learner_bytes + scratch_bytes(self.wanted("report"), self.source.n, setting)

    @property
    def shared_memory(self) -> int:
        """Roughly how many bytes the examples take, once for all trials on them."""
        return self.source.held_bytes

    @property
    def shuffled_bytes(self) -> int:
        """The bytes of examples that a trial reads in random order, and that must fit in memory."""
        return 0

    @property
    def rounds(self) -> float:
        """Roughly how many examples a trial learns or tests, for the plan of a run."""
        return float(self.source.n)

    @cached_property
    def defaults(self) -> Mapping[str, Value]:
        options = self.tuned_options
        searched = [name for name in self.spec.grid if name not in options]
        first = {name: values[0] for name, values in options.items()}
        return {**self.definition.resolve(self.spec.params, searched), **first}

    @cached_property
    def start(self) -> Choice:
        """The first candidate of a tuning: parameters and settings, except those that trials choose."""
        settings = {name: values[0] for name, values in make_plain(self.tuned_settings).items() if values}
        inside = self.spec.grid if self.tunes_inside else ()
        return {name: value for name, value in self.defaults.items() if name not in inside} | settings

    @cached_property
    def grid(self) -> Grid:
        return {} if self.tunes_inside else make_plain({**self.spec.grid, **self.tuned_settings})

    def score(self, choice: Choice, known: Known, place: int = 0) -> float | None:
        """Return the score of a candidate, lower is better: None while unknown, infinite if it failed.

        The trials of a ratio are pooled, so that candidates with the same counts have the same score.
        """
        records = [known.get(trial.key) for trial in self.tuning_trials(choice, place)]
        found = [record for record in records if record is not None]
        if len(found) < len(records):
            return None
        if any(record["status"] != "ok" for record in found):
            return math.inf
        quantity = self.protocol.quantities[0]
        pooled = {name: sum(record[name] for record in found) for name in quantity.ratio or ()}
        loss = float(quantity.loss(sum(quantity.of(each) for each in ([pooled] if pooled else found))))
        return tuning.UNDEFINED if math.isnan(loss) else loss

    def stage(self, known: Known) -> Stage:
        """Return every trial that the known records determine, and what is reported so far."""
        steps = [self.step(known, place) for place in range(self.tunings)]
        trials, reported = list[Trial](), list[Trial]()
        for place, step in enumerate(steps):
            for candidate in step.asked:
                trials += self.tuning_trials(candidate, place)
            if step.chosen is not None:
                own = self.report_trials(step.chosen, place)
                trials += own
                reported += own
        return Stage(self, steps, trials, reported)

    def report_trials(self, chosen: Choice, place: int = 0) -> list[Trial]:
        """Return the trials whose results are reported: all, or the one that this tuning is for."""
        return self.plan(chosen, "report", range(self.repeats)[place:][: self.repeats // self.tunings])

    def tuning_trials(self, candidate: Choice, place: int = 0) -> list[Trial]:
        """Return the trials that score a candidate, or all candidates if `tunes_inside`."""
        count = self.tuning_passes if self.tunes_inside else self.config.tuning_repeats
        return self.plan(candidate, "tune", range(place * count, (place + 1) * count))

    def plan(self, choice: Choice, role: str, numbers: range, **setting: Any) -> list[Trial]:
        """Return the trials of a choice with these numbers, cached because their keys are hashes."""
        place = (role, numbers, *choice.items(), *setting.items())
        if place not in self._plan:
            first = self.trial(choice, role, 0, **setting)
            self._plan[place] = [first.numbered(number) for number in numbers]
        return self._plan[place]

    def params_of(self, choice: Choice) -> dict[str, Value]:
        """Return the parameters of a choice, without the tuned settings and options."""
        others = {*self.tuned_settings, *self.tuned_options}
        return {name: value for name, value in choice.items() if name not in others}

    def options_of(self, choice: Choice) -> Mapping[str, Any]:
        """Return the options of the entry, with the tuned ones of a choice."""
        tuned = {name: choice[name] for name in self.tuned_options if name in choice}
        options = self.spec.options
        return make_algorithm(self.spec.id, **choose_options(options, tuned)).options if tuned else options

    def view(self, record: Record) -> Record:
        """Return the record as its row of the report shows it."""
        return self.protocol.view(record, self.setting)

    def setting_of(self, choice: Choice) -> dict[str, Any]:
        """Return the settings of this cell, and the tuned ones of a choice."""
        tuned = {name: value for name, value in choice.items() if name in self.tuned_settings}
        return {**self.setting, **tuned}

    @cached_property
    def _code(self) -> str:
        return code_of(self.definition, self.protocol.version)

    def trial(self, choice: Choice, role: str, number: int, **setting: Any) -> Trial:
        """Return the trial with this number, role and choice."""
        return Trial(
            protocol=self.protocol.id,
            dataset=self.source.name,
            fingerprint=self.source.fingerprint,
            algorithm=self.spec.id,
            params=make_plain(self.params_of(choice), "params"),
            options=make_plain(self.options_of(choice), "options"),
            seed=self.config.seed,
            role=role,
            number=number,
            setting=make_plain({**self.trial_setting(choice, role), **setting}, "setting"),
            code=self._code,
            source=self.source,
            wanted=self.wanted(role),
        )


def _describe(spec: AlgorithmSpec) -> list[str]:
    searched, usual = {}, get_definition(spec.id).grid
    for name, values in spec.grid.items():
        listed = ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values)
        searched[name] = "tuned" if tuple(values) == usual.get(name) else f"[{listed}]"
    given = {**spec.params, **searched, **spec.options, **spec.settings}
    return [f"{name}={value}" for name, value in given.items()]
