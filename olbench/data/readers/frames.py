"""Frames and arrays in memory as tables and data sets."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import scipy.sparse as sp

from olbench.data.dataset import Dataset
from olbench.data.prepare.encode import encode, encode_targets, prepare_table
from olbench.data.prepare.scaling import scale_as_read
from olbench.data.readers.cells import GAPS, NO_TEXT, Table, TextColumn
from olbench.data.spec import DatasetSpec
from olbench.errors import UserError


def read_frame(data: Any, spec: DatasetSpec) -> Dataset:
    reading = spec.reading
    if reading.delimiter:
        raise UserError("a frame has no delimiter; leave it out")
    if is_frame(data):
        if reading.label == "":
            raise UserError(f"say which column is the label, as in label={str(data.columns[-1])!r}")
        table = table_of(data, "the frame")
    else:
        X, labels = _as_pair(data)
        if reading.label != "":
            raise UserError("X and y come apart here, so leave out label")
        if sp.issparse(X):
            return _read_sparse(X, labels, spec)
        table = _pair_table(X, labels)
    X, y, about, arrivals = prepare_table(table, spec.positive, spec.negative, reading, spec.labels == "all")
    return Dataset.make(spec.name or "frame", X, y, about=about, arrivals=arrivals)


def _read_sparse(X: Any, y: Any, spec: DatasetSpec) -> Dataset:
    reading = spec.reading
    if reading.time != "" or reading.arrival != "" or reading.columns:
        raise UserError(
            "time, arrival and columns name columns of a table, and a sparse X is none; leave them out"
        )
    _, labels, about, *_ = encode(_pair_table(np.zeros((X.shape[0], 1)), y), spec.reading)
    matrix = sp.csr_matrix(X, dtype=np.float64)
    if not np.isfinite(matrix.data).all():
        raise UserError("the data: X has values that are not finite; a sparse X may have no missing values")
    about = replace(about, features=(), label="label")
    matrix, signs, about, _ = encode_targets(
        matrix, labels, about, spec.positive, spec.negative, "the data", spec.labels == "all"
    )
    matrix, about = scale_as_read(matrix, about, spec.reading)
    return Dataset.make(spec.name or "frame", matrix, signs, about=about)


def table_of(frame: Any, where: str) -> Table:
    """Return a pandas frame as a table: numbers and truth values as numbers, everything else as text."""
    n, width = frame.shape
    if not n:
        raise UserError(f"{where} contains no examples; it has no rows")
    numbers = np.full((n, width), np.nan)
    texts: dict[int, TextColumn] = {}
    for column in range(width):
        values = _as_numbers(frame.iloc[:, column])
        place = f"{where}: column '{frame.columns[column]}'"
        if _is_numeric(values):
            numbers[:, column] = values.to_numpy(dtype=np.float64, na_value=np.nan)
            if (infinite := np.flatnonzero(np.isinf(numbers[:, column]))).size:
                raise UserError(
                    f"{place} has an infinite value in row {infinite[0]}; every value must be finite: "
                    "correct it"
                )
        elif (text := _text_column(values, place)).values:
            texts[column] = text
    return Table(where, tuple(str(name) for name in frame.columns), numbers, texts)


def _is_numeric(values: Any) -> bool:
    from pandas.api import types

    return bool(
        (types.is_numeric_dtype(values) or types.is_bool_dtype(values))
        and not types.is_complex_dtype(values)
        and not isinstance(values.dtype, types.CategoricalDtype)
    )


def _as_numbers(values: Any) -> Any:
    """Return a column of decimal numbers, which pandas keeps as objects, as numbers; any other as it is."""
    known = values.dropna() if values.dtype == object else ()
    is_decimal = len(known) > 0 and all(isinstance(value, Decimal) for value in known)
    return values.astype("float64") if is_decimal else values


def _text_column(values: Any, where: str) -> TextColumn:
    import pandas as pd

    try:
        codes, distinct = pd.factorize(values, use_na_sentinel=True)
    except TypeError:
        kind = type(values.dropna().iloc[0]).__name__
        raise UserError(
            f"{where} has values of type {kind}, neither numbers nor text; leave it out"
        ) from None
    words = [str(value) for value in distinct]
    # Different objects may have the same text, and a text may stand for a missing value.
    known: dict[str, int] = {}
    places = np.array(
        [NO_TEXT if word.strip() in GAPS else known.setdefault(word.strip(), len(known)) for word in words]
        + [NO_TEXT],
        dtype=np.int32,
    )
    return TextColumn(tuple(known), places[codes])


def _as_pair(data: Any) -> tuple[Any, Any]:
    if isinstance(data, tuple) and len(data) == 2:
        return data
    if isinstance(data, Mapping) and "data" in data and "target" in data:
        if data["target"] is None:
            raise UserError(
                "the Bunch has no target; fetch it with target_column, or pass its frame with label"
            )
        return data["data"], data["target"]
    raise UserError(
        f"load_dataset takes a name, a path, a pandas frame, a pair (X, y) or scikit-learn's Bunch, not "
        f"{type(data).__name__}"
    )


def is_frame(data: Any) -> bool:
    return (
        type(data).__module__.split(".")[0] == "pandas" and hasattr(data, "iloc") and hasattr(data, "columns")
    )


def _pair_table(X: Any, y: Any) -> Table:
    import pandas as pd

    frame = X
    if not is_frame(X):
        matrix = np.asarray(X)
        if matrix.ndim != 2:
            raise UserError(f"X must have two dimensions, not {matrix.ndim}")
        frame = pd.DataFrame(matrix, columns=[f"x{k + 1}" for k in range(matrix.shape[1])])
    labels = np.asarray(y.iloc[:, 0] if is_frame(y) and y.shape[1] == 1 else y, dtype=object)
    if labels.ndim != 1 or len(labels) != len(frame):
        raise UserError(f"the data: X has {len(frame)} rows, and y must have one label for each")
    label = "label"
    while label in frame.columns:
        label += "_"
    last = pd.Series(list(labels), frame.index, name=label).infer_objects()
    return table_of(pd.concat([frame, last], axis=1), "the data")
