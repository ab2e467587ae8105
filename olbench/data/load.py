"""Loading a data set by name or path, checked against the catalogue."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from olbench.config.specs import CATEGORICAL, MISSING, SCALES, USUAL, DatasetSpec, Reading
from olbench.data import cache
from olbench.data.catalog import CatalogEntry, find, resolve
from olbench.data.fingerprint import fingerprint
from olbench.data.folders import parsed_folder
from olbench.data.prepare.encode import UNKNOWN, About
from olbench.data.prepare.labels import Labels, number_text, read_label
from olbench.data.readers.compressed import base_name, is_pipe, show_path
from olbench.data.readers.registry import corpus_of, problems, read_examples
from olbench.data.user_data import (
    TABLES,
    TABLES_VERSION,
    format_of,
    plain_name,
    read_frame,
    read_own,
    refuse_reading,
)
from olbench.display import facts_html
from olbench.errors import UserError
from olbench.memory import memory_limit, show_size


@dataclass(frozen=True)
class Dataset:
    """Labelled examples. X is an array or a CSR matrix of doubles, y holds -1.0 and +1.0.

    Where every label is a class, y holds the numbers of the classes: 0.0, 1.0, 2.0 and so on.

    Cached examples are memory-mapped and read-only. The fingerprint depends only on the content of X and y,
    not on the format, compression or storage.
    """

    name: str
    X: Any
    y: Any
    fingerprint: str
    #: The number of the first row for testing, if the data set has a given split; the rows before it train.
    test_from: int | None = None
    #: The names of features and labels and what was done when it was read, for one's own tables and frames.
    about: About = UNKNOWN

    @property
    def storage(self) -> str:
        """ "dense" or "sparse"."""
        return "dense" if isinstance(self.X, np.ndarray) else "sparse"

    def __repr__(self) -> str:
        n, d = self.X.shape
        return f"<Dataset {self.name!r}: {n:,} × {d:,}, {self.storage}, fingerprint {self.fingerprint[:8]}>"

    def _repr_html_(self) -> str:
        n, d = self.X.shape
        labels, counts = np.unique(self.y, return_counts=True)
        facts = {
            "examples": f"{n:,}",
            "features": f"{d:,}, {self.storage}",
            "labels": ", ".join(f"{label:g}: {k:,}" for label, k in zip(labels, counts, strict=True)),
            "fingerprint": self.fingerprint,
        }
        if self.test_from is not None:
            facts["for testing"] = f"{n - self.test_from:,} examples from row {self.test_from:,}"
        return facts_html(self.name, facts)


def load_dataset(
    data: Any,
    positive: Labels = None,
    negative: Labels = None,
    *,
    labels: str = "two",
    label: str | int = "",
    delimiter: str = "",
    missing: str = "",
    categorical: str = "",
    scale: str = "",
    bias: bool = False,
    name: str = "",
    download: bool = True,
    mirror: str | None = None,
) -> Dataset:
    """Return a data set of the catalogue by its name, one's own file by its path, or a frame.

    Files are LIBSVM text or tables: .csv, .tsv, .arff and .parquet. A pipe, or "-" for standard input, is
    read as LIBSVM text of any size. A frame is a pandas frame with a label column, a pair (X, y), or what
    scikit-learn's load_* and fetch_* functions return.

    With two labels, the smaller number or the first text in alphabetical order becomes -1 and the other +1.
    Otherwise `positive` lists the labels of the positive examples and `negative` those of the negative ones
    (default: all others); rows with any other label are dropped. With labels="all", every label is a
    class, and y holds the numbers of the classes from 0 on, in the order of their labels. Catalogue files
    that are not downloaded yet are fetched, unless `download` is False.

    For one's own tables: `label` is the heading or the number (from 1) of the label column, the last by
    default; `delimiter` separates the columns of a text file; `missing` says what to do with missing values
    (drop, zero, mean) and `categorical` with columns of text (onehot, drop). For all of one's own data,
    `scale` scales every row (unit) or every feature (minmax, standard, by all rows), and `bias` adds a
    feature that is always 1.

    >>> data = load_dataset("breast-cancer")
    >>> data.X.shape, data.fingerprint[:8]
    ((569, 30), '09b79ee7')
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [3, None], "colour": ["red", "blue"], "sold": ["no", "yes"]})
    >>> data = load_dataset(frame, label="sold", missing="mean", categorical="onehot")
    >>> data.about.features, data.X[1].tolist(), data.y.tolist()
    (('size', 'colour=blue', 'colour=red'), [3.0, 1.0, 0.0], [-1.0, 1.0])
    """
    reading = _check_reading(Reading(label, delimiter, missing, categorical, scale, bias))
    if labels not in ("two", "all"):
        raise UserError(f"labels must be 'two' or 'all', not {labels!r}")
    multiclass = labels == "all"
    if multiclass and (positive is not None or negative is not None):
        raise UserError("labels='all' leaves nothing for positive and negative to choose")
    if not isinstance(data, str | Path):
        X, y, about = read_frame(data, _as_tuple(positive), _as_tuple(negative), reading, multiclass)
        return Dataset(name or "frame", X, y, fingerprint(X, y), None, about)
    if multiclass:
        found = _load_classes(data, reading, download, mirror)
    else:
        found = _load_named(data, positive, negative, reading, download, mirror)
    return replace(found, name=name) if name else found


def load_spec(spec: DatasetSpec) -> Dataset:
    """Return the data set of a config, as far as it can be prepared before its trials; nothing is fetched."""
    place, reading = spec.path or spec.name, spec.reading.now()
    if spec.labels == "all":
        return _load_classes(place, reading, download=False, mirror=None)
    return _load_named(place, spec.positive, spec.negative, reading, download=False, mirror=None)


def _check_reading(reading: Reading) -> Reading:
    known = (("missing", MISSING), ("categorical", CATEGORICAL), ("scale", SCALES))
    for key, words in known:
        value = getattr(reading, key)
        if value and value not in words:
            raise UserError(f"{key} must be one of {', '.join(words)}, not {value!r}")
    return reading


def _load_named(
    name_or_path: str | Path, positive: Labels, negative: Labels, reading: Reading, download: bool,
    mirror: str | None,
) -> Dataset:  # fmt: skip
    if is_pipe(name_or_path):
        if reading != USUAL:
            raise UserError(
                f"{show_path(name_or_path)} can be read only once; write it to a file to prepare it"
            )
        return cache_pipe(name_or_path, positive, negative)[0]
    entry = resolve(name_or_path)
    if isinstance(entry, Path) and entry.is_dir():
        return _load_folder(entry, positive, negative)
    if isinstance(entry, Path):
        return _load_path(entry, _as_tuple(positive), _as_tuple(negative), reading)
    _refuse_own_reading(entry, reading)
    paths = _find_paths(entry, download, mirror)
    if positive is not None or negative is not None:
        entry = _replace_labels(entry, positive, negative)
    return load_entry(entry, paths)


def _load_classes(name_or_path: str | Path, reading: Reading, download: bool, mirror: str | None) -> Dataset:
    """Return a data set with a class for every label."""
    entry = resolve(name_or_path) if not is_pipe(name_or_path) else Path(name_or_path)
    if isinstance(entry, Path):
        if is_pipe(entry) or entry.is_dir():
            raise UserError(f"{entry}: labels='all' needs a file that can be read again; write it to one")
        return _load_path(entry, None, None, reading, multiclass=True)
    _refuse_own_reading(entry, reading)
    if entry.format == "corpus":
        raise UserError(f"{entry.name} has two classes by construction; leave out labels='all'")
    paths = _find_paths(entry, download, mirror)
    whole = replace(
        entry, name=f"{entry.name}[all]", positive=None, negative=None, multiclass=True, labels={},
        fingerprint="",
    )  # fmt: skip
    return load_entry(whole, paths)


def _refuse_own_reading(entry: CatalogEntry, reading: Reading) -> None:
    if reading != USUAL:
        raise UserError(
            f"{entry.name} is read as the catalogue says; {next(iter(reading.plain()))} is for your own files"
        )


def _replace_labels(entry: CatalogEntry, positive: Labels, negative: Labels) -> CatalogEntry:
    """Return an entry with other labels than the catalogue's, and without facts to check."""
    plus, minus = _as_tuple(positive), _as_tuple(negative)
    label = "+".join(map(_show, plus or ())) + "".join(f"-vs-{_show(k)}" for k in minus or ())
    name = f"{entry.name}[{label}]"
    return replace(entry, name=name, positive=plus, negative=minus, labels={}, fingerprint="")


