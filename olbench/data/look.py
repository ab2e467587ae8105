"""A look at a user's data: a summary, its odd columns, and a reading of it that works."""

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from olbench.data import cache
from olbench.data.dataset import (
    FEW_ROWS,
    ID,
    LEAK,
    MOST_TAKEN,
    TWIN,
    Dataset,
    choose_storage,
    find_oddities,
    row_blocks,
)
from olbench.data.formats import find_format
from olbench.data.labels import MOST_CLASSES, as_targets, is_number, label_text, refuse_regression, show_label
from olbench.data.load import describe_file, refuse_reading
from olbench.data.prepare import (
    MOST_CATEGORIES,
    ORIGIN,
    feature_name,
    find_text,
    find_unlabelled,
    prepare_content,
    read_column,
    read_dates,
    read_labels,
    read_sparse,
    read_times,
    refuse_text,
    refuse_unnamed,
    with_point,
)
from olbench.data.source import choose_covariance
from olbench.data.spec import OTHERS, ColumnSpec, DatasetSpec, Reading
from olbench.data.tables import TypedFrame, as_pair, as_table, is_frame, list_texts
from olbench.errors import UserError, count, escape_controls, list_some, show_name
from olbench.learners.examples import Floats

TIME_NAMES = ("date", "time", "timestamp", "datetime", "ts")
#: A day as it is not written in ISO 8601.
NOT_ISO = re.compile(r"(\d{4}([./-])\d\d?\2\d\d?|\d\d?([./-])\d\d?\3\d{4})(\D.*)?")
#: Features whose standard deviations differ by more than this factor are scaled.
UNEVEN = 5.0
#: The squares of larger ones overflow.
LARGEST_DEVIATION = 1e150
#: A class with a smaller share of the rows is rare: accuracy then says little.
RARE = 0.2
MOST_SHOWN = 10
ARRIVAL_HINT = "if labels become known at one of these dates, move its column from columns to arrival"


@dataclass(frozen=True)
class FileSummary:
    features: int
    #: Labels and their numbers of rows, the most frequent first.
    labels: tuple[tuple[Any, int], ...]
    #: The label that is +1, or several; None if every label is a class.
    positive: Any
    reading: Reading
    notes: tuple[str, ...]
    #: Rows and columns that are not used, and why.
    left_out: tuple[str, ...] = ()
    time: str = ""
    is_sorted: bool = False

    @property
    def covariance(self) -> str:
        return choose_covariance(self.features)

    @property
    def rarest(self) -> float:
        """The share of the rarest class, or of the rarer side if one label is +1."""
        counts = [n for _, n in self.labels]
        total = sum(counts)
        if self.positive is None:
            return min(counts) / total
        given = self.positive if isinstance(self.positive, tuple) else (self.positive,)
        positive = set(map(label_text, given))  # 1 may be given for the text '1'
        share = sum(n for label, n in self.labels if label_text(label) in positive) / total
        return min(share, 1 - share)

    @property
    def measures(self) -> tuple[str, ...]:
        """What to report in place of the mistake rate if one of two classes is rare; the first ranks."""
        if self.positive is None or self.rarest >= RARE or len(self.labels) < 2:
            return ()
        return ("auc", "balanced_accuracy") if self.is_sorted else ("balanced_accuracy", "auc")

    def lines(self) -> list[str]:
        left_out = [f"left out: {list_some(self.left_out, MOST_SHOWN)}"] if self.left_out else []
        return [escape_controls(line) for line in (*self.notes, *left_out)]


def look_at(path: Path, reading: Reading, positive: Any = None) -> FileSummary:
    entry = describe_file(path, DatasetSpec("", reading=reading))
    refuse_reading(reading, entry.format, str(path))
    if entry.format == "libsvm":
        return _look_at_text(path, reading, positive)
    content = find_format(entry.format).read(path, entry)
    if isinstance(content, tuple) and not isinstance(content[0], np.ndarray):
        return _look_at_matrix(content[0], content[1], "given by its reader", reading, positive, str(path))
    return _look_at_table(as_table(content, str(path)), reading, positive)


def look_at_data(content: Any, reading: Reading, positive: Any = None) -> FileSummary:
    """Look at a frame, at a pair (X, y) whose X may be sparse, or at scikit-learn's Bunch."""
    refuse_unnamed(content, reading.label)
    X, y = (content, None) if is_frame(content) else as_pair(content, reading.label)
    if sp.issparse(X):
        X, labels, dropped = read_sparse(X, y)
        found = _look_at_matrix(X, labels, "y", reading, positive, "the data")
        return replace(found, left_out=tuple(dropped))
    found = _look_at_table(as_table(content, "the data"), reading, positive, may_stream=False)
    return found if is_frame(content) else replace(found, reading=replace(found.reading, label=""))


