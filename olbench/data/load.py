"""Loading a data set by name or path, checked against the catalogue."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from olbench.config.specs import CATEGORICAL, MISSING, SCALES, USUAL, DatasetSpec, Reading
from olbench.data import cache
from olbench.data.catalog import TABLES_VERSION, CatalogEntry, find, resolve
from olbench.data.dataset import Dataset, fingerprint
from olbench.data.folders import parsed_folder
from olbench.data.prepare.labels import Labels, label_text, read_label
from olbench.data.readers.compressed import base_name, is_pipe, show_path
from olbench.data.readers.registry import problems, read_examples
from olbench.data.readers.tables import is_table
from olbench.data.user_data import (
    format_of,
    plain_name,
    read_frame,
    read_own,
    refuse_reading,
)
from olbench.errors import UserError
from olbench.memory import memory_limit, show_size


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
    """Return a data set of the catalogue by its name, your own file by its path, or a frame.

    Files are LIBSVM text or tables: .csv, .tsv, .arff and .parquet. A pipe, or "-" for standard input, is
    read as LIBSVM text of any size. A frame is a pandas frame with a label column, a pair (X, y), or what
    scikit-learn's load_* and fetch_* functions return.

    With two labels, the smaller number or the first text in alphabetical order becomes -1 and the other +1.
    Otherwise `positive` lists the labels of the positive examples and `negative` those of the negative ones
    (default: all others); rows with any other label are dropped. With labels="all", every label is a
    class, and y holds the numbers of the classes from 0 on, in the order of their labels. Catalogue files
    that are not downloaded yet are fetched, unless `download` is False.

    For your own tables: `label` is the heading or the number (from 1) of the label column, the last by
    default; `delimiter` separates the columns of a text file; `missing` says what to do with missing values
    (drop, zero, mean) and `categorical` with columns of text (onehot, drop). For all of your own data,
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
        raise UserError("positive and negative cannot be combined with labels='all'")
    if not isinstance(data, str | Path):
        X, y, about = read_frame(data, _as_tuple(positive), _as_tuple(negative), reading, multiclass)
        return Dataset(name or "frame", X, y, fingerprint(X, y), None, about)
    found = _load(data, positive, negative, reading, multiclass, download, mirror)
    return replace(found, name=name) if name else found


def load_spec(spec: DatasetSpec) -> Dataset:
    """Return the data set of a config, as far as it can be prepared before its trials; nothing is fetched."""
    reading, multiclass = spec.reading.before_trials(), spec.labels == "all"
    return _load(spec.path or spec.name, spec.positive, spec.negative, reading, multiclass, download=False)


def _check_reading(reading: Reading) -> Reading:
    known = (("missing", MISSING), ("categorical", CATEGORICAL), ("scale", SCALES))
    for key, words in known:
        value = getattr(reading, key)
        if value and value not in words:
            raise UserError(f"{key} must be one of {', '.join(words)}, not {value!r}")
    return reading


def _load(
    name_or_path: str | Path,
    positive: Labels,
    negative: Labels,
    reading: Reading,
    multiclass: bool,
    download: bool,
    mirror: str | None = None,
) -> Dataset:
    """Return a data set of the catalogue or a user's file, with a class for every label if asked for."""
    entry = Path(name_or_path) if is_pipe(name_or_path) else resolve(name_or_path)
    if not isinstance(entry, Path):
        return _load_listed(entry, positive, negative, reading, multiclass, download, mirror)
    if multiclass and (is_pipe(entry) or entry.is_dir()):
        raise UserError(f"{entry}: labels='all' needs a file that can be read again; write it to one")
    if is_pipe(entry):
        if reading != USUAL:
            raise UserError(f"{show_path(entry)} can be read only once; write it to a file to prepare it")
        return cache_pipe(entry, positive, negative)[0]
    if entry.is_dir():
        return _load_folder(entry, positive, negative)
    described = _describe_file(entry, entry.name, positive, negative)
    refuse_reading(reading, described.format, str(entry))
    own = replace(described, is_own=True, reading=reading, multiclass=multiclass)
    return load_entry(own, [entry], where=str(entry))