def _show(label: float | str) -> str:
    return label if isinstance(label, str) else number_text(label)


def load_entry(entry: CatalogEntry, paths: Sequence[Path], where: str = "") -> Dataset:
    """Return the checked examples of an entry, from the cache or from its files."""
    if entry.format == "corpus":
        return _load_corpus(entry)
    if not paths:
        return _check(entry, paths, *_read(entry, paths, where))
    key = _key(entry, paths)
    cached = cache.load(key)
    if cached is not None:
        return _check(entry, paths, *cached)
    if entry.is_own and (entry.format != "libsvm" or entry.reading != USUAL):
        return _prepare(entry, paths[0], where, key)
    if entry.format == "libsvm" and not entry.preprocess:
        return _convert(entry, paths, where, key)
    return _read_and_store(entry, paths, where, key)


def _read_and_store(entry: CatalogEntry, paths: Sequence[Path], where: str, key: str) -> Dataset:
    """Read the examples into memory, and map them if the cache can take them."""
    data = _check(entry, paths, *_read(entry, paths, where))
    stored = cache.store(key, data.X, data.y, data.fingerprint, data.test_from)
    cached = cache.load(key) if stored else None
    return Dataset(entry.name, *cached) if cached else data


def _prepare(entry: CatalogEntry, path: Path, where: str, key: str) -> Dataset:
    """Read one's own file into memory, prepare it as asked for, and map it if the cache can take it."""
    X, y, about = read_own(entry, path, where)
    digest = fingerprint(X, y)
    cached = cache.load(key) if cache.store(key, X, y, digest, None, about) else None
    return Dataset(entry.name, *(cached or (X, y, digest, None, about)))


