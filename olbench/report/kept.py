"""The trials of a finished run in columns, kept in the cache folder.

Verifying 20,000 records takes seconds, whatever is shown of them. So what came out is kept under a hash of
run.json, of the ledger and of all sources of olbench. A change of any of them reads the ledger again. The
file holds numbers, JSON and a checksum. If it is missing or damaged, the ledger is read.
"""

import hashlib
import json
import math
import zlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olbench.data.folders import runs_folder
from olbench.errors import UserError
from olbench.files import write_whole
from olbench.trials import ledger, run_file
from olbench.trials.provenance import digest_sources

#: Fewer trials are read faster than anybody notices.
FEWEST = 500
#: How many runs are kept; the one that was kept first goes first.
MOST = 50
#: Numbers begin at multiples of this many bytes.
ALIGNED = 8

Numbers = NDArray[Any]


class Columns(NamedTuple):
    """What the record of a run says about one cell; `olbench.report.results.Entry` describes the fields."""

    columns: dict[str, Numbers]
    failures: tuple[str, ...]
    tuned: float | None
    points: Numbers
    curves: dict[str, Numbers]
    recorded_setting: dict[str, Any]


def hash_run(folder: Path) -> str:
    """Return a hash of everything that decides what the record of a run is read as."""
    digest = hashlib.sha256(digest_sources().encode())
    for name in (run_file.NAME, ledger.NAME, ledger.PACKED, ledger.PACKED_LINES):
        content = (folder / name).read_bytes() if (folder / name).is_file() else b""
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def read(folder: Path, mark: str) -> list[Columns] | None:
    """Return what is kept of a run with this hash, by cell, or None."""
    try:
        head, _, body = _place(folder).read_bytes().partition(b"\n")
    except OSError:
        return None
    if head != _head(mark, body):
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
    """Keep what a run with this hash was read as, if the cache folder can be written."""
    room = bytearray()
    plain = [
        cell._replace(
            columns={name: _encode(column, room) for name, column in cell.columns.items()},
            points=_encode(cell.points, room),
            curves={name: _encode(curve, room) for name, curve in cell.curves.items()},
        )
        for cell in cells
    ]
    body = json.dumps(plain).encode() + b"\n" + room
    with suppress(UserError):
        with write_whole(_place(folder)) as draft:
            draft.write_bytes(_head(mark, body) + b"\n" + body)
        _drop_oldest()


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


def _head(mark: str, body: bytes) -> bytes:
    return f"{mark} {zlib.crc32(body):08x}".encode()


def _place(folder: Path) -> Path:
    return runs_folder() / f"{hashlib.sha256(bytes(folder.resolve())).hexdigest()[:20]}.columns"


def _drop_oldest() -> None:
    with suppress(OSError):
        files = sorted(runs_folder().glob("*.columns"), key=lambda path: path.stat().st_mtime)
        for path in files[:-MOST]:
            path.unlink()
