"""Parsed data sets on disk: memory-mapped .npy arrays that processes share, in folders named by a hash.

An entry appears whole or not at all. Its meta.json has a checksum of each array; a damaged entry is dropped.
"""

import contextlib
import fcntl
import hashlib
import json
import logging
import os
import shutil
import time
import uuid
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from olbench.data.dataset import UNKNOWN, About, Dataset, assemble
from olbench.errors import UserError
from olbench.files import cache_folder, write_text

CHUNK = 1 << 22
#: Smaller files are hashed at every load; the hash of a larger file is kept with its time stamps.
REMEMBERED_SIZE = 8 << 20
DRAFT = ".draft-"
#: A draft that is younger, in seconds, may not be locked yet.
YOUNG = 60

log = logging.getLogger("olbench")


def parsed_folder() -> Path:
    return cache_folder() / "parsed"


def entry_key(recipe: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()[:40]


def keep(key: str, data: Dataset) -> Dataset:
    """If the folder cannot take it, log one warning and return the data set itself."""
    try:
        with open_draft() as draft:
            for name, array in data.arrays.items():
                draft.add(name, array)
            draft.install(key, data)
    except UnwritableError as error:
        warn_unwritable(error)
        return data
    return load(key, data.name) or data


class UnwritableError(Exception):
    """The cache cannot be written. It is no OSError, which a reader would take for one of its file."""

    def __init__(self, error: OSError):
        super().__init__(error.strerror or str(error))


def warn_unwritable(error: UnwritableError) -> None:
    log.warning(
        "olbench: cannot write the cache in %s (%s); continuing without it. Set OLBENCH_CACHE to a "
        "writable folder with free space to load faster next time.",
        parsed_folder(),
        error,
    )


class GrowingArray:
    """A .npy file that grows by pieces, and its checksum. All pieces together are never in memory."""

    def __init__(self, path: Path, kind: Any, columns: int | None = None):
        self.path, self.kind, self.columns = path, np.dtype(kind), columns
        self.length, self.checksum = 0, 0
        self._file = open(path, "wb")  # noqa: SIM115
        self._begin = self._write_header()

    def append(self, piece: Any) -> None:
        piece = np.ascontiguousarray(piece, dtype=self.kind)
        self.length += piece.shape[0]
        raw = memoryview(piece.reshape(-1).view(np.uint8))
        try:
            self._file.write(raw)
        except OSError as error:
            raise UnwritableError(error) from None
        self.checksum = zlib.crc32(raw, self.checksum)

    def close(self) -> dict[str, Any]:
        self._file.seek(0)
        if self._write_header() != self._begin:
            raise OSError(f"the header of {self.path.name} has another size than planned")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        facts = self.path.stat()
        return {"bytes": facts.st_size, "mtime_ns": facts.st_mtime_ns, "crc32": self.checksum}

    def abandon(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()

    def _write_header(self) -> int:
        """Write the header and return its size; NumPy leaves room in it for a length that grows."""
        shape = (self.length,) if self.columns is None else (self.length, self.columns)
        header = {"descr": self.kind.str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self._file, header)
        return self._file.tell()


class Draft:
    def __init__(self, folder: Path):
        self.folder = folder
        self.arrays: dict[str, dict[str, Any]] = {}
        self._open: dict[str, GrowingArray] = {}

    def start(self, name: str, kind: Any, columns: int | None = None) -> GrowingArray:
        if name in self._open:
            self._open[name].abandon()
        self._open[name] = GrowingArray(self.folder / f"{name}.npy", kind, columns)
        return self._open[name]

    def finish(self, name: str) -> Any:
        self.arrays[name] = self._open.pop(name).close()
        return self.map(name)

    def add(self, name: str, array: Any, kind: Any = None) -> Any:
        file = self.start(name, kind or array.dtype, array.shape[1] if array.ndim == 2 else None)
        step = max(1, CHUNK // max(1, array[:1].nbytes))
        for begin in range(0, array.shape[0], step):
            file.append(array[begin : begin + step])
        return self.finish(name)

    def map(self, name: str) -> Any:
        return np.load(self.folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)

    def drop(self, name: str) -> None:
        del self.arrays[name]
        (self.folder / f"{name}.npy").unlink()

    def install(self, key: str, data: Dataset) -> None:
        shape = [int(length) for length in data.X.shape]
        meta: dict[str, Any] = {"shape": shape, "fingerprint": data.fingerprint, "arrays": self.arrays}
        meta |= {} if data.test_from is None else {"test_from": data.test_from}
        meta |= {} if data.about == UNKNOWN else {"about": vars(data.about)}
        with open(self.folder / "meta.json", "w") as file:
            file.write(json.dumps({**meta, "crc32": _meta_checksum(meta)}, indent=1))
            file.flush()
            os.fsync(file.fileno())
        final = parsed_folder() / key
        try:
            self.folder.rename(final)
        except OSError:
            if not (final / "meta.json").is_file():
                raise

    def abandon(self) -> None:
        for file in self._open.values():
            file.abandon()
        shutil.rmtree(self.folder, ignore_errors=True)


@contextlib.contextmanager
def open_draft() -> Iterator[Draft]:
    """A lock tells drafts at work from those of processes that were killed; the latter are removed here."""
    folder = parsed_folder() / f"{DRAFT}{os.getpid()}-{uuid.uuid4().hex[:8]}"
    draft = Draft(folder)
    try:
        folder.mkdir(parents=True)
        with _hold(folder):
            _sweep()
            yield draft
    except OSError as error:
        raise UnwritableError(error) from None
    finally:
        draft.abandon()


@contextlib.contextmanager
def _hold(folder: Path) -> Iterator[None]:
    """Lock a folder; closing it, or the death of the process, unlocks it."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _sweep() -> None:
    for folder in parsed_folder().glob(f"{DRAFT}*"):
        with contextlib.suppress(OSError):
            handle = os.open(folder, os.O_RDONLY)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if time.time() - folder.stat().st_mtime > YOUNG:
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(handle)


def load(key: str, name: str = "") -> Dataset | None:
    folder = parsed_folder() / key
    # Another process may write the entry between the first look and the second.
    for _ in range(2):
        try:
            return _read(folder, name)
        except (FileNotFoundError, NotADirectoryError):
            if not folder.is_dir():
                return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            _drop(folder, str(error))
            return None
    _drop(folder, "part of it is missing")
    return None


def _read(folder: Path, name: str) -> Dataset:
    meta = json.loads((folder / "meta.json").read_text())
    if meta.pop("crc32") != _meta_checksum(meta):
        raise ValueError("meta.json does not match its checksum")
    arrays = {part: _map(folder / f"{part}.npy", facts) for part, facts in meta["arrays"].items()}
    n, d = meta["shape"]
    X = assemble(arrays, d)
    arrivals = arrays.get("arrivals")
    if X.shape != (n, d) or any(each.shape != (n,) for each in (arrays["y"], arrivals) if each is not None):
        raise ValueError("the shapes do not match")
    about = About.from_plain(meta["about"]) if "about" in meta else UNKNOWN
    return Dataset(name, X, arrays["y"], str(meta["fingerprint"]), meta.get("test_from"), about, arrivals)


def is_mapped(array: Any) -> bool:
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return array is not None


def content_hash(path: Path) -> str:
    facts = path.stat()
    if facts.st_size < REMEMBERED_SIZE:
        return _hash_file(path)
    stamp = [facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino]
    name = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:40]
    memo = cache_folder() / "hashes" / f"{name}.json"
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        remembered = json.loads(memo.read_text())
        if remembered["stamp"] == stamp:
            return str(remembered["sha256"])
    digest = _hash_file(path)
    with contextlib.suppress(UserError):
        write_text(memo, json.dumps({"stamp": stamp, "sha256": digest}))
    return digest


def _meta_checksum(meta: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(meta, sort_keys=True).encode())


def _hash_file(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _map(path: Path, facts: dict[str, Any]) -> Any:
    """Return an array, memory-mapped; if its time stamp has changed, it must match its checksum."""
    status = path.stat()
    if status.st_size != facts["bytes"]:
        raise ValueError(f"{path.name} has {status.st_size} bytes instead of {facts['bytes']}")
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    if status.st_mtime_ns != facts["mtime_ns"]:
        raw = memoryview(array.reshape(-1).view(np.uint8))
        checksum = 0
        for begin in range(0, len(raw), CHUNK):
            checksum = zlib.crc32(raw[begin : begin + CHUNK], checksum)
        if checksum != facts["crc32"]:
            raise ValueError(f"{path.name} does not match its checksum")
    return array


def _drop(folder: Path, reason: str) -> None:
    """Remove a damaged entry; rename it first, because another process may be reading it."""
    log.warning("olbench: the cached data in %s is damaged (%s); reading the original again", folder, reason)
    discard = folder.with_name(f".damaged-{os.getpid()}-{uuid.uuid4().hex[:8]}")
    with contextlib.suppress(OSError):
        folder.rename(discard)
    shutil.rmtree(discard, ignore_errors=True)
