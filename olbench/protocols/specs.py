"""An experiment as frozen dataclasses: the content of a config. Each protocol extends them by its own keys.

The annotations say what the keys of a config and of run.json may hold, and what the schema tells editors.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, ClassVar, Self

from olbench.algorithms.spec import AlgorithmSpec
from olbench.data.source import Source
from olbench.data.spec import DatasetSpec
from olbench.structs import Flat, Key, choice, from_struct, keys_of

#: The keys of a config that decide which trials there are, but not what comes out of any of them: an entry of
#: `algorithms` has its own covariance.
SELECTING = ("algorithms", "plugins", "covariance")
TIES = ("last", "first", "middle")
#: What the key `search` of a tuning is about.
SEARCH = "how parameters are searched"


def in_brackets(way: str) -> str:
    return f" [{way}]"


@dataclass(frozen=True)
class Tuning:
    search: Annotated[str, choice("grid", "coordinate", "none"), SEARCH] = "none"
    ties: Annotated[
        str, choice(*TIES), "which of several best candidates is taken, in the order of the grid"
    ] = "last"
    #: What run.json has besides: the keys of a protocol that is not loaded.
    others: Annotated[Mapping[str, Any], Flat()] = field(default_factory=dict)

    @property
    def ways(self) -> tuple[str, ...]:
        """The ways in which entries are tuned. Those of the first are compared with each other."""
        return (self.search,)

    def read_label(self, label: str) -> tuple[str, str]:
        """Return the name in the label of an entry, and the way in which the entry is tuned."""
        first, *others = self.ways
        for way in others:
            if label.endswith(in_brackets(way)):
                return label.removesuffix(in_brackets(way)), way
        return label, first

    def plain(self) -> dict[str, Any]:
        return {"search": self.search, "ties": self.ties, **_written(self)}


@dataclass(frozen=True)
class Experiment:
    datasets: Annotated[tuple[DatasetSpec, ...], "names of the catalogue or files, relative to the config"]
    algorithms: Annotated[
        tuple[AlgorithmSpec, ...], "ids, or ids with settings; or all, for those that the protocol can run"
    ]
    protocol: Annotated[str, "what a trial does and measures"] = "online"
    paper: Annotated[str, "a paper's id, or the path of its file"] = ""
    seed: Annotated[int, "decides all random orders and splits, which all algorithms share"] = 0
    covariance: Annotated[
        str, choice("full", "diag"), "the covariance of second-order algorithms that do not set their own"
    ] = "full"
    tuning: Tuning = Tuning()
    plugins: Annotated[
        tuple[str, ...], "Python files with algorithms or protocols, relative to the config"
    ] = ()
    #: What run.json has besides: the keys of a protocol that is not loaded.
    others: Annotated[Mapping[str, Any], Flat()] = field(default_factory=dict)

    #: Whether data sets may have more than two classes.
    multiclass: ClassVar[bool] = False
    #: The rows that decide how features of the user's own data are scaled; empty where none may.
    fitted_on: ClassVar[str] = ""
    #: Whether every trial adds a constant feature.
    adds_bias: ClassVar[bool] = False
    #: The keys that its protocol adds to an entry of `algorithms`.
    entry_keys: ClassVar[tuple[Key, ...]] = ()
    #: The keys that leave the orders and splits of the trials as they are; those of `tuning` with its name.
    #: Only runs that agree in all other keys can be compared in pairs, trial by trial.
    order_free: ClassVar[tuple[str, ...]] = ()

    def entries(self, sources: Sequence[Source]) -> Iterator[tuple[Source, AlgorithmSpec, int]]:
        """Yield every algorithm on every data set: the source, the entry, and its place in the config."""
        for source in sources:
            for place, spec in enumerate(self.algorithms):
                yield source, spec, place

    def setting(self, role: str) -> dict[str, Any]:
        """Return what all trials of this role have in their setting."""
        return {}

    @property
    def tuning_repeats(self) -> int:
        """How many trials score a candidate."""
        return 1

    def extend(self) -> Self:
        """Return the experiment with what every one of its protocol has, such as baselines."""
        return self

    @property
    def own(self) -> dict[str, Any]:
        """The values of the keys that the protocol adds; those of `tuning` begin with its name."""
        tuning = {f"tuning.{name}": value for name, value in _own_values(self.tuning).items()}
        return _own_values(self) | tuning

    def plain(self) -> dict[str, Any]:
        """Return plain values, as in run.json: first what is common, with the keys of the protocol inside."""
        content = from_struct(self)
        content["tuning"] = self.tuning.plain()
        last = ("covariance", "tuning", "plugins")
        own = _written(self)
        first = {name: value for name, value in content.items() if name not in (*last, *own)}
        return first | own | {name: content[name] for name in last if name in content}


@dataclass(frozen=True)
class _AnyTuning(Tuning):
    search: str = "none"


@dataclass(frozen=True)
class Unread(Experiment):
    """The experiment of a protocol that is not loaded, as run.json has it."""

    tuning: _AnyTuning = _AnyTuning()


def own_keys(kind: Any) -> tuple[Key, ...]:
    """Return the keys that a protocol adds to those of all experiments, or of all tunings."""
    common = Experiment if issubclass(kind, Experiment) else Tuning
    return keys_of(kind, *(slot.name for slot in fields(common)))


def _own_values(struct: Tuning | Experiment) -> dict[str, Any]:
    return {key.name: getattr(struct, key.name) for key in own_keys(type(struct))}


def _written(struct: Tuning | Experiment) -> dict[str, Any]:
    own = {name: value for name, value in _own_values(struct).items() if value is not None}
    return {**own, **struct.others}