def _load_listed(
    entry: CatalogEntry,
    positive: Labels,
    negative: Labels,
    reading: Reading,
    multiclass: bool,
    download: bool,
    mirror: str | None,
) -> Dataset:
    """Return a data set of the catalogue, with other labels if they are given."""
    if reading != USUAL:
        raise UserError(
            f"{entry.name} is read as the catalogue says; {next(iter(reading.plain()))} is for your own files"
        )
    if multiclass and entry.format == "corpus":
        raise UserError(f"{entry.name} has two classes by construction; leave out labels='all'")
    paths = _find_paths(entry, download, mirror)
    if multiclass:
        entry = replace(_replace_labels(entry, None, None), name=f"{entry.name}[all]", multiclass=True)
    elif positive is not None or negative is not None:
        entry = _replace_labels(entry, positive, negative)
    return load_entry(entry, paths)


def _replace_labels(entry: CatalogEntry, positive: Labels, negative: Labels) -> CatalogEntry:
    """Return an entry with other labels than the catalogue's, and without facts to check."""
    plus, minus = _as_tuple(positive), _as_tuple(negative)
    label = "+".join(map(label_text, plus or ())) + "".join(f"-vs-{label_text(k)}" for k in minus or ())
    name = f"{entry.name}[{label}]"
    return replace(entry, name=name, positive=plus, negative=minus, labels={}, fingerprint="")


def load_entry(entry: CatalogEntry, paths: Sequence[Path], where: str = "") -> Dataset:
    """Return the checked examples of an entry, from the cache or from its files."""
    if not paths and entry.format != "corpus":
        return _check(entry, paths, _read(entry, paths, where))
    key = _key(entry, paths)
    cached = cache.load(key, entry.name)
    if cached is not None:
        return _check(entry, paths, cached)
    is_plain = entry.reading == USUAL and not entry.preprocess
    if entry.format == "corpus" or (entry.format == "libsvm" and is_plain):
        return _convert(entry, paths, where, key)
    return _read_and_store(entry, paths, where, key)


def _read_and_store(entry: CatalogEntry, paths: Sequence[Path], where: str, key: str) -> Dataset:
    """Read the examples into memory, and map them if the cache can take them."""
    return cache.keep(key, _check(entry, paths, _read(entry, paths, where)))


def _convert(entry: CatalogEntry, paths: Sequence[Path], where: str, key: str) -> Dataset:
    """Write LIBSVM files or generated documents to the cache in blocks, or read them into memory."""
    from olbench.data.readers.convert import convert_corpus, convert_libsvm

    try:
        with cache.open_draft() as draft:
            if entry.format == "corpus":
                X, y, test_from = *convert_corpus(entry, draft), None
            else:
                X, y, test_from = convert_libsvm(entry, paths, where or entry.name, draft)
            data = _check(entry, paths, Dataset(entry.name, X, y, fingerprint(X, y), test_from))
            draft.install(key, data)
    except cache.UnwritableError as error:
        _refuse_large_files(paths, error)
        cache.warn_unwritable(error)
    else:
        cached = cache.load(key, entry.name)
        if cached is not None:
            return cached
    return _check(entry, paths, _read(entry, paths, where))


def _refuse_large_files(paths: Sequence[Path], error: cache.UnwritableError) -> None:
    """Raise a UserError if files that the cache cannot take are too large for memory as well."""
    size, limit = sum(path.stat().st_size for path in paths), memory_limit()
    if size > limit:
        raise UserError(
            f"{', '.join(map(str, paths))} has {show_size(size)}, more than the {show_size(limit)} of memory "
            f"that may be used, and the cache in {parsed_folder()} cannot be written "
            f"({error}); set OLBENCH_CACHE to a writable folder with free space"
        )


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


