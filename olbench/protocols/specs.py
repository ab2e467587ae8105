"""An experiment as frozen dataclasses: the content of a config. Each protocol adds keys of its own.

The annotations declare what each key of a config and of run.json may hold; the schema is made from them too.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from typing import Annotated, Any, ClassVar, Self, TypeAlias, TypeVar

from olbench.algorithms.spec import AlgorithmSpec
from olbench.data.catalog import catalog
from olbench.data.source import Source
from olbench.data.spec import DatasetSpec
from olbench.errors import UserError, suggest
from olbench.structs import Flat, Key, Node, choice, flag, from_struct, keys_of, not_negative

TIES = ("last", "first", "middle")
#: The description of the key `search` in every tuning.
SEARCH = "how parameters are searched"
T = TypeVar("T")
#: One value for all data sets, or values by names with `*` for anything; the first match counts.
ByDataset: TypeAlias = T | Mapping[str, T]


@dataclass(frozen=True)
class Tuning:
    search: Annotated[str, choice("grid", "coordinate", "none"), SEARCH] = "none"
    ties: Annotated[str, choice(*TIES), "which of several best candidates wins, in the order of the grid"] = (
        "last"
    )
    #: Further keys in run.json: those of a protocol that is not loaded.
    others: Annotated[Mapping[str, Any], Flat()] = field(default_factory=dict)

    @property
    def ways(self) -> tuple[str, ...]:
        """The ways in which entries are tuned. Only entries tuned in the first way are compared."""
        return (self.search,)

    @property
    def extends(self) -> bool:
        """Whether grids go on beyond an end that is better than all other values."""
        return False

    @property
    def is_repeated(self) -> bool:
        """Whether every reported trial is tuned separately."""
        return False

    @property
    def suffixes(self) -> dict[str, str]:
        """The ways in which entries are tuned, each with the end of their labels."""
        return {way: f" [{way}]" if place else "" for place, way in enumerate(self.ways)}

    def plain(self) -> dict[str, Any]:
        return {"search": self.search, "ties": self.ties, **_written(self)}


@dataclass(frozen=True)
class ExtendedTuning(Tuning):
    extend: Annotated[bool | None, flag, "go on beyond the grid while a value on its edge is the best"] = None

    @property
    def extends(self) -> bool:
        return bool(self.extend)


@dataclass(frozen=True)
class Experiment:
    datasets: Annotated[tuple[DatasetSpec, ...], "names of the catalogue or files, relative to the config"]
    algorithms: Annotated[
        tuple[AlgorithmSpec, ...],
        "ids, or ids with settings; or all: every algorithm that the protocol can run",
    ]
    protocol: Annotated[str, "what a trial does and measures"] = "online"
    paper: Annotated[str, "a paper's id, or the path of its file"] = ""
    seed: Annotated[int, "decides all random orders and splits, which all algorithms share"] = 0
    covariance: Annotated[
        str, choice("full", "diag"), "the covariance of second-order algorithms that do not set their own"
    ] = "full"
    tuning: Tuning = Tuning()
    negligible: Annotated[
        float | None,
        not_negative,
        "differences up to this one are practically equal; by default, 1% of the smaller error",
    ] = None
    plugins: Annotated[
        tuple[str, ...], "Python files with algorithms or protocols, relative to the config"
    ] = ()
    #: Further keys in run.json: those of a protocol that is not loaded.
    others: Annotated[Mapping[str, Any], Flat()] = field(default_factory=dict)

    #: Whether data sets may have more than two classes.
    multiclass: ClassVar[bool] = False
    #: The rows on which the scaling of a user's own data is fitted; empty if no row may be used.
    fitted_on: ClassVar[str] = ""
    #: Whether every trial adds a constant feature.
    adds_bias: ClassVar[bool] = False
    #: The keys that its protocol adds to an entry of `algorithms`.
    entry_keys: ClassVar[tuple[Key, ...]] = ()
    #: The keys that do not affect the orders and splits of trials, such as "curve" or "tuning.seed". Runs can
    #: be compared in pairs, trial by trial, only if all other keys agree.
    order_free: ClassVar[tuple[str, ...]] = ()

    def entries(self, sources: Sequence[Source]) -> Iterator[tuple[Source, AlgorithmSpec, int]]:
        """Yield every algorithm on every data set: the source, the entry, and its place in the config."""
        for source in sources:
            for place, spec in enumerate(self.algorithms):
                yield source, spec, place

    def setting(self, role: str) -> dict[str, Any]:
        """Return the settings that all trials of this role share."""
        return {}

    @property
    def tuning_repeats(self) -> int:
        """How many trials score a candidate."""
        return 1

    def extend(self) -> Self:
        """Return the experiment with everything that its protocol always adds, such as baselines."""
        return self

    @property
    def own(self) -> dict[str, Any]:
        """The values of the keys that the protocol adds, such as "curve" and "tuning.prefix"."""
        tuning = {f"tuning.{name}": value for name, value in _own_values(self.tuning).items()}
        return _own_values(self) | tuning

    def plain(self) -> dict[str, Any]:
        """Return plain values in the order of run.json: the protocol's keys come before the covariance."""
        content = from_struct(self) | {"tuning": self.tuning.plain()}
        own, last = _written(self), ("covariance", "tuning", "plugins")
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
    """Return the keys that a protocol adds to every experiment, or to every tuning."""
    common = Experiment if issubclass(kind, Experiment) else Tuning
    return keys_of(kind, *(slot.name for slot in fields(common)))


def _own_values(struct: Tuning | Experiment) -> dict[str, Any]:
    return {key.name: getattr(struct, key.name) for key in own_keys(type(struct))}


def _written(struct: Tuning | Experiment) -> dict[str, Any]:
    own = {name: value for name, value in _own_values(struct).items() if value is not None}
    return {**own, **struct.others}


class PerDataset(dict[str, Any]):
    """Values by patterns of names, with the places of the patterns in the config."""

    def __init__(self, values: Mapping[str, Any], places: Mapping[str, str]):
        super().__init__(values)
        self.places = dict(places)


def by_dataset(read: Callable[[Node, str], Any]) -> Callable[[Node, str], Any]:
    """Return a reader of one value for all data sets, or of a mapping from patterns of names to values."""

    def reader(node: Node, name: str) -> Any:
        if not isinstance(node.value, dict):
            return read(node, name)
        if not node.value:
            raise node.fail(f"{name} must not be empty")
        return PerDataset({pattern: read(item, name) for pattern, item in node.value.items()}, node.keys)

    return reader


def refuse_unknown(setting: Any, datasets: Iterable[str]) -> None:
    """Refuse patterns that match no data set, neither of the config nor of the catalogue."""
    if not isinstance(setting, PerDataset):
        return
    names = list(dict.fromkeys([*datasets, *catalog()]))
    for pattern, place in setting.places.items():
        if not any(fnmatchcase(name, pattern) for name in names):
            raise UserError(f"{place}: there is no data set '{pattern}'{suggest(pattern, names)}")


def value_for(setting: Any, dataset: str, default: Any) -> Any:
    """Return the value of a setting for a data set.

    >>> value_for({"tb-*": 50, "*": 200}, "tb-bovis", 100), value_for(20, "pima", 100)
    (50, 20)
    """
    if not isinstance(setting, Mapping):
        return default if setting is None else setting
    return next((value for pattern, value in setting.items() if fnmatchcase(dataset, pattern)), default)


def setting_for(settings: Any, name: str, dataset: str) -> Any:
    """Return a field of a config for a data set, or the field's default if no pattern matches."""
    return value_for(getattr(settings, name), dataset, getattr(type(settings), name))
