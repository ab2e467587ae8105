"""load_dataset: a name or a path in, checked examples out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from olbench.data import cache
from olbench.data.catalog import CatalogEntry, resolve
from olbench.data.compressed import base_name
from olbench.data.fingerprint import fingerprint
from olbench.data.labels import Labels
from olbench.data.libsvm import READER_VERSION
from olbench.data.sources import problems, read_examples
from olbench.errors import UserError


@dataclass(frozen=True)
class Dataset:
    """Examples and where they come from. X is an array or a CSR matrix of doubles, y holds -1.0 and +1.0.

    Cached examples are memory-mapped and read-only. The fingerprint depends on the content of X and y only,
    not on how it was written, compressed or stored.
    """

    name: str
    X: Any
    y: Any
    fingerprint: str

    @property
    def storage(self) -> str:
        """ "dense" or "sparse"."""
        return "dense" if isinstance(self.X, np.ndarray) else "sparse"


def load_dataset(
    name_or_path: str | Path,
    positive: Labels = None,
    negative: Labels = None,
    *,
    download: bool = True,
    mirror: str | None = None,
) -> Dataset:
    """Return a data set of the catalogue by its name, or the examples of a LIBSVM or CSV file by its path.

    A file with two labels needs no more: the smaller becomes -1, the larger +1. Otherwise `positive` names
    the labels of the positive examples and `negative` those of the negative ones (default: all others); rows
    with neither are dropped. Files of the catalogue that are not here are fetched, unless `download` is
    False.

    >>> data = load_dataset("breast-cancer")
    >>> data.X.shape, data.fingerprint[:8]
    ((569, 30), '09b79ee7')
    """
    entry = resolve(name_or_path)
    if isinstance(entry, Path):
        return _load_path(entry, _listed(positive), _listed(negative))
    paths = _paths(entry, download, mirror)
    if positive is not None or negative is not None:
        entry = _with_labels(entry, positive, negative)
    return load_entry(entry, paths)


def _with_labels(entry: CatalogEntry, positive: Labels, negative: Labels) -> CatalogEntry:
    """Return an entry with other labels than the catalogue's; then the facts to check no longer hold."""
    plus, minus = _listed(positive), _listed(negative)
    label = "+".join(f"{k:g}" for k in plus or ()) + "".join(f"-vs-{k:g}" for k in minus or ())
    name = f"{entry.name}[{label}]"
    return replace(entry, name=name, positive=plus, negative=minus, labels={}, fingerprint="")


def load_entry(entry: CatalogEntry, paths: Sequence[Path], where: str = "") -> Dataset:
    """Return the examples of an entry from its files, or from the cache, after checking them."""
    if not paths:
        return _checked(entry, paths, *_read(entry, paths, where))
    key = _key(entry, paths)
    found = cache.load(key)
    if found is not None:
        return _checked(entry, paths, *found)
    data = _checked(entry, paths, *_read(entry, paths, where))
    if cache.store(key, data.X, data.y, data.fingerprint):
        found = cache.load(key)
    return Dataset(entry.name, *found) if found else data


def _read(entry: CatalogEntry, paths: Sequence[Path], where: str) -> tuple[Any, Any, str]:
    X, y = read_examples(entry, paths, where or entry.name)
    return X, y, fingerprint(X, y)


def _checked(entry: CatalogEntry, paths: Sequence[Path], X: Any, y: Any, found: str) -> Dataset:
    """Return the examples as a data set, or refuse them if the catalogue describes others."""
    wrong = problems(entry, X, y, found) if entry.labels else []
    if wrong:
        files = ", ".join(str(path) for path in paths)
        raise UserError(
            f"{entry.name}: {files or 'its content'} is not what the catalogue describes: {wrong[0]}"
            + (f"; replace it with `olbench data fetch --force {entry.name}`" if paths else "")
        )
    return Dataset(entry.name, X, y, found)


def _key(entry: CatalogEntry, paths: Sequence[Path]) -> str:
    try:
        hashes = [cache.content_hash(path) for path in paths]
    except OSError as error:
        raise UserError(f"cannot read {error.filename}: {error.strerror or error}") from None
    return cache.entry_key({"reader": READER_VERSION, "files": hashes, **entry.recipe()})


def _paths(entry: CatalogEntry, download: bool, mirror: str | None) -> list[Path]:
    from olbench.data.fetch import fetch, fetch_command, local_files

    here = local_files(entry, mirror)
    if here is not None:
        return here
    if download:
        return fetch(entry, mirror)
    raise UserError(f"the data set {entry.name} is not here; get it with `{fetch_command([entry.name])}`")


def _load_path(path: Path, positive: Any, negative: Any) -> Dataset:
    """Load a file of the user's own: no facts to check, and no limit to its size."""
    name = base_name(path.name)
    entry = CatalogEntry(
        name=name.removesuffix(".csv"),
        title=name,
        format="csv" if name.endswith(".csv") else "libsvm",
        rows=0,
        features=0,
        labels={},
        source=str(path),
        positive=positive,
        negative=negative,
        max_bytes=0,
    )
    return load_entry(entry, [path], where=str(path))


def _listed(labels: Labels) -> tuple[float, ...] | None:
    if labels is None:
        return None
    try:
        return tuple(float(label) for label in np.atleast_1d(np.asarray(labels, dtype=np.float64)).ravel())
    except (TypeError, ValueError):
        raise UserError(f"positive and negative are labels or lists of labels, not {labels!r}") from None