def _read(entry: CatalogEntry, paths: Sequence[Path], where: str) -> Dataset:
    if entry.is_own and (entry.format != "libsvm" or entry.reading != USUAL):
        X, y, about = read_own(entry, paths[0], where)
        return Dataset(entry.name, X, y, fingerprint(X, y), None, about)
    X, y, test_from = read_examples(entry, paths, where or entry.name)
    return Dataset(entry.name, X, y, fingerprint(X, y), test_from)


def _check(entry: CatalogEntry, paths: Sequence[Path], data: Dataset) -> Dataset:
    """Return the examples; refuse them if they differ from the catalogue."""
    wrong = problems(entry, data) if entry.labels else []
    if wrong:
        files = ", ".join(str(path) for path in paths)
        raise UserError(
            f"{entry.name}: {files or 'its content'} differs from the catalogue: {wrong[0]}"
            + (f"; replace it with `olbench data fetch --force {entry.name}`" if paths else "")
        )
    return data


def _key(entry: CatalogEntry, paths: Sequence[Path]) -> str:
    try:
        hashes = [cache.content_hash(path) for path in paths]
    except OSError as error:
        raise UserError(f"cannot read {error.filename}: {error.strerror or error}") from None
    return _entry_key(entry, hashes)


def _entry_key(entry: CatalogEntry, hashes: list[str]) -> str:
    if entry.format == "corpus":
        from olbench.data.generators.corpus import VERSION

        return cache.entry_key({"corpus": VERSION, **entry.recipe()})
    from olbench.data.readers.libsvm import READER_VERSION

    is_prepared = is_table(entry.format) or entry.reading != USUAL
    versions = {"reader": READER_VERSION, **({"tables": TABLES_VERSION} if is_prepared else {})}
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
    entry = _describe_file(Path(path), name, positive, negative)
    digest = hashlib.sha256()
    try:
        with cache.open_draft() as draft:
            X, y, _ = convert_libsvm(entry, [Path(path)], name, draft, [digest])
            key = _entry_key(entry, [digest.hexdigest()])
            draft.install(key, Dataset(name, X, y, fingerprint(X, y)))
    except cache.UnwritableError as error:
        raise UserError(
            f"{name} can be read only once, and the cache in {parsed_folder()} cannot be written ({error}); "
            "set OLBENCH_CACHE to a writable folder with free space"
        ) from None
    folder = parsed_folder() / key
    return replace(_load_folder(folder), name=entry.title), folder


def _load_folder(folder: Path, positive: Labels = None, negative: Labels = None) -> Dataset:
    """Load an entry of the cache by its folder."""
    if positive is not None or negative is not None:
        raise UserError(f"{folder}: its labels were chosen when it was read; they cannot be chosen again")
    cached = cache.load_folder(folder, folder.name)
    if cached is None:
        raise UserError(f"{folder} is damaged; read its original again")
    return cached


def _describe_file(path: Path, title: str, positive: Labels, negative: Labels) -> CatalogEntry:
    """Return the entry of a user's file: there are no facts to check and no size limit."""
    name = base_name(Path(title).name)
    return CatalogEntry(
        name=plain_name(name),
        title=name,
        format=format_of(name),
        rows=0,
        features=0,
        labels={},
        source=str(path),
        positive=_as_tuple(positive),
        negative=_as_tuple(negative),
        max_bytes=0,
    )


def _as_tuple(labels: Labels) -> tuple[float | str, ...] | None:
    if labels is None:
        return None
    listed = [labels] if isinstance(labels, str) else np.atleast_1d(np.asarray(labels, dtype=object)).ravel()
    if any(isinstance(label, bool) or not isinstance(label, str | Real) for label in listed):
        raise UserError(f"positive and negative are labels or lists of labels, not {labels!r}")
    return tuple(map(read_label, listed))
