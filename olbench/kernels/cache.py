"""Where compiled code is kept: folders named by a hash of the sources that it was compiled from.

Numba looks only at the file of a function. Kernels take functions from other files, so after an upgrade it
would load the old ones.
"""

import atexit
import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import RLock
from typing import Any

import numba
import numpy as np

from olbench.errors import UserError
from olbench.files import cache_folder
from olbench.plugins import find_parts, read_source

_PACKAGE = Path(__file__).resolve().parents[1]
#: Seconds after which an unused folder is removed: that of an older version, or of a file since edited.
_UNUSED = 30 * 86400
_lock = RLock()
#: Folders of this process, removed at its end.
_temporary: list[str] = []


@contextmanager
def choose_cache(function: Callable[..., Any], how: str) -> Iterator[bool]:
    """Let numba cache what it compiles from a function inside the block; yield whether it can."""
    with _lock:
        before = numba.config.CACHE_DIR
        folder = find_folder(function, how)
        try:
            if folder:
                numba.config.CACHE_DIR = str(folder)
            yield folder is not None
        finally:
            numba.config.CACHE_DIR = before


def find_folder(function: Callable[..., Any], how: str) -> Path | None:
    """Return the cache folder for a function compiled in this way; None if nothing can be cached."""
    file = Path(function.__code__.co_filename)
    if not file.exists():
        return None  # typed into a notebook or a shell
    name = _digest(file.resolve(), how + digest_parts(function))
    with suppress(OSError, UserError):
        return _use(_find_root() / name)
    if os.environ.get("NUMBA_CACHE_DIR"):
        return None
    # Worker processes share it. It is new and private, because numba runs any code that it finds.
    os.environ["NUMBA_CACHE_DIR"] = folder = tempfile.mkdtemp(prefix="olbench-numba-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _temporary.append(folder)
    return _use(Path(folder) / name)


def digest_parts(function: Callable[..., Any]) -> str:
    """Return a hash of what numba compiles with a user's function from elsewhere; '' if that is nothing."""
    parts = find_parts(function)
    arrays = [part.tobytes() for part in parts if isinstance(part, np.ndarray)]
    content = repr([arrays, *(read_source(part) or repr(part) for part in parts)])
    return hashlib.sha256(content.encode(errors="surrogateescape")).hexdigest() if parts else ""


def outlasts_process() -> bool:
    """Return whether the cache survives this process."""
    return not _temporary


@cache
def _digest(file: Path, how: str) -> str:
    folders = [_PACKAGE / "kernels"]
    if file.parent != folders[0]:
        folders.append(_PACKAGE / "algorithms")
    sources = {file, *(source for folder in folders for source in folder.glob("*.py"))}
    if file.is_relative_to(_PACKAGE):
        sources.update(file.parent.glob("*.py"))
    versions = f"{sys.version_info[:2]} {numba.__version__} {numba.config.BOUNDSCHECK} {how} {_PACKAGE}"
    content = b"".join(source.read_bytes() for source in sorted(sources))
    return hashlib.sha256(versions.encode(errors="surrogateescape") + content).hexdigest()[:16]


def _find_root() -> Path:
    if given := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(given).absolute()
    root = cache_folder().absolute() / "compiled"
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = root.stat()
    if found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise PermissionError(f"others can write to {root}, and numba would run their code")
    return root


def _use(folder: Path) -> Path:
    """Create a folder if it is missing, and then remove its neighbours that are long unused."""
    if not folder.exists():
        folder.mkdir(parents=True, exist_ok=True)
        for other in folder.parent.iterdir():
            if len(other.name) == len(folder.name) and time.time() - other.stat().st_mtime > _UNUSED:
                shutil.rmtree(other, ignore_errors=True)
    os.utime(folder)
    tempfile.TemporaryFile(dir=folder).close()
    return folder
