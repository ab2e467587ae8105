"""A cache of what was read from a run, under a hash of its files and of all sources of olbench."""

import hashlib
import zlib
from contextlib import suppress
from pathlib import Path

from olbench.errors import UserError
from olbench.files import cache_folder, write_whole
from olbench.records.provenance import digest_sources

#: Fewer trials are read faster than anybody notices.
FEWEST = 500
MOST = 50


def runs_folder() -> Path:
    return cache_folder() / "runs"


def hash_files(*paths: Path) -> str:
    digest = hashlib.sha256(digest_sources().encode())
    for path in paths:
        content = path.read_bytes() if path.is_file() else b""
        digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def recall(folder: Path, what: str, mark: str) -> bytes | None:
    try:
        head, _, body = _place(folder, what).read_bytes().partition(b"\n")
    except OSError:
        return None
    return body if head == _head(mark, body) else None


def remember(folder: Path, what: str, mark: str, body: bytes) -> None:
    with suppress(UserError, OSError):
        with write_whole(_place(folder, what)) as draft:
            draft.write_bytes(_head(mark, body) + b"\n" + body)
        files = sorted(runs_folder().glob(f"*.{what}"), key=lambda path: path.stat().st_mtime)
        for path in files[:-MOST]:
            path.unlink()


def _place(folder: Path, what: str) -> Path:
    return runs_folder() / f"{hashlib.sha256(bytes(folder.resolve())).hexdigest()[:20]}.{what}"


def _head(mark: str, body: bytes) -> bytes:
    return f"{mark} {zlib.crc32(body):08x}".encode()