def _look_at_text(path: Path, reading: Reading, positive: Any) -> FileSummary:
    from olbench.data.libsvm import convert_libsvm, read_libsvm

    where = "the first word of each line"
    try:
        with cache.open_draft() as draft:  # a file may be larger than memory
            X, labels, *_ = convert_libsvm([path], 1, draft)
            return _look_at_matrix(X, labels, where, reading, positive, str(path))
    except cache.UnwritableError:
        X, labels, *_ = read_libsvm([path])
        return _look_at_matrix(choose_storage(X), labels, where, reading, positive, str(path))


def _look_at_matrix(
    X: Any, found: Any, place: str, reading: Reading, positive: Any, where: str
) -> FileSummary:
    labels, (n, d) = _count(found), X.shape
    refuse_regression(found, f"{where}: {place}")
    deviations = _find_deviations(X)
    even = "standard" if isinstance(X, np.ndarray) else "unit"  # to shift features would fill a sparse X
    reading = _add(reading, Reading(scale=_choose_scale(deviations, even), bias=True))
    chosen = positive or _choose_positive(labels, False)
    y, _ = as_targets(found, chosen if len(labels) > 1 else None, None, where, chosen is None)
    notes = (
        *_describe_labels(n, d, place, labels, chosen),
        _describe_scale(deviations, reading),
        *_describe_oddities(find_oddities(X, y)),
    )
    return FileSummary(d + 1, labels, chosen, reading, notes)


def _look_at_table(
    table: TypedFrame, reading: Reading, positive: Any, may_stream: bool = True
) -> FileSummary:
    label, rows = table.find_label(reading.label), len(table.frame)
    timed, _ = read_times(table, reading, label)
    time, is_sorted = timed.get("time"), bool(timed)
    # A column that is the only feature stays one, even if it has times.
    if not timed and may_stream and len(table.names) > 2:
        time, is_sorted = _guess_time(table, label)
    unlabelled, left_out = find_unlabelled(table, label)
    table = table.keep(~unlabelled) if left_out else table
    found = read_labels(table, label)
    labels = _count(found)
    refuse_regression(found, f"{table.where}: {table.column_name(label)}")
    chosen = positive or _choose_positive(labels, is_sorted)
    classes = {"labels": "all"} if chosen is None else {"positive": chosen} if len(labels) > 1 else {}
    taken = {label, *timed.values(), *([time] if is_sorted else [])}
    columns = [column for column in range(len(table.names)) if column not in taken]
    dates, reasons = _choose_columns(table, columns)

    guess = partial(
        _guess_reading, table, reading, classes, label, time if is_sorted else None, columns, dates
    )
    made, deviations, data = guess(reasons)
    odd = _find_odd_columns(table, [k for k in columns if k not in (*dates, *reasons)], data)
    if odd and len(odd) + len(reasons) < len(columns):
        reasons |= odd
        made, deviations, data = guess(reasons)
    place = f"{table.column_name(label)} (choose another with --label)"
    time_name = "" if time is None else table.column_name(time)
    notes = (
        *_describe_labels(rows, len(columns), place, labels, chosen),
        *([f"time: {time_name}, {'in order' if is_sorted else 'not in order'}"] if time_name else []),
        *_describe_cells(table, [k for k in columns if k not in reasons], dates),
        *([ARRIVAL_HINT] if is_sorted and dates else []),
        _describe_scale(deviations, made),
        *_describe_oddities(find_oddities(data.X, data.y, data.about.features, data.about.label)),
    )
    columns_out = [f"{_show_name(table, k)} ({reasons[k]})" for k in sorted(reasons)]
    size = data.X.shape[1] + 1
    return FileSummary(size, labels, chosen, made, notes, (*left_out, *columns_out), time_name, is_sorted)


def _guess_reading(
    table: TypedFrame,
    reading: Reading,
    classes: Mapping[str, Any],
    label: int,
    time: int | None,
    columns: list[int],
    dates: dict[int, ColumnSpec],
    left_out: Collection[int],
) -> tuple[Reading, tuple[float, float], Dataset]:
    """Return a reading with what is not given, the deviations of features, and the data before scaling."""
    kept = [k for k in columns if k not in left_out]
    deviations = _find_deviations(_stack_numbers(table, kept, dates))
    scale = reading.scale or _choose_scale(deviations, "standard" if time is None else "running")
    # Zeros may be far from all values and spoil the standard deviation; both use all rows.
    fill = "mean" if scale == "standard" else "zero"
    specs = {k: ColumnSpec(_name_column(table, k), "drop") for k in left_out} | dates
    guessed = Reading(
        label=_name_column(table, label),
        time="" if time is None else _name_column(table, time),
        missing=fill if table.frame[kept].isna().any(axis=None) else "",
        categorical="onehot" if any(table.has_text(k) for k in kept if k not in dates) else "",
        scale=scale,
        bias=True,
        columns=(*(specs[k] for k in sorted(specs)), ColumnSpec(OTHERS)) if specs else (),
    )
    made = _add(reading, guessed)
    # Refuses what could not be loaded.
    plain = DatasetSpec("", reading=replace(made, scale="", bias=False), **classes)
    return made, deviations, prepare_content(table, plain, table.where)


