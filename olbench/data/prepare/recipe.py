"""How the user's data became features, kept so that new rows become the same ones."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from olbench.config.specs import FITTED_SCALES, RUNNING, DatasetSpec
from olbench.data.prepare.columns import TableColumn, read_features
from olbench.data.prepare.encode import column_means, encode, read_labels
from olbench.data.prepare.labels import as_targets
from olbench.data.prepare.scaling import Scaler, add_bias, fit_scaler, scale_rows
from olbench.data.readers.cells import Table
from olbench.data.readers.compressed import base_name
from olbench.data.readers.tables import format_of, is_table, read_table_file
from olbench.errors import UserError
from olbench.learn.examples import Floats


@dataclass(frozen=True)
class Recipe:
    columns: tuple[TableColumn, ...] = ()
    #: What was done with missing values: drop, zero, mean or nothing.
    missing: str = ""
    #: The mean of each feature before scaling, with `missing: mean`.
    means: Floats = field(default_factory=lambda: np.empty(0))
    scale: str = ""
    scaler: Scaler | None = None
    bias: bool = False
    #: The heading, or the number from 1, of the label column.
    label: str | int = ""
    delimiter: str = ""

    def read(self, path: Path, d: int) -> tuple[Any, Any]:
        format = format_of(base_name(path.name))
        if self.columns and not is_table(format):
            raise UserError(f"{path} is no table, and the model has learnt from one")
        if not self.columns and is_table(format):
            raise UserError(f"{path} is a table, and the model has learnt from a LIBSVM file")
        if not self.columns:
            X, labels = _read_libsvm(path, d - self.bias)
        else:
            table = read_table_file(path, format, self.delimiter)
            X, labels = self._encode(table), self._find_labels(table)
        return self._scale(X), labels

    def _encode(self, table: Table) -> Floats:
        columns = [_find_column(table, column) for column in self.columns]
        for column in columns:
            if column.texts is None and not column.encode and column.place in table.texts:
                row = int(np.argmax(table.texts[column.place].codes >= 0))
                raise UserError(
                    f"{table.place(row)}: {table.column_name(column.place)} has text, and the model has "
                    "learnt from numbers there"
                )
        X = read_features(table, columns)
        gaps = np.isnan(X)
        if gaps.any() and self.missing not in ("zero", "mean"):
            row, column_number = (int(k) for k in np.argwhere(gaps)[0])
            raise UserError(
                f"{table.place(row)}: {self.features[column_number]} has no value; the model was trained "
                "without missing values: use missing: zero or mean in its config"
            )
        X[gaps] = 0.0 if self.missing == "zero" else self.means[np.nonzero(gaps)[1]]
        return X

    @property
    def features(self) -> list[str]:
        return [name for column in self.columns for name in column.features]

    def _find_labels(self, table: Table) -> Any:
        if isinstance(self.label, str) and self.label and table.has_heading:
            if self.label not in table.names:
                return None
            return read_labels(table, table.names.index(self.label))
        used = {_find_column(table, column).place for column in self.columns}
        place = self.label - 1 if isinstance(self.label, int) else len(table.names) - 1
        return read_labels(table, place) if place < len(table.names) and place not in used else None

    def _scale(self, X: Any) -> Any:
        if self.scaler is not None:
            X = self.scaler.apply(X)
        elif self.scale:
            X = scale_rows(X)
        return add_bias(X) if self.bias else X


def fit_recipe(spec: DatasetSpec) -> tuple[Recipe, list[Any]]:
    """Return the recipe of a user's own file, and what its classes are called, the negative one first.

    The file is read again, because the cache has no columns.
    """
    reading, path = spec.reading, Path(spec.path)
    targets = (spec.positive, spec.negative, spec.path, spec.labels == "all")
    if not is_table(format_of(base_name(path.name))):
        X, labels = _read_libsvm(path)
        y, mask = as_targets(labels, *targets)
        recipe = Recipe(scale=reading.scale, scaler=_fit(X[mask], reading.scale), bias=reading.bias)
        return recipe, _name_classes(labels[mask], y)
    table = read_table_file(path, format_of(base_name(path.name)), reading.delimiter)
    encoded = encode(table, reading)
    y, mask = as_targets(encoded.labels, *targets)
    means = column_means(read_features(table, encoded.columns)) if reading.missing == "mean" else np.empty(0)
    label = table.find_label(reading.label or "last")
    recipe = Recipe(
        tuple(encoded.columns), reading.missing, means, reading.scale, _fit(encoded.X[mask], reading.scale),
        reading.bias, table.names[label] if table.has_heading else label + 1, reading.delimiter,
    )  # fmt: skip
    return recipe, _name_classes(encoded.labels[mask], y)


def _name_classes(labels: Any, y: Floats) -> list[Any]:
    return [
        same[0] if len(same := np.unique(labels[y == k]).tolist()) == 1 else f"{k:+g}"
        for k in np.unique(y).tolist()
    ]


def _fit(X: Any, scale: str) -> Scaler | None:
    if scale == RUNNING:  # all rows are in the past of new ones
        return fit_scaler(X, "standard")
    return fit_scaler(X, scale) if scale in FITTED_SCALES else None


def _find_column(table: Table, column: TableColumn) -> TableColumn:
    if not (table.has_heading and column.heading):
        if column.place >= len(table.names):
            raise UserError(f"{table.where} has {len(table.names)} columns, and the model needs more")
        return column
    if column.heading not in table.names:
        raise UserError(f"{table.where} has no column '{column.heading}', which the model needs")
    return replace(column, place=table.names.index(column.heading))


def _read_libsvm(path: Path, d: int = 0) -> tuple[Any, Any]:
    from olbench.data.readers.libsvm import read_libsvm

    rows, width = read_libsvm([path], None)
    if d and width > d:
        raise UserError(f"{path} has a feature {width:,}, and the model has learnt from {d:,} features")
    labels = rows.labels[: rows.n].copy()
    return sp.csr_matrix(rows.matrix(d or width)), labels
