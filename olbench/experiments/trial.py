"""A trial: one pass of one algorithm over one order of one data set, and the key of its result."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from olbench.algorithms.definition import Value

#: A line of the ledger.
Record = dict[str, Any]


@dataclass(frozen=True)
class Trial:
    """Everything that determines a result; its fields stand in the ledger under the same names."""

    dataset: str
    fingerprint: str
    algorithm: str
    params: Mapping[str, Value]
    #: covariance, projection or form, and a, of a second-order algorithm.
    options: Mapping[str, Any]
    seed: int
    role: str
    part: str
    permutation: int
    #: How many points the curve has.
    points: int
    #: The version of the code that computes it.
    kernels: str

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
        text = json.dumps(self.identity(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    def failed(self, error: BaseException) -> Record:
        """Return the record of a trial that could not be run."""
        empty = dict.fromkeys(
            ("n", "mistakes", "updates", "effective_updates", "breakdowns", "seconds", "cpu_seconds", "curve")
        )
        reason = f"{type(error).__name__}: {error}"
        return {"key": self.key, **self.identity(), **empty, "timing": "shared", "status": "failed",
                "error": reason}  # fmt: skip


FIELDS = tuple(field.name for field in fields(Trial))
