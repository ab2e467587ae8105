"""A file that grows by whole pieces: whenever a run is killed, at most the last piece is torn."""

import os
from pathlib import Path
from threading import Lock, Timer

#: The pieces of so many seconds reach the disk together: a power cut may lose them, and a kill does not.
SYNC_SECONDS = 1.0


class GrowingFile:
    """A file that only this process writes to; it is opened with the first piece."""

    def __init__(self, path: Path, piece: str):
        self.path, self.piece = path, piece
        self.file: int | None = None
        self._lock = Lock()
        self._timer: Timer | None = None
        self._error: OSError | None = None

    def append(self, content: bytes) -> int:
        """Write a piece, which is on the disk after the next `sync`; return where it begins.

        A piece that cannot be written is removed.
        """
        with self._lock:
            if self._error:
                raise self._error
            if self.file is None:
                self.file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            begin = os.fstat(self.file).st_size
            try:
                if os.write(self.file, content) < len(content):
                    raise OSError(f"there is no room for {self.piece}")
            except OSError:
                os.ftruncate(self.file, begin)
                raise
            if self._timer is None:
                self._timer = Timer(SYNC_SECONDS, self._sync_later)
                self._timer.daemon = True
                self._timer.start()
            return begin

    def sync(self) -> None:
        """Return once all pieces are on the disk."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
                assert self.file is not None
                os.fsync(self.file)
            if self._error:
                raise self._error

    def _sync_later(self) -> None:
        try:
            self.sync()
        except OSError as error:
            self._error = error  # for the next piece, or the end

    @property
    def is_removed(self) -> bool:
        """Whether the file was removed: then every piece can be written, and none is kept."""
        return self.file is not None and os.fstat(self.file).st_nlink == 0

    def close(self) -> None:
        try:
            self.sync()
        finally:
            if self.file is not None:
                os.close(self.file)
                self.file = None
