"""load_dataset: a name or a path in, checked examples out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from olbench.data import cache
from olbench.data.catalog import Entry, catalog, find
from olbench.data.compressed import base_name
from olbench.data.fingerprint import fingerprint
from olbench.data.labels import Labels
from olbench.data.libsvm import READER_VERSION
from olbench.data.sources import problems, read_examples
from olbench.errors import UserError, suggest


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
    entry = as_entry(name_or_path, positive, negative)
    if isinstance(entry, Path):
        return _load_path(entry, _listed(positive), _listed(negative))
    paths = _paths(entry, download, mirror)
    return load_entry(entry, paths)


def as_entry(name_or_path: str | Path, positive: Labels = None, negative: Labels = None) -> Entry | Path:
    """Return the entry of a name, or the path; a name of the catalogue comes before a file of that name."""
    text = str(name_or_path)
    if isinstance(name_or_path, str) and name_or_path in catalog():
        entry = find(name_or_path)
        if positive is None and negative is None:
            return entry
        plus, minus = _listed(positive), _listed(negative)
        label = "+".join(f"{k:g}" for k in plus or ()) + "".join(f"-vs-{k:g}" for k in minus or ())
        return replace(
            entry, name=f"{entry.name}[{label}]", positive=plus, negative=minus, rows=0, fingerprint=""
        )
    path = Path(name_or_path).expanduser()
    if path.is_file():
        return path
    if path.is_dir():
        raise UserError(f"{text} is a folder; a data set is a file or a name from `olbench data list`")
    raise UserError(
        f"there is neither a file nor a data set '{text}'{suggest(text, list(catalog()))}; "
        "`olbench data list` shows the names"
    )


def load_entry(entry: Entry, paths: Sequence[Path], where: str = "") -> Dataset:
    """Return the examples of an entry from its files, or from the cache, after checking them."""
    X, y, found = _cached(entry, paths, where or entry.name)
    wrong = problems(entry, X, y, found) if entry.rows else []
    if wrong:
        files = ", ".join(str(path) for path in paths)
        raise UserError(
            f"{entry.name}: {files or 'its content'} is not what the catalogue describes: {wrong[0]}"
            + (f"; replace it with `olbench data fetch --force {entry.name}`" if paths else "")
        )
    return Dataset(entry.name, X, y, found)


def _paths(entry: Entry, download: bool, mirror: str | None) -> list[Path]:
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
    entry = Entry(
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


def _cached(entry: Entry, paths: Sequence[Path], where: str) -> tuple[Any, Any, str]:
    """Return (X, y, fingerprint), memory-mapped where the cache can hold them."""
    if not paths:
        X, y = read_examples(entry, paths, where)
        return X, y, fingerprint(X, y)
    try:
        hashes = [cache.content_hash(path) for path in paths]
    except OSError as error:
        raise UserError(f"cannot read {error.filename}: {error.strerror or error}") from None
    key = cache.entry_key({"reader": READER_VERSION, "files": hashes, **entry.recipe()})
    found = cache.load(key)
    if found is None:
        X, y = read_examples(entry, paths, where)
        found = X, y, fingerprint(X, y)
        if cache.store(key, *found):
            found = cache.load(key) or found
    return found
