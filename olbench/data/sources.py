"""Reading the examples of a catalogue entry from its files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from olbench.data.catalog import CatalogEntry
from olbench.data.labels import as_signs
from olbench.data.preprocess import STEPS
from olbench.data.rows import choose_storage
from olbench.errors import UserError


def read_examples(entry: CatalogEntry, paths: Sequence[Path], where: str) -> tuple[Any, Any]:
    """Return (X, y) of an entry from its files; nothing is cached or checked here."""
    if entry.format == "libsvm":
        X, y = _read_libsvm_examples(entry, paths, where)
    else:
        X, labels = _read_table(entry, paths)
        y, mask = as_signs(labels, entry.positive, entry.negative, where)
        X = X if mask.all() else X[mask]
    for step in entry.preprocess:
        X = STEPS[step](X)
    return (X if entry.format == "libsvm" and not entry.preprocess else choose_storage(X)), y


def _read_libsvm_examples(entry: CatalogEntry, paths: Sequence[Path], where: str) -> tuple[Any, Any]:
    from olbench.data.libsvm import read_libsvm

    rows, d = read_libsvm(paths, entry.max_bytes or None)
    y, mask = as_signs(rows.labels[: rows.n], entry.positive, entry.negative, where)
    rows.keep(mask)
    # A file need not mention its last features; the catalogue has their number.
    return rows.matrix(max(d, entry.features)), y


def _read_table(entry: CatalogEntry, paths: Sequence[Path]) -> tuple[Any, Any]:
    if entry.format == "synthetic":
        from olbench.data.synthetic import RotatedGaussian

        parameters: dict[str, Any] = entry.generator
        return RotatedGaussian(rows=entry.rows, features=entry.features, **parameters).draw()
    if entry.format == "scikit-learn":
        from olbench.data.bundled import read_bundled

        return read_bundled(entry.bundled)
    if entry.format == "idx":
        from olbench.data.idx import read_images

        pairs = zip(paths[::2], paths[1::2], strict=True)
        parts = [_select_digits(read_images(*pair, limit=entry.max_bytes), entry) for pair in pairs]
    else:
        from olbench.data.table import read_csv

        parts = [read_csv(path, entry.label_column, entry.max_bytes or None) for path in paths]
    widths = {X.shape[1] for X, _ in parts}
    if len(widths) > 1:
        raise UserError(f"{entry.name}: its files differ in the number of features: {sorted(widths)}")
    return np.concatenate([X for X, _ in parts]), np.concatenate([labels for _, labels in parts])


def _select_digits(part: tuple[Any, Any], entry: CatalogEntry) -> tuple[Any, Any]:
    """Drop other digits before the pixels become doubles, which take eight times the memory."""
    X, labels = part
    if entry.positive is not None and entry.negative is not None:
        mask = np.isin(labels, [*entry.positive, *entry.negative])
        X, labels = X[mask], labels[mask]
    return X.astype(np.float64), labels


def problems(entry: CatalogEntry, X: Any, y: Any, fingerprint: str) -> list[str]:
    """Return the differences between these examples and the catalogue."""
    differences = []
    if X.shape[0] != entry.rows:
        differences.append(f"{X.shape[0]:,} rows instead of {entry.rows:,}")
    if X.shape[1] != entry.features:
        differences.append(f"{X.shape[1]:,} features instead of {entry.features:,}")
    positives = int(np.count_nonzero(np.asarray(y) > 0))
    if not differences and positives != entry.labels[1]:
        differences.append(f"{positives:,} positive examples instead of {entry.labels[1]:,}")
    if not differences and entry.fingerprint and fingerprint != entry.fingerprint:
        differences.append(f"the fingerprint {fingerprint} instead of {entry.fingerprint}")
    return differences
