"""Where compiled code is kept on disk, and how long it is valid.

Numba by itself puts files beside users' files, and looks at the file of a function alone. Kernels take
functions from other files, so after an upgrade they would run the old ones.
"""

import atexit
import hashlib
import os
import re
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

import numba
from numba.core import caching

from olbench.errors import UserError
from olbench.files import cache_folder

_PACKAGE = Path(__file__).resolve().parents[1]
_IMPORT = re.compile(r"^\s*(?:from|import) olbench\.([\w.]+)", re.MULTILINE)
#: What was compiled here, and how.
COMPILED_HERE: dict[CodeType, str] = {}


class Locator:
    """The place of one function: what numba calls a cache locator."""

    def __init__(self, function: Any, file: Path, folder: Path):
        self.file, self.folder = file, folder
        self.line, self.how = function.__code__.co_firstlineno, COMPILED_HERE[function.__code__]

    @classmethod
    def from_function(cls, function: Any, file: str) -> "Locator | None":
        """Return the place of a function, or None if it was not compiled here or there is none."""
        if function.__code__ not in COMPILED_HERE or not os.path.exists(file):
            return None
        path = Path(file).resolve()
        folder = _find_folder(path) or (_find_folder(path) if use_own_cache() else None)
        if folder is None:
            raise RuntimeError(f"no locator available for {file}")  # as numba says it
        return cls(function, path, folder)

    def ensure_cache_path(self) -> None:
        """Do nothing: the folder is there."""

    def get_cache_path(self) -> str:
        return str(self.folder)

    def get_source_stamp(self) -> str:
        """Return what changes whenever the code does, or how it is compiled; a date could go back."""
        files = _find_sources(self.file)
        return hashlib.sha256(b"".join(_read(file)[0] for file in files)).hexdigest() + self.how

    def get_disambiguator(self) -> str:
        return str(self.line)


def _find_folder(file: Path) -> Path | None:
    name = f"{file.parent.name}-{hashlib.sha256(os.fsencode(file)).hexdigest()[:16]}"
    with suppress(OSError, UserError):
        if numba.config.CACHE_DIR:
            return _make_folder(Path(numba.config.CACHE_DIR).absolute() / name)
        with suppress(OSError):
            if file.is_relative_to(_PACKAGE):
                return _make_folder(file.parent / "__pycache__")
        shared = cache_folder().absolute() / "compiled"
        shared.parent.mkdir(parents=True, exist_ok=True)
        return _make_folder(_make_private(_make_private(shared) / name))
    return None


def _make_private(folder: Path) -> Path:
    """Create a folder; raise an OSError if others could put code into it, which numba would run."""
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.stat()
    if found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise PermissionError(f"others can write to {folder}")
    return folder


def _make_folder(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    tempfile.TemporaryFile(dir=folder).close()
    return folder


@cache
def _find_sources(file: Path) -> list[Path]:
    """Return a file and, if it is one of this package, all that it imports from there, directly or not."""
    if not file.is_relative_to(_PACKAGE):
        return [file]
    found, new = {file}, [file]
    while new:
        for path in (_PACKAGE.joinpath(*module.split(".")) for module in _read(new.pop())[1]):
            imported = {path.with_suffix(".py"), *path.glob("*.py")}
            new += [each for each in imported - found if each.is_file()]
            found |= imported
    return sorted(each for each in found if each.is_file())


@cache
def _read(file: Path) -> tuple[bytes, list[str]]:
    content = file.read_bytes()
    return content, _IMPORT.findall(content.decode(errors="replace"))


# Another numba may keep its locators elsewhere; then compiled code stays where it puts it.
_implementation = getattr(caching, "CacheImpl", None) or getattr(caching, "_CacheImpl", None)
getattr(_implementation, "_locator_classes", []).insert(0, Locator)


def use_own_cache() -> bool:
    """Keep compiled code in a folder of this process: neither the package nor the cache can be written.

    The folder is new and private, as numba runs what it finds in one. Worker processes share it. Return
    whether there is one now: where NUMBA_CACHE_DIR names a folder that cannot be written, nothing is kept.
    """
    if numba.config.CACHE_DIR:
        return False
    folder = tempfile.mkdtemp(prefix="olbench-numba-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["NUMBA_CACHE_DIR"] = numba.config.CACHE_DIR = folder
    _temporary.append(folder)
    return True


#: The folder of this process, if there is one.
_temporary: list[str] = []


def outlasts_process() -> bool:
    """Return whether what was compiled so far is kept for the next process."""
    return not _temporary
