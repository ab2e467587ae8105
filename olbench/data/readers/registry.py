"""Reading the examples of a catalogue entry from its files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from olbench.data.catalog import CatalogEntry, find
from olbench.data.dataset import UNKNOWN, About, Dataset, about_indices
from olbench.data.prepare.encode import encode, prepare_table
from olbench.data.prepare.labels import as_targets
from olbench.data.prepare.preprocess import ROW_STEPS, STEPS, WIDENING_STEPS
from olbench.data.prepare.scaling import scale_as_read
from olbench.data.readers.rows import choose_storage
from olbench.data.readers.tables import is_table, read_table_file
from olbench.data.spec import USUAL, Reading
from olbench.errors import UserError

#: X, y, the first row for testing, and what is known of the file.
Targets = tuple[Any, Any, int, About]


def read_examples(entry: CatalogEntry, paths: Sequence[Path], where: str = "", run: int = 0) -> Dataset:
    """Errors name `where`, by default the entry; `run` is the number of the sample of a synthetic set."""
    where = where or entry.name
    if entry.is_own and is_table(entry.format):
        table = read_table_file(paths[0], entry.format, entry.reading.delimiter)
        X, y, about, arrivals = prepare_table(
            table, entry.positive, entry.negative, entry.reading, entry.multiclass
        )
        return Dataset.make(entry.name, X, y, about=about, arrivals=arrivals)
    X, y, boundary, about = _read_targets(entry, paths, where, run)
    for step in entry.preprocess:
        if step in ROW_STEPS:
            kept = ROW_STEPS[step](X)
            X, y, boundary = X[kept], y[kept], int(np.searchsorted(kept, boundary))
        else:
            X = STEPS[step](X)
    if entry.reading != USUAL:
        X, about = scale_as_read(X, about, entry.reading)
    elif entry.format != "libsvm" or entry.preprocess:
        X = choose_storage(X)
    return Dataset.make(entry.name, X, y, boundary if entry.split else None, about)


def _read_targets(entry: CatalogEntry, paths: Sequence[Path], where: str, run: int) -> Targets:
    if entry.format == "libsvm":
        return _read_libsvm_examples(entry, paths, where)
    X, labels, boundary = _read_table(entry, paths, run)
    y, mask = as_targets(labels, entry.positive, entry.negative, where, entry.multiclass)
    return (X if mask.all() else X[mask]), y, int(np.count_nonzero(mask[:boundary])), UNKNOWN


def _read_libsvm_examples(entry: CatalogEntry, paths: Sequence[Path], where: str) -> Targets:
    from olbench.data.readers.libsvm import read_libsvm

    rows, d = read_libsvm(paths, entry.max_bytes or None)
    labels = rows.labels[: rows.n]
    y, mask = as_targets(labels, entry.positive, entry.negative, where, entry.multiclass)
    boundary = int(np.count_nonzero(mask[: rows.starts[-1]]))
    rows.keep(mask)
    # A file need not mention its last features; the catalogue has their number, unless a step changes it.
    declared = 0 if WIDENING_STEPS.intersection(entry.preprocess) else entry.features
    return rows.matrix(max(d, declared)), y, boundary, about_indices(rows.first, entry.is_own)


def _read_table(entry: CatalogEntry, paths: Sequence[Path], run: int) -> tuple[Any, Any, int]:
    if entry.format == "synthetic":
        from olbench.data.generators.synthetic import RotatedGaussian

        parameters: dict[str, Any] = entry.generator
        X, y = RotatedGaussian(rows=entry.rows, features=entry.features, **parameters).draw(run)
        return X, y, entry.rows - entry.test_rows
    if entry.format == "clusters":
        from olbench.data.generators.clusters import Clusters

        return *Clusters(rows=entry.rows, **entry.generator).draw(), entry.rows  # type: ignore[arg-type]
    if entry.format == "stream":
        from olbench.data.generators.streams import draw_stream

        settings: dict[str, Any] = {**entry.generator}
        if "parts" in settings:  # the names of data sets that need no files
            spliced = [read_examples(find(name), ()) for name in settings["parts"].split("+")]
            settings["parts"] = [(each.X, each.y) for each in spliced]
        return *draw_stream(settings.pop("kind"), entry.rows, entry.drifts, **settings), entry.rows
    if entry.format == "corpus":
        from olbench.papers.cw2012.corpus import Corpus

        return *Corpus(**entry.generator).draw(entry.rows), entry.rows  # type: ignore[arg-type]
    parts = _read_parts(entry, paths)
    widths = {X.shape[1] for X, _ in parts}
    if len(widths) > 1:
        raise UserError(f"{entry.name}: its files differ in the number of features: {sorted(widths)}")
    boundary = sum(X.shape[0] for X, _ in parts[:-1])
    if len(parts) == 1:
        return *parts[0], boundary
    return np.concatenate([X for X, _ in parts]), np.concatenate([labels for _, labels in parts]), boundary


def _read_parts(entry: CatalogEntry, paths: Sequence[Path]) -> list[tuple[Any, Any]]:
    limit = entry.max_bytes or None
    if entry.format == "scikit-learn":
        from olbench.data.readers.bundled import read_bundled

        return [read_bundled(entry.bundled)]
    if entry.format == "idx":
        from olbench.data.readers.idx import read_images

        pairs = zip(paths[::2], paths[1::2], strict=True)
        return [_select_digits(read_images(*pair, limit=limit), entry) for pair in pairs]
    if is_table(entry.format):
        tables = (read_table_file(path, entry.format, limit=limit) for path in paths)
        return [encode(table, Reading(label=entry.label_column))[:2] for table in tables]
    if entry.format == "spoligotypes":
        from olbench.data.readers.spoligotypes import read_spoligotypes

        return [read_spoligotypes(path, limit, miru24=entry.generator) for path in paths]
    from olbench.data.readers import documents

    if entry.format == "posts":
        return [documents.read_posts(paths[0], entry.members, entry.text, limit)]
    read = documents.read_reviews if entry.format == "reviews" else documents.read_feature_counts
    return [read(paths[0], list(entry.members), entry.text, limit)]


def _select_digits(part: tuple[Any, Any], entry: CatalogEntry) -> tuple[Any, Any]:
    """Drop other digits before the pixels become doubles, which take eight times the memory."""
    X, labels = part
    if entry.positive is not None and entry.negative is not None:
        mask = np.isin(labels, [*entry.positive, *entry.negative])
        X, labels = X[mask], labels[mask]
    return X.astype(np.float64), labels
