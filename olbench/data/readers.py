"""The formats that ship; each imports the libraries that read it when it is called."""

from pathlib import Path
from typing import Any

from olbench.data.catalog import CatalogEntry, find
from olbench.data.formats import reader


def _limit(entry: CatalogEntry) -> int | None:
    return entry.max_bytes or None


@reader("libsvm", version=1)
def read_text(*given: Any) -> Any:
    from olbench.data.libsvm import read_libsvm

    *paths, entry = given
    return read_libsvm(paths, _limit(entry))


@reader("idx", files=2, version=1)
def read_digits(images: Path, digits: Path, entry: CatalogEntry) -> Any:
    import numpy as np

    from olbench.data.archives import read_images

    X, labels = read_images(images, digits, _limit(entry))
    # Other digits go before the pixels become doubles, which take eight times the memory.
    if entry.positive is not None and entry.negative is not None:
        mask = np.isin(labels, [*entry.positive, *entry.negative])
        X, labels = X[mask], labels[mask]
    return X.astype(np.float64), labels


@reader("csv", suffixes=(".csv", ".tsv", ".tab"), version=1)
def read_csv(path: Path, entry: CatalogEntry) -> Any:
    from olbench.data.tables import read_table

    return read_table(path, entry.reading.delimiter, _limit(entry))


@reader("feature-counts", version=1)
@reader("reviews", version=1)
@reader("posts", version=1)
def read_documents(path: Path, entry: CatalogEntry) -> Any:
    from olbench.data import archives

    if entry.format == "posts":
        return archives.read_posts(path, entry.members, entry.text, _limit(entry))
    read = archives.read_reviews if entry.format == "reviews" else archives.read_feature_counts
    return read(path, list(entry.members), entry.text, _limit(entry))


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
