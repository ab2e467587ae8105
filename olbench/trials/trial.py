"""A trial: one run of one algorithm on one data set, and everything that determines its result."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from olbench.algorithms.definition import Value

#: Made once: `json.dumps` would make one for every key.
_ENCODER = json.JSONEncoder(sort_keys=True)
#: A line of the ledger.
Record = dict[str, Any]


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
    #: "report" or "tune": the random numbers of the two are never the same.
    role: str
    #: Which permutation, fold or split it is.
    number: int
    #: What else the protocol has to know, such as the rows, the points of a curve or the number of epochs.
    setting: Mapping[str, Any]
    #: A hash of how the code behaves; see `behaviour`.
    code: str

    @classmethod
    def of(cls, record: Record) -> "Trial":
        """Return the trial that a line of the ledger is about."""
        return cls(**{name: record[name] for name in FIELDS})

    def identity(self) -> dict[str, Any]:
        """Return the fields by name."""
        return {name: getattr(self, name) for name in FIELDS}

    @cached_property
    def key(self) -> str:
        """A hash of all fields."""
        text = _ENCODER.encode(self.identity())
        return hashlib.sha256(text.encode()).hexdigest()[:20]


FIELDS = tuple(each.name for each in fields(Trial))


@dataclass(frozen=True)
class Outcome:
    """What a trial measured: numbers by name, series (columns of equal length) by name, arrays by name.

    Numbers and series are fields of the record. Arrays, such as the prediction for every example, go to a
    file of their own; the record says where.
    """

    measured: Mapping[str, float | int]
    series: Mapping[str, Mapping[str, list[Any]]] = field(default_factory=dict)
    #: What a trial that tunes by itself chose, by name.
    choice: Mapping[str, Value] = field(default_factory=dict)
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
