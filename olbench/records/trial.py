"""A trial: one run of one algorithm on one data set, and everything that determines its result."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olbench.algorithms import get_definition
from olbench.algorithms.algorithm import Algorithm, make_algorithm
from olbench.algorithms.definition import Definition, Value
from olbench.data.source import Source
from olbench.errors import UserError
from olbench.records import seeds

#: Made once: `json.dumps` would make one for every key.
_ENCODER = json.JSONEncoder(sort_keys=True)
#: A line of the ledger; before it is written, with the arrays themselves in place of where they are.
Record = dict[str, Any]


def make_plain(value: Any, name: str = "") -> Any:
    """Return a value as JSON gives it back: NumPy's become Python's, keys become text, tuples lists.

    Whatever a protocol or a grid puts into a trial or an outcome comes through here, so that a trial has one
    key and one setting on every machine.
    """
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        raise UserError(f"{name} is {value}; give a finite number, or None if it is undefined")
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, list | tuple):
        return [make_plain(item, name) for item in value]
    if not isinstance(value, Mapping):
        raise UserError(f"{name} is a {type(value).__name__}; give numbers, text, lists or mappings")
    plain = {str(key): make_plain(item, f"{name}.{key}" if name else str(key)) for key, item in value.items()}
    if len(plain) < len(value):
        raise UserError(f"{name} has two keys that are the same as text; give them other names")
    return plain


@dataclass(frozen=True)
class Trial:
    """Everything that determines a result; the ledger keeps the fields under the same names."""

    protocol: str
    dataset: str
    fingerprint: str
    algorithm: str
    params: Mapping[str, Value]
    #: How the learner is stored or approximated, such as covariance, projection, form and a.
    options: Mapping[str, Any]
    seed: int
    role: str
    number: int
    #: What else the protocol has to know, such as the rows, the points of a curve or the number of epochs.
    setting: Mapping[str, Any]
    #: The version of the algorithm and, from 2 on, of the protocol: "1" or "1-2"; see `code_of`.
    code: str
    #: The data that it runs on, which is no part of its record; None for a trial from a ledger.
    source: Source = field(default=None, repr=False, compare=False)  # type: ignore[assignment]
    #: The numbers that its record must also have; they do not change the trial.
    wanted: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def of(cls, record: Record) -> "Trial":
        return cls(**{name: record[name] for name in FIELDS})

    def identity(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in FIELDS}

    def numbered(self, number: int) -> "Trial":
        """Return this trial with another number."""
        own = dict(self.params), dict(self.options), dict(self.setting)
        return replace(self, number=number, params=own[0], options=own[1], setting=own[2])

    def message(self) -> dict[str, Any]:
        return {**self.identity(), "wanted": self.wanted}

    @cached_property
    def key(self) -> str:
        return key_of(self.identity())

    @property
    def definition(self) -> Definition:
        return get_definition(self.algorithm)

    @property
    def is_object(self) -> bool:
        """Whether the learner is a Python object, which holds the GIL while it runs."""
        return self.definition.rule is None

    def make_algorithm(self, **params: Any) -> Algorithm:
        return make_algorithm(self.algorithm, **{**self.params, **params}, **self.options)

    def generator(self, stream: str, number: int | None = None) -> np.random.Generator:
        """Return the random numbers of a stream for this trial, or for all trials with another number."""
        return seeds.generator(self.seed, self.dataset, stream, self.number if number is None else number)


#: The data set, algorithm, options and role of trials that take about equally long.
Kind = tuple[str, str, str, str]


def kind_of(record: Mapping[str, Any]) -> Kind:
    return record["dataset"], record["algorithm"], str(dict(record["options"])), record["role"]


FIELDS = tuple(each.name for each in fields(Trial) if each.name not in ("source", "wanted"))


def key_of(record: Mapping[str, Any]) -> str:
    text = _ENCODER.encode({name: record[name] for name in FIELDS})
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def code_of(definition: Definition, protocol_version: int) -> str:
    return definition.code + (f"-{protocol_version}" if protocol_version > 1 else "")


@dataclass(frozen=True)
class Outcome:
    """What a trial measured: numbers by name, series (columns of equal length) by name, arrays by name.

    Numbers and series are fields of the record. Arrays, such as the prediction for every example, go to a
    separate file; the record has their places.
    """

    measured: Mapping[str, float | int | None]
    series: Mapping[str, Mapping[str, list[Any]]] = field(default_factory=dict)
    choice: Mapping[str, Value] = field(default_factory=dict)
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    #: The bytes of the learner after the trial, if they are known.
    state_bytes: int | None = None
