"""The examples of a catalogue entry or a user's file: from the cache or from files, checked."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from olbench.data import cache
from olbench.data.catalog import TABLES_VERSION, CatalogEntry
from olbench.data.dataset import Dataset
from olbench.data.folders import parsed_folder
from olbench.data.readers.registry import read_examples
from olbench.data.spec import USUAL
from olbench.errors import UserError, count
from olbench.memory import memory_limit, show_size

#: Increase it whenever a reader returns different arrays for the same file: the cache depends on it.
READER_VERSION = 1


def load_entry(entry: CatalogEntry, paths: Sequence[Path], where: str = "") -> Dataset:
    if not paths and entry.format != "corpus":
        return _check(entry, paths, read_examples(entry, paths, where))
    try:
        key = entry_key(entry, [cache.content_hash(path) for path in paths])
    except OSError as error:
        raise UserError(f"cannot read {error.filename}: {error.strerror or error}") from None
    cached = cache.load(key, entry.name)
    if cached is not None:
        return _check(entry, paths, cached)
    is_plain = entry.reading == USUAL and not entry.preprocess
    if entry.format == "corpus" or (entry.format == "libsvm" and is_plain):
        return _convert(entry, paths, where, key) or _check(entry, paths, read_examples(entry, paths, where))
    return cache.keep(key, _check(entry, paths, read_examples(entry, paths, where)))


def entry_key(entry: CatalogEntry, hashes: list[str]) -> str:
    if entry.format == "corpus":
        from olbench.papers.cw2012.corpus import VERSION

        return cache.entry_key({"corpus": VERSION, **entry.recipe()})
    versions = {"reader": READER_VERSION, "tables": TABLES_VERSION}
    return cache.entry_key({**versions, "files": hashes, **entry.recipe()})


def _convert(entry: CatalogEntry, paths: Sequence[Path], where: str, key: str) -> Dataset | None:
    """Write LIBSVM files or generated documents to the cache in blocks; None if it cannot be written."""
    from olbench.data.readers.convert import convert_corpus, convert_libsvm

    try:
        with cache.open_draft() as draft:
            if entry.format == "corpus":
                data = convert_corpus(entry, draft)
            else:
                data = convert_libsvm(entry, paths, where or entry.name, draft)
            draft.install(key, _check(entry, paths, data))
    except cache.UnwritableError as error:
        _refuse_large_files(paths, error)
        cache.warn_unwritable(error)
        return None
    return cache.load(key, entry.name)


def _refuse_large_files(paths: Sequence[Path], error: cache.UnwritableError) -> None:
    size, limit = sum(path.stat().st_size for path in paths), memory_limit()
    if size > limit:
        raise UserError(
            f"{', '.join(map(str, paths))} has {show_size(size)}, more than the {show_size(limit)} of memory "
            f"that may be used, and the cache in {parsed_folder()} cannot be written "
            f"({error}); set OLBENCH_CACHE to a writable folder with free space"
        )


def _check(entry: CatalogEntry, paths: Sequence[Path], data: Dataset) -> Dataset:
    wrong = problems(entry, data) if entry.labels else []
    if wrong:
        files = ", ".join(str(path) for path in paths)
        raise UserError(
            f"{entry.name}: {files or 'its content'} differs from the catalogue: {wrong[0]}"
            + (f"; replace it with `olbench data fetch --force {entry.name}`" if paths else "")
        )
    return data


def problems(entry: CatalogEntry, data: Dataset) -> list[str]:
    n, d = data.X.shape
    differences = []
    if n != entry.rows:
        differences.append(f"{count(n, 'row')} instead of {entry.rows:,}")
    if d != entry.features:
        differences.append(f"{count(d, 'feature')} instead of {entry.features:,}")
    if differences:
        return differences
    positives = int(np.count_nonzero(np.asarray(data.y) > 0))
    if positives != entry.labels[1]:
        return [f"{count(positives, 'positive example')} instead of {entry.labels[1]:,}"]
    if data.test_from is not None and n - data.test_from != entry.test_rows:
        return [f"{count(n - data.test_from, 'row')} for testing instead of {entry.test_rows:,}"]
    if entry.fingerprint and data.fingerprint != entry.fingerprint:
        return [f"the fingerprint {data.fingerprint} instead of {entry.fingerprint}"]
    return []
