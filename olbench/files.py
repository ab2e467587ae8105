"""Whole files: content appears completely or not at all, and a device is never replaced."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from threading import get_ident

from olbench.errors import UserError, expand_home

#: Never replaced, even where the shell has redirected them to a plain file.
STREAMS = (Path("/dev/stdout"), Path("/dev/stderr"))


def cache_folder() -> Path:
    """Return the root of everything that is cached: OLBENCH_CACHE, or the user's cache folder."""
    given = os.environ.get("OLBENCH_CACHE")
    if given:
        return expand_home(given)
    from platformdirs import user_cache_path

    return user_cache_path("olbench")


@contextmanager
def write_whole(path: Path) -> Iterator[Path]:
    """A link is followed; a device or a pipe is written to directly, never replaced."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if is_special(path) or path.is_relative_to("/dev/fd") or path in STREAMS:
            yield path
            return
        target = Path(os.path.realpath(path))
        # With an ending, the name itself could be too long.
        name = sha256(os.fsencode(target.name)).hexdigest()[:12]
        draft = target.with_name(f".{name}.{os.getpid()}-{get_ident():x}.part")
        try:
            yield draft
            draft.replace(target)
        finally:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from None


def write_text(path: Path, content: str, durable: bool = False) -> None:
    """Write a text in one piece, in UTF-8; a durable one is on the disk before it replaces another."""
    with write_whole(path) as draft, open(draft, "w", encoding="utf-8") as file:
        file.write(content)
        if durable:
            file.flush()
            os.fsync(file.fileno())


def is_special(path: Path) -> bool:
    return path.exists() and not path.is_file()
