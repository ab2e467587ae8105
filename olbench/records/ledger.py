"""The ledger: one JSON object per line, on the disk before the next trial counts as done; never rewritten."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from olbench.errors import UserError
from olbench.files import is_special, write_whole
from olbench.memory import pause_collector
from olbench.records import locks, packed, remembered
from olbench.records.arrays import ArrayFile
from olbench.records.container import is_bundle, read_member
from olbench.records.growing import GrowingFile
from olbench.records.record import BrokenRecordError, RecordError, read_line, without_series, write_line
from olbench.records.trial import Record

NAME = "trials.jsonl"
PACKED = "trials.columns.xz"
LOCK = ".lock"
Item = TypeVar("Item")


class LedgerFullError(UserError):
    """The ledger cannot take another line."""


def each(folder: Path) -> Iterator[Record]:
    """Yield the records of a folder or bundle in the order of writing, without a torn last line."""
    if is_bundle(folder):
        return _bundled(folder)
    path = _find(folder)
    if path.name == PACKED:
        return _unpacked(path, packed.unpack_briefly)
    content = path.read_bytes() if path.exists() else b""
    return (record for record, _ in _records(content, path))


def keys(folder: Path) -> list[str]:
    if is_bundle(folder) or (path := _find(folder)).name != PACKED:
        return [record["key"] for record in each(folder)]
    mark = remembered.hash_files(path)
    if (known := remembered.recall(folder, "keys", mark)) is not None:
        return known.decode().split()
    found = list(_unpacked(path, packed.unpack_keys))
    if len(found) >= remembered.FEWEST:
        remembered.remember(folder, "keys", mark, "\n".join(found).encode())
    return found


def _bundled(folder: Path) -> Iterator[Record]:
    try:
        yield from packed.unpack(read_member(folder, PACKED))
    except (ValueError, FileNotFoundError) as error:
        reason = "it is missing" if isinstance(error, FileNotFoundError) else error
        raise UserError(f"{folder}/{PACKED}: {reason}; get the file again, from whoever made it") from None


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


def _unpacked(path: Path, unpack: Callable[[bytes], Iterable[Item]]) -> Iterator[Item]:
    try:
        yield from unpack(path.read_bytes())
    except packed.PackedError as error:
        raise UserError(
            f"{path} is damaged: {error}; restore the file, or remove it, and the next run computes its "
            "trials again"
        ) from None


def _records(content: bytes, path: Path) -> Iterator[tuple[Record, int]]:
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
        content = self.path.read_bytes() if self.path.exists() else b""
        whole, size = [], 0
        for record, end in _records(content, self.path):
            whole.append(without_series(record))
            size = end
        if size < len(content):
            os.truncate(self.path, size)
        return whole

    def append(self, record: Record) -> Record:
        """Return the record as this ledger keeps it in memory; its arrays go to their own file."""
        return self.append_all([record])[0]

    def append_all(self, records: Iterable[Record]) -> list[Record]:
        """Write many records in one piece: the disk confirms them together."""
        if self.packed:
            with write_whole(self.path) as draft, open(draft, "wb") as file:
                file.writelines(line for _, line in _unpacked(self.packed, packed.unpack_lines))
            self.packed = None
        try:
            stored = [self._store_arrays(record) for record in records]
            self.lines.append(b"".join(map(write_line, stored)))
        except OSError as error:
            raise LedgerFullError(
                f"cannot write {self.path}: {error.strerror or error}; what is in it is kept, and the same "
                "command goes on from there once there is room"
            ) from None
        if self.lines.is_removed:
            raise LedgerFullError(
                f"{self.path} was removed during the run, and its trials with it; the same command runs "
                "them again"
            )
        kept = list(map(without_series, stored))
        self.records |= {record["key"]: record for record in kept}
        return kept

    def _store_arrays(self, record: Record) -> Record:
        if "arrays" not in record:
            return record
        others = {name: value for name, value in record.items() if name != "arrays"}
        return {**others, "arrays": self.arrays.append_all(record["arrays"])}

    def close(self) -> None:
        self.arrays.close()
        self.lines.close()


@contextmanager
def open_ledger(folder: Path) -> Iterator[Ledger]:
    """Refuse if another run holds it; a folder that was made for nothing is removed."""
    created = [each for each in (folder, *folder.parents) if not each.exists()]
    with ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locks.hold(folder / LOCK))
            stack.callback(_remove_unused, created)
        except OSError as error:
            raise UserError(
                f"cannot write to {folder}: {error.strerror or error}; choose another --out"
            ) from None
        except locks.LockedError as error:
            raise UserError(
                f"{folder} is in use by another run ({str(error) or 'an unknown process'}); wait until it "
                "ends, or choose another --out"
            ) from None
        yield stack.enter_context(closing(Ledger(folder)))


def _remove_unused(created: Sequence[Path]) -> None:
    with suppress(OSError):
        if created and os.listdir(created[0]) == [LOCK]:
            (created[0] / LOCK).unlink()
            for folder in created:
                folder.rmdir()
