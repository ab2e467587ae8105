"""An experiment as frozen dataclasses: what a config says, whoever wrote it down."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from olbench.algorithms.definition import Value

#: The options of a second-order algorithm.
OPTIONS = ("covariance", "projection", "form", "a", "kernel", "gamma", "degree", "coef0")


#: What can be done with cells that have no value, with columns of text, and with the scale of features.
MISSING = ("drop", "zero", "mean")
CATEGORICAL = ("onehot", "drop")
SCALES = ("unit", "minmax", "standard")
#: The scales that rows decide about, and which rows these are.
FITTED_SCALES = ("minmax", "standard")
ALL_ROWS, TRAINING_ROWS = "all rows", "training rows"


@dataclass(frozen=True)
class Reading:
    """How a file of one's own becomes examples; what is empty is as usual, or refused if it is needed."""

    #: The heading or the number of the label column of a table.
    label: str | int = ""
    delimiter: str = ""
    missing: str = ""
    categorical: str = ""
    scale: str = ""
    bias: bool = False
    #: "training rows" if minmax and standard are fitted on those within each trial, not on all rows.
    fitted: str = ""

    @property
    def waits(self) -> bool:
        """Whether features are scaled within each trial, because only its training rows may decide how."""
        return self.scale in FITTED_SCALES and self.fitted == TRAINING_ROWS

    def now(self) -> "Reading":
        """Return what can be done when the file is read."""
        return replace(self, scale="", bias=False, fitted="") if self.waits else self

    def plain(self) -> dict[str, Any]:
        """Return what is given as plain values."""
        return {name: value for name, value in vars(self).items() if value not in ("", False)}


#: Nothing but the usual.
USUAL = Reading()
#: The keys of a config for a file of one's own.
READING_KEYS = ("label", "delimiter", "missing", "categorical", "scale", "bias")


@dataclass(frozen=True)
class DatasetSpec:
    """A data set by its name in the catalogue or by a path, its labels and how it is read."""

    name: str
    path: str = ""
    positive: tuple[float | str, ...] | None = None
    negative: tuple[float | str, ...] | None = None
    #: "all" if every label is a class of its own.
    labels: str = ""
    reading: Reading = USUAL

    def plain(self) -> dict[str, Any]:
        """Return it as plain values."""
        labels = {"positive": self.positive, "negative": self.negative, "labels": self.labels}
        return _given({"name": self.name, "path": self.path, **labels, **self.reading.plain()})

    @classmethod
    def from_plain(cls, content: Mapping[str, Any]) -> "DatasetSpec":
        """Return what `plain` wrote down."""
        labels = {name: tuple(content[name]) for name in ("positive", "negative") if content.get(name)}
        reading = Reading(**{key: content[key] for key in (*READING_KEYS, "fitted") if key in content})
        name, path, all_labels = content["name"], content.get("path", ""), content.get("labels", "")
        return cls(name, path, **labels, labels=all_labels, reading=reading)


@dataclass(frozen=True)
class AlgorithmSpec:
    """An algorithm, its fixed parameters, the values to search, its options and what its protocol adds."""

    id: str
    params: Mapping[str, Value] = field(default_factory=dict)
    grid: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    #: What reports call it, if not by its id.
    name: str = ""
    #: The keys that the protocol adds to an entry, where they are given.
    settings: Mapping[str, Any] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """Return it as plain values."""
        content = {"id": self.id, "name": self.name, "params": dict(self.params), "grid": dict(self.grid)}
        return _given(content) | dict(self.options) | dict(self.settings)

    @classmethod
    def from_plain(cls, content: Mapping[str, Any]) -> "AlgorithmSpec":
        """Return what `plain` wrote down."""
        grid = {name: tuple(values) for name, values in content.get("grid", {}).items()}
        options = {name: content[name] for name in OPTIONS if name in content}
        known = ("id", "name", "params", "grid", *OPTIONS)
        settings = {name: value for name, value in content.items() if name not in known}
        name, params = content.get("name", ""), dict(content.get("params", {}))
        return cls(content["id"], params, grid, options, name, settings)


@dataclass(frozen=True)
class Tuning:
    """How parameters are searched, which of equals wins, and what the protocol adds."""

    search: str = "none"
    ties: str = "last"
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Config:
    """An experiment. `settings` holds the keys that its protocol adds, each with a value."""

    datasets: tuple[DatasetSpec, ...]
    algorithms: tuple[AlgorithmSpec, ...]
    protocol: str = "online"
    paper: str = ""
    seed: int = 0
    covariance: str = "full"
    settings: Mapping[str, Any] = field(default_factory=dict)
    tuning: Tuning = Tuning()
    plugins: tuple[str, ...] = ()

    def with_settings(self, **settings: Any) -> "Config":
        """Return a copy with other values for some of the protocol's keys."""
        return replace(self, settings={**self.settings, **settings})

    def plain(self) -> dict[str, Any]:
        """Return the config as plain values that `from_plain` reads back."""
        content = {
            "datasets": [spec.plain() for spec in self.datasets],
            "algorithms": [spec.plain() for spec in self.algorithms],
            "protocol": self.protocol,
            "paper": self.paper,
            "seed": self.seed,
            **self.settings,
            "covariance": self.covariance,
            "tuning": {"search": self.tuning.search, "ties": self.tuning.ties, **self.tuning.settings},
            "plugins": self.plugins,
        }
        return _given(content)

    @classmethod
    def from_plain(cls, content: Mapping[str, Any]) -> "Config":
        """Return what `plain` wrote down. Nothing is looked up: data and plugins may be gone since."""
        fields = {
            name: content[name] for name in ("protocol", "paper", "seed", "covariance") if name in content
        }
        tuning = dict(content.get("tuning", {}))
        given = {name: tuning.pop(name) for name in ("search", "ties") if name in tuning}
        known = {"datasets", "algorithms", "tuning", "plugins", *fields}
        return cls(
            datasets=tuple(map(DatasetSpec.from_plain, content["datasets"])),
            algorithms=tuple(map(AlgorithmSpec.from_plain, content["algorithms"])),
            settings={name: value for name, value in content.items() if name not in known},
            tuning=Tuning(**given, settings=tuning),
            plugins=tuple(content.get("plugins", ())),
            **fields,
        )


def _given(content: dict[str, Any]) -> dict[str, Any]:
    """Return what says something."""
    return {name: value for name, value in content.items() if value not in (None, "", {}, (), [])}
