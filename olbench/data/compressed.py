"""Reading plain, gzip, bzip2 and xz files; the content decides which, not the name.

Decompression is strict: Python's readers take damage after the first stream for the end of the file.
"""

import bz2
import codecs
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from olbench.errors import UserError
from olbench.files import cache_folder

SUFFIXES = ("", ".gz", ".bz2", ".xz")

STDIN = "-"
READ_AT_ONCE = 1 << 26
LONGEST_LINE = 1 << 16

_KINDS = ((b"\x1f\x8b", "gzip"), (b"BZh", "bzip2"), (b"\xfd7zXZ\x00", "xz"))
_FOREIGN = (
    (b"PK\x03\x04", "a zip archive"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
)
BUFFER = 1 << 17

MAKERS: dict[str, Callable[[], Any]] = {
    "gzip": lambda: zlib.decompressobj(16 + zlib.MAX_WBITS),  # with gzip's header and checksum
    "bzip2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ),
}
#: Formats whose streams may be followed by zeros, which fill a block of a disk or tape.
_PADDED = ("gzip", "xz")

#: Called with the position in a file and its size while it is read; a pipe has size 0.
_listeners: list[Callable[[int, int], None]] = []


@contextmanager
def listen_to_reading(listener: Callable[[int, int], None]) -> Iterator[None]:
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


@contextmanager
def open_content(path: str | Path) -> Iterator[IO[bytes]]:
    kind, name = "plain", show_path(path)
    try:
        place = 0 if _is_stdin(path) else path
        with _Watched(place, closefd=place != 0) as file:
            raw = io.BufferedReader(file, BUFFER)
            head = raw.peek()
            for magic, archive in _FOREIGN:
                if head.startswith(magic):
                    raise UserError(f"{name} is {archive}; unpack it, or compress it with gzip, bzip2 or xz")
            kind = next((kind for magic, kind in _KINDS if head.startswith(magic)), "plain")
            yield raw if kind == "plain" else io.BufferedReader(Decompressed(raw, kind), BUFFER)
    except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        if isinstance(error, OSError) and (kind == "plain" or error.errno is not None):
            raise UserError(f"cannot read {name}: {error.strerror or error}") from None
        reason = str(error).rstrip(".") or type(error).__name__
        raise UserError(f"{name}: its {kind} data is damaged or truncated ({reason})") from None


def read_pieces(path: str | Path) -> Iterator[bytes]:
    with open_content(path) as stream:
        while piece := stream.read(READ_AT_ONCE):
            yield piece


def read_content(path: str | Path) -> bytes:
    return b"".join(read_pieces(path))


def read_utf8(path: str | Path) -> bytes:
    content = read_content(path).removeprefix(codecs.BOM_UTF8)
    try:
        content.isascii() or content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}:{line}: not UTF-8 text; save the file as UTF-8") from None
    return content


def is_pipe(path: str | Path) -> bool:
    """Return whether a path can be read only once: a pipe, a terminal or standard input."""
    path = Path(path)
    try:
        return str(path) == STDIN or path.is_fifo() or path.is_char_device() or path.is_socket()
    except OSError:  # opening it will raise the error
        return False


def piped_folder() -> Path:
    return cache_folder() / "piped"


def show_path(path: str | Path) -> str:
    """Return a path as errors show it; a copy of a pipe is shown as the pipe."""
    if _is_stdin(path):
        return "stdin"
    is_copy = Path(path).parent.parent == piped_folder()
    return Path(path).name.removesuffix(".csv") if is_copy else str(path)


def _is_stdin(path: str | Path) -> bool:
    return str(path) in (STDIN, "/dev/stdin")


class _Watched(io.FileIO):
    """A file that tells the listeners how far it has been read."""

    position = 0

    def readinto(self, buffer: Any) -> int:
        got = super().readinto(buffer) or 0
        self.position += got
        for listener in _listeners:
            listener(self.position, os.fstat(self.fileno()).st_size)
        return got


def base_name(name: str) -> str:
    for suffix in SUFFIXES[1:]:
        if name.endswith(suffix):
            return name[: -len(suffix)]
    return name


class Decompressed(io.RawIOBase):
    def __init__(self, file: Any, kind: str):
        self.file, self.kind = file, kind
        self.stream = MAKERS[kind]()
        self.left = b""
        self.ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self.ended:
            piece = self._decompress(len(buffer))
            if piece:
                buffer[: len(piece)] = piece
                return len(piece)
        return 0

    def _decompress(self, most: int) -> bytes:
        if self.stream.eof:
            self._begin_stream()
            return b""
        if not self.left and (self.kind == "gzip" or self.stream.needs_input):
            self.left = self.file.read(BUFFER)
            if not self.left:
                raise EOFError("the file ends before its last stream does")
        piece = self.stream.decompress(self.left, most)
        self.left = self.stream.unconsumed_tail if self.kind == "gzip" else b""
        return bytes(piece)

    def _begin_stream(self) -> None:
        rest = self.stream.unused_data or self.file.read(BUFFER)
        if self.kind in _PADDED:
            while rest and not (rest := rest.lstrip(b"\0")):
                rest = self.file.read(BUFFER)
        self.ended = not rest
        self.stream, self.left = MAKERS[self.kind](), rest
