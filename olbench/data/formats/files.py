"""Formats of files."""

from pathlib import Path
from typing import Any

from olbench.data.catalog import CatalogEntry
from olbench.data.readers.registry import reader


def _limit(entry: CatalogEntry) -> int | None:
    return entry.max_bytes or None


@reader("libsvm", version=1)
def read_text(*given: Any) -> Any:
    from olbench.data.readers.libsvm import read_libsvm

    *paths, entry = given
    return read_libsvm(paths, _limit(entry))


@reader("idx", files=2, version=1)
def read_digits(images: Path, digits: Path, entry: CatalogEntry) -> Any:
    import numpy as np

    from olbench.data.readers.idx import read_images

    X, labels = read_images(images, digits, _limit(entry))
    # Other digits go before the pixels become doubles, which take eight times the memory.
    if entry.positive is not None and entry.negative is not None:
        mask = np.isin(labels, [*entry.positive, *entry.negative])
        X, labels = X[mask], labels[mask]
    return X.astype(np.float64), labels


@reader("csv", suffixes=(".csv", ".tsv", ".tab"), version=1)
def read_csv(path: Path, entry: CatalogEntry) -> Any:
    from olbench.data.readers.tables.csv import read_table

    return read_table(path, entry.reading.delimiter, _limit(entry))


@reader("spoligotypes", version=1)
def read_isolates(path: Path, entry: CatalogEntry) -> Any:
    from olbench.data.readers.spoligotypes import read_spoligotypes

    return read_spoligotypes(path, _limit(entry), miru24=entry.generator)


@reader("feature-counts", version=1)
@reader("reviews", version=1)
@reader("posts", version=1)
def read_documents(path: Path, entry: CatalogEntry) -> Any:
    from olbench.data.readers import documents

    if entry.format == "posts":
        return documents.read_posts(path, entry.members, entry.text, _limit(entry))
    read = documents.read_reviews if entry.format == "reviews" else documents.read_feature_counts
    return read(path, list(entry.members), entry.text, _limit(entry))


@reader("parquet", suffixes=(".parquet", ".pq"), version=1)
def read_parquet(path: Path, entry: CatalogEntry) -> Any:
    from olbench.data.readers import frames

    return frames.read_parquet(path)
