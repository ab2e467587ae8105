"""The records of a run in columns, kept in the cache folder: checking 20,000 records takes seconds."""

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olbench.algorithms.definition import OPTIONS
from olbench.protocols import Protocol
from olbench.protocols.definition import Series, numbers_of
from olbench.protocols.recorded import RecordedRun
from olbench.records import ledger, remembered, run_file
from olbench.records.container import is_bundle
from olbench.records.quantities import COUNTS, STATE_BYTES
from olbench.records.run_file import CellFacts
from olbench.records.trial import Record

Floats = NDArray[np.float64]
Numbers = NDArray[Any]
#: In the cache, numbers begin at multiples of this many bytes.
ALIGNED = 8
#: The keys of arrays in the JSON of the cache; numbers are in the bytes after it.
NUMBERS, OBJECTS = "numbers of an array", "objects of an array"
ORIGIN = ("dataset", "algorithm", "options")


class Columns(NamedTuple):
    columns: dict[str, Numbers]
    failures: tuple[str, ...]
    tuned: float | None
    points: Numbers
    curves: dict[str, Numbers]
    recorded_setting: dict[str, Any]
    groups: dict[str, Numbers]
    fifths: dict[str, Numbers]


def read_columns(run: RecordedRun, is_kept: bool) -> list[Columns]:
    """Return the trials of each cell, from the cache folder if a long record has not changed since."""
    # An unfinished run would be kept again and again, and a user's own protocol is not among our sources.
    is_ours = type(run.protocol).__module__.startswith("olbench.")
    is_long = sum(len(cell.keys) for cell in run.file.cells) >= remembered.FEWEST
    is_kept = is_kept and is_ours and is_long and bool(run.file.end) and not is_bundle(run.folder)
    mark = _hash_run(run.folder) if is_kept else ""
    if mark and (columns := _recall(run.folder, mark)):
        return columns
    records = ledger.latest(_pack_curves(record, run.protocol) for record in ledger.each(run.folder))
    columns = list(_Reading(run, records).columns())
    if mark and _hash_run(run.folder) == mark:
        numbers = bytearray()
        text = json.dumps(columns, default=lambda array: _encode(array, numbers))
        remembered.remember(run.folder, "columns", mark, text.encode() + b"\n" + numbers)
    return columns


def _hash_run(folder: Path) -> str:
    return remembered.hash_files(*(folder / name for name in (run_file.NAME, ledger.NAME, ledger.PACKED)))


def _recall(folder: Path, mark: str) -> list[Columns] | None:
    body = remembered.recall(folder, "columns", mark)
    if body is None:
        return None
    text, _, rest = body.partition(b"\n")
    numbers = bytearray(rest)  # writable, like the arrays of a record that was just read
    cells = json.loads(text, object_hook=lambda found: _decode(found, numbers))
    return [Columns(columns, tuple(failures), *others) for columns, failures, *others in cells]


def _encode(array: Numbers, numbers: bytearray) -> dict[str, Any]:
    if array.dtype == object:
        return {OBJECTS: array.tolist()}
    begin = len(numbers)
    numbers += array.tobytes() + bytes(-array.nbytes % ALIGNED)
    return {NUMBERS: [array.dtype.str, array.shape, begin]}


def _decode(found: dict[str, Any], numbers: bytearray) -> Any:
    if OBJECTS in found:
        return _as_objects(found[OBJECTS])
    if NUMBERS not in found:
        return found
    kind, shape, begin = found[NUMBERS]
    return np.frombuffer(numbers, kind, math.prod(shape), begin).reshape(shape)


def _as_objects(values: list[Any]) -> Numbers:
    return np.array([*values, None], object)[:-1]  # NumPy would look into lists of equal length


def _pack_curves(record: Record, protocol: Protocol) -> Record:
    for each in protocol.series:
        curve = record.get(each.of)
        if isinstance(curve, dict) and each.along in curve and each.name in curve:
            with suppress(TypeError, ValueError, OverflowError):  # refused below, with the key of the record
                numbers = curve[each.name]
                if each.level:  # a level may be undefined
                    numbers = [math.nan if value is None else value for value in numbers]
                points, values = _as_numbers(curve[each.along], np.int64), _as_numbers(numbers, np.float64)
                curve[each.along], curve[each.name] = points, values
    return record


