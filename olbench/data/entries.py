"""The examples of a catalogue entry or a user's file: from the cache or from files, checked."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from olbench.data import cache
from olbench.data.catalog import CatalogEntry
from olbench.data.dataset import (
    UNKNOWN,
    VALUES_AT_ONCE,
    About,
    Dataset,
    choose_storage,
    first_rows,
    join_blocks,
)
from olbench.data.formats import Format, find_format
from olbench.data.labels import as_targets
from olbench.data.scale import STEPS, scale_as_read
from olbench.data.spec import RUNNING, DatasetSpec, Reading
from olbench.errors import UserError, count

#: Increase it whenever the same table gives other examples; it is in the keys of the cache.
TABLES_VERSION = 5


def load_entry(entry: CatalogEntry, paths: Sequence[Path], where: str = "") -> Dataset:
    format = find_format(entry.format)
    if format.version is None:
        return _check(entry, paths, read_examples(entry, paths, where))
    try:
        key = entry_key(entry, format, [cache.content_hash(path) for path in paths])
    except OSError as error:
        raise UserError(f"cannot read {error.filename}: {error.strerror or error}") from None
    cached = cache.load(key, entry.name)
    if cached is not None:
        return _check(entry, paths, cached)
    # These steps need all rows at once.
    at_once = entry.preprocess or entry.reading.scale == RUNNING
    if format.comes_in_blocks or (format.id == "libsvm" and not at_once):
        return _convert(entry, paths, where, key) or _check(entry, paths, read_examples(entry, paths, where))
    return cache.keep(key, _check(entry, paths, read_examples(entry, paths, where)))


def entry_key(entry: CatalogEntry, format: Format, hashes: list[str]) -> str:
    if not format.files:
        return cache.entry_key({format.id: format.version, **entry.recipe()})
    versions = {"reader": format.version, "tables": TABLES_VERSION}
    return cache.entry_key({**versions, "files": hashes, **entry.recipe()})


def read_examples(entry: CatalogEntry, paths: Sequence[Path], where: str = "") -> Dataset:
    """Read the files without the cache; errors name `where`, by default the entry."""
    where = where or entry.name
    format = find_format(entry.format)
    if entry.is_own and entry.format != "libsvm" and not format.comes_in_blocks:
        from olbench.data.prepare import prepare_content

        labels = "all" if entry.multiclass else ""
        spec = DatasetSpec(entry.name, "", entry.positive, entry.negative, labels, entry.reading)
        return prepare_content(format.read(*paths, entry), spec, where)
    X, labels, boundary, about = _read_parts(entry, paths)
    y, mask = as_targets(labels, entry.positive, entry.negative, where, entry.multiclass)
    X, boundary = X if mask.all() else X[mask], int(np.count_nonzero(mask[:boundary]))
    # What follows rounds by the storage, and a matrix read from LIBSVM text is always sparse.
    X = choose_storage(X) if entry.format == "libsvm" else X
    for step in entry.preprocess:
        if step == "drop-duplicates":
            kept = first_rows(X)
            X, y, boundary = X[kept], y[kept], int(np.searchsorted(kept, boundary))
        else:
            X = STEPS[step](X)
    X, about = scale_as_read(X, about, entry.reading, where)
    return Dataset.make(entry.name, X, y, boundary if entry.split else None, about)


def _read_parts(entry: CatalogEntry, paths: Sequence[Path]) -> tuple[Any, Any, int, About]:
    """Return X, the labels, the first row for testing, and a description of the file."""
    format = find_format(entry.format)
    if format.id == "libsvm":
        X, labels, last_file, first = format.read(*paths, entry)
        # A file need not mention its last features; the catalogue has their number, unless a step changes it.
        if "pixel-products" not in entry.preprocess:
            X.resize(X.shape[0], max(X.shape[1], entry.features))
        return X, labels, last_file, About(steps=entry.check_base(first))
    if format.comes_in_blocks or not format.files:
        content = format.read(*paths, entry)
        X, labels = join_blocks(content) if format.comes_in_blocks else content
        return X, labels, entry.rows - entry.test_rows, UNKNOWN
    grouped = zip(*[iter(paths)] * format.files, strict=True)
    parts = [_as_pair(format.read(*group, entry), entry) for group in grouped]
    if len(parts) == 1:
        return *parts[0], 0, UNKNOWN
    widths = {X.shape[1] for X, _ in parts}
    if len(widths) > 1:
        raise UserError(f"{entry.name}: its files differ in the number of features: {sorted(widths)}")
    X, labels = (np.concatenate(each) for each in zip(*parts, strict=True))
    return X, labels, sum(len(y) for _, y in parts[:-1]), UNKNOWN


def _as_pair(content: Any, entry: CatalogEntry) -> tuple[Any, Any]:
    if isinstance(content, tuple):
        return content
    from olbench.data.prepare import encode
    from olbench.data.tables import as_table

    return encode(as_table(content, entry.name), Reading(label=entry.label_column))[:2]


def _convert(entry: CatalogEntry, paths: Sequence[Path], where: str, key: str) -> Dataset | None:
    """Write LIBSVM files or blocks of rows to the cache one by one; None if it cannot be written."""
    where = where or entry.name
    try:
        with cache.open_draft() as draft:
            convert = _convert_libsvm if entry.format == "libsvm" else _convert_blocks
            X, y, test_from, about = convert(entry, paths, where, draft)
            X, about = scale_as_read(X, about, entry.reading, where, draft)
            data = Dataset.make(entry.name, X, y, test_from if entry.split else None, about)
            draft.install(key, _check(entry, paths, data))
    except cache.UnwritableError as error:
        cache.warn_unwritable(error)
        return None
    return cache.load(key, entry.name)


def _convert_libsvm(
    entry: CatalogEntry, paths: Sequence[Path], where: str, draft: cache.Draft
) -> tuple[Any, Any, int, About]:
    from olbench.data.libsvm import convert_libsvm

    # Rows are dropped only if both kinds of labels are listed.
    both = entry.positive is not None and entry.negative is not None
    wanted = [*(entry.positive or ()), *(entry.negative or ())] if both else None
    X, labels, distinct, last_file, first = convert_libsvm(
        paths, entry.first_index, draft, wanted, entry.features
    )
    targets, mask = as_targets(distinct, entry.positive, entry.negative, where, entry.multiclass)
    y = draft.start("y", np.float64)
    for begin in range(0, labels.size, VALUES_AT_ONCE):
        y.append(targets[np.searchsorted(distinct[mask], labels[begin : begin + VALUES_AT_ONCE])])
    draft.drop("labels")
    return X, draft.finish("y"), last_file, About(steps=entry.check_base(first))


def _convert_blocks(
    entry: CatalogEntry, paths: Sequence[Path], where: str, draft: cache.Draft
) -> tuple[Any, Any, int, About]:
    rows, y = cache.GrowingRows(draft), draft.start("y", np.float64)
    for X, labels in find_format(entry.format).read(*paths, entry):
        rows.append(X)
        y.append(labels)
    return rows.finish(X.shape[1]), draft.finish("y"), entry.rows - entry.test_rows, UNKNOWN


def _check(entry: CatalogEntry, paths: Sequence[Path], data: Dataset) -> Dataset:
    wrong = problems(entry, data) if entry.labels else []
    if wrong:
        files = ", ".join(str(path) for path in paths)
        reason = f"{entry.name}: {files or 'its content'} differs from the catalogue: {wrong[0]}"
        raise UserError(reason, f"replace it with `olbench data fetch --force {entry.name}`" if paths else "")
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
