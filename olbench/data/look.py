"""A look at a user's file: what is in it, and a reading of it that works."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from olbench.data.cells import Table
from olbench.data.columns import ORIGIN
from olbench.data.dataset import choose_storage
from olbench.data.formats import find_format
from olbench.data.frames import as_table
from olbench.data.labels import is_number, show_label
from olbench.data.load import describe_file
from olbench.data.prepare import MOST_CATEGORIES, prepare_table, read_labels
from olbench.data.spec import OTHERS, ColumnSpec, DatasetSpec, Reading
from olbench.data.times import read_column, read_dates, read_times
from olbench.data.users import refuse_reading
from olbench.errors import UserError, count, escape_controls
from olbench.learners.examples import Floats

LABEL_NAMES = ("label", "class", "target", "y", "outcome", "labels", "klass")
TIME_NAMES = ("date", "time", "timestamp", "datetime", "ts")
#: Features whose deviations differ by more than this factor are better scaled.
UNEVEN = 5.0
#: In fewer rows all texts of a column may differ by chance.
FEW_ROWS = 20


@dataclass(frozen=True)
class Look:
    rows: int
    columns: int
    features: int
    label: str
    labels: tuple[tuple[Any, int], ...]
    gaps: int
    rows_with_gaps: int
    texts: tuple[tuple[str, int], ...]
    mixed: tuple[str, ...]
    deviations: tuple[float, float]
    positive: Any
    reading: Reading
    time: str = ""
    is_sorted: bool = False

    @property
    def rarer(self) -> float:
        positive = self.positive if isinstance(self.positive, tuple) else (self.positive,)
        counts = dict(self.labels)
        share = sum(counts.get(label, 0) for label in positive) / sum(counts.values())
        return float(min(share, 1 - share))

    def lines(self) -> list[str]:
        shown = ", ".join(f"{show_label(label)} {count(n, 'time')}" for label, n in self.labels[:10])
        more = f", and {len(self.labels) - 10:,} more" if len(self.labels) > 10 else ""
        sizes = f"{count(self.rows, 'row')}, {count(self.columns, 'feature')}"
        lines = [sizes, f"labels: {self.label}: {shown}{more}"]
        if self.time:
            lines.append(f"time: {self.time}, {'in order' if self.is_sorted else 'not in order'}")
        if self.gaps:
            lines.append(f"missing: {count(self.gaps, 'value')} in {count(self.rows_with_gaps, 'row')}")
        if self.texts:
            texts = ", ".join(f"{name} ({n:,} different)" for name, n in self.texts[:10])
            lines.append(f"text: {texts}{', ...' if len(self.texts) > 10 else ''}")
        if self.mixed:
            lines.append(f"numbers and text in one column: {', '.join(self.mixed[:10])}")
        low, high = self.deviations
        lines.append(f"scale: standard deviations of the features from {low:.3g} to {high:.3g}")
        return [escape_controls(line) for line in lines]


def look_at(path: Path, reading: Reading, positive: Any = None) -> Look:
    entry = describe_file(path, DatasetSpec("", reading=reading))
    refuse_reading(reading, entry.format, str(path))
    content = find_format(entry.format).read(path, entry)
    if entry.format == "libsvm":
        X, labels, *_ = content
        return _look_at_matrix(choose_storage(X), labels, "the first word of each line", reading, positive)
    if isinstance(content, tuple) and not isinstance(content[0], np.ndarray):
        return _look_at_matrix(content[0], content[1], "given by its reader", reading, positive)
    table = as_table(content, str(path))
    label = table.find_label(_guess_label(table) if reading.label == "" else reading.label)
    given = read_times(table, reading, label)
    time, is_sorted = (given.columns["time"], True) if given else _guess_time(table, label)
    others = {label, *(given.columns.values() if given else [time] if is_sorted else [])}
    columns = [column for column in range(len(table.names)) if column not in others]
    gaps = np.stack([table.is_missing(column) for column in range(len(table.names))], axis=1)
    known = ~table.is_missing(label)
    if not known.any():
        raise UserError(f"{path}: {table.column_name(label)} has no values; name another column with --label")
    labels = _count(read_labels(table.keep(known), label))
    texts, mixed = _texts(table, columns)
    numeric = [column for column in columns if column not in table.texts]
    single = _choose_columns(table, [column for column in columns if column in table.texts])
    onehot = [len(table.texts[k].values) for k in columns if k in table.texts and k not in single]
    dates = [column for column, spec in single.items() if spec.encode == "date"]
    days = [(read_dates(table, k) - np.datetime64(ORIGIN)) / np.timedelta64(1, "D") for k in dates]
    deviations = _deviations(np.column_stack([table.numbers[:, numeric], *days]))
    guess = Reading(
        label=_name_column(table, label),
        time=_name_column(table, time) if is_sorted and time is not None else "",
        missing=_choose_missing(gaps, label, is_sorted),
        categorical="onehot" if onehot else "",
        # The deviations of a stream are not known before its end.
        scale="" if deviations[1] <= UNEVEN * deviations[0] else "unit" if is_sorted else "standard",
        bias=True,
        columns=(*single.values(), ColumnSpec(OTHERS)) if single else (),
    )
    reading, chosen = _add(reading, guess), positive or _choose_positive(labels)
    # Refuses what could not be loaded.
    prepare_table(table, chosen if len(labels) > 1 else None, None, reading, False)
    features = len(numeric) + sum(onehot) + len(dates) + 1
    return Look(
        len(table.numbers),
        len(columns),
        features,
        table.column_name(label),
        labels,
        int(gaps.sum()),
        int(gaps.any(axis=1).sum()),
        texts,
        mixed,
        deviations,
        chosen,
        reading,
        "" if time is None else table.column_name(time),
        is_sorted,
    )


def _add(reading: Reading, guess: Reading) -> Reading:
    return replace(guess, **{key: getattr(reading, key) for key in reading.plain()})


def _name_column(table: Table, column: int) -> str | int:
    name = table.names[column]
    has_name = table.has_heading and name.strip() and table.names.count(name) == 1
    return name if has_name else column + 1


def _guess_time(table: Table, label: int) -> tuple[int | None, bool]:
    """A column called like a time, or of dates alone, and whether rows are in its order."""
    found = []
    for column, name in enumerate(table.names):
        is_named = table.has_heading and name.strip().lower() in TIME_NAMES
        if column == label or not (is_named or column in table.texts) or table.is_missing(column).any():
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


def _choose_missing(gaps: Any, label: int, is_stream: bool) -> str:
    if not gaps.any():
        return ""
    # Rows without a label can only be left out, and the mean of a stream is not known before its end.
    return "drop" if gaps[:, label].any() else "zero" if is_stream else "mean"


def _look_at_matrix(values: Any, found: Any, place: str, reading: Reading, positive: Any) -> Look:
    labels, (n, d) = _count(found), values.shape
    deviations = _deviations(values)
    scale = "standard" if isinstance(values, np.ndarray) else "unit"
    guess = Reading(scale=scale if deviations[1] > UNEVEN * deviations[0] else "", bias=True)
    reading, chosen = _add(reading, guess), positive or _choose_positive(labels)
    return Look(n, d, d + 1, place, labels, 0, 0, (), (), deviations, chosen, reading)


def _guess_label(table: Table) -> str | int:
    names = [name.lower() for name in table.names]
    found = [names.index(word) for word in LABEL_NAMES if names.count(word) == 1]
    return found[0] + 1 if found and table.has_heading else len(names)


def _count(labels: Any) -> tuple[tuple[Any, int], ...]:
    distinct, counts = np.unique(labels, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return tuple((distinct[k].item(), int(counts[k])) for k in order)


def _texts(table: Table, columns: list[int]) -> tuple[tuple[tuple[str, int], ...], tuple[str, ...]]:
    texts, mixed = [], []
    for column in columns:
        text = table.texts.get(column)
        if text is None:
            continue
        name = table.names[column] if table.has_heading else f"column {column + 1}"
        if np.isnan(table.numbers[:, column]).all():
            texts.append((name, len(text.values)))
        else:
            mixed.append(name)
    return tuple(texts), tuple(mixed)


def _choose_columns(table: Table, texts: list[int]) -> dict[int, ColumnSpec]:
    chosen = {}
    for column in texts:
        has_numbers = not np.isnan(table.numbers[:, column]).all()
        dates = _find_dates(table, column)
        if dates is not None:
            first = str(dates[~np.isnat(dates)][0].astype("datetime64[D]"))
            chosen[column] = ColumnSpec(_name_column(table, column), "date", origin=first)
        elif has_numbers or not 0 < _count_categories(table, column) <= MOST_CATEGORIES:
            chosen[column] = ColumnSpec(_name_column(table, column), "drop")
    return chosen


def _count_categories(table: Table, column: int) -> int:
    """Return how many texts a column has, or 0 if each row of many has its own, as with the names of rows."""
    found, rows = len(table.texts[column].values), len(table.numbers)
    return 0 if found == rows >= FEW_ROWS else found


def _find_dates(table: Table, column: int) -> Any:
    try:
        return read_dates(table, column)
    except UserError:
        return None


def _choose_positive(labels: tuple[tuple[Any, int], ...]) -> Any:
    plain = [label for label, _ in labels]
    if len(plain) != 2 or len({isinstance(p, str) and is_number(p) for p in plain}) > 1:
        return plain[0]
    return max(plain)


def _deviations(values: Any) -> tuple[float, float]:
    """Of a sparse matrix, only features that occur count: their numbers may be billions."""
    import pandas as pd

    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(values, np.ndarray):
            return _range(pd.DataFrame(values).std(ddof=0).to_numpy())
        _, places = np.unique(values.indices, return_inverse=True)
        mean = np.bincount(places, values.data) / values.shape[0]
        square = np.bincount(places, values.data**2) / values.shape[0]
        return _range(np.sqrt(np.maximum(0.0, square - mean**2)))


def _range(deviation: Floats) -> tuple[float, float]:
    varying = deviation[deviation > 0]
    return (float(varying.min()), float(varying.max())) if varying.size else (0.0, 0.0)
