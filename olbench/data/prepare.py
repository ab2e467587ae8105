"""From a typed frame to examples: labels, times, gaps, encoded columns, and a description of the steps."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from olbench.data.dataset import About, Dataset
from olbench.data.labels import (
    LARGEST_WHOLE,
    as_targets,
    is_number,
    label_text,
    refuse_regression,
    show_label,
)
from olbench.data.scale import scale_as_read
from olbench.data.spec import DATE_PARTS, OTHERS, ColumnSpec, DatasetSpec, Reading
from olbench.data.tables import LABEL_NAMES, TypedFrame, as_pair, as_table, find_first, is_frame, list_texts
from olbench.errors import UserError, count, list_first, show_name
from olbench.learners.examples import Floats, Ints

#: A column with more distinct texts is a name or a number rather than a category.
MOST_CATEGORIES = 1000
#: A longer text is not the name of a class.
LONGEST_LABEL = 300
ORIGIN = "1970-01-01"
#: The numbers of the indicators of a part of a date: months and ISO weekdays from 1 on, hours from 0 on.
PARTS = {"month": range(1, 13), "weekday": range(1, 8), "hour": range(24)}
#: The arrival of a label that never becomes known.
NEVER = np.iinfo(np.int64).max
_OFFSET = re.compile(r":\d\d.*(?:Z|[+-]\d\d(?::?\d\d)?)$", re.IGNORECASE)
_NUMBERS, _DATES, _DATES_WITH_OFFSET = "numbers", "dates without an offset", "dates with an offset from UTC"
#: The names of the features of a column, their values, and a description.
Encoded = tuple[list[str], Any, str]


def read_frame(data: Any, spec: DatasetSpec) -> Dataset:
    if spec.reading.delimiter:
        raise UserError("a frame has no delimiter; leave it out")
    refuse_unnamed(data, spec.reading.label)
    return prepare_content(data, replace(spec, name=spec.name or "frame"), "the frame")


def refuse_unnamed(data: Any, label: str | int) -> None:
    if is_frame(data) and label == "":
        likely = next((name for name in data.columns if str(name).lower() in LABEL_NAMES), data.columns[-1])
        raise UserError(f"name the column of the label, as in label={str(likely)!r}")


def prepare_content(content: Any, spec: DatasetSpec, where: str) -> Dataset:
    """Return a data set of a table, a frame or a pair (X, y)."""
    reading, is_table = spec.reading, isinstance(content, TypedFrame) or is_frame(content)
    X, y = (content, None) if is_table else as_pair(content, reading.label)
    if sp.issparse(X):
        where = "the data"
        if reading.time != "" or reading.arrival != "" or reading.columns:
            raise UserError("a sparse X has no named columns; leave out time, arrival and columns")
        X, labels, dropped = read_sparse(X, y)
        about = About(steps=tuple(f"{each} left out" for each in dropped), label="label")
        label_name, times = "column 'label'", tuple[Any, ...]()
    else:
        table = as_table(content, where)
        where = table.where
        X, labels, about, times = encode(table, reading)
        label_name = table.column_name(table.find_label(reading.label))
    y, kept, classes, targets = encode_targets(labels, spec, where)
    steps = [f"label: {label_name}", targets, *about.steps]
    if not kept.all():
        X = X[kept]
        steps.append(f"{count(int(np.count_nonzero(~kept)), 'row')} with other labels left out")
    about = replace(about, classes=classes, steps=tuple(steps))
    X, about = scale_as_read(X, about, reading, where)
    arrivals = find_arrivals(*(each[kept] for each in times)) if len(times) == 2 else None
    if arrivals is not None and (never := np.count_nonzero(arrivals == NEVER)):
        late = f"labels that arrive after the last row or never: {never:,} of {len(y):,}"
        about = replace(about, steps=(*about.steps, late))
    return Dataset.make(spec.name, X, y, about=about, arrivals=arrivals)


def read_sparse(X: Any, y: Any) -> tuple[Any, Any, list[str]]:
    """Return the rows with a label, their labels, and a description of the rows left out."""
    if X.dtype.kind not in "biuf":
        raise UserError(f"the data: X must hold real numbers, not {X.dtype}")
    matrix = sp.csr_matrix(X, dtype=np.float64)
    if not matrix.shape[1]:
        raise UserError("the data: X has no columns, and at least one feature is needed")
    if not np.isfinite(matrix.data).all():
        raise UserError("the data: X has values that are not finite; a sparse X may have no missing values")
    table = as_table((np.zeros((matrix.shape[0], 1)), y), "the data")
    gaps, dropped = find_unlabelled(table, 1)
    return matrix[~gaps] if dropped else matrix, read_labels(table.keep(~gaps), 1), dropped


def encode(table: TypedFrame, reading: Reading) -> tuple[Floats, Any, About, tuple[Any, ...]]:
    """Return X, the labels, their description, and the times of the rows and of the labels if given."""
    label = table.find_label(reading.label)
    timed, times = read_times(table, reading, label)
    taken = {column: key for key, column in timed.items()}
    specs = match_columns(table, reading.columns, {**taken, label: "label"})
    places = [place for place, spec in specs.items() if spec.encode != "drop"]
    if not places:
        raise table.fail("no column is left for a feature; at least one is needed")
    left_out = {"columns": [place for place, spec in specs.items() if spec.encode == "drop"]}
    if reading.categorical == "drop":
        texts = [place for place in places if table.has_text(place) and not specs[place].encode]
        left_out["columns of text"] = texts
        places = [place for place in places if place not in texts]
        if not places:
            raise table.fail("every feature is text, so --categorical drop leaves none; use onehot")
    gaps, dropped = _find_gaps(table, places, label, reading.missing)
    if dropped:
        table, times = table.keep(~gaps), tuple(each[~gaps] for each in times)
    labels = read_labels(table, label)
    X, names, coded = _encode_columns(table, {place: specs[place] for place in places}, reading.categorical)
    steps = (
        *(f"{key}: {table.column_name(column)}" for key, column in timed.items()),
        *(f"{what} left out: {_list_columns(table, each)}" for what, each in left_out.items() if each),
        *dropped,
        *coded,
        *_fill(X, table, places, reading.missing),
    )
    heading = table.names[label] if table.has_heading else ""
    return X, labels, About(tuple(names), steps=steps, label=heading), times


def match_columns(
    table: TypedFrame, specs: tuple[ColumnSpec, ...], taken: Mapping[int, str]
) -> dict[int, ColumnSpec]:
    """Return the spec of each feature column; `taken` has the keys of the other columns."""
    found: dict[int, ColumnSpec] = {}
    usual = ColumnSpec(OTHERS)
    for spec in specs:
        if spec.name == OTHERS:
            usual = spec
            continue
        try:
            place = table.find_column(spec.name, "columns", "the key columns")
        except UserError as error:
            raise UserError(f"{spec.place}: {error}") from None
        if place in found:
            raise UserError(f"{spec.place}: {table.column_name(place)} of {table.where} is named twice")
        if place in taken and spec.encode:
            shown = f"{table.column_name(place)} is the {taken[place]}, not a feature"
            raise UserError(f"{spec.place}: {shown}; remove it from columns")
        found[place] = spec
    return {place: found.get(place, usual) for place in range(len(table.names)) if place not in taken}


def _list_columns(table: TypedFrame, columns: list[int]) -> str:
    return list_first(table.column_name(column).removeprefix("column ") for column in columns)


def find_unlabelled(table: TypedFrame, label: int) -> tuple[Any, list[str]]:
    """Return the rows without a label, and a description."""
    gaps = table.frame[label].isna().to_numpy()
    if gaps.all():
        raise table.fail(f"{table.column_name(label)} has no values; name another column with --label")
    return gaps, [f"{count(int(gaps.sum()), 'row')} without a label"] if gaps.any() else []


def _find_gaps(table: TypedFrame, columns: list[int], label: int, missing: str) -> tuple[Any, list[str]]:
    """Return the rows to leave out, and a description."""
    unlabelled, dropped = find_unlabelled(table, label)
    steps = [f"{each} left out" for each in dropped]
    if missing in ("zero", "mean"):
        return unlabelled, steps
    gaps = table.frame[columns].isna().to_numpy() & ~unlabelled[:, None]
    if not missing and gaps.any():
        column = int(gaps.any(axis=0).argmax())
        shown = f"{table.column_name(columns[column])} has no value"
        remedy = "choose --missing drop, zero or mean, or let `olbench init` choose"
        raise table.fail(f"{shown}; {remedy}", int(gaps[:, column].argmax()))
    has_gap = gaps.any(axis=1)
    left_out, n = unlabelled | has_gap, len(has_gap)
    if left_out.all():
        raise table.fail("every row has a missing value, so --missing drop leaves none; use zero or mean")
    if has_gap.any():
        steps.append(f"{int(has_gap.sum()):,} of {n:,} rows with missing values left out")
    return left_out, steps


def read_labels(table: TypedFrame, column: int) -> Any:
    """Return the labels as numbers, or as text if any is text."""
    cells, other = table.frame[column], "name another column with --label"
    if (row := _find_large(table, column)) is not None:
        shown = show_name(f"{float(cells.iloc[row]):.0f}")
        raise table.fail(f"label {shown} is too large to represent exactly; renumber the classes", row)
    if table.has_text(column):
        is_long = table.match_texts(column, lambda word: len(word) > LONGEST_LABEL)
        if (row := find_first(is_long)) is not None:
            word = cells.iloc[row]
            shown = f"label {show_name(word)} has {len(word):,} characters, and a label names a class"
            raise table.fail(f"{shown}; {other}", row)
        return np.array(cells.cat.categories, dtype=str)[cells.cat.codes]
    numbers = cells.to_numpy(copy=True)
    if (row := find_first(numbers != np.floor(numbers))) is not None:
        refuse_regression(numbers, f"{table.where}: {table.column_name(column)}")
        shown = f"label {show_name(f'{numbers[row]:g}')} is not a whole number, and a label names a class"
        raise table.fail(f"{shown}; cut a numeric target into classes, or {other}", row)
    return numbers


def _find_large(table: TypedFrame, column: int) -> int | None:
    """Return the first row with a whole number that is too large for a double to represent exactly."""
    if not table.has_text(column):
        return find_first(table.frame[column].abs().to_numpy() > LARGEST_WHOLE)
    is_large = table.match_texts(column, lambda word: is_number(word) and abs(float(word)) > LARGEST_WHOLE)
    return find_first(is_large)


def _encode_columns(
    table: TypedFrame, specs: Mapping[int, ColumnSpec], categorical: str
) -> tuple[Floats, list[str], list[str]]:
    """Return X, in which gaps stay, the names of the features, and a description."""
    texts = set(list_texts(table.frame))
    coded = {
        place: _encode_column(table, place, spec, categorical)
        for place, spec in specs.items()
        if place in texts or spec.encode in ("date", "ordinal", "onehot")
    }
    names: list[str] = []
    begins = {}
    for place in specs:
        begins[place] = len(names)
        names += coded[place][0] if place in coded else [feature_name(table, place)]
    X = np.empty((len(table.frame), len(names)))
    numeric = [place for place in specs if place not in coded]
    X[:, [begins[place] for place in numeric]] = table.frame[numeric].to_numpy(np.float64)
    for place, (features, values, _) in coded.items():
        X[:, begins[place] : begins[place] + len(features)] = values
    return X, names, [f"{table.column_name(place)} as {words}" for place, (*_, words) in coded.items()]


def feature_name(table: TypedFrame, place: int) -> str:
    return (table.names[place] if table.has_heading else "") or f"x{place + 1}"


def _encode_column(table: TypedFrame, place: int, spec: ColumnSpec, categorical: str) -> Encoded:
    if spec.encode == "date":
        return _encode_dates(table, place, spec.parts or DATE_PARTS[:1], spec.origin or ORIGIN)
    if spec.encode == "ordinal":
        return _encode_order(table, place, tuple(map(label_text, spec.order)))
    if spec.encode != "onehot":
        refuse_text(table, place, spec, categorical)
    cells = _as_category(table, place)
    # Numbers come first, by their size.
    texts = sorted(
        cells.cat.categories, key=lambda text: (0, float(text), "") if is_number(text) else (1, 0.0, text)
    )
    if len(texts) > MOST_CATEGORIES:
        raise table.fail(
            f"{table.column_name(place)} has {len(texts):,} distinct texts, more than the "
            f"{MOST_CATEGORIES:,} that onehot takes; leave out all columns of text with --categorical drop, "
            "or only this one under columns in a config (drop, or encode: date), as `olbench init` does"
        )
    codes = cells.cat.set_categories(texts).cat.codes.to_numpy()
    values = np.where(codes[:, None] < 0, np.nan, codes[:, None] == np.arange(len(texts)))
    return [f"{feature_name(table, place)}={text}" for text in texts], values, count(len(texts), "indicator")


def _as_category(table: TypedFrame, place: int) -> Any:
    cells = table.frame[place]
    if (row := _find_large(table, place)) is not None:
        shown = f"{table.column_name(place)} has a number of 2^53 or more, too large to represent exactly"
        raise table.fail(f"{shown}; put a letter before such numbers, or drop the column", row)
    if table.has_text(place):
        return cells
    codes, distinct = pd.factorize(cells)
    texts = pd.Index([label_text(number) for number in distinct.tolist()], dtype=object)
    return pd.Series(pd.Categorical.from_codes(codes, texts), cells.index)


def _encode_order(table: TypedFrame, place: int, order: tuple[str, ...]) -> Encoded:
    cells = _as_category(table, place)
    codes = cells.cat.set_categories(order).cat.codes.to_numpy()
    listed = ", ".join(map(show_name, order))
    gaps = cells.isna().to_numpy()
    if (row := find_first((codes < 0) & ~gaps)) is not None:
        shown = f"{table.column_name(place)} has {show_name(cells.iloc[row])}, which is not in its order"
        raise table.fail(f"{shown} ({listed}); add it there, or correct the cell", row)
    words = f"0 to {len(order) - 1}, in the order {listed}"
    return [feature_name(table, place)], np.where(gaps, np.nan, codes)[:, None], words


def _encode_dates(table: TypedFrame, place: int, parts: tuple[str, ...], origin: str) -> Encoded:
    dates, name = pd.Series(read_dates(table, place)), feature_name(table, place)
    numbers = {"month": dates.dt.month, "weekday": dates.dt.day_of_week + 1, "hour": dates.dt.hour}
    names, blocks, words = [], [], []
    for part in parts:
        if part == "days":
            names.append(f"{name}.days")
            blocks.append((dates.to_numpy()[:, None] - np.datetime64(origin)) / np.timedelta64(1, "D"))
            words.append(f"days since {origin}")
        else:
            names += [f"{name}.{part}={number}" for number in PARTS[part]]
            blocks.append(numbers[part].to_numpy()[:, None] == np.array(PARTS[part]))
            words.append(f"{len(PARTS[part])} indicators of the {part}")
    values = np.hstack(blocks).astype(np.float64)
    values[dates.isna().to_numpy()] = np.nan
    return names, values, ", ".join(words)


def find_text(table: TypedFrame, place: int) -> int:
    """Return the first row whose cell is not a number."""
    return int(table.match_texts(place, lambda word: not is_number(word)).argmax())


def with_point(text: str) -> str:
    """Return a number with a decimal point in place of a comma, and without points between thousands.

    >>> with_point("-1.234.567,50"), with_point("70,22"), with_point("14.04.2021")
    ('-1234567.50', '70.22', '14.04.2021')
    """
    return re.sub(r"\.(?=(\d{3}\.)*\d{3},)", "", text).replace(",", ".", 1)


def refuse_text(table: TypedFrame, place: int, spec: ColumnSpec, categorical: str) -> None:
    row, cells = find_text(table, place), table.frame[place]
    first = cells.iloc[row]
    shown = f"the text {show_name(first)}, where a number is expected"
    is_mixed = any(map(is_number, cells.cat.categories))
    if is_mixed:
        shown = f"numbers and the text {show_name(first)}"
    elif categorical and not spec.encode:
        return
    if is_number(with_point(first)):
        has_thousands = any("," in text and "." in text for text in cells.cat.categories)
        options, more = "sep=';', decimal=','", " where ';' separates the columns"
        if has_thousands:  # pandas takes such dates for numbers
            options += ", thousands='.'"
            more += ", but write dates such as 31.12.2024 as 2024-12-31 first"
        done = f"pandas.read_csv(FILE, {options}).to_csv(NEW, index=False)"
        remedy = f"numbers need a decimal point: convert the file, as {done} does{more}"
    elif spec.encode == "number":
        remedy = "correct the cell, or encode the column otherwise under columns"
    elif is_mixed:
        remedy = "correct the cell, or encode the column under columns: onehot, ordinal or drop"
    else:
        remedy = (
            "choose --categorical onehot (indicators) or drop (the columns), or let `olbench init` choose"
        )
    raise table.fail(f"{table.column_name(place)} has {shown}; {remedy}", row)


def _fill(X: Floats, table: TypedFrame, places: list[int], missing: str) -> list[str]:
    gaps = np.isnan(X)
    if not gaps.any():
        return []
    found = count(int(table.frame[places].isna().to_numpy().sum()), "missing value")
    if missing == "zero":
        X[gaps] = 0.0
        return [f"{found} replaced by 0"]
    empty = int(np.count_nonzero(gaps.all(axis=0)))
    X[gaps] = _column_means(X)[np.nonzero(gaps)[1]]
    words = f"{found} replaced by the mean of their column over all rows"
    return [words + (f" (0 in {count(empty, 'column')} without values)" if empty else "")]


def _column_means(X: Floats) -> Floats:
    counts = np.maximum(1, np.count_nonzero(~np.isnan(X), axis=0))
    with np.errstate(over="ignore", invalid="ignore"):
        means: Floats = np.nansum(X, axis=0) / counts
    if not np.isfinite(means).all():  # the sum of large numbers overflows, and their mean does not
        means = np.nansum(X / counts, axis=0)
    return means


def encode_targets(
    labels: Any, spec: DatasetSpec, where: str
) -> tuple[Floats, Any, tuple[tuple[str, int], ...], str]:
    """Return y of the rows with a wanted label, a mask of these rows, and the classes, also in words."""
    y, mask = as_targets(labels, spec.positive, spec.negative, where, spec.labels == "all")
    distinct, first, sizes = np.unique(labels[mask], return_index=True, return_counts=True)
    counts = list(zip(distinct.tolist(), y[first].astype(int).tolist(), sizes.tolist(), strict=True))
    classes = tuple((label_text(label), sign) for label, sign, _ in counts)
    words = f"{len(counts)} classes: {_list(counts)}" if spec.labels else _describe_signs(counts, spec)
    return y, mask, classes, words


def _list(counts: list[tuple[Any, int, int]]) -> str:
    return list_first(f"{show_label(label)} ({count(n, 'row')})" for label, _, n in counts)


def _describe_signs(counts: list[tuple[Any, int, int]], spec: DatasetSpec) -> str:
    shown = []
    for sign in (1, -1):
        same = [each for each in counts if each[1] == sign]
        shown.append(f"{_list(same)} {'is' if len(same) == 1 else 'are'} {sign:+d}")
    rule = "the later in the alphabet" if isinstance(counts[0][0], str) else "the larger"
    return "; ".join(shown) + ("" if spec.positive is not None else f" (of two labels, {rule} is +1)")


def find_arrivals(times: NDArray[Any], known: NDArray[Any]) -> Ints:
    """Return for each row the first later row not before the arrival of its label, or NEVER.

    >>> find_arrivals(np.array([1, 2, 2, 5]), np.array([1.0, 2.0, 3.0, np.nan])).tolist()[:3]
    [1, 2, 3]
    """
    n = times.size
    first = np.searchsorted(times, known)  # NaN and NaT come after all others
    return np.where(first < n, np.maximum(first, np.arange(1, n + 1)), NEVER)


def read_times(
    table: TypedFrame, reading: Reading, label: int
) -> tuple[dict[str, int], tuple[NDArray[Any], ...]]:
    """Return the columns of times by their key, and the times: of the rows, then of their labels."""
    if reading.time == "":
        if reading.arrival != "":
            raise table.fail("arrival needs time, the column with the time of each row; name it as well")
        return {}, ()
    time = _find_column(table, reading.time, "time", {label: "label"})
    times, kind = read_column(table, time)
    shown = table.column_name(time)
    if (row := find_first(table.frame[time].isna().to_numpy())) is not None:
        reason = f"{shown} has no value, and every row needs a time; fill it in, or remove the row"
        raise table.fail(reason, row)
    if (row := find_first(np.append(False, times[1:] < times[:-1]))) is not None:
        now, before = table.show_cell(row, time), table.show_cell(row - 1, time)
        name = show_name(table.names[time]) if table.has_heading else shown
        reason = f"the time {now} is before that of the row above ({before}); sort the file by {name}"
        raise table.fail(reason, row)
    if reading.arrival == "":
        return {"time": time}, (times,)
    arrival = _find_column(table, reading.arrival, "arrival", {label: "label", time: "time"})
    known, other_kind = read_column(table, arrival)
    name = table.column_name(arrival)
    if other_kind != kind and not table.frame[arrival].isna().all():
        raise table.fail(f"{shown} has {kind} and {name} {other_kind}; write both in the same way")
    known = known.astype(times.dtype)
    if (row := find_first(known < times)) is not None:
        now, then = table.show_cell(row, time), table.show_cell(row, arrival)
        reason = f"the label arrives at {then}, before the time of its row ({now}); correct {name}"
        raise table.fail(reason, row)
    return {"time": time, "arrival": arrival}, (times, known)


def _find_column(table: TypedFrame, name: str | int, key: str, taken: dict[int, str]) -> int:
    column = table.find_column(name, key)
    if column in taken:
        raise table.fail(f"{taken[column]} and {key} are both {table.column_name(column)}; name another")
    return column


def read_column(table: TypedFrame, column: int) -> tuple[NDArray[Any], str]:
    cells = table.frame[column]
    if not table.has_text(column):
        return cells.to_numpy(copy=True), _NUMBERS
    texts, codes = tuple(cells.cat.categories), cells.cat.codes.to_numpy()
    dates = parse_dates(texts)

    def refuse(is_bad: Callable[[str], bool], why: str) -> None:
        if (row := find_first(table.match_texts(column, is_bad))) is not None:
            raise table.fail(f"{table.column_name(column)}: {table.show_cell(row, column)} {why}", row)

    def has_offset(text: str) -> bool:
        return _OFFSET.search(text) is not None

    undated = {text for text, date in zip(texts, dates, strict=False) if np.isnat(date)}
    refuse(lambda text: text in undated and not is_number(text), "is not a time; write numbers or ISO dates")
    refuse(is_number, "is a number, and other rows have dates; write all in the same way")
    first = has_offset(texts[codes[codes >= 0][0]])
    refuse(
        lambda text: has_offset(text) != first,
        f"has {'no' if first else 'an'} offset from UTC, unlike the rows above; write all in the same way",
    )
    return dates[codes], _DATES_WITH_OFFSET if first else _DATES


def read_dates(table: TypedFrame, column: int) -> NDArray[np.datetime64]:
    dates, kind = read_column(table, column)
    if kind != _NUMBERS:
        return dates
    if (row := find_first(~np.isnan(dates))) is not None:
        shown = f"{table.column_name(column)}: {table.show_cell(row, column)} is a number"
        raise table.fail(f"{shown}, where an ISO date is expected; encode it as number", row)
    return np.full(len(dates), np.datetime64("NaT", "us"))


def parse_dates(texts: tuple[str, ...]) -> NDArray[np.datetime64]:
    """Return ISO dates and date-times, NaT for every other text, and a last NaT.

    >>> parse_dates(("2020-01-31", "2020-01-31T12:30+01:00", "31.1.2020", "now")).astype("M8[m]").tolist()[1]
    datetime.datetime(2020, 1, 31, 11, 30)
    """
    # pandas takes words such as "now" as well.
    dated = [text if text[:1].isdecimal() else None for text in texts]
    parsed = pd.Series(
        pd.to_datetime(pd.Series([*dated, None], dtype=object), format="ISO8601", errors="coerce", utc=True)
    )
    return parsed.dt.tz_localize(None).to_numpy("datetime64[us]")
