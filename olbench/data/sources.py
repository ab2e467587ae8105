"""From files to examples: the one place that knows how an entry of the catalogue is put together."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from olbench.data.catalog import Entry
from olbench.data.labels import as_signs
from olbench.data.preprocess import STEPS
from olbench.data.rows import stored
from olbench.errors import UserError


def read_examples(entry: Entry, paths: Sequence[Path], where: str) -> tuple[Any, Any]:
    """Return (X, y) of an entry whose files are at these paths; nothing is cached or checked here."""
    if entry.format == "libsvm":
        X, y = _from_libsvm(entry, paths, where)
    else:
        X, labels = _table(entry, paths)
        y, mask = as_signs(labels, entry.positive, entry.negative, where)
        X = X if mask.all() else X[mask]
    for step in entry.preprocess:
        X = STEPS[step](X)
    return (X if entry.format == "libsvm" and not entry.preprocess else stored(X)), y


def _from_libsvm(entry: Entry, paths: Sequence[Path], where: str) -> tuple[Any, Any]:
    from olbench.data.libsvm import read_libsvm

    rows, d = read_libsvm(paths, entry.max_bytes or None)
    y, mask = as_signs(rows.labels[: rows.n], entry.positive, entry.negative, where)
    rows.keep(mask)
    # A file need not mention its last features; the catalogue knows how many there are.
    return rows.matrix(max(d, entry.features)), y


def _table(entry: Entry, paths: Sequence[Path]) -> tuple[Any, Any]:
    if entry.format == "synthetic":
        from olbench.data.synthetic import RotatedGaussian

        parameters: dict[str, Any] = entry.generator
        return RotatedGaussian(rows=entry.rows, features=entry.features, **parameters).draw()
    if entry.format == "clusters":
        from olbench.data.clusters import Clusters

        return Clusters(rows=entry.rows, **entry.generator).draw()  # type: ignore[arg-type]
    if entry.format == "scikit-learn":
        from olbench.data.bundled import read_bundled

        return read_bundled(entry.bundled)
    if entry.format == "idx":
        from olbench.data.idx import read_images

        pairs = zip(paths[::2], paths[1::2], strict=True)
        parts = [_wanted(read_images(*pair, limit=entry.max_bytes), entry) for pair in pairs]
    elif entry.format == "spoligotypes":
        from olbench.data.spoligotypes import read_spoligotypes

        parts = [read_spoligotypes(path, entry.max_bytes or None, miru24=entry.generator) for path in paths]
    else:
        from olbench.data.table import read_csv

        parts = [read_csv(path, entry.label_column, entry.max_bytes or None) for path in paths]
    widths = {X.shape[1] for X, _ in parts}
    if len(widths) > 1:
        raise UserError(f"{entry.name}: its files have different numbers of features: {sorted(widths)}")
    return np.concatenate([X for X, _ in parts]), np.concatenate([labels for _, labels in parts])


def _wanted(part: tuple[Any, Any], entry: Entry) -> tuple[Any, Any]:
    """Drop unwanted digits before the pixels become doubles, eight times as large."""
    X, labels = part
    if entry.positive is not None and entry.negative is not None:
        mask = np.isin(labels, [*entry.positive, *entry.negative])
        X, labels = X[mask], labels[mask]
    return X.astype(np.float64), labels


def problems(entry: Entry, X: Any, y: Any, fingerprint: str) -> list[str]:
    """Return what about these examples is not as the catalogue says."""
    found = []
    if X.shape[0] != entry.rows:
        found.append(f"{X.shape[0]:,} rows instead of {entry.rows:,}")
    if X.shape[1] != entry.features:
        found.append(f"{X.shape[1]:,} features instead of {entry.features:,}")
    positives = int(np.count_nonzero(np.asarray(y) > 0))
    if not found and positives != entry.labels[1]:
        found.append(f"{positives:,} positive examples instead of {entry.labels[1]:,}")
    if not found and entry.fingerprint and fingerprint != entry.fingerprint:
        found.append(f"the fingerprint {fingerprint} instead of {entry.fingerprint}")
    return found
