"""Mapping the labels of a file to -1 and +1."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from olbench.errors import UserError
from olbench.examples import Floats

Labels = float | Sequence[float] | None


def as_signs(labels: Floats, positive: Labels, negative: Labels, where: str) -> tuple[Floats, Any]:
    """Return -1 or +1 for each label, and a mask of the rows to keep.

    With two labels, the smaller becomes -1 and the larger +1. Otherwise `positive` lists the labels that
    become +1 and `negative` those that become -1 (default: all others). The mask excludes rows with any other
    label.
    """
    distinct = np.unique(labels)
    if positive is None:
        if negative is not None:
            raise UserError(f"{where}: `negative` was given without `positive`")
        plus, minus = _order_two(distinct, where)
    else:
        plus = _select(positive, distinct, "positive", where)
        rest = distinct[~np.isin(distinct, plus)]
        minus = rest if negative is None else _select(negative, distinct, "negative", where)
    both = np.intersect1d(plus, minus)
    if both.size:
        raise UserError(f"{where}: the label {both[0]:g} cannot be both positive and negative")
    if not minus.size:
        raise UserError(
            f"{where}: no label remains for the negative examples; the file has {describe(distinct)}"
        )
    is_plus = np.isin(labels, plus)
    mask = is_plus | np.isin(labels, minus)
    return np.where(is_plus[mask], 1.0, -1.0), mask


def as_targets(
    labels: Floats, positive: Labels, negative: Labels, where: str, multiclass: bool
) -> tuple[Floats, Any]:
    """Return -1 or +1 for each label as `as_signs` does, or with `multiclass` the numbers of the classes.

    Classes are numbered from 0 in the order of their labels; no row is dropped.

    >>> as_targets(np.array([3.0, 7.0, 1.0, 3.0]), None, None, "here", True)[0].tolist()
    [1.0, 2.0, 0.0, 1.0]
    """
    if not multiclass:
        return as_signs(labels, positive, negative, where)
    classes, numbers = np.unique(labels, return_inverse=True)
    if classes.size < 2:
        raise UserError(
            f"{where}: every example has the label {classes[0]:g}; two distinct labels are needed"
        )
    return numbers.astype(np.float64), np.ones(labels.size, bool)


def _order_two(distinct: Floats, where: str) -> tuple[Floats, Floats]:
    if distinct.size == 2:
        return distinct[1:], distinct[:1]
    if distinct.size == 1:
        raise UserError(
            f"{where}: every example has the label {distinct[0]:g}; two distinct labels are needed"
        )
    raise UserError(
        f"{where} has {distinct.size} distinct labels ({describe(distinct)}); say which are positive, as in "
        f"positive={distinct[0]:g}"
    )


def _select(wanted: Labels, distinct: Floats, role: str, where: str) -> Floats:
    try:
        labels = np.unique(np.atleast_1d(np.asarray(wanted, dtype=np.float64)).ravel())
    except (TypeError, ValueError):
        raise UserError(f"{where}: {role} must be a label or a list of labels, not {wanted!r}") from None
    if not labels.size:
        raise UserError(f"{where}: {role} names no label")
    absent = labels[~np.isin(labels, distinct)]
    if absent.size:
        raise UserError(
            f"{where}: no example has the {role} label {absent[0]:g}; the file has {describe(distinct)}"
        )
    return labels


def describe(labels: Any) -> str:
    """Return the distinct labels as text, shortened if there are many."""
    shown = ", ".join(f"{label:g}" for label in labels[:10])
    return shown if len(labels) <= 10 else f"{shown}, ..."
