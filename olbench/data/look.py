"""A look at a user's data: a summary, its odd columns, and a reading of it that works."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from olbench.data.dataset import CONSTANT, FEW_ROWS, ID, choose_storage, find_oddities
from olbench.data.formats import find_format
from olbench.data.labels import as_targets, is_number, refuse_regression, show_label
from olbench.data.load import describe_file, refuse_reading
from olbench.data.prepare import (
    MOST_CATEGORIES,
    ORIGIN,
    feature_name,
    prepare_table,
    read_column,
    read_dates,
    read_labels,
    read_sparse,
    read_times,
    refuse_text,
)
from olbench.data.source import choose_covariance
from olbench.data.spec import OTHERS, ColumnSpec, DatasetSpec, Reading
from olbench.data.tables import TypedFrame, as_pair, as_table, is_frame, list_texts
from olbench.errors import UserError, count, escape_controls, list_some
from olbench.learners.examples import Floats

TIME_NAMES = ("date", "time", "timestamp", "datetime", "ts")
#: Features whose standard deviations differ by more than this factor are better scaled.
UNEVEN = 5.0
MOST_SHOWN = 10


@dataclass(frozen=True)
class FileSummary:
    features: int
    #: Labels and their numbers of rows, the most frequent first.
    labels: tuple[tuple[Any, int], ...]
    #: The label that is +1, or several; None if every label is a class.
    positive: Any
    reading: Reading
    notes: tuple[str, ...]
    time: str = ""
    is_sorted: bool = False

    @property
    def covariance(self) -> str:
        return choose_covariance(self.features)

    @property
    def rarest(self) -> float:
        """The share of the rarest class, or of the rarer side if one label is +1."""
        counts = dict(self.labels)
        total = sum(counts.values())
        if self.positive is None:
            return float(min(counts.values()) / total)
        positive = self.positive if isinstance(self.positive, tuple) else (self.positive,)
        share = sum(counts.get(label, 0) for label in positive) / total
        return float(min(share, 1 - share))

    def lines(self) -> list[str]:
        return [escape_controls(line) for line in self.notes]


def look_at(path: Path, reading: Reading, positive: Any = None) -> FileSummary:
    entry = describe_file(path, DatasetSpec("", reading=reading))
    refuse_reading(reading, entry.format, str(path))
    content = find_format(entry.format).read(path, entry)
    if entry.format == "libsvm":
        X, labels, *_ = content
        place = "the first word of each line"
        return _look_at_matrix(choose_storage(X), labels, place, reading, positive, str(path))
    if isinstance(content, tuple) and not isinstance(content[0], np.ndarray):
        return _look_at_matrix(content[0], content[1], "given by its reader", reading, positive, str(path))
    return _look_at_table(as_table(content, str(path)), reading, positive)


def look_at_data(content: Any, reading: Reading, positive: Any = None) -> FileSummary:
    """Look at a frame, at a pair (X, y) whose X may be sparse, or at scikit-learn's Bunch."""
    if not is_frame(content) and sp.issparse((pair := as_pair(content))[0]):
        X, labels, dropped = read_sparse(*pair, "drop")
        reading = replace(reading, missing="drop") if dropped else reading
        return _look_at_matrix(X, labels, "y", reading, positive, "the data")
    return _look_at_table(as_table(content, "the data"), reading, positive)


def _look_at_matrix(
    X: Any, found: Any, place: str, reading: Reading, positive: Any, where: str
) -> FileSummary:
    labels, (n, d) = _count(found), X.shape
    refuse_regression(found, f"{where}: {place}")
    deviations = _find_deviations(X)
    reading = _add(reading, Reading(scale=_choose_scale(deviations), bias=True))
    chosen = positive or _choose_positive(labels, False)
    y, kept = as_targets(found, chosen if len(labels) > 1 else None, None, where, chosen is None)
    notes = (
        *_describe_labels(n, d, place, labels, chosen),
        _describe_scale(deviations),
        *_describe_oddities(find_oddities(X[kept], y)),
    )
    return FileSummary(d + 1, labels, chosen, reading, notes)


