"""Images and their labels in IDX files, the format of MNIST."""

from pathlib import Path
from typing import Any

import numpy as np

from olbench.data.compressed import read_content
from olbench.errors import UserError, count

_IDX_KINDS = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read_idx(path: str | Path, limit: int | None = None) -> Any:
    content = read_content(path, limit)
    magic = _take(content, 0, 4, path)
    if magic[:2] != b"\0\0" or magic[2] not in _IDX_KINDS or not 1 <= magic[3] <= 8:
        raise UserError(f"{path} is not an IDX file (it starts with {magic!r})")
    kind, begin = np.dtype(_IDX_KINDS[magic[2]]), 4 + 4 * magic[3]
    shape = tuple(int(k) for k in np.frombuffer(_take(content, 4, begin - 4, path), ">u4"))
    size = int(np.prod(shape, dtype=object)) * kind.itemsize
    values = np.frombuffer(_take(content, begin, size, path), kind).reshape(shape)
    if len(content) > begin + size:
        raise UserError(f"{path} continues after the {count(size, 'byte')} that its header announces")
    return values


def read_images(images: str | Path, labels: str | Path, limit: int | None = None) -> tuple[Any, Any]:
    pixels, digits = read_idx(images, limit), read_idx(labels, limit)
    if digits.ndim != 1 or pixels.ndim < 2 or pixels.shape[0] != digits.shape[0]:
        raise UserError(
            f"{images} has the shape {pixels.shape}, which does not match {digits.shape} in {labels}"
        )
    return pixels.reshape(pixels.shape[0], -1), digits.astype(np.float64)


def _take(content: bytes, begin: int, size: int, path: str | Path) -> bytes:
    piece = content[begin : begin + size]
    if len(piece) < size:
        raise UserError(f"{path} is truncated: {size - len(piece):,} of {count(size, 'byte')} missing")
    return piece
