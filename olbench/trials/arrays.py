"""Arrays of trials, such as the prediction for every example, in one compact file beside the ledger.

An array is compressed, appended to the file and on the disk before the record that refers to it is written.
Wherever a run is killed, every record refers to whole arrays; at worst the file ends with bytes that nothing
refers to.
"""

import io
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olbench.errors import UserError
from olbench.trials.growing import GrowingFile

NAME = "arrays.bin"
#: Where an array is: offset, bytes, checksum and, for bits, how many there are.
Reference = dict[str, int]


class ArrayFile(GrowingFile):
    """The arrays of a results folder."""

    def __init__(self, folder: Path):
        super().__init__(folder / NAME, "the whole array")

    def append_all(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, Reference]:
        """Write arrays, wait until they are on the disk, and return where each one is."""
        pieces = {name: _encode(array) for name, array in arrays.items()}
        offset = self.append(b"".join(piece for piece, _ in pieces.values()))
        references = {}
        for name, (piece, bits) in pieces.items():
            references[name] = {"offset": offset, "bytes": len(piece), "crc32": zlib.crc32(piece), **bits}
            offset += len(piece)
        return references


def read_array(folder: Path, reference: Reference) -> NDArray[Any]:
    """Return an array that a record refers to."""
    path = folder / NAME
    try:
        with open(path, "rb") as file:
            file.seek(reference["offset"])
            piece = file.read(reference["bytes"])
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    if zlib.crc32(piece) != reference["crc32"]:
        raise UserError(f"{path} is damaged: an array does not match its checksum; run the trial again")
    array: NDArray[Any] = np.load(io.BytesIO(zlib.decompress(piece)), allow_pickle=False)
    if "bits" in reference:
        return np.unpackbits(array, count=reference["bits"]).astype(bool)
    return array


def _encode(array: NDArray[Any]) -> tuple[bytes, dict[str, int]]:
    """Return an array as compressed .npy; truth values take a bit each."""
    bits = {"bits": array.size} if array.dtype == np.bool_ else {}
    stored = np.packbits(array) if bits else array
    text = io.BytesIO()
    np.lib.format.write_array(text, np.ascontiguousarray(stored), allow_pickle=False)
    return zlib.compress(text.getvalue(), 6), bits
