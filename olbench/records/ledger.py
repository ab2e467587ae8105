"""The ledger: one JSON object per line, never rewritten. Lines reach the disk within a second, together."""

import fcntl
import os
import socket
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

from olbench.errors import UserError
from olbench.files import is_special, write_whole
from olbench.memory import pause_collector
from olbench.records import packed, remembered
from olbench.records.arrays import ArrayFile
from olbench.records.growing import GrowingFile
from olbench.records.record import BrokenRecordError, RecordError, read_line, without_series, write_line
from olbench.records.trial import Record

NAME = "trials.jsonl"
PACKED = "trials.json.xz"
LOCK = ".lock"
#: The packed ledger that was read last, and its keys, which take long to compute.
_keys: dict[Path, tuple[bytes, list[str]]] = {}


class LedgerFullError(UserError):
    """The ledger cannot take another line."""


def each(folder: Path) -> Iterator[Record]:
    """Yield the records of a folder in the order of writing, without a torn last line."""
    path = _find(folder)
    if path.name == PACKED:
        return _unpack(path)
    return (record for record, _ in _read_lines(path))


def keys(folder: Path) -> list[str]:
    path = _find(folder)
    if path in _keys and _keys[path][0] == path.read_bytes():
        return _keys[path][1]
    mark = remembered.hash_files(path)
    if (known := remembered.recall(folder, "keys", mark)) is not None:
        return known.decode().split()
    found = [record["key"] for record in each(folder)]
    if len(found) >= remembered.FEWEST:
        remembered.remember(folder, "keys", mark, "\n".join(found).encode())
    return found


def current(folder: Path) -> dict[str, Record]:
    return latest(each(folder))


def latest(records: Iterable[Record]) -> dict[str, Record]:
    """The last record counts: a failure after a success puts that in doubt; the next run tries again."""
    return {record["key"]: record for record in records}


def find_key(keys: Iterable[str], beginning: str, folder: Path) -> str:
    found = [key for key in keys if key.startswith(beginning)]
    if len(found) != 1:
        problem = "no trial" if not found else f"{len(found)} trials"
        raise UserError(f"{folder}: {problem} with a key that begins with '{beginning}'")
    return found[0]


def _find(folder: Path) -> Path:
    paths = [folder / name for name in (NAME, PACKED)]
    for path in paths:
        if is_special(path):
            raise UserError(f"{path} is not a file; remove it, or choose another folder")
    return next((path for path in paths if path.exists()), paths[0])


def _unpack(path: Path) -> Iterator[Record]:
    content, keys = path.read_bytes(), []
    try:
        for record in packed.unpack(content):
            keys.append(record["key"])
            yield record
    except packed.PackedError as error:
        raise UserError(
            f"{path} is damaged: {error}; restore the file, or remove it, and the next run computes its "
            "trials again"
        ) from None
    _keys.clear()
    _keys[path] = content, keys


def _read_lines(path: Path) -> Iterator[tuple[Record, int]]:
    """Yield the records and where the line of each ends."""
    content = path.read_bytes() if path.exists() else b""
    begin, number = 0, 0
    while (end := content.find(b"\n", begin)) >= 0:
        number += 1
        try:
            record = read_line(content[begin:end])
        except RecordError as error:
            last = content.find(b"\n", end + 1) < 0
            # A kill leaves half a line, never a whole one with another content.
            if last and not isinstance(error, BrokenRecordError):
                return
            raise UserError(
                f"{path}:{number}: {error}; remove the line, and the next run computes that trial again"
            ) from None
        begin = end + 1
        yield record, begin


class Ledger:
    def __init__(self, folder: Path):
        self.path = folder / NAME
        source = _find(folder)
        #: A ledger that ships, which is not unpacked before there is something to add to it.
        self.packed = source if source.name == PACKED else None
        with pause_collector():
            whole = list(map(without_series, each(folder))) if self.packed else self._read()
        self.records = latest(whole)
        self.lines, self.arrays = GrowingFile(self.path, "a whole line"), ArrayFile(folder)

    def _read(self) -> list[Record]:
        whole, size = [], 0
        for record, end in _read_lines(self.path):
            whole.append(without_series(record))
            size = end
        if self.path.exists() and size < self.path.stat().st_size:
            os.truncate(self.path, size)
        return whole

    def append(self, record: Record) -> Record:
        """Return the record as this ledger keeps it in memory; its arrays go to their own file."""
        return self.append_all([record])[0]

    def append_all(self, records: Iterable[Record]) -> list[Record]:
        """Write many records in one piece: the disk confirms them together."""
        if self.packed:
            with write_whole(self.path) as draft, open(draft, "wb") as file:
                file.writelines(map(write_line, _unpack(self.packed)))
            self.packed = None
        with self._refuse_full():
            stored = [dict(record) for record in records]
            for record in stored:
                if "arrays" in record:
                    record["arrays"] = self.arrays.append_all(record["arrays"])
            self.lines.append(b"".join(map(write_line, stored)))
        kept = list(map(without_series, stored))
        self.records |= {record["key"]: record for record in kept}
        return kept

    def sync(self) -> None:
        """Return once all lines are on the disk."""
        with self._refuse_full():
            self.lines.sync()

    @contextmanager
    def _refuse_full(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise LedgerFullError(
                f"cannot write {self.path}: {error.strerror or error}; finished trials are kept, and the "
                "same command resumes once there is space"
            ) from None
        if self.lines.is_removed:
            raise LedgerFullError(
                f"{self.path} was removed during the run, and its trials with it; the same command runs "
                "them again"
            )

    def close(self) -> None:
        for file in (self.arrays, self.lines):
            with suppress(OSError):
                file.close()


@contextmanager
def open_ledger(folder: Path) -> Iterator[Ledger]:
    """Refuse if another run holds it; a folder that was made in vain is removed."""
    created = [each for each in (folder, *folder.parents) if not each.exists()]
    with ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(_lock(folder))
            stack.callback(_remove_unused, created)
        except OSError as error:
            raise UserError(
                f"cannot write to {folder}: {error.strerror or error}; choose another --out"
            ) from None
        yield stack.enter_context(closing(Ledger(folder)))


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Hold a lock that the system releases however this process ends; the file names its holder."""
    with open(os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644), "r+b", buffering=0) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = file.read(200).decode(errors="replace").strip() or "an unknown process"
            raise UserError(
                f"{folder} is in use by another run ({holder}); wait until it ends, or choose another --out"
            ) from None
        with suppress(OSError):  # the lock holds without the note, so a full disk does no harm
            file.truncate(0)
            file.write(f"process {os.getpid()} on {socket.gethostname()}\n".encode())
        try:
            yield
        finally:
            with suppress(OSError):
                file.truncate(0)


def _remove_unused(created: Sequence[Path]) -> None:
    with suppress(OSError):
        if created and os.listdir(created[0]) == [LOCK]:
            (created[0] / LOCK).unlink()
            for folder in created:
                folder.rmdir()
