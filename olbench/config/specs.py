"""An experiment as frozen dataclasses: the content of a config.

The annotations say what the keys of a config and of run.json may hold, and what the schema tells editors.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any

from olbench.algorithms.definition import Value
from olbench.config.columns import ColumnSpec, read_class, read_column, read_columns
from olbench.structs import (
    Flat,
    Key,
    anything,
    choice,
    from_struct,
    many,
    mapping,
    name_text,
    one_or_many,
    read_plain,
    with_schema,
)
from olbench.yaml_lines import Node

MISSING = ("drop", "zero", "mean")
CATEGORICAL = ("onehot", "drop")
SCALES = ("unit", "minmax", "standard", "running")
FITTED_SCALES = ("minmax", "standard")
ALL_ROWS, TRAINING_ROWS, PAST_ROWS = "all rows", "training rows", "past rows"
RUNNING = "running"
#: The keys of a config that decide which trials there are, but not what comes out of any of them: an entry of
#: `algorithms` has its own covariance.
SELECTING = ("algorithms", "plugins", "covariance")
TIES = ("last", "first", "middle")


def _option(name: str, doc: str, *words: str) -> Key:
    schema = {"enum": list(words)} if words else {"type": "number"}
    return Key(name, with_schema(partial(anything), schema), None, doc)


NATIVE_KEYS = (
    _option("multiclass", "several classes: one learner per class, or one of all", "one-vs-rest", "native"),
    _option("allocation", "how the rivals of a native perceptron share a step", "max", "uniform", "prop"),
)
OPTION_KEYS = (
    *NATIVE_KEYS,
    _option(
        "covariance",
        "whether the covariance is a matrix or only its diagonal; block and shared are native",
        "full",
        "diag",
        "block",
        "shared",
    ),
    _option("projection", "how a diagonal covariance stays diagonal after an update", "kl", "l2", "exact"),
    _option("form", "whether the full covariance or a root of it is stored", "covariance", "root"),
    _option("a", "the initial variance of every weight"),
    _option("forgetting", "below 1: variances grow by its inverse between examples, up to a"),
    _option("kernel", "learn in the feature space of a kernel", "linear", "rbf", "poly"),
    _option("gamma", "the scale of the kernel"),
    _option("degree", "the degree of a polynomial kernel"),
    _option("coef0", "the constant of a polynomial kernel"),
)


def read_characters(node: Node, name: str) -> str:
    if isinstance(node.value, dict | list) or node.value in (None, ""):
        raise node.fail(f"{name} must be text, not {node.shown()}")
    return str(node.value)


with_schema(read_characters, {"type": "string", "minLength": 1})
Classes = Annotated[tuple[float | str, ...] | None, one_or_many(read_class)]


@dataclass(frozen=True)
class Reading:
    """How a user's file becomes examples; an empty value means the default."""

    label: Annotated[str | int, read_column, "the heading or the number (from 1) of the label column"] = ""
    time: Annotated[str | int, read_column, "the column with the time of each row, which is no feature"] = ""
    arrival: Annotated[str | int, read_column, "the column with the time when a label becomes known"] = ""
    delimiter: Annotated[str, read_characters, "what separates columns"] = ""
    missing: Annotated[str, choice(*MISSING), "what to do with missing values"] = ""
    categorical: Annotated[str, choice(*CATEGORICAL), "what to do with columns of text"] = ""
    scale: Annotated[
        str,
        choice(*SCALES),
        "unit: rows of length 1; minmax, standard: each feature; running: each feature by the rows so far",
    ] = ""
    bias: Annotated[bool, "whether to add a feature that is always 1"] = False
    columns: Annotated[
        tuple[ColumnSpec, ...],
        read_columns,
        "columns one by one: a mapping from headings to number, onehot, ordinal, date or drop; or a list of "
        "the only columns to use",
    ] = ()
    #: "training rows" if minmax and standard are fitted on those within each trial, not on all rows.
    fitted: Annotated[str, choice(TRAINING_ROWS)] = ""

    @property
    def is_fitted_per_trial(self) -> bool:
        """Whether features are scaled within each trial, because only its training rows may decide how."""
        return self.scale in FITTED_SCALES and self.fitted == TRAINING_ROWS

    def before_trials(self) -> "Reading":
        return replace(self, scale="", bias=False, fitted="") if self.is_fitted_per_trial else self

    plain = from_struct


USUAL = Reading()


@dataclass(frozen=True)
class DatasetSpec:
    name: Annotated[str, name_text, "a name of the catalogue or a path"]
    path: str = ""
    positive: Classes = None
    negative: Classes = None
    labels: Annotated[str, choice("all"), "every label is a class of its own"] = ""
    reading: Annotated[Reading, Flat()] = USUAL

    plain = from_struct

    @classmethod
    def from_plain(cls, content: Mapping[str, Any]) -> "DatasetSpec":
        return read_plain(cls, content, "the data set")


@dataclass(frozen=True)
class AlgorithmSpec:
    id: Annotated[str, name_text, "one of `olbench algorithms`, or of a plugin"]
    params: Annotated[Mapping[str, Value], mapping(anything), "parameters that are fixed"] = field(
        default_factory=dict
    )
    grid: Annotated[
        Mapping[str, tuple[Value, ...]],
        mapping(many(anything)),
        "values to search, by parameter; by default those of the papers",
    ] = field(default_factory=dict)
    options: Annotated[Mapping[str, Any], Flat(OPTION_KEYS)] = field(default_factory=dict)
    name: Annotated[str, name_text, "what reports call it"] = ""
    settings: Annotated[Mapping[str, Any], Flat()] = field(default_factory=dict)


@dataclass(frozen=True)
class Tuning:
    search: Annotated[str, "how parameters are searched"] = "none"
    ties: Annotated[
        str, choice(*TIES), "which of several best candidates is taken, in the order of the grid"
    ] = "last"
    settings: Annotated[Mapping[str, Any], Flat()] = field(default_factory=dict)


@dataclass(frozen=True)
class Config:
    """An experiment. `settings` holds the keys that its protocol adds, each with a value."""

    datasets: Annotated[tuple[DatasetSpec, ...], "names of the catalogue or files, relative to the config"]
    algorithms: Annotated[
        tuple[AlgorithmSpec, ...], "ids, or ids with settings; or all, for those that the protocol can run"
    ]
    protocol: Annotated[str, "what a trial does and measures"] = "online"
    paper: Annotated[str, "a paper's id, or the path of its file"] = ""
    seed: Annotated[int, "decides all random orders and splits, which all algorithms share"] = 0
    settings: Annotated[Mapping[str, Any], Flat()] = field(default_factory=dict)
    covariance: Annotated[
        str, choice("full", "diag"), "the covariance of second-order algorithms that do not set their own"
    ] = "full"
    tuning: Tuning = Tuning()
    plugins: Annotated[
        tuple[str, ...], "Python files with algorithms or protocols, relative to the config"
    ] = ()

    def with_settings(self, **settings: Any) -> "Config":
        return replace(self, settings={**self.settings, **settings})

    plain = from_struct

    @classmethod
    def from_plain(cls, content: Mapping[str, Any]) -> "Config":
        """Read the values that `plain` wrote. Nothing is looked up: data and plugins may be gone."""
        return read_plain(cls, content, "config")
