"""What was read from a run before, in the cache folder: it saves time and nothing else.

It is kept under a hash of the files that were read and of all sources of olbench, so a change of any of them
makes it void. A file has a checksum; one that is missing, damaged or void is None.
"""

import hashlib
import zlib
from contextlib import suppress
from pathlib import Path

from olbench.data.folders import runs_folder
from olbench.errors import UserError
from olbench.files import write_whole
from olbench.trials.provenance import digest_sources

#: Fewer trials are read faster than anybody notices.
FEWEST = 500
#: How many runs are remembered; the one that was first goes first.
MOST = 50


def hash_files(*paths: Path) -> str:
    """Return a hash of files, which need not exist, and of all sources of olbench."""
    digest = hashlib.sha256(digest_sources().encode())
    for path in paths:
        content = path.read_bytes() if path.is_file() else b""
        digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def recall(folder: Path, what: str, mark: str) -> bytes | None:
    """Return what is remembered of a folder whose files have this hash, or None."""
    try:
        head, _, body = _place(folder, what).read_bytes().partition(b"\n")
    except OSError:
        return None
    return body if head == _head(mark, body) else None


def remember(folder: Path, what: str, mark: str, body: bytes) -> None:
    """Remember something of a folder whose files have this hash, if the cache folder can be written."""
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