def _look_at_table(table: TypedFrame, reading: Reading, positive: Any) -> FileSummary:
    label = table.find_label(reading.label)
    timed, _ = read_times(table, reading, label)
    time, is_sorted = (timed["time"], True) if timed else _guess_time(table, label)
    others = {label, *(timed.values() if timed else [time] if is_sorted else [])}
    columns = [column for column in range(len(table.names)) if column not in others]
    gaps = table.frame.isna().to_numpy()
    if gaps[:, label].all():
        raise table.fail(f"{table.column_name(label)} has no values; name another column with --label")
    found = read_labels(table.keep(~gaps[:, label]), label)
    labels = _count(found)
    refuse_regression(found, f"{table.where}: {table.column_name(label)}")
    texts = [column for column in list_texts(table.frame) if column in columns]
    numeric = [column for column in columns if column not in texts]
    single, ids = _choose_columns(table, texts)
    dates = [column for column, spec in single.items() if spec.encode == "date"]
    days = [(read_dates(table, k) - np.datetime64(ORIGIN)) / np.timedelta64(1, "D") for k in dates]
    deviations = _find_deviations(np.column_stack([table.frame[numeric].to_numpy(), *days]))
    guess = Reading(
        label=_name_column(table, label),
        time=_name_column(table, time) if is_sorted and time is not None else "",
        # Rows without a label can only be left out. The mean would be taken over all rows.
        missing="drop" if gaps[:, label].any() else "zero" if gaps.any() else "",
        categorical="onehot" if len(texts) > len(single) else "",
        scale=_choose_scale(deviations),
        bias=True,
        columns=(*single.values(), ColumnSpec(OTHERS)) if single else (),
    )
    reading = _add(reading, guess)
    chosen = positive or _choose_positive(labels, is_sorted)
    # Refuses what could not be loaded.
    plain = replace(reading, scale="", bias=False)
    X, y, about, _ = prepare_table(table, chosen if len(labels) > 1 else None, None, plain, chosen is None)
    oddities = find_oddities(X, y, about.features)
    odd = {name.partition("=")[0] for what, names in oddities.items() if what != CONSTANT for name in names}
    left_out = [k for k in columns if k not in single and feature_name(table, k) in odd]
    if ids:
        oddities |= {ID: [*oddities.get(ID, []), *(_show_name(table, k) for k in ids)]}
    dropped = {_show_name(table, k) for k in ids}
    if len(left_out) + len(single) < len(columns) or dates:
        dropped |= {feature_name(table, k) for k in left_out}
        single |= {k: ColumnSpec(_name_column(table, k), "drop") for k in left_out}
        reading = replace(reading, columns=(*single.values(), ColumnSpec(OTHERS))) if single else reading
    place = f"{table.column_name(label)} (choose another with --label)"
    time_name = "" if time is None else table.column_name(time)
    notes = (
        *_describe_labels(len(table.frame), len(columns), place, labels, chosen),
        *([f"time: {time_name}, {'in order' if is_sorted else 'not in order'}"] if time_name else []),
        *_describe_cells(table, gaps, texts),
        _describe_scale(deviations),
        *_describe_oddities(oddities, dropped),
    )
    return FileSummary(X.shape[1] + 1, labels, chosen, reading, notes, time_name, is_sorted)


def _describe_labels(
    rows: int, columns: int, place: str, labels: tuple[tuple[Any, int], ...], positive: Any
) -> list[str]:
    shown = ", ".join(f"{show_label(label)} {count(n, 'time')}" for label, n in labels[:MOST_SHOWN])
    more = f", and {len(labels) - MOST_SHOWN:,} more" if len(labels) > MOST_SHOWN else ""
    lines = [f"{count(rows, 'row')}, {count(columns, 'feature')}", f"labels: {place}: {shown}{more}"]
    if positive is None:
        classes = count(len(labels), "class")
        lines.append(f"{classes}, learnt as such (labels: all); --positive LABEL makes two")
    return lines


