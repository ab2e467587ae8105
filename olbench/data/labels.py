"""Mapping labels, numbers or text, to -1 and +1 or to class numbers."""

import re
import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np

from olbench.errors import UserError, list_first, show_name
from olbench.learners.examples import Floats

Labels = float | str | Sequence[float | str] | None

#: Python's float() accepts more: underscores, the digits of other scripts, nan and infinity.
NUMBER = re.compile(r"[+-]?(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?+", re.ASCII)

#: Beyond it, a double may represent several whole numbers.
LARGEST_WHOLE = 2**53 - 1
#: More different numbers, with fewer rows each on average, are a numeric target rather than classes.
MOST_CLASSES, FEW_PER_CLASS = 20, 10
#: More different texts, with fewer rows each on average, are dates or ids rather than classes.
FEW_PER_TEXT = 2


class SeveralLabelsError(UserError):
    """There are more than two labels, and the positive ones are not given."""

    def __init__(self, message: str, labels: Any):
        super().__init__(message)
        self.labels = labels


def refuse_regression(labels: Any, where: str) -> None:
    distinct, n = np.unique(labels), len(labels)
    is_text = distinct.dtype.kind == "U"
    numbers = sum(map(is_number, distinct.tolist())) if is_text else distinct.size
    if numbers > max(MOST_CLASSES, n / FEW_PER_CLASS):
        raise UserError(
            f"{where} has {numbers:,} different numbers in {n:,} rows: that is a regression target, and "
            "olbench learns classes; cut the numbers into classes in a new column, or name another column "
            "with --label"
        )
    if is_text and distinct.size > max(MOST_CLASSES, n / FEW_PER_TEXT):
        raise UserError(
            f"{where} has {distinct.size:,} different texts in {n:,} rows, and a label names a class; name "
            "another column with --label"
        )


def is_number(text: str) -> bool:
    """Return whether a text is a number in ASCII digits, with an optional point and exponent.

    >>> is_number("-1.5e3"), is_number("1_000"), is_number("nan")
    (True, False, False)
    """
    return NUMBER.fullmatch(text) is not None


def as_targets(
    labels: Any, positive: Labels, negative: Labels, where: str, multiclass: bool
) -> tuple[Floats, Any]:
    """Return -1 or +1 for each label, and a mask of the rows to keep; with `multiclass` the class numbers.

    Of two labels, the smaller number or the first text becomes -1. Otherwise `positive` lists the labels
    that become +1, and `negative` (default: all others) the labels that become -1. Classes are numbered from
    0 in the order of their labels.

    >>> as_targets(np.array([3.0, 7.0, 1.0, 3.0]), None, None, "here", True)[0].tolist()
    [1.0, 2.0, 0.0, 1.0]
    """
    distinct = np.unique(labels)
    if multiclass:
        if distinct.size < 2:
            raise UserError(_describe_single(distinct[0], where))
        return np.searchsorted(distinct, labels).astype(np.float64), np.ones(labels.size, bool)
    if positive is None:
        if negative is not None:
            raise UserError(f"{where}: `negative` was given without `positive`; give both")
        plus, minus = _order_two(distinct, where, labels)
    else:
        plus = _select(positive, distinct, "positive", where)
        rest = distinct[~np.isin(distinct, plus)]
        minus = rest if negative is None else _select(negative, distinct, "negative", where)
    both = np.intersect1d(plus, minus)
    if both.size:
        raise UserError(f"{where}: the label {show_label(both[0])} cannot be both positive and negative")
    if not minus.size:
        raise UserError(
            f"{where}: no label remains for the negative examples; the file has {describe(distinct)}"
        )
    is_plus = np.isin(labels, plus)
    mask = is_plus | np.isin(labels, minus)
    return np.where(is_plus[mask], 1.0, -1.0), mask


def _describe_single(label: Any, where: str) -> str:
    return f"{where}: every example has the label {show_label(label)}; two distinct labels are needed"


def _order_two(distinct: Any, where: str, labels: Any) -> tuple[Any, Any]:
    if distinct.size == 1:
        remedy = "if another column of a table has them, give --label"
        raise UserError(f"{_describe_single(distinct[0], where)}; {remedy}")
    shown, word = describe(distinct), shlex.quote(label_text(distinct[0]))
    remedy = f"choose the positive ones, as in --positive {word} (positive in a config or in Python)"
    if distinct.size > 2:
        raise SeveralLabelsError(f"{where} has {distinct.size} distinct labels ({shown}); {remedy}", labels)
    if distinct.dtype.kind == "U" and any(is_number(text) for text in distinct):
        raise UserError(f"{where}: the labels mix numbers and text ({shown}); {remedy}")
    return distinct[1:], distinct[:1]


def _select(wanted: Labels, distinct: Any, role: str, where: str) -> Any:
    given = [wanted] if isinstance(wanted, str) else np.atleast_1d(np.asarray(wanted, dtype=object)).ravel()
    if not len(given):
        raise UserError(f"{where}: {role} names no label; the file has {describe(distinct)}")
    labels = [_like(label, distinct.dtype.kind) for label in given]
    for label, name in zip(labels, given, strict=True):
        if label is None or label not in distinct:
            raise UserError(
                f"{where}: no example has the {role} label {show_label(name)}; "
                f"the file has {describe(distinct)}"
            )
    return np.unique(np.array(labels, dtype=distinct.dtype))


def _like(label: Any, kind: str) -> Any:
    if kind == "U":
        return label_text(label)
    if isinstance(label, str):
        return float(label) if is_number(label.strip()) else None
    return float(label)


def label_text(label: float | str) -> str:
    """Return the text of a label.

    >>> label_text(1_000_001.0), label_text(0.5), label_text(1e300), label_text("red")
    ('1000001', '0.5', '1e+300', 'red')
    """
    if isinstance(label, str):
        return label
    is_whole = float(label).is_integer() and abs(label) <= LARGEST_WHOLE
    return str(int(label) if is_whole else float(label))


def read_label(label: float | str) -> float | str:
    return float(label) if not isinstance(label, str) or is_number(label.strip()) else label.strip()


def show_label(label: Any) -> str:
    return show_name(str(label)) if isinstance(label, str) else label_text(label)


def describe(labels: Any) -> str:
    return list_first(map(show_label, labels))