def _as_numbers(values: Any, kind: type[np.generic]) -> Numbers:
    found = np.asarray(values)
    if found.dtype.kind not in "if" or found.ndim != 1:
        raise TypeError
    with np.errstate(invalid="ignore"):
        numbers = found.astype(kind, copy=False)
    if kind is np.int64 and not np.array_equal(numbers, found):
        raise TypeError
    return numbers


def _as_groups(values: Any) -> Numbers:
    found = np.asarray(values)
    if found.dtype.kind not in "if" or found.ndim != 1:
        raise TypeError
    return found


class _Reading:
    def __init__(self, run: RecordedRun, records: Mapping[str, Record]):
        self.run, self.protocol, self.records = run, run.protocol, records
        self.failed_tuning: list[Record] = []
        config, quantity = self.protocol.experiment, self.protocol.quantities[0]
        self.is_repeated = config.tuning.is_repeated
        setting = config.setting("tune")
        values: dict[tuple[str, int], list[float]] = {}
        for record in records.values():
            if record["role"] != "tune" or record["protocol"] != self.protocol.id:
                continue
            if record["status"] != "ok":
                self.failed_tuning.append(record)
                continue
            place = record["number"] // config.tuning_repeats
            if setting.items() <= record["setting"].items() and (self.is_repeated or place == 0):
                run.check(record)
                values.setdefault((_candidate(record, setting), place), []).append(quantity.of(record))
        #: The mean of each candidate over the trials of each tuning of this run, and of no other.
        self.scores = {candidate: sum(each) / len(each) for candidate, each in values.items()}

    def columns(self) -> Iterator[Columns]:
        report = self.protocol.experiment.setting("report")
        # Records from before a quantity was added do not have it; 0 would look like a measurement.
        later = (*self.protocol.quantities, STATE_BYTES)
        absent = {name: math.nan for each in later for name in (each.name, *each.parts)}
        columns = measured_columns(self.protocol)
        for cell in self.run.file.cells:
            records = self._records_of(cell)
            good = sorted((r for r in records if r["status"] == "ok"), key=lambda r: int(r["number"]))
            for record in good:
                if record["number"] >= cell.planned:
                    raise self.run.refuse(record, f"its number is {record['number']} of {cell.planned}")
            points, curves = self._curves(good)
            own = [*columns, *(["drifts"] if any("drifts" in record for record in good) else [])]
            yield Columns(
                columns={name: _column(good, name, absent.get(name, 0)) for name in own},
                failures=tuple(" ".join(str(r["error"]).split()) for r in records if r["status"] != "ok"),
                tuned=self._score(cell, good, report),
                points=points,
                curves=curves,
                recorded_setting=good[0]["setting"] if good else {},
                groups=self._sums("groups", good),
                fifths=self._sums("fifths", good),
            )

    def _score(self, cell: CellFacts, good: list[Record], report: Mapping[str, Any]) -> float | None:
        """Return the mean of the chosen candidates over the trials that chose them."""
        if not cell.tuning_passes:
            return None
        tuned_apart = good if self.is_repeated else good[:1]
        chosen = [(_candidate(each, report), self.is_repeated * int(each["number"])) for each in tuned_apart]
        scores = [self.scores[place] for place in chosen if place in self.scores]
        return sum(scores) / len(scores) if scores else None

    def _records_of(self, cell: CellFacts) -> list[Record]:
        if cell.params is not None:
            return self.run.trials_of(cell, self.records)
        searched = self.run.config.algorithms[cell.entry].grid.keys() & OPTIONS.keys()
        names = [name for name in ORIGIN if name != "options" or not searched]
        own = {name: getattr(cell, name) for name in names}
        return [each for each in self.failed_tuning if {name: each[name] for name in names} == own]

    def _sums(self, field: str, records: list[Record]) -> dict[str, Numbers]:
        """Return what all records have by group or fifth, one row per record; older ones have nothing."""
        own = [record.get(field) or {} for record in records]
        shared = [name for name in (own[0] if own else ()) if all(name in each for each in own)]
        try:
            return {name: np.array([_as_groups(each[name]) for each in own]) for name in shared}
        except (TypeError, ValueError):
            raise self.run.refuse(
                records[0], f"its {field} are not numbers, as many as in other trials"
            ) from None

    def _curves(self, records: list[Record]) -> tuple[NDArray[np.int64], dict[str, Floats]]:
        series = self.protocol.series
        if not series or not records:
            return np.zeros(0, np.int64), {each.name: np.zeros((0, 0)) for each in series}
        first = records[0]
        for record in records:
            self._check_series(record, first)
        points = np.array(first[series[0].of][series[0].along], np.int64)
        self._check_points(first, points)
        curves = {}
        for each in series:
            values = np.array([_series_values(record[each.of], each) for record in records], np.float64)
            curves[each.name] = values.reshape(len(records), points.size)
            if not each.parts:
                self._check_curves(records, each, curves[each.name])
        return points, curves

    def _check_points(self, first: Record, points: NDArray[np.int64]) -> None:
        """Refuse points that do not grow or are missing where they are required; all records share them."""
        name = self.protocol.series[0].of
        if not points.size and any(each.required for each in self.protocol.series):
            raise self.run.refuse(first, f"its {name} is empty")
        # A count per example needs an example.
        least = int(any(each.per_example for each in self.protocol.series))
        if points.size and (points[0] < least or (np.diff(points) <= 0).any()):
            raise self.run.refuse(first, f"the points of its {name} do not grow from {least}")

    def _check_curves(self, records: list[Record], series: Series, values: Floats) -> None:
        bad = np.isinf(values) if series.level else ~np.isfinite(values)
        if series.per_example or series.timed or series.quantity.percent or series.name in COUNTS:
            bad |= values < 0
        if series.per_example:
            bad[:, 1:] |= np.diff(values, axis=1) < 0
        if bad.any():
            row, column = np.argwhere(bad)[0]
            number = f"{values[row, column]:g} at point {column + 1} of its {series.of}"
            raise self.run.refuse(records[row], f"its {series.name} cannot be {number}")

    def _check_series(self, record: Record, first: Record) -> None:
        name, along = self.protocol.series[0].of, self.protocol.series[0].along
        for each in (each for each in self.protocol.series if not each.parts):
            curve = record.get(each.of)
            # A column is packed with its points, or neither is.
            if not isinstance(curve, dict) or not isinstance(curve.get(each.name), np.ndarray):
                raise self.run.refuse(record, f"its {each.of} has no numbers for {each.name}")
        if record[name][along].tobytes() != first[name][along].tobytes():
            raise self.run.refuse(record, f"its {name} has other points than the trial {first['key']}")


