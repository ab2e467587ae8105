"""A lock on a file that one process holds, on every system.

POSIX and Windows each have a lock that the system releases however the process ends. Where Python knows
neither, a second file says that the lock is held; after a kill, the user has to remove it.
"""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

fcntl: Any
msvcrt: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None
try:
    import msvcrt
except ImportError:  # POSIX
    msvcrt = None

#: Flags that keep a descriptor from child processes, and line ends as they are, where a system knows them.
FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
#: Windows locks bytes and not files. This one lies behind any content, which so stays readable.
FAR = 1 << 30


class LockedError(Exception):
    """Another process holds the lock; the text says what it wrote down about itself."""


@contextmanager
def hold(path: Path, note: str) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | FLAGS, 0o644)
    try:
        try:
            release = _take(descriptor, path)
        except OSError:
            raise LockedError(_read(descriptor)) from None
        try:
            _write(descriptor, note)
            yield
        finally:
            _write(descriptor, "")
            release()
    finally:
        os.close(descriptor)


def describe_process() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}\n"


def _take(descriptor: int, path: Path) -> Callable[[], object]:
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return lambda: None  # closing releases it
    if msvcrt is not None:
        return _take_byte(descriptor)
    held = path.with_name(f"{path.name}.held")
    os.close(os.open(held, os.O_WRONLY | os.O_CREAT | os.O_EXCL | FLAGS, 0o644))
    return lambda: held.unlink(missing_ok=True)


def _take_byte(descriptor: int) -> Callable[[], object]:
    def change(mode: int) -> None:
        os.lseek(descriptor, FAR, os.SEEK_SET)
        msvcrt.locking(descriptor, mode, 1)

    change(msvcrt.LK_NBLCK)
    return lambda: change(msvcrt.LK_UNLCK)


def _read(descriptor: int) -> str:
    os.lseek(descriptor, 0, os.SEEK_SET)
    return os.read(descriptor, 200).decode(errors="replace").strip()


def _write(descriptor: int, note: str) -> None:
    """Replace the note. The lock holds without it, so a full disk does no harm."""
    try:
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, note.encode())
    except OSError:
        return
