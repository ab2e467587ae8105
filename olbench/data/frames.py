"""Frames, arrays and tables of libraries as data sets."""

from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from olbench.data.cells import Table, TextColumn, read_cells
from olbench.data.dataset import Dataset
from olbench.data.prepare import encode, encode_targets, prepare_table
from olbench.data.scale import scale_as_read
from olbench.data.spec import DatasetSpec
from olbench.errors import UserError, count
from olbench.learners.examples import Floats


def read_frame(data: Any, spec: DatasetSpec) -> Dataset:
    if spec.reading.delimiter:
        raise UserError("a frame has no delimiter; leave it out")
    if is_frame(data) and spec.reading.label == "":
        raise UserError(f"say which column is the label, as in label={str(data.columns[-1])!r}")
    return prepare_content(data, replace(spec, name=spec.name or "frame"), "the frame")


def prepare_content(content: Any, spec: DatasetSpec, where: str) -> Dataset:
    """Return a data set of a table, a frame or a pair (X, y)."""
    if not isinstance(content, Table) and not is_frame(content):
        X, labels = _as_pair(content)
        if spec.reading.label != "":
            raise UserError("X and y come apart here, so leave out label")
        if sp.issparse(X):
            return _read_sparse(X, labels, spec)
    X, y, about, arrivals = prepare_table(
        as_table(content, where), spec.positive, spec.negative, spec.reading, spec.labels == "all"
    )
    return Dataset.make(spec.name, X, y, about=about, arrivals=arrivals)


def as_table(content: Any, where: str) -> Table:
    if isinstance(content, Table):
        return content
    return table_of(content, where) if is_frame(content) else _pair_table(*_as_pair(content))


def read_parquet(path: Path) -> Table:
    """Its columns have types, so that there is nothing to recognise."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise UserError(
            f"{path}: reading Parquet needs pyarrow; install it with `pip install 'olbench[parquet]'`"
        ) from None
    try:
        frame = pyarrow.parquet.read_table(path).to_pandas()
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(f"{path} is not a Parquet file that can be read ({reason}); write it again") from None
    named = [name for name in frame.index.names if name is not None]
    if twice := [name for name in named if name in frame.columns]:
        raise UserError(f"{path}: the index and a column are both called '{twice[0]}'; rename one of them")
    return table_of(frame.reset_index() if named else frame, str(path))


#: Of the tables in scikit-learn: the file, and how many lines come before the first row.
BUNDLED = {"breast-cancer": ("breast_cancer.csv", 1), "digits": ("digits.csv.gz", 0)}


def read_bundled(name: str) -> tuple[Any, Any]:
    """Without importing scikit-learn, which takes a second; it is asked only if its files moved."""
    file, lines = BUNDLED[name]
    found = find_spec("sklearn")
    path = Path(found.origin or "").parent / "datasets/data" / file if found else Path(file)
    if path.is_file():
        table = np.loadtxt(path, delimiter=",", skiprows=lines)
        return np.ascontiguousarray(table[:, :-1]), table[:, -1]
    from sklearn import datasets

    loaders = {"breast-cancer": datasets.load_breast_cancer, "digits": datasets.load_digits}
    X, labels = loaders[name](return_X_y=True)
    return X, labels.astype(np.float64)


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
    return Dataset.make(spec.name, matrix, signs, about=about)


def table_of(frame: Any, where: str) -> Table:
    """Return a pandas frame as a table: truth values are numbers, and other objects what their text is."""
    n, width = frame.shape
    if not n:
        raise UserError(f"{where} contains no examples; it has no rows")
    numbers = np.full((n, width), np.nan)
    texts: dict[int, TextColumn] = {}
    for column in range(width):
        values = frame.iloc[:, column]
        place = f"{where}: column '{frame.columns[column]}'"
        if _is_numeric(values):
            numbers[:, column] = values.to_numpy(dtype=np.float64, na_value=np.nan)
        else:
            known: dict[str, int] = {}
            numbers[:, column], codes = _read_objects(values, known, place)
            texts |= {column: TextColumn(tuple(known), codes)} if known else {}
        if (infinite := np.flatnonzero(np.isinf(numbers[:, column]))).size:
            raise UserError(
                f"{place} has an infinite value in row {infinite[0]}; every value must be finite: correct it"
            )
    return Table(where, tuple(str(name) for name in frame.columns), numbers, texts)


def _is_numeric(values: Any) -> bool:
    from pandas.api import types

    return bool(
        (types.is_numeric_dtype(values) or types.is_bool_dtype(values))
        and not types.is_complex_dtype(values)
        and not isinstance(values.dtype, types.CategoricalDtype)
    )


def _read_objects(values: Any, known: dict[str, int], where: str) -> tuple[Floats, Any]:
    try:
        return read_cells(values, known)
    except TypeError:
        kind = type(values.dropna().iloc[0]).__name__
        raise UserError(
            f"{where} has values of type {kind}, neither numbers nor text; leave it out"
        ) from None


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
        raise UserError(f"the data: X has {count(len(frame), 'row')}, and y must have one label for each")
    label = "label"
    while label in frame.columns:
        label += "_"
    last = pd.Series(list(labels), frame.index, name=label).infer_objects()
    return table_of(pd.concat([frame, last], axis=1), "the data")