def _convert(entry: CatalogEntry, paths: Sequence[Path], where: str, key: str) -> Dataset:
    """Convert LIBSVM files in blocks; if the cache cannot take them, read them into memory."""
    from olbench.data.readers.convert import convert_libsvm

    try:
        with cache.open_draft() as draft:
            X, y, test_from = convert_libsvm(entry, paths, where or entry.name, draft)
            data = _check(entry, paths, X, y, fingerprint(X, y), test_from)
            draft.install(key, X.shape, data.fingerprint, test_from)
    except cache.UnwritableError as error:
        _refuse_large_files(paths, error)
        cache.warn_unwritable(error)
        return _check(entry, paths, *_read(entry, paths, where))
    cached = cache.load(key)
    return Dataset(entry.name, *cached) if cached else _check(entry, paths, *_read(entry, paths, where))


def _refuse_large_files(paths: Sequence[Path], error: cache.UnwritableError) -> None:
    """Raise a UserError if files that the cache cannot take are too large for memory as well."""
    size, limit = sum(path.stat().st_size for path in paths), memory_limit()
    if size > limit:
        raise UserError(
            f"{', '.join(map(str, paths))} has {show_size(size)}, more than the {show_size(limit)} of memory "
            f"that may be used, and the cache in {parsed_folder()} cannot be written "
            f"({error}); set OLBENCH_CACHE to a writable folder with free space"
        )


def _load_corpus(entry: CatalogEntry) -> Dataset:
    """Return generated documents, from the cache or through it: they may not fit into memory."""
    from olbench.data.folders import cache_folder
    from olbench.data.generators.corpus import VERSION

    key = cache.entry_key({"corpus": VERSION, **entry.recipe()})
    cached = cache.load(key)
    if cached is not None:
        return _check(entry, [], *cached)
    corpus = corpus_of(entry)
    try:
        with corpus.stored(entry.rows, cache_folder()) as (X, y):
            data = _check(entry, [], X, y, fingerprint(X, y), None)
            is_stored = cache.store(key, X, y, data.fingerprint)
    except OSError:  # the cache cannot be written, so the documents must fit into memory
        is_stored = False
    cached = cache.load(key) if is_stored else None
    if cached:
        return Dataset(entry.name, *cached)
    X, y = corpus.draw(entry.rows)
    return _check(entry, [], X, y, fingerprint(X, y), None)


def load_run(name: str, run: int) -> Dataset:
    """Return the sample of a run, for a data set of the catalogue that draws a new one for every run.

    Run 0 has the sample that `load_dataset` returns.

    >>> load_run("cw2008-synthetic", 1).X.shape
    (11000, 20)
    """
    entry = find(name)
    if entry.sample != "per-run":
        raise UserError(f"the data set {name} is the same in every run; load it with load_dataset")
    X, y, test_from = read_examples(entry, [], name, run)
    return Dataset(name, X, y, fingerprint(X, y), test_from)


def _read(entry: CatalogEntry, paths: Sequence[Path], where: str) -> tuple[Any, Any, str, int | None]:
    X, y, test_from = read_examples(entry, paths, where or entry.name)
    return X, y, fingerprint(X, y), test_from


