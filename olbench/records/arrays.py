"""Arrays of trials, in one file next to the ledger; each is on the disk before its record."""

import io
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olbench.errors import UserError
from olbench.records.growing import GrowingFile
from olbench.records.trial import Record

NAME = "arrays.bin"
#: No array is larger, whatever a bundle claims.
MOST_BYTES = 1 << 30
#: Smaller arrays are not compressed: they hardly shrink one by one, but together they do, in a wheel.
SMALL = 1024
#: Where an array is: offset, bytes, checksum and, for bits, how many there are.
Reference = dict[str, int]


class ArrayFile(GrowingFile):
    def __init__(self, folder: Path):
        super().__init__(folder / NAME, "the whole array")

    def append_all(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, Reference]:
        pieces = {name: _encode(array) for name, array in arrays.items()}
        offset = self.append(b"".join(piece for piece, _ in pieces.values()))
        self.sync()
        references = {}
        for name, (piece, bits) in pieces.items():
            references[name] = {"offset": offset, "bytes": len(piece), "crc32": zlib.crc32(piece), **bits}
            offset += len(piece)
        return references


def read_array(folder: Path, reference: Reference) -> NDArray[Any]:
    path = folder / NAME
    try:
        with open(path, "rb") as file:
            file.seek(reference["offset"])
            piece = file.read(min(reference["bytes"], MOST_BYTES))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    if zlib.crc32(piece) != reference["crc32"]:
        raise UserError(
            f"{path} is damaged: an array does not match its checksum; remove the line of its trial from "
            "trials.jsonl, and the next run computes that trial again"
        )
    with suppress(ValueError, TypeError, EOFError, MemoryError, SyntaxError, TokenError, zlib.error):
        is_plain = piece.startswith(np.lib.format.MAGIC_PREFIX)
        content = piece if is_plain else zlib.decompressobj().decompress(piece, MOST_BYTES)
        array: NDArray[Any] = np.load(io.BytesIO(content), allow_pickle=False)
        if "bits" not in reference:
            return array
        if reference["bits"] <= 8 * array.size:
            return np.unpackbits(array, count=reference["bits"]).astype(bool)
    raise UserError(f"{path} has an array that olbench cannot have written")


def with_arrays(folder: Path, record: Record) -> Record:
    """Return a record with its arrays in place of their references."""
    arrays = {name: read_array(folder, each) for name, each in (record.get("arrays") or {}).items()}
    return {**record, "arrays": arrays} if arrays else record


def _encode(array: NDArray[Any]) -> tuple[bytes, dict[str, int]]:
    """Return an array as .npy, compressed unless it is small; truth values take a bit each."""
    bits = {"bits": array.size} if array.dtype == np.bool_ else {}
    stored = np.packbits(array) if bits else array
    text = io.BytesIO()
    np.lib.format.write_array(text, np.ascontiguousarray(stored), allow_pickle=False)
    content = text.getvalue()
    return content if len(content) < SMALL else zlib.compress(content, 6), bits
