"""The trials of a recorded cell: what run.json says about a cell must hold for the records that it names."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olbench.errors import UserError, count, shorten
from olbench.protocols import Protocol
from olbench.records import ledger, run_file
from olbench.records.run_file import CellFacts, RunFile
from olbench.records.trial import FIELDS, Record, key_of

SHARED = ("seed", "fingerprint", "options", "role", "code")

_ABOUT = {*FIELDS, "key", "version", "status", "error", "timing", "worker", "checksum", "arrays"}
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


def compare_records(protocol: Protocol, before: Record, now: Record) -> Iterator[Mismatch]:
    ignored = _ABOUT | {each.name for each in protocol.numbers if not each.exact}
    exact = {each.name for each in protocol.exact}
    plain = json.loads(json.dumps({name: value for name, value in now.items() if name != "arrays"}))
    for name, value in before.items():
        # An earlier record may have a field that is no longer written, but no count may be missing.
        if name not in ignored and (name in plain or name in exact):
            for path, one, other in _compare(name, value, plain.get(name)):
                yield Mismatch(before, path, one, other)


def _compare(name: str, before: Any, now: Any) -> Iterator[tuple[str, Any, Any]]:
    if name.endswith(_TIME):
        return
    if isinstance(before, dict) and isinstance(now, dict):
        for each in before:
            # Records from before a column was added do not have it.
            if each in now:
                for path, one, other in _compare(each, before[each], now[each]):
                    yield f"{name}.{path}", one, other
    elif before != now:
        yield name, before, now


def compare_arrays(
    record: Record, before: Mapping[str, NDArray[Any]], now: Mapping[str, NDArray[Any]]
) -> Iterator[Mismatch]:
    for name in before.keys() & now.keys():
        one, other = before[name], now[name]
        if one.shape != other.shape:
            yield Mismatch(record, name, f"an array {one.shape}", f"an array {other.shape}")
        elif not np.array_equal(one, other, equal_nan=one.dtype.kind == "f"):
            yield Mismatch(record, name, one.ravel().tolist(), other.ravel().tolist())


def check_record(record: Record, protocol: Protocol, path: Path, use: str) -> None:
    """Refuse a record that lacks what a tuning or a table needs; only an edited ledger has one."""
    if defect := protocol.find_defect(record):
        raise refuse_record(record, path, use, defect)


def refuse_record(record: Record, path: Path, use: str, reason: str) -> UserError:
    return UserError(
        f"{path}: the trial {record['key']} cannot be {use}, because {reason}; remove its line, and the next "
        "run computes that trial again"
    )


class Recorded:
    def __init__(self, folder: Path, run: RunFile, protocol: Protocol, records: Mapping[str, Record]):
        self.folder, self.run, self.protocol, self.records = folder, run, protocol, records

    def trials_of(self, cell: CellFacts) -> list[Record]:
        found = [self.records[key] for key in cell.keys if key in self.records]
        self._check_cell(cell, found)
        viewed = [self.protocol.view(record, cell.setting) for record in found]
        good = [record for record in viewed if record["status"] == "ok"]
        for record in good:
            self.check(record)
        if any(each.same for each in self.protocol.recorded):
            self._check_sizes(good)
        return viewed

    def check(self, record: Record) -> None:
        """Refuse an edited record even if its checksum fits."""
        if defect := self.protocol.find_defect(record):
            raise self.refuse(record, defect)
        if not _has_own_key(record):
            raise self.refuse(record, "its key is not that of its fields")

    def refuse(self, record: Record, reason: str) -> UserError:
        return refuse_record(record, self.folder / ledger.NAME, "reported", reason)

    def _check_cell(self, cell: CellFacts, records: Sequence[Record]) -> None:
        stated = {"protocol": self.protocol.id, "dataset": cell.dataset, "algorithm": cell.algorithm}
        numbers: dict[int, Record] = {}
        for record in records:
            for name, value in stated.items():
                if record[name] != value:
                    reason = f"the {name} of its trial {record['key']} is {shorten(repr(record[name]))}"
                    raise self._refuse_cell(cell, f"{reason} and not {shorten(repr(value))}")
            for name in SHARED:
                if record[name] != records[0][name]:
                    pair = f"its trials {records[0]['key']} and {record['key']}"
                    raise self._refuse_cell(cell, f"{pair} differ in their {name}")
            first = numbers.setdefault(record["number"], record)
            if first is not record:
                pair = f"its trials {first['key']} and {record['key']}"
                raise self._refuse_cell(cell, f"{pair} have the same number, {record['number']}")

    def _refuse_cell(self, cell: CellFacts, reason: str) -> UserError:
        return UserError(
            f"{self.folder / run_file.NAME}: {cell.label} on {cell.dataset} cannot be reported, because "
            f"{reason}; run its config again, which rewrites this file"
        )

    def _check_sizes(self, records: Sequence[Record]) -> None:
        sizes = Counter(record["n"] for record in records)
        if len(sizes) < 2:
            return
        usual = sizes.most_common(1)[0][0]
        one = next(record for record in records if record["n"] == usual)
        other = next(record for record in records if record["n"] != usual)
        raise UserError(
            f"{self.folder / ledger.NAME}: the trials {one['key']} and {other['key']} cannot be reported "
            f"together, because their n are {one['n']} and {other['n']}; remove both lines, and the next run "
            "computes these trials again"
        )


def _has_own_key(record: Record) -> bool:
    if key_of(record) == record["key"]:
        return True
    # A setting of a user's own protocol may have had numbers as keys, which JSON made text.
    return bool(key_of({**record, "setting": _restore_numbers(record["setting"])}) == record["key"])


def _restore_numbers(value: Any) -> Any:
    """Return plain values in which keys that look like whole numbers are numbers."""
    if isinstance(value, list):
        return [_restore_numbers(item) for item in value]
    if not isinstance(value, dict):
        return value
    numbers = all(re.fullmatch("-?[0-9]{1,18}", key) for key in value)
    return {int(key) if numbers else key: _restore_numbers(item) for key, item in value.items()}
