"""Strict decompression: Python's readers take damage after the first stream for the end of the file."""

import bz2
import io
import lzma
import zlib
from collections.abc import Callable
from typing import Any

BUFFER = 1 << 17
#: zlib's code for data with the header and the checksum of gzip.
_GZIP = 16 + zlib.MAX_WBITS

MAKERS: dict[str, Callable[[], Any]] = {
    "gzip": lambda: zlib.decompressobj(_GZIP),
    "bzip2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ),
}
#: Formats whose streams may be followed by zeros, which fill a block of a disk or tape.
_PADDED = ("gzip", "xz")


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
