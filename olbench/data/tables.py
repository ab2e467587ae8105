"""Files and frames as one typed frame, in which every column has numbers or text."""

import codecs
import csv
import io
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from olbench.data.compressed import read_utf8, show_path
from olbench.data.labels import is_number, label_text
from olbench.data.spec import detect_delimiter, read_delimiter
from olbench.errors import UserError, count, list_first, shorten, show_name, suggest

GAPS = frozenset({"", "?", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None"})
FIRST_BYTES = 1 << 16
#: What a label column is often called, in any case.
LABEL_NAMES = ("label", "class", "target", "y", "outcome", "labels", "klass")
#: A number with a plus sign and spaces around it, which pandas rounds carelessly.
_SPACED_PLUS = re.compile(rb"[ \t\v\f]\+|\+[\d.eE+-]*+[ \t\v\f]")
#: Later versions always round correctly, and warn if they are asked to.
_ROUNDING: Any = "round_trip" if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1) else None


@dataclass(frozen=True)
class TypedFrame:
    """A frame whose columns, numbered from 0, are float64 or category; gaps are NaN.

    A column with any text is a category; its numbers are written as labels are. The index numbers the rows.
    """

    where: str
    frame: Any
    names: tuple[str, ...]
    #: Whether the names are headings; otherwise columns are called by their numbers.
    has_heading: bool = True
    #: The line of a row in the file, if it is a text.
    find_line: Callable[[int], int] | None = None
    #: Whether the last column is the y of a pair (X, y).
    is_pair: bool = False

    def show_row(self, row: int) -> str:
        number = int(self.frame.index[row])
        return self.where + (f", row {number}" if self.find_line is None else f":{self.find_line(number)}")

    def fail(self, reason: str, row: int | None = None) -> UserError:
        return UserError(f"{self.where if row is None else self.show_row(row)}: {reason}")

    def column_name(self, column: int) -> str:
        name = self.names[column]
        if not self.has_heading:
            return f"column {column + 1}"
        return f"column {show_name(name)}" + (f" ({column + 1})" if self.names.count(name) > 1 else "")

    def has_text(self, column: int) -> bool:
        return isinstance(self.frame[column].dtype, pd.CategoricalDtype)

    def match_texts(self, column: int, is_meant: Callable[[str], bool]) -> Any:
        """Return a mask of the rows in which a column of text has such a text; gaps have none."""
        cells = self.frame[column].cat
        return np.array([*map(is_meant, cells.categories), False])[cells.codes]

    def show_cell(self, row: int, column: int) -> str:
        cell = self.frame[column].iloc[row]
        return show_name(cell if isinstance(cell, str) else label_text(float(cell)))

    def keep(self, mask: Any) -> "TypedFrame":
        """Return the rows of a mask; a column that loses all its texts becomes numeric."""
        frame = self.frame[mask].copy()
        for column in list_texts(frame):
            left = frame[column].cat.remove_unused_categories()
            frame[column] = left.astype(np.float64) if all(map(is_number, left.cat.categories)) else left
        return replace(self, frame=frame)

    def find_label(self, label: str | int) -> int:
        """Find the given column, by default the only one that is called like a label, else the last."""
        if len(self.names) < 2:
            raise self.fail(
                "there is only one column, and a label and a feature are needed; if another character "
                "separates the columns, give it with --delimiter"
            )
        if label != "":
            return self.find_column(label, "label")
        names = [name.lower() for name in self.names] if self.has_heading and not self.is_pair else []
        word = next((word for word in LABEL_NAMES if word in names), "")
        if (same := names.count(word)) > 1 and word:
            shown = f"{same} columns are called {show_name(word)}"
            raise self.fail(f"{shown}; give the number of the label column with --label")
        return names.index(word) if word else len(self.names) - 1

    def find_column(self, name: str | int, key: str, option: str = "") -> int:
        """Find a column by its heading, its number from 1 (or from the end, -1), or as first or last."""
        option, width, text = option or f"--{key}", len(self.names), str(name)
        same = self.names.count(text) if self.has_heading else 0
        if same > 1:
            shown = f"{same} columns have the heading {show_name(text)}"
            raise self.fail(f"{shown}; give the number of the {key} column with {option}")
        if same:
            return self.names.index(text)
        if text in ("first", "last"):
            return 0 if text == "first" else width - 1
        if text.removeprefix("-").isdecimal() and text.isascii():
            number = int(text)
            if 1 <= number <= width or -width <= number <= -1:
                return number - 1 if number > 0 else width + number
            raise self.fail(
                f"there is no column {shorten(text)}; columns are numbered 1 to {width}, or -1 to -{width} "
                f"from the end; correct {option}"
            )
        known, hint = f"it has no headings, and {width} columns", ""
        if self.has_heading:
            known = f"the headings are {list_first(map(show_name, self.names))}"
            hint = suggest(text, [name for name in self.names if name.isprintable()])
        raise self.fail(
            f"there is no column with the heading {show_name(text)}; {known}; name one of them, or give its "
            f"number, with {option}{hint}"
        )


def find_first(rows: Any) -> int | None:
    """Return the first row of a mask."""
    return int(rows.argmax()) if rows.any() else None


def as_table(content: Any, where: str) -> TypedFrame:
    """Return a frame, a pair (X, y) or scikit-learn's Bunch as a typed frame."""
    if isinstance(content, TypedFrame):
        return content
    return type_frame(content, where) if is_frame(content) else _join_pair(*as_pair(content))


def type_frame(frame: Any, where: str) -> TypedFrame:
    """Type the columns of a user's frame: truth values are numbers, other objects are read as their text."""
    if not len(frame):
        raise UserError(f"{where} contains no examples; it has no rows")
    names = tuple(str(name) for name in frame.columns)
    plain = frame.set_axis(range(len(names)), axis=1).reset_index(drop=True)
    return _type_columns(TypedFrame(where, plain, names))


def _type_columns(table: TypedFrame) -> TypedFrame:
    frame = table.frame
    numeric = [column for column, kind in enumerate(frame.dtypes) if _is_numeric(kind)]
    chosen = frame if len(numeric) == frame.shape[1] else frame[numeric]  # to choose 100,000 takes seconds
    numbers = chosen.to_numpy(np.float64, na_value=np.nan)
    infinite = [(int(row), numeric[k], "inf") for row, k in np.argwhere(np.isinf(numbers))[:1]]
    typed = {}
    for column in frame.columns.difference(numeric):
        try:
            typed[column], cell = _type_cells(frame[column])
        except TypeError:
            kind = type(frame[column].dropna().iloc[0]).__name__
            shown = f"column '{table.names[column]}' has values of type {kind}"
            raise table.fail(f"{shown}, neither numbers nor text; leave it out") from None
        infinite += [(cell[0], column, cell[1])] if cell else []
    if infinite:
        row, column, shown = min(infinite)
        raise table.fail(f"field {column + 1}, {show_name(shown)}, is not a finite number; correct it", row)
    found = pd.DataFrame(numbers, frame.index, numeric)
    if typed:
        found = pd.concat([found, pd.DataFrame(typed, index=frame.index)], axis=1)[range(frame.shape[1])]
    return replace(table, frame=found)


def _is_numeric(kind: Any) -> bool:
    is_number = pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_bool_dtype(kind)
    return bool(is_number and kind.kind != "c" and not isinstance(kind, pd.CategoricalDtype))


def _type_cells(cells: Any) -> tuple[Any, tuple[int, str] | None]:
    """Return cells as numbers, or as a category if any is text, and the first infinite one with its row."""
    places, distinct = pd.factorize(cells)
    texts = [str(cell).strip() for cell in distinct]
    numbers = np.array([*(float(text) if is_number(text) else np.nan for text in texts), np.nan])
    infinite = np.flatnonzero(np.isinf(numbers)[places])
    if infinite.size:
        return None, (int(infinite[0]), texts[places[infinite[0]]])
    if all(text in GAPS for text, number in zip(texts, numbers, strict=False) if np.isnan(number)):
        return numbers[places], None
    known: dict[str, int] = {}
    codes = np.full(len(texts) + 1, -1)  # a gap has the place -1, which is the last
    for place, (text, number) in enumerate(zip(texts, numbers.tolist(), strict=False)):
        if text not in GAPS:
            value = text if np.isnan(number) else label_text(number)
            codes[place] = known.setdefault(value, len(known))
    return pd.Categorical.from_codes(codes[places], pd.Index(list(known), dtype=object)), None


def list_texts(frame: Any) -> list[int]:
    return [column for column, kind in frame.dtypes.items() if isinstance(kind, pd.CategoricalDtype)]


def is_frame(data: Any) -> bool:
    return isinstance(data, pd.DataFrame)


def as_pair(data: Any, label: str | int = "") -> tuple[Any, Any]:
    is_bunch = isinstance(data, Mapping) and "data" in data and "target" in data
    if not is_bunch and not (isinstance(data, tuple) and len(data) == 2):
        raise UserError(
            "load_dataset takes a name, a path, a pandas frame, a pair (X, y) or scikit-learn's Bunch, not "
            f"{type(data).__name__}"
        )
    if label != "":
        raise UserError("y has the labels, so leave out label")
    X, y = (data["data"], data["target"]) if is_bunch else data
    if is_bunch and y is None:
        raise UserError("the Bunch has no target; fetch it with target_column, or pass its frame with label")
    return X, y


def _join_pair(X: Any, y: Any) -> TypedFrame:
    frame = X
    if not is_frame(X):
        try:
            matrix = np.asarray(X)
        except ValueError:
            raise UserError("the rows of X must have the same length") from None
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
    return replace(type_frame(pd.concat([frame, last], axis=1), "the data"), is_pair=True)


def read_parquet(path: Path) -> TypedFrame:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise UserError(
            f"{path}: reading Parquet needs pyarrow; install it with `pip install 'olbench[parquet]'`"
        ) from None
    try:
        frame = pyarrow.parquet.read_table(path).to_pandas()
    except (pyarrow.ArrowException, OSError, ValueError, TypeError, LookupError, AttributeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(f"{path} is not a Parquet file that can be read ({reason}); write it again") from None
    named = [name for name in frame.index.names if name is not None]
    if twice := [name for name in named if name in frame.columns]:
        raise UserError(f"{path}: the index and a column are both called '{twice[0]}'; rename one of them")
    return type_frame(frame.reset_index() if named else frame, str(path))


def read_table(path: str | Path, delimiter: str = "") -> TypedFrame:
    """Read separated values. The first line decides the separator.

    It has the headings if it has no number, or if it is what pandas writes for columns without names.
    """
    given = read_delimiter(delimiter) if delimiter else ""
    content, where = _read_lines(path), show_path(path)
    beginning = content[:FIRST_BYTES].decode(errors="replace").split("\n")
    separator = given or detect_delimiter(next((line for line in beginning if line.strip()), ""))
    line, fields = next(_read_records(where, content, separator), (0, []))
    names = tuple(field.strip() for field in fields)
    begin = 0
    for _ in range(line):
        begin = content.find(b"\n", begin) + 1 or len(content)
    numbers = [name for name in names if is_number(name)]
    may_head = not numbers or (len(numbers) < len(names) and numbers == [*map(str, range(len(numbers)))])
    frame = _parse(content, begin, separator) if may_head else None
    has_heading = may_head and (not numbers or _has_numbered_heading(names, frame))
    if not has_heading:
        names = tuple(str(k + 1) for k in range(len(names)))
        frame = _parse(content, 0, separator)
    # pandas fills short rows up, beside numbers of 50 digits with "", and forgives characters after a quote.
    is_suspicious = frame is None or frame.shape[1] != len(names) or _has_gaps(frame.iloc[:, -1])
    if is_suspicious or b'"' in content or b"\0" in content:
        _check_records(where, islice(_read_records(where, content, separator), has_heading, None), len(names))
    if frame is None:
        raise UserError(f"{where} contains no examples; is it the right file?")

    def find_line(row: int) -> int:
        records = _read_records(where, _read_lines(path), separator)
        return next(islice(records, row + has_heading, None))[0]

    return _type_columns(TypedFrame(where, frame, names, has_heading, find_line))


def _has_numbered_heading(names: tuple[str, ...], frame: Any) -> bool:
    """Return whether the words beside the numbers are headings: their columns do not repeat them.

    A word above words that all differ may be one of them.
    """
    words = {k: name for k, name in enumerate(names) if not is_number(name) and name not in GAPS}
    if frame is None or frame.shape[1] != len(names) or not words:
        return False
    for k, word in words.items():
        cells = frame[k].dropna().astype(str).str.strip()
        texts = set(cells)
        if not all(map(is_number, texts)) and (word in texts or len(texts) == len(cells)):
            return False
    return True


def _read_lines(path: str | Path) -> bytes:
    content = read_utf8(path)
    has_old_ends = b"\r" in content and content.count(b"\r") > content.count(b"\r\n")
    return content.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if has_old_ends else content


def _parse(content: bytes, begin: int, separator: str) -> Any:
    """Return a frame or, if it cannot be read, None."""
    if content.startswith(codecs.BOM_UTF8, begin):
        content = content[:begin] + codecs.BOM_UTF8 + content[begin:]  # pandas leaves out one mark

    def read(**options: Any) -> Any:
        rows = io.BytesIO(content)
        rows.seek(begin)
        with warnings.catch_warnings():
            # Of columns that are numbers in one part of a large file and text in another.
            warnings.simplefilter("ignore", pd.errors.DtypeWarning)
            return pd.read_csv(
                rows,
                sep=separator,
                header=None,
                na_values=list(GAPS),
                keep_default_na=False,
                float_precision=_ROUNDING,
                **options,
            )

    try:
        if b"+" in content and _SPACED_PLUS.search(content.replace(separator.encode(), b",")):
            return read(dtype=object)
        frame = read()
    except OverflowError:  # at a whole number of hundreds of digits
        return read(dtype=object)
    except (pd.errors.ParserError, pd.errors.EmptyDataError):
        return None
    # pandas replaces words such as inf and True, and numbers of a column that has text further down.
    floats = frame.select_dtypes("float")
    replaced = floats.columns[np.isinf(floats.to_numpy()).any(axis=0)].tolist()
    others = [column for column, kind in frame.dtypes.items() if kind.kind not in "iuf"]
    replaced += [column for column in others if pd.api.types.infer_dtype(frame[column]) != "string"]
    if replaced:
        frame[sorted(replaced)] = read(usecols=replaced, dtype=object)
    return frame


def _read_records(where: str, content: bytes, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line at which each record ends, and its fields; blank lines are skipped."""
    text = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline="")
    records = csv.reader(text, delimiter=separator, strict=True)
    begin = 1
    try:
        for fields in records:
            begin = records.line_num + 1
            if len(fields) > 1 or (fields and (not fields[0] or fields[0].strip(" \t"))):
                yield records.line_num, fields
    except csv.Error as error:
        reason = f"{where}:{records.line_num}: not a CSV file ({error}); correct the line"
        if "unexpected end" in str(error):
            reason = f"{where}:{begin}: a quote is opened here or later, and never closed; correct it"
        raise UserError(reason) from None


def _has_gaps(cells: Any) -> bool:
    return bool(cells.isna().any() or (not _is_numeric(cells.dtype) and (cells == "").any()))


def _check_records(where: str, records: Iterator[tuple[int, list[str]]], width: int) -> None:
    for line, fields in records:
        if len(fields) != width:
            raise UserError(
                f"{where}:{line}: {count(len(fields), 'field')}, but the first line has {width}; correct the "
                "line, or give the separator with --delimiter"
            )
        column = next((k for k, cell in enumerate(fields, start=1) if "\0" in cell), 0)
        if column:
            raise UserError(
                f"{where}:{line}: field {column} has a NUL character; save the file as UTF-8 text"
            )
