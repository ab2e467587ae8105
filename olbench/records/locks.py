"""A lock on a file that one process holds; the system releases it however the process ends."""

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class LockedError(Exception):
    """Another process holds the lock; the text says what it wrote down about itself."""


@contextmanager
def hold(path: Path) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LockedError(_read(descriptor)) from None
        try:
            _write(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n")
            yield
        finally:
            _write(descriptor, "")
    finally:
        os.close(descriptor)


def _read(descriptor: int) -> str:
    os.lseek(descriptor, 0, os.SEEK_SET)
    return os.read(descriptor, 200).decode(errors="replace").strip()


def _write(descriptor: int, note: str) -> None:
    with suppress(OSError):  # the lock holds without the note, so a full disk does no harm
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, note.encode())
