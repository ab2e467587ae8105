"""The one comparison: where two records of one trial, or two ledgers, differ in what must repeat."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olbench.errors import count, shorten
from olbench.records.arrays import with_arrays
from olbench.records.quantities import Quantity
from olbench.records.trial import FIELDS, Record

_ABOUT = {*FIELDS, "key", "format", "error", "timing", "worker", "arrays"}
_TIME = "seconds"


@dataclass(frozen=True)
class Mismatch:
    record: Record
    name: str
    before: Any
    now: Any

    @property
    def place(self) -> str:
        return name_trial(self.record)

    @property
    def values(self) -> tuple[str, str]:
        before, now = self.before, self.now
        if isinstance(before, list) and isinstance(now, list):
            pairs = list(zip(before, now, strict=False))
            place = next((number for number, (one, other) in enumerate(pairs) if one != other), None)
            if place is None:
                return count(len(before), "value"), count(len(now), "value")
            before, now = before[place], now[place]
        return shorten(str(before)), shorten(str(now))


def name_trial(record: Record) -> str:
    role = "" if record["role"] == "report" else f"{record['role']} "
    params = ", ".join(f"{name}={value}" for name, value in record["params"].items())
    algorithm = f"{record['algorithm']} ({params})" if params else record["algorithm"]
    return f"{algorithm} on {record['dataset']}, {role}trial {record['number']} ({record['key']})"


class Recorded(NamedTuple):
    """Records by key, and the folder that has their arrays."""

    folder: Path
    records: Mapping[str, Record]


def compare_ledgers(quantities: Iterable[Quantity], before: Recorded, now: Recorded) -> Iterator[Mismatch]:
    """Yield what differs in the trials that succeeded in both."""
    for key, record in before.records.items():
        again = now.records.get(key)
        if again and record["status"] == again["status"] == "ok":
            pair = with_arrays(before.folder, record), with_arrays(now.folder, again)
            yield from compare_records(quantities, *pair)


def is_different(before: Any, now: Any, tolerance: float = 0.0) -> bool:
    """Return whether two values of one number differ by more than a tolerance; without one, exactly."""
    return bool(abs(now - before) > tolerance if tolerance else before != now)


def compare_records(quantities: Iterable[Quantity], before: Record, now: Record) -> Iterator[Mismatch]:
    """Yield what differs between two records of one trial; both hold their arrays, not references to them."""
    is_exact = {each.name: each.exact for each in quantities}
    plain = json.loads(json.dumps({name: value for name, value in now.items() if name != "arrays"}))
    for name, value in before.items():
        # An earlier record may have a field that is no longer written, but no count may be missing.
        if name not in _ABOUT and is_exact.get(name, name in plain):
            for path, one, other in _compare(name, value, plain.get(name)):
                yield Mismatch(before, path, one, other)
    yield from _compare_arrays(before, before.get("arrays") or {}, now.get("arrays") or {})


def _compare(name: str, before: Any, now: Any) -> Iterator[tuple[str, Any, Any]]:
    if name.endswith(_TIME):
        return
    if isinstance(before, dict) and isinstance(now, dict):
        for each in before:
            # Records from before a column was added do not have it.
            if each in now:
                for path, one, other in _compare(each, before[each], now[each]):
                    yield f"{name}.{path}", one, other
    elif is_different(before, now):
        yield name, before, now


def _compare_arrays(
    record: Record, before: Mapping[str, NDArray[Any]], now: Mapping[str, NDArray[Any]]
) -> Iterator[Mismatch]:
    for name in before.keys() & now.keys():
        one, other = before[name], now[name]
        if one.shape != other.shape:
            yield Mismatch(record, name, f"an array {one.shape}", f"an array {other.shape}")
        elif not np.array_equal(one, other, equal_nan=one.dtype.kind == "f"):
            yield Mismatch(record, name, one.ravel().tolist(), other.ravel().tolist())