def _stack_numbers(table: TypedFrame, columns: list[int], dates: Mapping[int, ColumnSpec]) -> Any:
    """Return the columns of numbers, with their gaps, and those of dates, in days."""
    days = [(read_dates(table, k) - np.datetime64(ORIGIN)) / np.timedelta64(1, "D") for k in dates]
    return np.column_stack([table.frame[[k for k in columns if not table.has_text(k)]].to_numpy(), *days])


def _find_odd_columns(table: TypedFrame, columns: list[int], data: Dataset) -> dict[int, str]:
    """Return the columns to leave out, and why; not those whose features have the names of others."""
    features, counts = data.about.features, Counter(data.about.features)
    oddities = find_oddities(data.X, data.y, features, data.about.label)
    odd = {name: what for what in (ID, LEAK, TWIN) for name in oddities.get(what, []) if counts[name] == 1}
    names = {feature_name(table, k): k for k in columns}
    names |= {
        f"{feature_name(table, k)}={text}": k
        for k in columns
        if table.has_text(k)
        for text in table.frame[k].cat.categories
    }
    return {names[name]: what for name, what in odd.items() if name in names}


def _describe_labels(
    rows: int, columns: int, place: str, labels: tuple[tuple[Any, int], ...], positive: Any
) -> list[str]:
    shown = ", ".join(f"{show_label(label)} {count(n, 'time')}" for label, n in labels[:MOST_SHOWN])
    more = f", and {len(labels) - MOST_SHOWN:,} more" if len(labels) > MOST_SHOWN else ""
    lines = [f"{count(rows, 'row')}, {count(columns, 'feature')}", f"labels: {place}: {shown}{more}"]
    if positive is None:
        classes = count(len(labels), "class")
        many = "; are they labels? name another column with --label" if len(labels) > MOST_CLASSES else ""
        lines.append(f"{classes}, learnt as such (labels: all); --positive LABEL makes two{many}")
    written = Counter(str(label).casefold() for label, _ in labels)
    if alike := [show_label(label) for label, _ in labels if written[str(label).casefold()] > 1]:
        shown = list_some(alike, MOST_SHOWN)
        lines.append(f"labels that differ only in capitals: {shown}; are they one class?")
    return lines


def _describe_cells(table: TypedFrame, columns: list[int], dates: Collection[int]) -> list[str]:
    gaps, shown = table.frame[columns].isna().to_numpy(), set(columns)
    n, rows = int(gaps.sum()), int(gaps.any(axis=1).sum())
    lines = [f"missing: {count(n, 'value')} in {count(rows, 'row')}"] if n else []
    texts = {
        _show_name(table, k): len(table.frame[k].cat.categories)
        for k in list_texts(table.frame)
        if k in shown and k not in dates
    }
    words = [f"{name} ({n:,} different)" for name, n in texts.items()]
    for what, names in (("text", words), ("dates", [_show_name(table, k) for k in dates])):
        lines += [f"{what}: {list_some(names, MOST_SHOWN)}"] if names else []
    if many := [f"{n:,} of {name}" for name, n in texts.items() if n > MOST_CLASSES]:
        lines.append(
            f"one feature per text: {list_some(many, 3)}; `NAME: drop` under columns leaves them out"
        )
    return lines


def _describe_scale(deviations: tuple[float, float], reading: Reading) -> str:
    low, high = deviations
    if not high:
        return "scale: no column of numbers varies"
    reason = "" if low <= 1.0 <= high else ", against a bias of 1"
    chosen = f"{reason}, so scale: {reading.scale}" if reading.scale else ""
    return f"scale: standard deviations of the features from {low:.3g} to {high:.3g}{chosen}"


def _describe_oddities(oddities: Mapping[str, list[str]]) -> list[str]:
    shown = {what: list_some(list(map(show_name, names)), MOST_SHOWN) for what, names in oddities.items()}
    return [f"{what}: {names}" for what, names in shown.items() if names]


def _add(reading: Reading, guess: Reading) -> Reading:
    return replace(guess, **{key: getattr(reading, key) for key in reading.plain()})


def _show_name(table: TypedFrame, column: int) -> str:
    return show_name(table.names[column]) if table.has_heading else f"column {column + 1}"