def _check(
    entry: CatalogEntry, paths: Sequence[Path], X: Any, y: Any, digest: str, test_from: int | None,
    about: About = UNKNOWN,
) -> Dataset:  # fmt: skip
    """Return the examples as a data set; refuse them if they differ from the catalogue."""
    wrong = problems(entry, X, y, digest, test_from) if entry.labels else []
    if wrong:
        files = ", ".join(str(path) for path in paths)
        raise UserError(
            f"{entry.name}: {files or 'its content'} differs from the catalogue: {wrong[0]}"
            + (f"; replace it with `olbench data fetch --force {entry.name}`" if paths else "")
        )
    return Dataset(entry.name, X, y, digest, test_from, about)


def _key(entry: CatalogEntry, paths: Sequence[Path]) -> str:
    try:
        hashes = [cache.content_hash(path) for path in paths]
    except OSError as error:
        raise UserError(f"cannot read {error.filename}: {error.strerror or error}") from None
    return _entry_key(entry, hashes)


def _entry_key(entry: CatalogEntry, hashes: list[str]) -> str:
    from olbench.data.readers.libsvm import READER_VERSION

    is_table = entry.format in TABLES or entry.reading != USUAL
    versions = {"reader": READER_VERSION, **({"tables": TABLES_VERSION} if is_table else {})}
    return cache.entry_key({**versions, "files": hashes, **entry.recipe()})


def _find_paths(entry: CatalogEntry, download: bool, mirror: str | None) -> list[Path]:
    from olbench.data.fetch import fetch, fetch_command, local_files

    files = local_files(entry, mirror)
    if files is not None:
        return files
    if download:
        return fetch(entry, mirror)
    raise UserError(
        f"the data set {entry.name} is not downloaded; get it with `{fetch_command([entry.name])}`"
    )


def cache_pipe(path: str | Path, positive: Labels = None, negative: Labels = None) -> tuple[Dataset, Path]:
    """Convert LIBSVM text that can be read only once; return the examples and their folder in the cache.

    `load_dataset` takes the folder as well. A file with the same content has the same entry.
    """
    from olbench.data.readers.convert import convert_libsvm

    name = show_path(path)
    entry = _describe_file(Path(path), name, _as_tuple(positive), _as_tuple(negative))
    digest = hashlib.sha256()
    try:
        with cache.open_draft() as draft:
            X, y, _ = convert_libsvm(entry, [Path(path)], name, draft, [digest])
            key = _entry_key(entry, [digest.hexdigest()])
            draft.install(key, X.shape, fingerprint(X, y))
    except cache.UnwritableError as error:
        raise UserError(
            f"{name} can be read only once, and the cache in {parsed_folder()} cannot be written ({error}); "
            "set OLBENCH_CACHE to a writable folder with free space"
        ) from None
    folder = parsed_folder() / key
    return replace(_load_folder(folder), name=base_name(Path(name).name)), folder


def _load_folder(folder: Path, positive: Labels = None, negative: Labels = None) -> Dataset:
    """Load an entry of the cache by its folder."""
    if positive is not None or negative is not None:
        raise UserError(f"{folder}: its labels were chosen when it was read; they cannot be chosen again")
    cached = cache.load_folder(folder)
    if cached is None:
        raise UserError(f"{folder} is damaged; read its original again")
    return Dataset(folder.name, *cached)


def _load_path(
    path: Path, positive: Any, negative: Any, reading: Reading = USUAL, multiclass: bool = False
) -> Dataset:
    """Load a user's file: there are no facts to check and no size limit."""
    described = _describe_file(path, path.name, positive, negative)
    entry = replace(described, is_own=True, reading=reading, multiclass=multiclass)
    refuse_reading(reading, entry.format, str(path))
    return load_entry(entry, [path], where=str(path))


def _describe_file(path: Path, title: str, positive: Any, negative: Any) -> CatalogEntry:
    name = base_name(title)
    return CatalogEntry(
        name=plain_name(name),
        title=name,
        format=format_of(name),
        rows=0,
        features=0,
        labels={},
        source=str(path),
        positive=positive,
        negative=negative,
        max_bytes=0,
    )


def _as_tuple(labels: Labels) -> tuple[float | str, ...] | None:
    if labels is None:
        return None
    listed = [labels] if isinstance(labels, str) else np.atleast_1d(np.asarray(labels, dtype=object)).ravel()
    if any(isinstance(label, bool) or not isinstance(label, str | Real) for label in listed):
        raise UserError(f"positive and negative are labels or lists of labels, not {labels!r}")
    return tuple(map(read_label, listed))
