"""Parsed data sets on disk: memory-mapped .npy arrays that processes share, in folders named by a hash.

An entry appears whole or not at all. A damaged entry is deleted and made again.
"""

import contextlib
import hashlib
import json
import logging
import os
import platform
import shutil
import uuid
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from olbench.data.dataset import (
    UNKNOWN,
    About,
    Dataset,
    as_stored,
    assemble,
    count_entries,
    csr,
    dense_is_smaller,
    fingerprint,
    narrow,
)
from olbench.errors import UserError
from olbench.files import cache_folder, write_text

CHUNK = 1 << 22
#: Smaller files are hashed at every load; the hash of a larger file is kept with its time stamps.
REMEMBERED_SIZE = 8 << 20
DRAFT = f".draft-{platform.node()}-"

log = logging.getLogger("olbench")


def parsed_folder() -> Path:
    return cache_folder() / "parsed"


def entry_key(recipe: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps({"cache": 2, **recipe}, sort_keys=True).encode()).hexdigest()[:40]


def keep(key: str, data: Dataset) -> Dataset:
    """Return the cached data set; if it cannot be written, log one warning and return the data set itself."""
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
    """The cache cannot be written. Not an OSError, which would seem to come from the file that is read."""

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
    """A .npy file that grows piece by piece, so that all pieces together are never in memory."""

    def __init__(self, path: Path, kind: Any, columns: int | None = None):
        self.path, self.kind, self.columns, self.length = path, np.dtype(kind), columns, 0
        self.file = open(path, "wb")  # noqa: SIM115
        self._write_header()

    def append(self, piece: Any) -> None:
        piece = np.ascontiguousarray(piece, dtype=self.kind)
        self.length += piece.shape[0]
        self.file.write(memoryview(piece.reshape(-1).view(np.uint8)))

    def close(self) -> list[int]:
        """Return the size and the time stamp of the whole file."""
        self.file.seek(0)
        self._write_header()
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()
        return _stamp(self.path)

    def _write_header(self) -> None:
        """NumPy pads the header, so that its size does not depend on the length."""
        shape = (self.length,) if self.columns is None else (self.length, self.columns)
        header = {"descr": self.kind.str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self.file, header)


class GrowingRows:
    """Sparse rows in a draft that grow block by block."""

    def __init__(self, draft: "Draft"):
        self.draft, self.ends = draft, [np.zeros(1, np.int64)]
        self.indices, self.data = draft.start("indices", np.int32), draft.start("data", np.float64)

    def append(self, X: Any) -> None:
        self.extend(X.indptr[1:], X.indices, X.data)

    def extend(self, ends: Any, indices: Any, data: Any) -> None:
        self.ends.append(ends.astype(np.int64) + self.data.length)
        self.indices.append(indices)
        self.data.append(data)

    def finish(self, d: int) -> Any:
        indptr = self.draft.add("indptr", narrow(np.concatenate(self.ends)))
        return csr(self.draft.finish("data"), self.draft.finish("indices"), indptr, d)


class Draft:
    def __init__(self, folder: Path):
        self.folder = folder
        self.arrays: dict[str, list[int]] = {}
        self._open: dict[str, GrowingArray] = {}

    def start(self, name: str, kind: Any, columns: int | None = None) -> GrowingArray:
        self._open[name] = GrowingArray(self.folder / f"{name}.npy", kind, columns)
        return self._open[name]

    def finish(self, name: str) -> Any:
        self.arrays[name] = self._open.pop(name).close()
        return _map(self.folder / f"{name}.npy")

    def add(self, name: str, array: Any, kind: Any = None) -> Any:
        file = self.start(name, kind or array.dtype, array.shape[1] if array.ndim == 2 else None)
        step = max(1, CHUNK // max(1, array[:1].nbytes))
        for begin in range(0, array.shape[0], step):
            file.append(array[begin : begin + step])
        return self.finish(name)

    def change_rows(self, blocks: Callable[[], Iterator[Any]]) -> Any:
        """Replace X by blocks of rows that are made from it, stored as what is smaller."""
        for name in (old := sorted(self.arrays.keys() & {"X", "data", "indices", "indptr"})):
            (self.folder / f"{name}.npy").rename(self.folder / f"old-{name}.npy")
            del self.arrays[name]
        n = entries = 0
        for block in blocks():
            n, d = n + block.shape[0], block.shape[1]
            entries += count_entries(block)
        is_dense = dense_is_smaller(n, d, entries)
        rows: Any = self.start("X", np.float64, d) if is_dense else GrowingRows(self)
        for block in blocks():
            rows.append(as_stored(block, is_dense))
        for name in old:
            (self.folder / f"old-{name}.npy").unlink()
        return self.finish("X") if is_dense else rows.finish(d)

    def increment(self, name: str) -> None:
        array = np.load(self.folder / f"{name}.npy", mmap_mode="r+")
        array += 1
        array.flush()
        self.arrays[name] = _stamp(self.folder / f"{name}.npy")

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
        for array in self._open.values():
            with contextlib.suppress(OSError):
                array.file.close()
        shutil.rmtree(self.folder, ignore_errors=True)


@contextlib.contextmanager
def open_draft() -> Iterator[Draft]:
    folder = parsed_folder() / f"{DRAFT}{os.getpid()}-{uuid.uuid4().hex[:8]}"
    draft = Draft(folder)
    try:
        folder.mkdir(parents=True)
        _remove_abandoned()
        yield draft
    except OSError as error:
        raise UnwritableError(error) from None
    finally:
        draft.abandon()


def _remove_abandoned() -> None:
    """Remove the drafts of processes of this machine that were killed."""
    for folder in parsed_folder().glob(f"{DRAFT}*"):
        try:
            os.kill(int(folder.name.split("-")[-2]), 0)
        except ProcessLookupError:
            shutil.rmtree(folder, ignore_errors=True)
        except PermissionError:  # of another user
            pass


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
    stamps = {part: _stamp(folder / f"{part}.npy") for part in meta["arrays"]}
    if any(stamps[part][0] != size for part, (size, _) in meta["arrays"].items()):
        raise ValueError("a file has another size")
    arrays = {part: _map(folder / f"{part}.npy") for part in meta["arrays"]}
    n, d = meta["shape"]
    X, y, arrivals = assemble(arrays, d), arrays["y"], arrays.get("arrivals")
    if X.shape != (n, d) or any(each.shape != (n,) for each in (y, arrivals) if each is not None):
        raise ValueError("the shapes do not match")
    if stamps != meta["arrays"] and fingerprint(X, y, arrivals) != meta["fingerprint"]:
        raise ValueError("the content does not match its fingerprint")
    about = About.from_plain(meta["about"]) if "about" in meta else UNKNOWN
    return Dataset(name, X, y, str(meta["fingerprint"]), meta.get("test_from"), about, arrivals)


def _stamp(path: Path) -> list[int]:
    facts = path.stat()
    return [facts.st_size, facts.st_mtime_ns]


def _map(path: Path) -> Any:
    return np.load(path, mmap_mode="r", allow_pickle=False)


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


def _drop(folder: Path, reason: str) -> None:
    """Remove a damaged entry; rename it first, because another process may be reading it."""
    log.warning("olbench: the cached data in %s is damaged (%s); reading the original again", folder, reason)
    discard = folder.with_name(f".damaged-{os.getpid()}-{uuid.uuid4().hex[:8]}")
    with contextlib.suppress(OSError):
        folder.rename(discard)
    shutil.rmtree(discard, ignore_errors=True)
