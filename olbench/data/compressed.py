"""Reading plain, gzip, bzip2 and xz files; the content decides which, not the name."""

import io
import lzma
import math
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from olbench.data.decompress import BUFFER, Decompressed
from olbench.errors import UserError

SUFFIXES = ("", ".gz", ".bz2", ".xz")

_KINDS = ((b"\x1f\x8b", "gzip"), (b"BZh", "bzip2"), (b"\xfd7zXZ\x00", "xz"))
_FOREIGN = (
    (b"PK\x03\x04", "a zip archive"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
)
_DAMAGE = (EOFError, zlib.error, lzma.LZMAError)


@contextmanager
def open_content(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file to read its uncompressed bytes; failures become a UserError with its name."""
    kind = "plain"
    try:
        with open(path, "rb") as probe:
            magic = probe.read(6)
        for start, kind_of_file in _FOREIGN:
            if magic.startswith(start):
                raise UserError(f"{path} is {kind_of_file}; unpack it, or compress it with gzip, bzip2 or xz")
        for start, name in _KINDS:
            if magic.startswith(start):
                kind = name
                with open(path, "rb", buffering=0) as file:
                    yield io.BufferedReader(Decompressed(file, kind), BUFFER)
                return
        with open(path, "rb", buffering=0) as stream:
            yield stream
    except _DAMAGE as error:
        raise UserError(f"{path}: its {kind} data is damaged or truncated ({_describe(error)})") from None
    except OSError as error:
        if kind != "plain" and error.errno is None:
            raise UserError(f"{path}: its {kind} data is damaged or truncated ({_describe(error)})") from None
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None


def _describe(error: BaseException) -> str:
    return str(error).rstrip(".") or type(error).__name__


class LimitedStream(io.RawIOBase):
    """A stream that fails after a given number of bytes."""

    def __init__(self, stream: Any, limit: int | None, path: str | Path):
        self.stream, self.left, self.path = stream, math.inf if limit is None else limit, path

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer and return the number of bytes; refuse to exceed the limit."""
        got = int(self.stream.readinto(buffer) or 0)
        self.left -= got
        if self.left < 0:
            raise UserError(f"{self.path} unpacks to more bytes than its limit")
        return got


def base_name(name: str) -> str:
    """Return a file name without its compression suffix."""
    for suffix in SUFFIXES[1:]:
        if name.endswith(suffix):
            return name[: -len(suffix)]
    return name