def _describe_cells(table: TypedFrame, gaps: Any, texts: list[int]) -> list[str]:
    lines = []
    if gaps.any():
        lines.append(
            f"missing: {count(int(gaps.sum()), 'value')} in {count(int(gaps.any(axis=1).sum()), 'row')}"
        )
    mixed = [_show_name(table, k) for k in texts if _is_mixed(table, k)]
    words = [
        f"{_show_name(table, k)} ({len(table.frame[k].cat.categories):,} different)"
        for k in texts
        if not _is_mixed(table, k)
    ]
    for what, names in (("text", words), ("numbers and text in one column", mixed)):
        lines += [f"{what}: {list_some(names, MOST_SHOWN)}"] if names else []
    return lines


def _describe_scale(deviations: tuple[float, float]) -> str:
    low, high = deviations
    return f"scale: standard deviations of the features from {low:.3g} to {high:.3g}"


def _describe_oddities(oddities: Mapping[str, list[str]], dropped: Collection[str] = ()) -> list[str]:
    lines = []
    for what, names in oddities.items():
        is_dropped = all(name.partition("=")[0] in dropped for name in names)
        lines.append(f"{what}: {list_some(names, MOST_SHOWN)}{' (left out)' if is_dropped else ''}")
    return lines


def _add(reading: Reading, guess: Reading) -> Reading:
    return replace(guess, **{key: getattr(reading, key) for key in reading.plain()})


def _show_name(table: TypedFrame, column: int) -> str:
    return table.names[column] if table.has_heading else f"column {column + 1}"


def _name_column(table: TypedFrame, column: int) -> str | int:
    name = table.names[column]
    has_name = table.has_heading and name.strip() and table.names.count(name) == 1
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


def _choose_scale(deviations: tuple[float, float]) -> str:
    """Rows can be scaled one by one; the deviations of features are not known before the last row."""
    return "unit" if deviations[1] > UNEVEN * deviations[0] else ""


def _choose_positive(labels: tuple[tuple[Any, int], ...], is_stream: bool) -> Any:
    """Return the label that is +1, or None if every label is to be a class, which a stream cannot have."""
    plain = [label for label, _ in labels]
    if len(plain) > 2 and not is_stream:
        return None
    if len(plain) != 2 or len({isinstance(p, str) and is_number(p) for p in plain}) > 1:
        return plain[0]
    return max(plain)


def _choose_columns(table: TypedFrame, texts: list[int]) -> tuple[dict[int, ColumnSpec], list[int]]:
    """Return the specs of columns of text that are not categories, and the columns left out as ids."""
    chosen, ids = {}, []
    for column in texts:
        cells, name = table.frame[column].cat.categories, _name_column(table, column)
        is_id = len(cells) == len(table.frame) >= FEW_ROWS
        if all(is_number(text.replace(",", ".", 1)) for text in cells):
            refuse_text(table, column, ColumnSpec(name, "number"), "")
        try:
            dates = read_dates(table, column)
            first = str(dates[~np.isnat(dates)][0].astype("datetime64[D]"))
            chosen[column] = ColumnSpec(name, "date", origin=first)
        except UserError:
            if _is_mixed(table, column) or is_id or len(cells) > MOST_CATEGORIES:
                chosen[column] = ColumnSpec(name, "drop")
                ids += [column] if is_id else []
    return chosen, ids


def _is_mixed(table: TypedFrame, column: int) -> bool:
    return any(map(is_number, table.frame[column].cat.categories))


def _count(labels: Any) -> tuple[tuple[Any, int], ...]:
    distinct, counts = np.unique(labels, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return tuple((distinct[k].item(), int(counts[k])) for k in order)


def _find_deviations(values: Any) -> tuple[float, float]:
    """Return the smallest and the largest positive standard deviation of the features."""
    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(values, np.ndarray):
            deviation: Floats = pd.DataFrame(values).std(ddof=0).to_numpy()
        else:  # only features that occur: their numbers may be billions
            _, places = np.unique(values.indices, return_inverse=True)
            mean = np.bincount(places, values.data) / values.shape[0]
            square = np.bincount(places, values.data**2) / values.shape[0]
            deviation = np.sqrt(np.maximum(0.0, square - mean**2))
    varying = deviation[deviation > 0]
    return (float(varying.min()), float(varying.max())) if varying.size else (0.0, 0.0)
