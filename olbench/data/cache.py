"""Parsed data sets on disk: memory-mapped .npy arrays that processes share.

An entry is a folder named by a hash of everything that determines its content. It is written under a
temporary name and renamed when it is complete, so that a reader sees all of it or nothing. Its meta.json,
written last, lists the size, the time stamp and a checksum of each array; an entry with a truncated or
modified array is detected and dropped. If the cache cannot be written, the examples stay in memory.
"""

import contextlib
import hashlib
import json
import logging
import os
import shutil
import uuid
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from olbench.data.folders import cache_folder, parsed_folder
from olbench.data.rows import csr

CHUNK = 1 << 22
#: Smaller files are hashed at every load; the hash of a larger file is kept with its time stamps.
REMEMBERED_SIZE = 8 << 20

log = logging.getLogger("olbench")


def entry_key(recipe: dict[str, Any]) -> str:
    """Return the name of the entry for a recipe: the plain values that determine the parsed arrays."""
    return hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()[:40]


def store(key: str, X: Any, y: Any, fingerprint: str, test_from: int | None = None) -> bool:
    """Write an entry; if the folder cannot take it, log one warning and return False."""
    folder = parsed_folder()
    draft = folder / f".draft-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    try:
        draft.mkdir(parents=True)
        arrays = {name: _write(draft / f"{name}.npy", array) for name, array in _arrays(X, y).items()}
        split = {} if test_from is None else {"test_from": test_from}
        meta = {"shape": list(X.shape), "fingerprint": fingerprint, "arrays": arrays, **split}
        _write_text(draft / "meta.json", json.dumps({**meta, "crc32": _meta_checksum(meta)}, indent=1))
        _install(draft, folder / key)
    except OSError as error:
        log.warning(
            "olbench: cannot write the cache in %s (%s); continuing without it. Set OLBENCH_CACHE to a "
            "writable folder with free space to load faster next time.",
            folder,
            error.strerror or error,
        )
        return False
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return True


def load(key: str, thorough: bool = False) -> tuple[Any, Any, str, int | None] | None:
    """Return the memory-mapped (X, y, fingerprint, test_from) of an entry, or None if there is no valid one.

    Arrays whose time stamp has changed are compared with their checksums; `thorough` compares all of them.
    """
    folder = parsed_folder() / key
    # Another process may write the entry between the first look and the second.
    for _ in range(2):
        try:
            return _read(folder, thorough)
        except (FileNotFoundError, NotADirectoryError):
            if not folder.is_dir():
                return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            _drop(folder, str(error))
            return None
    _drop(folder, "part of it is missing")
    return None


def _read(folder: Path, thorough: bool) -> tuple[Any, Any, str, int | None]:
    """Return the content of an entry; any damage raises an exception."""
    meta = json.loads((folder / "meta.json").read_text())
    if meta.pop("crc32") != _meta_checksum(meta):
        raise ValueError("meta.json does not match its checksum")
    arrays = {name: _map(folder / f"{name}.npy", facts, thorough) for name, facts in meta["arrays"].items()}
    n, d = meta["shape"]
    X = arrays["X"] if "X" in arrays else csr(arrays["data"], arrays["indices"], arrays["indptr"], d)
    if X.shape != (n, d) or arrays["y"].shape != (n,):
        raise ValueError("the shapes do not match")
    return X, arrays["y"], str(meta["fingerprint"]), meta.get("test_from")


def content_hash(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, compressed or not."""
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
    with contextlib.suppress(OSError):
        memo.parent.mkdir(parents=True, exist_ok=True)
        draft = memo.with_name(f".draft-{os.getpid()}-{uuid.uuid4().hex[:8]}")
        draft.write_text(json.dumps({"stamp": stamp, "sha256": digest}))
        draft.replace(memo)
    return digest


def _meta_checksum(meta: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(meta, sort_keys=True).encode())


def _hash_file(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _arrays(X: Any, y: Any) -> dict[str, Any]:
    parts = (
        {"X": X} if isinstance(X, np.ndarray) else {"data": X.data, "indices": X.indices, "indptr": X.indptr}
    )
    return {**parts, "y": y}


def _write(path: Path, array: Any) -> dict[str, Any]:
    """Write one .npy file in pieces, and return its size, time stamp and checksum."""
    array = np.ascontiguousarray(array)
    checksum = 0
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
        file.flush()
        raw = memoryview(array.reshape(-1).view(np.uint8))
        for begin in range(0, len(raw), CHUNK):
            piece = raw[begin : begin + CHUNK]
            file.write(piece)
            checksum = zlib.crc32(piece, checksum)
        file.flush()
        os.fsync(file.fileno())
    facts = path.stat()
    return {"bytes": facts.st_size, "mtime_ns": facts.st_mtime_ns, "crc32": checksum}


def _write_text(path: Path, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _install(draft: Path, final: Path) -> None:
    """Move a complete entry to its final name; if another process was faster, keep its entry."""
    try:
        draft.rename(final)
    except OSError:
        if not (final / "meta.json").exists():
            raise


def _map(path: Path, facts: dict[str, Any], thorough: bool) -> Any:
    status = path.stat()
    if status.st_size != facts["bytes"]:
        raise ValueError(f"{path.name} has {status.st_size} bytes instead of {facts['bytes']}")
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    if thorough or status.st_mtime_ns != facts["mtime_ns"]:
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
