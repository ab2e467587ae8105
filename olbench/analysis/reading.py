"""Trials of finished runs in columns, kept in the cache folder: verifying 20,000 records takes seconds."""

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olbench.records import ledger, remembered, run_file

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
