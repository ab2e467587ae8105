"""Users' data: tables, frames and LIBSVM files, prepared as their reading says."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from olbench.config.specs import Reading
from olbench.data.catalog import CatalogEntry
from olbench.data.dataset import About
from olbench.data.prepare.encode import encode, encode_targets
from olbench.data.prepare.scaling import describe_scaling, scale_features
from olbench.data.readers.cells import Table
from olbench.data.readers.rows import choose_storage
from olbench.data.readers.tables import is_table, read_table_file, table_suffixes
from olbench.errors import UserError


def format_of(name: str) -> str:
    """Return the format of a file by its name, without the end that says how it is compressed."""
    return table_suffixes().get(Path(name).suffix.lower(), "libsvm")


def plain_name(name: str) -> str:
    """Return the name of a data set: a table's file name without its end."""
    return Path(name).stem if is_table(format_of(name)) else name


def refuse_reading(reading: Reading, format: str, where: str) -> None:
    """Refuse options that mean nothing to a file of this format."""
    given = [key for key in ("label", "delimiter", "missing", "categorical") if getattr(reading, key)]
    if given and not is_table(format):
        raise UserError(
            f"{where} is read as a LIBSVM file, where --{given[0]} does not apply; a table's name ends in "
            f"{', '.join(table_suffixes())}: rename the file if it is one"
        )
    if format != "csv" and reading.delimiter:
        raise UserError(f"{where} is not a file of separated values, so leave out --delimiter")


def read_own(entry: CatalogEntry, path: Path, where: str) -> tuple[Any, Any, About]:
    """Return (X, y) of a user's file, and what was done with it."""
    if is_table(entry.format):
        table = read_table_file(path, entry.format, entry.reading.delimiter, entry.max_bytes or None)
        return prepare_table(table, entry.positive, entry.negative, entry.reading, entry.multiclass)
    from olbench.data.readers.registry import read_examples

    X, y, _ = read_examples(entry, [path], where)
    return _finish(X, y, About(), entry.reading)


def prepare_table(
    table: Table, positive: Any, negative: Any, reading: Reading, multiclass: bool
) -> tuple[Any, Any, About]:
    """Return (X, y) of a table, and what was done with it."""
    examples = encode(table, reading)
    return _finish(*encode_targets(*examples, positive, negative, table.where, multiclass), reading)


def _finish(X: Any, y: Any, about: About, reading: Reading) -> tuple[Any, Any, About]:
    """Scale, add a bias and choose the storage."""
    if reading.scale or reading.bias:
        X = scale_features(X, reading.scale, reading.bias)
    steps = describe_scaling(reading.scale, reading.bias, reading.fitted)
    names = (*about.features, "bias") if reading.bias and about.features else about.features
    return choose_storage(X), y, replace(about, features=names, steps=(*about.steps, *steps))


def read_frame(
    data: Any, positive: Any, negative: Any, reading: Reading, multiclass: bool = False
) -> tuple[Any, Any, About]:
    """Return (X, y) of a pandas frame with a label column, of a pair (X, y), or of scikit-learn's Bunch."""
    from olbench.data.readers.frames import as_pair, is_frame, pair_table, table_of

    if reading.delimiter:
        raise UserError("a frame has no delimiter; leave it out")
    if is_frame(data):
        if not reading.label:
            raise UserError(f"say which column is the label, as in label={str(data.columns[-1])!r}")
        return prepare_table(table_of(data, "the frame"), positive, negative, reading, multiclass)
    pair = as_pair(data)
    if pair is None:
        raise UserError(
            f"load_dataset takes a name, a path, a pandas frame, a pair (X, y) or scikit-learn's Bunch, not "
            f"{type(data).__name__}"
        )
    if reading.label:
        raise UserError("X and y come apart here, so leave out label")
    X, y = pair
    if not sp.issparse(X):
        return prepare_table(pair_table(X, y, "the data"), positive, negative, reading, multiclass)
    table = pair_table(np.zeros((X.shape[0], 1)), y, "the data")
    _, labels, about = encode(table, replace(reading, scale="", bias=False))
    matrix = sp.csr_matrix(X, dtype=np.float64)
    if not np.isfinite(matrix.data).all():
        raise UserError("the data: X has values that are not finite; a sparse X may have no missing values")
    examples = matrix, labels, replace(about, features=(), label="label")
    return _finish(*encode_targets(*examples, positive, negative, "the data", multiclass), reading)