def _column(records: list[Record], name: str, absent: float) -> NDArray[Any]:
    """`absent` where it is missing, NaN where it is None; numbers of one type, or anything else."""
    values = [record.get(name, absent) for record in records]
    if math.isnan(absent):
        values = [math.nan if value is None else value for value in values]
    numeric = all(isinstance(value, int | float) for value in values)
    return np.array(values) if numeric and values else _as_objects(values)


def _series_values(columns: Mapping[str, Any], series: Series) -> Any:
    """Return a curve of a record; one that is computed from missing columns has no values."""
    if not series.parts:
        return columns[series.name]
    if not all(name in columns for name in series.parts):
        return np.full(len(columns[series.along]), math.nan)
    assert series.quantity.formula is not None
    return series.quantity.formula(*(np.asarray(columns[name], np.float64) for name in series.parts))


def measured_columns(protocol: Protocol) -> list[str]:
    numbers = (each.name for each in numbers_of(protocol))
    return ["number", *numbers, STATE_BYTES.name, "timing", "choice", "arrays"]


def _candidate(record: Mapping[str, Any], role_setting: Mapping[str, Any]) -> str:
    names = ("dataset", "fingerprint", "algorithm", "params", "options", "seed", "code")
    chosen = {name: value for name, value in record["setting"].items() if name not in role_setting}
    return json.dumps([*(record.get(name) for name in names), chosen], sort_keys=True)
