"""The one comparison: where two records of one trial, or two ledgers, differ in what must repeat."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from olbench.errors import count, shorten
from olbench.records.arrays import with_arrays
from olbench.records.quantities import LAST_DIGITS, Quantity
from olbench.records.trial import FIELDS, Record

_ABOUT = {*FIELDS, "key", "format", "error", "timing", "worker", "arrays"}
_TIME = "seconds"
#: What one of two records does not have.
MISSING = "missing"
#: A relative tolerance has no meaning for a loss that is zero but for rounding.
NEAR_ZERO = 1e-14
#: Sums of influences by group are rounded; they may differ by this share of the largest.
SUMS, CLOSE = (".groups.", ".fifths."), 2e-3


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
        return show_values(self.before, self.now)


def show_values(before: Any, now: Any) -> tuple[str, str]:
    """Return two values that differ; of two lists, the first place that does, or how long they are."""
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
    known = tuple(quantities)
    for key, record in before.records.items():
        again = now.records.get(key)
        if again and record["status"] == again["status"] == "ok":
            pair = with_arrays(before.folder, record), with_arrays(now.folder, again)
            yield from compare_records(known, *pair)


def compare_records(quantities: Iterable[Quantity], before: Record, now: Record) -> Iterator[Mismatch]:
    """Yield what two records of one trial both have and differ in, and quantities that are missing now."""
    known = tuple(quantities)
    names = {each.name for each in known}
    for each in find_differences(known, before, now):
        # An earlier record may have a field that is no longer written, but no quantity may be missing.
        is_in_both = each.before is not MISSING and each.now is not MISSING
        if is_in_both or (each.now is MISSING and each.before is not None and each.name in names):
            yield each


def find_differences(quantities: Iterable[Quantity], before: Record, now: Record) -> Iterator[Mismatch]:
    """Yield where two records of one trial differ, also what is MISSING in one; both hold their arrays.

    Whatever they have is compared, except times. The name of a number, anywhere in a record, decides how
    far it may be apart; a fraction without a known name may differ in its last digits, an array may not.
    """
    allowed = {each.name: each.allowed for each in quantities}
    for select in (_list_fields, _list_arrays):
        for path, one, other in _compare("", select(before), select(now), allowed):
            yield Mismatch(before, path.removeprefix("."), one, other)


def _list_fields(record: Record) -> dict[str, Any]:
    fields = {name: value for name, value in record.items() if name not in _ABOUT}
    return dict(json.loads(json.dumps(fields)))


def _list_arrays(record: Record) -> dict[str, Any]:
    return record.get("arrays") or {}


def _compare(
    path: str, before: Any, now: Any, allowed: Mapping[str, float]
) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(before, dict) and isinstance(now, dict):
        for name in dict.fromkeys((*before, *now)):
            pair = before.get(name, MISSING), now.get(name, MISSING)
            yield from _compare(f"{path}.{name}", *pair, allowed)
        return
    name = path.rpartition(".")[2]
    tolerance = allowed.get(name, math.inf if name.endswith(_TIME) else LAST_DIGITS)
    if tolerance == math.inf:
        return
    if before is MISSING or now is MISSING:
        yield path, _describe(before), _describe(now)
    elif not isinstance(before, np.ndarray) or not isinstance(now, np.ndarray):
        is_sum = path.startswith(SUMS) and not all(type(each) is int for each in (*before, *now))
        if not (_are_close(before, now) if is_sum else agree(before, now, tolerance)):
            yield path, before, now
    elif before.shape != now.shape:
        yield path, _describe(before), _describe(now)
    elif not np.array_equal(before, now, equal_nan=before.dtype.kind == now.dtype.kind == "f"):
        yield path, before.ravel().tolist(), now.ravel().tolist()


def _are_close(before: Sequence[float], now: Sequence[float]) -> bool:
    """Return whether two lists are equal but for a share of the largest number."""
    most = CLOSE * max(map(abs, before), default=0.0)
    return len(before) == len(now) and all(abs(b - a) <= most for a, b in zip(before, now, strict=True))


def _describe(value: Any) -> Any:
    return f"an array {value.shape}" if isinstance(value, np.ndarray) else value


def agree(one: Any, other: Any, tolerance: float) -> bool:
    """Return whether values, or lists of them, are equal; fractions may be a relative tolerance apart.

    >>> agree([1, 0.3, None], [1, 0.1 + 0.2, None], 1e-9), agree(10**12, 10**12 + 1, 1e-9)
    (True, False)
    """
    if isinstance(one, list) and isinstance(other, list):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(agree(*pair, tolerance) for pair in pairs)
    if one == other or (one != one and other != other):
        return True
    if not tolerance or type(one) is type(other) is int or {type(one), type(other)} - {int, float}:
        return False
    return math.isclose(one, other, rel_tol=tolerance, abs_tol=NEAR_ZERO)