def _name_column(table: TypedFrame, column: int) -> str | int:
    name = table.names[column]
    has_name = table.has_heading and name.strip() and name != OTHERS and table.names.count(name) == 1
    return name if has_name else column + 1


def _guess_time(table: TypedFrame, label: int) -> tuple[int | None, bool]:
    """Return a column that is named like a time or has only dates, and whether rows are in its order."""
    found, texts = [], set(list_texts(table.frame))
    for column, name in enumerate(table.names):
        is_named = table.has_heading and name.strip().lower() in TIME_NAMES
        if column == label or not (is_named or column in texts) or table.frame[column].isna().any():
            continue
        try:
            times, _ = read_column(table, column)
        except UserError:
            continue
        if times[0] != times[-1]:
            found.append(((times[1:] >= times[:-1]).all(), is_named, -column))
    if not found:
        return None, False
    is_sorted, _, column = max(found)
    return -column, bool(is_sorted)


def _choose_scale(deviations: tuple[float, float], even: str) -> str:
    """Return `even` if features differ much from each other, or from the bias and indicators of texts."""
    low, high = deviations
    if not high or max(high, 1.0) <= UNEVEN * min(low, 1.0):
        return ""
    return even if high < LARGEST_DEVIATION else "unit"


def _choose_positive(labels: tuple[tuple[Any, int], ...], is_stream: bool) -> Any:
    """Return the label that is +1, or None if every label is to be a class, which a stream cannot have."""
    plain = [label for label, _ in labels]
    if len(plain) > 2 and not is_stream:
        return None
    if len(plain) != 2 or len({isinstance(p, str) and is_number(p) for p in plain}) > 1:
        return plain[0]
    return max(plain)


def _choose_columns(table: TypedFrame, columns: list[int]) -> tuple[dict[int, ColumnSpec], dict[int, str]]:
    """Return the specs of columns of dates, and the columns to leave out, with the reasons."""
    dates, reasons = {}, {k: "no values" for k in columns if table.frame[k].isna().all()}
    for column in filter(table.has_text, columns):
        name, cells = _name_column(table, column), table.frame[column].cat.categories
        if all(is_number(with_point(text)) for text in cells):
            refuse_text(table, column, ColumnSpec(name, "number"), "")
        try:
            days = read_dates(table, column).astype("datetime64[D]")
            dates[column] = ColumnSpec(name, "date", origin=str(days[~np.isnat(days)][0]))
        except UserError:
            if reason := _explain_text(table, column, cells):
                reasons[column] = reason
    return dates, reasons


def _explain_text(table: TypedFrame, column: int, cells: Any) -> str:
    """Return why a column of text is left out, or ""."""
    if any(map(is_number, cells)):
        row = find_text(table, column)
        return f"numbers and {table.show_cell(row, column)} at {table.show_row(row)}"
    if all(map(NOT_ISO.fullmatch, cells)):
        return f"dates such as {show_name(cells[0])}; write them as 2024-01-31"
    if len(cells) == len(table.frame) >= FEW_ROWS:
        return ID
    return f"{len(cells):,} different texts" if len(cells) > MOST_CATEGORIES else ""


def _count(labels: Any) -> tuple[tuple[Any, int], ...]:
    distinct, counts = np.unique(labels, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return tuple((distinct[k].item(), int(counts[k])) for k in order)


def _find_deviations(values: Any) -> tuple[float, float]:
    """Return the smallest and the largest positive standard deviation of the features."""
    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(values, np.ndarray):
            step = max(1, MOST_TAKEN // len(values))
            parts = [values[:, begin : begin + step] for begin in range(0, values.shape[1], step)]
            deviation = np.concatenate([np.empty(0), *map(_find_deviation, parts)])
        else:  # only features that occur: their numbers may be billions
            occurring = np.empty(0, np.int32)
            for block in row_blocks(values):
                occurring = np.union1d(occurring, block.indices)
            sums = np.zeros((2, occurring.size))
            for block in row_blocks(values):
                places = np.searchsorted(occurring, block.indices)
                np.add.at(sums[0], places, block.data)
                np.add.at(sums[1], places, block.data**2)
            mean, square = sums / values.shape[0]
            deviation = np.sqrt(np.maximum(0.0, square - mean**2))
    varying = deviation[deviation > 0]
    return (float(varying.min()), float(varying.max())) if varying.size else (0.0, 0.0)


def _find_deviation(values: Floats) -> Floats:
    """Return the standard deviations of columns that are not empty; infinity where sums overflow."""
    frame = pd.DataFrame(values).dropna(axis=1, how="all")
    return frame.std(ddof=0).fillna(np.inf).to_numpy(np.float64)
