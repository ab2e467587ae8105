"""From a table to examples: labels, missing values and columns of text, and what was done in words."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from olbench.data.cells import NO_TEXT, Table, TextColumn
from olbench.data.columns import ORIGIN, TableColumn, match_columns, read_features, read_texts
from olbench.data.dataset import About
from olbench.data.labels import LARGEST_WHOLE, as_targets, is_number, label_text, quote, show_label
from olbench.data.scale import scale_as_read
from olbench.data.spec import DATE_PARTS, ColumnSpec, Reading
from olbench.data.times import NEVER, Times, read_times
from olbench.errors import UserError, count
from olbench.learners.examples import Floats, Ints

#: A column with more distinct texts is a name or a number rather than a category.
MOST_CATEGORIES = 1000
#: A longer text is not the name of a class.
LONGEST_LABEL = 300
MOST_LISTED = 10


class Encoded(NamedTuple):
    X: Floats
    labels: Any
    about: About
    times: Times | None


def prepare_table(
    table: Table, positive: Any, negative: Any, reading: Reading, multiclass: bool
) -> tuple[Any, Any, About, Ints | None]:
    X, labels, about, times = encode(table, reading)
    X, y, about, kept = encode_targets(X, labels, about, positive, negative, table.where, multiclass)
    X, about = scale_as_read(X, about, reading)
    arrivals = times.keep(kept).arrivals() if times else None
    if arrivals is not None and (never := np.count_nonzero(arrivals == NEVER)):
        steps = (*about.steps, f"labels that arrive after the last row or never: {never:,} of {len(y):,}")
        about = replace(about, steps=steps)
    return X, y, about, arrivals


def encode(table: Table, reading: Reading) -> Encoded:
    label = table.find_label("last" if reading.label == "" else reading.label)
    times = read_times(table, reading, label)
    keys = {column: key for key, column in times.columns.items()} if times else {}
    specs = match_columns(table, reading.columns, {**keys, label: "label"})
    places = [place for place, spec in specs.items() if spec.encode != "drop"]
    if not places:
        raise UserError(f"{table.where}: no column is left for a feature; at least one is needed")
    named_out = _list_columns(table, [place for place, spec in specs.items() if spec.encode == "drop"])
    places, left_out = _leave_out_text(table, places, specs, reading.categorical)
    timed = [f"{key}: {table.column_name(column)}" for key, column in times.columns.items()] if times else []
    gaps, dropped = _find_gaps(table, [*places, label], reading.missing)
    if dropped:
        table, times = table.keep(~gaps), times.keep(~gaps) if times else None
    labels = read_labels(table, label)
    columns = [_describe_column(table, place, specs[place], reading.categorical) for place in places]
    X = read_features(table, columns)
    filled = _fill(X, reading.missing)
    coded = [f"{table.column_name(column.place)} as {column.words}" for column in columns if column.words]
    out = [f"columns left out: {named_out}"] if named_out else []
    steps = (f"label: {table.column_name(label)}", *timed, *out, *left_out, *dropped, *coded, *filled)
    heading = table.names[label] if table.has_heading else ""
    names = tuple(name for column in columns for name in column.features)
    return Encoded(X, labels, About(names, steps=steps, label=heading), times)


def _find_gaps(table: Table, columns: list[int], missing: str) -> tuple[Any, list[str]]:
    gaps = np.zeros(len(table.numbers), bool)
    for column in columns if missing in ("", "drop") else columns[-1:]:
        here = table.is_missing(column)
        if here.any() and missing != "drop":
            row = int(np.argmax(here))
            remedy = (
                "a row without a label teaches nothing: leave such rows out with --missing drop"
                if column == columns[-1]
                else "say what to do with missing values: --missing drop, zero or mean"
            )
            raise UserError(f"{table.place(row)}: {table.column_name(column)} has no value; {remedy}")
        gaps |= here
    dropped = int(gaps.sum())
    if dropped == len(gaps):
        raise UserError(
            f"{table.where}: every row has a missing value, so --missing drop leaves none; use zero or mean"
        )
    return gaps, [f"{dropped:,} of {len(gaps):,} rows with missing values left out"] if dropped else []


def read_labels(table: Table, column: int) -> Any:
    numbers, text = table.numbers[:, column], table.texts.get(column)
    _refuse_long(table, numbers, text)
    if text is None:
        odd = numbers != np.floor(numbers)
        if odd.any():
            row = int(np.argmax(odd))
            raise UserError(
                f"{table.place(row)}: label {quote(f'{numbers[row]:g}')} is not a whole number; a label "
                "names a class; if another column is the label, name it with --label"
            )
        return numbers.copy()
    values = np.array([*text.values, ""])[text.codes]
    is_numeric = text.codes == NO_TEXT
    if is_numeric.any():
        values = values.astype(object)
        values[is_numeric] = [label_text(number) for number in numbers[is_numeric]]
        values = values.astype(str)
    return values


def _refuse_long(table: Table, numbers: Floats, text: TextColumn | None) -> None:
    large = np.abs(numbers) > LARGEST_WHOLE
    if large.any():
        row = int(np.argmax(large))
        raise UserError(
            f"{table.place(row)}: label {quote(f'{numbers[row]:.0f}')} is too large to represent exactly; "
            "renumber the classes"
        )
    for code, word in enumerate(text.values if text is not None else ()):
        if len(word) > LONGEST_LABEL:
            row = int(np.argmax(text.codes == code)) if text is not None else 0
            raise UserError(
                f"{table.place(row)}: label {quote(word)} has {len(word):,} characters, and a label names a "
                "class; if another column is the label, name it with --label"
            )


def _leave_out_text(
    table: Table, columns: list[int], specs: Mapping[int, ColumnSpec], categorical: str
) -> tuple[list[int], list[str]]:
    with_text = [column for column in columns if column in table.texts and not specs[column].encode]
    if categorical != "drop" or not with_text:
        return columns, []
    kept = [column for column in columns if column not in with_text]
    if not kept:
        raise UserError(
            f"{table.where}: every feature is text, so --categorical drop leaves none; use onehot"
        )
    return kept, [f"columns of text left out: {_list_columns(table, with_text)}"]


def _list_columns(table: Table, columns: list[int]) -> str:
    names = ", ".join(table.column_name(column).removeprefix("column ") for column in columns[:MOST_LISTED])
    return names + (", ..." if len(columns) > MOST_LISTED else "")


def _describe_column(table: Table, place: int, spec: ColumnSpec, categorical: str) -> TableColumn:
    heading = table.names[place] if table.has_heading else ""
    if spec.encode == "date":
        return TableColumn(heading, place, None, "date", spec.parts or DATE_PARTS[:1], spec.origin or ORIGIN)
    if spec.encode == "ordinal":
        return TableColumn(heading, place, tuple(map(label_text, spec.order)), "ordinal")
    if spec.encode == "onehot":
        return TableColumn(heading, place, tuple(_distinct_texts(table, place)))
    if place not in table.texts:
        return TableColumn(heading, place)
    _refuse_text(table, place, spec, categorical)
    return TableColumn(heading, place, tuple(_distinct_texts(table, place)))


def _refuse_text(table: Table, place: int, spec: ColumnSpec, categorical: str) -> None:
    text = table.texts[place]
    row = int(np.argmax(text.codes != NO_TEXT))
    first = text.values[text.codes[row]]
    shown, name = f"the text {quote(first)}, where a number is expected", table.column_name(place)
    if spec.encode == "number":
        remedy = "correct the cell, or encode the column otherwise under columns"
    elif not np.isnan(table.numbers[:, place]).all():
        shown = f"numbers and the text {quote(first)}"
        remedy = "correct the cell, or say under columns what the column is: onehot, ordinal or drop"
    elif not categorical:
        remedy = "encode columns of text with --categorical onehot, or leave them out with --categorical drop"
    else:
        return
    raise UserError(f"{table.place(row)}: {name} has {shown}{_hint(first)}; {remedy}")


def _distinct_texts(table: Table, column: int) -> list[str]:
    text, own = read_texts(table, column), table.texts.get(column)
    words = len(own.values) if own else 0  # the codes of numbers follow, in their order
    codes = np.unique(text.codes).tolist()
    present = sorted(text.values[code] for code in codes if 0 <= code < words)
    present = [*(text.values[code] for code in codes if code >= words), *present]
    if len(present) > MOST_CATEGORIES:
        raise UserError(
            f"{table.where}: {table.column_name(column)} has {len(present):,} distinct texts, more than the "
            f"{MOST_CATEGORIES:,} that onehot takes; leave columns of text out with --categorical drop, or "
            "this one alone under columns in a config"
        )
    return present


def _hint(text: str) -> str:
    if is_number(text.replace(",", ".", 1)):
        return " (numbers have a decimal point, not a comma)"
    return " (numbers have no underscores)" if is_number(text.replace("_", "")) else ""


def _fill(X: Floats, missing: str) -> list[str]:
    gaps = np.isnan(X)
    if not gaps.any():
        return []
    found = count(int(np.count_nonzero(gaps)), "missing value")
    if missing == "zero":
        X[gaps] = 0.0
        return [f"{found} replaced by 0"]
    empty = int(np.count_nonzero(gaps.all(axis=0)))
    X[gaps] = _column_means(X)[np.nonzero(gaps)[1]]
    words = f"{found} replaced by the mean of their column over all rows"
    return [words + (f" (0 in {count(empty, 'column')} without values)" if empty else "")]


def _column_means(X: Floats) -> Floats:
    gaps = np.isnan(X)
    X = np.where(gaps, 0.0, X)
    counts = np.maximum(1, len(X) - np.count_nonzero(gaps, axis=0))
    with np.errstate(over="ignore", invalid="ignore"):
        means: Floats = X.sum(axis=0) / counts
    if not np.isfinite(means).all():  # the sum of large numbers overflows, and their mean does not
        means = (X / counts).sum(axis=0)
    return means


def encode_targets(
    X: Any, labels: Any, about: About, positive: Any, negative: Any, where: str, multiclass: bool = False
) -> tuple[Any, Floats, About, Any]:
    y, mask = as_targets(labels, positive, negative, where, multiclass)
    distinct, first, sizes = np.unique(labels[mask], return_index=True, return_counts=True)
    counts = list(zip(distinct.tolist(), y[first].astype(int).tolist(), sizes.tolist(), strict=True))
    classes = tuple((label_text(label), sign) for label, sign, _ in counts)
    targets = f"{len(counts)} classes: {_list(counts)}" if multiclass else _describe_signs(counts, positive)
    dropped = int(np.count_nonzero(~mask))
    rest = [f"{count(dropped, 'row')} with other labels left out"] if dropped else []
    steps = (about.steps[0], targets, *about.steps[1:], *rest)
    return X[mask] if dropped else X, y, replace(about, classes=classes, steps=steps), mask


def _list(counts: list[tuple[Any, int, int]]) -> str:
    listed = [f"{show_label(label)} ({count(n, 'row')})" for label, _, n in counts[:MOST_LISTED]]
    return ", ".join(listed) + (", ..." if len(counts) > MOST_LISTED else "")


def _describe_signs(counts: list[tuple[Any, int, int]], positive: Any) -> str:
    shown = []
    for sign in (1, -1):
        same = [each for each in counts if each[1] == sign]
        shown.append(f"{_list(same)} {'is' if len(same) == 1 else 'are'} {sign:+d}")
    rule = "the later in the alphabet" if isinstance(counts[0][0], str) else "the larger"
    return "; ".join(shown) + ("" if positive is not None else f" (of two labels, {rule} is +1)")
