"""A file that grows by whole pieces: whenever a run is killed, at most the last piece is torn."""

import os
from pathlib import Path


class GrowingFile:
    """A file that only this process writes to; it is opened with the first piece."""

    def __init__(self, path: Path, piece: str):
        self.path, self.piece = path, piece
        self.file: int | None = None

    def append(self, content: bytes) -> int:
        """Return where the piece begins, once it is on the disk; if that fails, it is removed."""
        if self.file is None:
            self.file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        begin = os.fstat(self.file).st_size
        try:
            if os.write(self.file, content) < len(content):
                raise OSError(f"there is no room for {self.piece}")
            os.fsync(self.file)
        except OSError:
            os.ftruncate(self.file, begin)
            raise
        return begin

    @property
    def is_removed(self) -> bool:
        """Whether the file was removed: then every piece can be written, and none is kept."""
        return self.file is not None and os.fstat(self.file).st_nlink == 0

    def close(self) -> None:
        if self.file is not None:
            os.close(self.file)
            self.file = None
