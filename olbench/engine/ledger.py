"""The ledger: one JSON object a line, added at the end, never rewritten.

A line is written in one piece and is on the disk before the next trial counts as done. Where a run was killed
in the middle of a line, the next one cuts that line off.
"""

import fcntl
import json
import lzma
import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from olbench.errors import UserError
from olbench.experiments.trial import Record

NAME = "trials.jsonl"
#: A ledger that ships with the code is compressed: `xz -9 trials.jsonl`.
PACKED = "trials.jsonl.xz"
LOCK = ".lock"


class LedgerFullError(UserError):
    """The ledger cannot take another line."""


def read(folder: Path) -> list[Record]:
    """Return the records of a results folder in the order of writing, without a torn last line."""
    path = folder / NAME
    if not path.exists():
        path = folder / PACKED
    if not path.exists():
        return []
    return [record for record, _ in _records(_content(path), path)]


def _content(path: Path) -> bytes:
    if path.name != PACKED:
        return path.read_bytes()
    try:
        return lzma.decompress(path.read_bytes())
    except lzma.LZMAError as error:
        raise UserError(f"{path} is damaged: {error}") from None


def latest(records: list[Record]) -> dict[str, Record]:
    """Return the record that counts for each key: the last success, or else the last failure."""
    found: dict[str, Record] = {}
    for record in records:
        known = found.get(record["key"])
        if known is None or record["status"] == "ok" or known["status"] != "ok":
            found[record["key"]] = record
    return found


def one_key(keys: Iterable[str], beginning: str, folder: Path) -> str:
    """Return the only key that begins like this."""
    found = [key for key in keys if key.startswith(beginning)]
    if len(found) != 1:
        problem = "no trial" if not found else f"{len(found)} trials"
        raise UserError(f"{folder}: {problem} with a key that begins with '{beginning}'")
    return found[0]


def _records(content: bytes, path: Path) -> Iterator[tuple[Record, int]]:
    """Yield each record with the position of its end; stop before a last line that is not whole."""
    begin, number = 0, 0
    while (end := content.find(b"\n", begin)) >= 0:
        number += 1
        record = _record(content[begin:end])
        if record is None:
            if content.find(b"\n", end + 1) < 0:
                return
            raise UserError(
                f"{path}:{number}: this line is not a trial; the ledger was damaged by something else than "
                "a stopped run, so remove the line or start with another --out"
            )
        begin = end + 1
        yield record, begin


def _record(line: bytes) -> Record | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) and {"key", "status"} <= record.keys() else None


def _light(record: Record) -> Record:
    """Return a record without its curve: a run of many trials keeps all of them in memory."""
    return {**record, "curve": None}


class Ledger:
    """The ledger of a results folder, open for writing by this process alone."""

    def __init__(self, folder: Path):
        self.path = folder / NAME
        content = self.path.read_bytes() if self.path.exists() else b""
        whole, self.size = [], 0
        for record, end in _records(content, self.path):
            whole.append(_light(record))
            self.size = end
        self.records = latest(whole)
        self.torn = len(content) - self.size
        self.file: int | None = None

    def append(self, record: Record) -> None:
        """Write a record and wait until it is on the disk."""
        line = json.dumps(record, allow_nan=False, separators=(",", ":")).encode() + b"\n"
        try:
            if self.file is None:
                self.file = self._open()
            if os.write(self.file, line) < len(line):
                raise OSError("there is no room for a whole line")
            os.fsync(self.file)
        except OSError as error:
            self._undo()
            raise LedgerFullError(
                f"cannot write {self.path}: {error.strerror or error}; what is in it is kept, and the same "
                "command goes on from there once there is room"
            ) from None
        self.size += len(line)
        self.records[record["key"]] = _light(record)

    def _open(self) -> int:
        return os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def repair(self) -> None:
        """Cut off a torn last line."""
        if self.torn:
            os.truncate(self.path, self.size)

    def _undo(self) -> None:
        """Leave no part of a line behind that could not be written as a whole."""
        if self.file is not None:
            os.ftruncate(self.file, self.size)

    def close(self) -> None:
        """Close the file."""
        if self.file is not None:
            os.close(self.file)
            self.file = None


@contextmanager
def open_ledger(folder: Path) -> Iterator[Ledger]:
    """Yield the ledger of a folder; refuse where another run has it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise UserError(
            f"cannot write to {folder}: {error.strerror or error}; choose another --out"
        ) from None
    try:
        _lock(lock, folder)
        ledger = Ledger(folder)
        ledger.repair()
        try:
            yield ledger
        finally:
            ledger.close()
            os.ftruncate(lock, 0)
    finally:
        os.close(lock)


def _lock(lock: int, folder: Path) -> None:
    """Take the lock, which the system gives back however this process ends, and say whose it is."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        holder = os.pread(lock, 200, 0).decode(errors="replace").strip() or "an unknown process"
        raise UserError(
            f"{folder} is in use by another run ({holder}); wait until it ends, or choose another --out"
        ) from None
    # The lock holds without its text, which a full disk may refuse.
    with suppress(OSError):
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
