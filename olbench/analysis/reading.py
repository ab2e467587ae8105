"""The records of a run in columns, kept in the cache folder: verifying 20,000 records takes seconds."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olbench.protocols import Protocol
from olbench.protocols.definition import Series, numbers_of
from olbench.protocols.recorded import RecordedRun
from olbench.records import ledger, remembered, run_file
from olbench.records.container import is_bundle
from olbench.records.quantities import COUNTS, STATE_BYTES
from olbench.records.run_file import CellFacts
from olbench.records.trial import Record

Floats = NDArray[np.float64]
#: Numbers begin at multiples of this many bytes.
ALIGNED = 8

Numbers = NDArray[Any]


class Columns(NamedTuple):
    columns: dict[str, Numbers]
    failures: tuple[str, ...]
    tuned: float | None
    points: Numbers
    curves: dict[str, Numbers]
    recorded_setting: dict[str, Any]


def hash_run(folder: Path) -> str:
    names = (run_file.NAME, ledger.NAME, ledger.PACKED)
    return remembered.hash_files(*(folder / name for name in names))


def read(folder: Path, mark: str) -> list[Columns] | None:
    body = remembered.recall(folder, "columns", mark)
    if body is None:
        return None
    text, _, numbers = body.partition(b"\n")
    room = bytearray(numbers)  # arrays in it can be written, as those of a record that was just read
    return [
        Columns(
            {name: _decode(column, room) for name, column in columns.items()},
            tuple(failures),
            tuned,
            _decode(points, room),
            {name: _decode(curve, room) for name, curve in curves.items()},
            setting,
        )
        for columns, failures, tuned, points, curves, setting in json.loads(text)
    ]


def write(folder: Path, mark: str, cells: Iterable[Columns]) -> None:
    room = bytearray()
    plain = [
        cell._replace(
            columns={name: _encode(column, room) for name, column in cell.columns.items()},
            points=_encode(cell.points, room),
            curves={name: _encode(curve, room) for name, curve in cell.curves.items()},
        )
        for cell in cells
    ]
    remembered.remember(folder, "columns", mark, json.dumps(plain).encode() + b"\n" + room)


def _encode(values: Numbers, room: bytearray) -> Any:
    """Return values as JSON: numbers as a place in `room`, one text for all as such, others as a list."""
    if values.dtype == object:
        texts = set(values.tolist()) if all(isinstance(value, str) for value in values) else ()
        return {"all": values[0], "size": len(values)} if len(texts) == 1 else {"values": values.tolist()}
    begin = len(room)
    room += values.tobytes()
    room += bytes(-len(room) % ALIGNED)
    return [values.dtype.str, values.shape, begin]


def _decode(found: Any, room: bytearray) -> Numbers:
    if isinstance(found, dict):
        values = found["values"] if "values" in found else [found["all"]] * found["size"]
        return np.array([*values, None], object)[:-1]  # NumPy would look into lists of equal length
    kind, shape, begin = found
    return np.frombuffer(room, kind, math.prod(shape), begin).reshape(shape)


def read_columns(run: RecordedRun, is_kept: bool) -> list[Columns]:
    """Return the trials of each cell, from the cache folder if a long record is as it was last read."""
    # A run that goes on would be kept again and again, and a user's own protocol is not among our sources.
    folder = run.folder
    is_ours = type(run.protocol).__module__.startswith("olbench.")
    is_long = sum(len(cell.keys) for cell in run.file.cells) >= remembered.FEWEST
    is_kept = is_kept and is_ours and is_long and bool(run.file.end) and not is_bundle(folder)
    mark = hash_run(folder) if is_kept else ""
    if mark and (columns := read(folder, mark)):
        return columns
    records = ledger.latest(_pack_curves(record, run.protocol) for record in ledger.each(folder))
    columns = list(_Reading(run, records).columns())
    if mark and hash_run(folder) == mark:
        write(folder, mark, columns)
    return columns


def _pack_curves(record: Record, protocol: Protocol) -> Record:
    for each in protocol.series:
        curve = record.get(each.of)
        if isinstance(curve, dict) and each.along in curve and each.name in curve:
            with suppress(TypeError, ValueError, OverflowError):  # refused below, with the key of the record
                numbers = curve[each.name]
                if each.level:  # a level may be undefined
                    numbers = [math.nan if value is None else value for value in numbers]
                points, values = _as_points(curve[each.along]), _as_numbers(numbers)
                curve[each.along], curve[each.name] = points, values.astype(np.float64)
    return record


def _as_points(values: Any) -> NDArray[np.int64]:
    found = _as_numbers(values)
    if found.dtype == np.int64:
        return found
    with np.errstate(invalid="ignore"):
        points = found.astype(np.int64)
    if not np.array_equal(points, found):
        raise TypeError
    return points


def _as_numbers(values: Any) -> NDArray[Any]:
    found = np.asarray(values)
    if found.dtype.kind not in "if" or found.ndim != 1:
        raise TypeError
    return found


class _Reading:
    def __init__(self, run: RecordedRun, records: Mapping[str, Record]):
        self.run, self.protocol, self.records = run, run.protocol, records
        self.failed_tuning: list[Record] = []
        config, quantity = self.protocol.experiment, self.protocol.quantities[0]
        setting = config.setting("tune")
        numbers = range(config.tuning_repeats)
        values: dict[str, list[float]] = {}
        for record in records.values():
            if record["role"] != "tune" or record["protocol"] != self.protocol.id:
                continue
            if record["status"] != "ok":
                self.failed_tuning.append(record)
            elif setting.items() <= record["setting"].items() and record["number"] in numbers:
                run.check(record)
                values.setdefault(_candidate(record, setting), []).append(quantity.of(record))
        #: The mean of each candidate over the tuning trials of this run, and of no other.
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
                tuned=self.scores.get(_candidate(good[0], report)) if good and cell.tuning_passes else None,
                points=points,
                curves=curves,
                recorded_setting=good[0]["setting"] if good else {},
            )

    def _records_of(self, cell: CellFacts) -> list[Record]:
        if cell.params is not None:
            return self.run.trials_of(cell, self.records)
        names = ("dataset", "algorithm", "options")
        return [
            record
            for record in self.failed_tuning
            if all(record[name] == getattr(cell, name) for name in names)
        ]

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
        """Refuse points that do not grow, and none where there must be some; all records have the same."""
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
                raise self.run.refuse(record, f"its {each.of} lacks numbers for {each.name}")
        if record[name][along].tobytes() != first[name][along].tobytes():
            raise self.run.refuse(record, f"its {name} has other points than the trial {first['key']}")


def _column(records: list[Record], name: str, absent: float) -> NDArray[Any]:
    """`absent` where it is missing, NaN where it is None; numbers of one type, or anything else."""
    values = [record.get(name, absent) for record in records]
    if math.isnan(absent):
        values = [math.nan if value is None else value for value in values]
    numeric = all(isinstance(value, int | float) for value in values)
    return np.array(values) if numeric and values else np.array([*values, None], object)[:-1]


def _series_values(columns: Mapping[str, Any], series: Series) -> Any:
    """Return a curve of a record; one that is computed from columns that it lacks has no values."""
    if not series.parts:
        return columns[series.name]
    if not all(name in columns for name in series.parts):
        return np.full(len(columns[series.along]), math.nan)
    assert series.quantity.formula is not None
    return series.quantity.formula(*(np.asarray(columns[name], np.float64) for name in series.parts))


def measured_columns(protocol: Protocol) -> list[str]:
    return [
        "number",
        *(each.name for each in numbers_of(protocol)),
        STATE_BYTES.name,
        "timing",
        "choice",
        "arrays",
    ]


def _candidate(record: Mapping[str, Any], role_setting: Mapping[str, Any]) -> str:
    names = ("dataset", "fingerprint", "algorithm", "params", "options", "seed", "code")
    chosen = {name: value for name, value in record["setting"].items() if name not in role_setting}
    return json.dumps([*(record.get(name) for name in names), chosen], sort_keys=True)
