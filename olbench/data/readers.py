"""The formats that ship; each imports the libraries that read it when it is called."""

from pathlib import Path
from typing import Any

from olbench.data.catalog import CatalogEntry, find
from olbench.data.compressed import read_content
from olbench.data.formats import reader
from olbench.errors import UserError, count

_IDX_KINDS = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


@reader("libsvm", version=1)
def read_text(*given: Any) -> Any:
    from olbench.data.libsvm import read_libsvm

    *paths, entry = given
    return read_libsvm(paths, entry.first_index)


@reader("idx", files=2, version=1)
def read_digits(images: Path, digits: Path, entry: CatalogEntry) -> Any:
    import numpy as np

    X, labels = read_images(images, digits)
    # Other digits go before the pixels become doubles, which take eight times the memory.
    if entry.positive is not None and entry.negative is not None:
        mask = np.isin(labels, [*entry.positive, *entry.negative])
        X, labels = X[mask], labels[mask]
    return X.astype(np.float64), labels


@reader("csv", suffixes=(".csv", ".tsv", ".tab"), version=1)
def read_csv(path: Path, entry: CatalogEntry) -> Any:
    from olbench.data.tables import read_table

    return read_table(path, entry.reading.delimiter)


@reader("parquet", suffixes=(".parquet", ".pq"), version=1)
def read_parquet(path: Path, entry: CatalogEntry) -> Any:
    from olbench.data import tables

    return tables.read_parquet(path)


@reader("scikit-learn", files=0)
def read_shipped(entry: CatalogEntry) -> Any:
    from olbench.data.synthetic import read_bundled

    return read_bundled(entry.bundled)


@reader("synthetic", files=0)
def draw_gaussian(entry: CatalogEntry) -> Any:
    from olbench.data.synthetic import RotatedGaussian

    settings: dict[str, Any] = {**entry.generator}
    run = settings.pop("run", 0)
    return RotatedGaussian(rows=entry.rows, features=entry.features, **settings).draw(run)


@reader("stream", files=0)
def draw_stream(entry: CatalogEntry) -> Any:
    from olbench.data import synthetic
    from olbench.data.entries import read_examples

    settings: dict[str, Any] = {**entry.generator}
    if "parts" in settings:  # the names of data sets that need no files
        spliced = [read_examples(find(name), ()) for name in settings["parts"].split("+")]
        settings["parts"] = [(each.X, each.y) for each in spliced]
    return synthetic.draw_stream(settings.pop("kind"), entry.rows, entry.drifts, **settings)


def read_idx(path: str | Path) -> Any:
    import numpy as np

    content = read_content(path)
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


def read_images(images: str | Path, labels: str | Path) -> tuple[Any, Any]:
    pixels, digits = read_idx(images), read_idx(labels)
    if digits.ndim != 1 or pixels.ndim < 2 or pixels.shape[0] != digits.shape[0]:
        raise UserError(
            f"{images} has the shape {pixels.shape}, which does not match {digits.shape} in {labels}"
        )
    return pixels.reshape(pixels.shape[0], -1), digits.astype("float64")


def _take(content: bytes, begin: int, size: int, path: str | Path) -> bytes:
    piece = content[begin : begin + size]
    if len(piece) < size:
        raise UserError(f"{path} is truncated: {size - len(piece):,} of {count(size, 'byte')} missing")
    return piece
