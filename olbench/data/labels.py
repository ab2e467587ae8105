"""From the labels of a file to -1 and +1."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from olbench.errors import UserError
from olbench.examples import Floats

Labels = float | Sequence[float] | None


def as_signs(labels: Floats, positive: Labels, negative: Labels, where: str) -> tuple[Floats, Any]:
    """Return -1 or +1 for each label, and a mask of the rows to keep.

    Of two labels the smaller becomes -1 and the larger +1. Otherwise `positive` names the labels that become
    +1, `negative` those that become -1, by default all others. Rows with neither are to be dropped.
    """
    found = np.unique(labels)
    if positive is None:
        if negative is not None:
            raise UserError(f"{where}: `negative` was given without `positive`")
        plus, minus = _two_labels(found, where)
    else:
        plus = _named(positive, found, "positive", where)
        rest = found[~np.isin(found, plus)]
        minus = rest if negative is None else _named(negative, found, "negative", where)
    both = np.intersect1d(plus, minus)
    if both.size:
        raise UserError(f"{where}: the label {both[0]:g} cannot be both positive and negative")
    if not minus.size:
        raise UserError(
            f"{where}: no label is left for the negative examples; the file has {describe(found)}"
        )
    is_plus = np.isin(labels, plus)
    mask = is_plus | np.isin(labels, minus)
    return np.where(is_plus[mask], 1.0, -1.0), mask


def _two_labels(found: Floats, where: str) -> tuple[Floats, Floats]:
    if found.size == 2:
        return found[1:], found[:1]
    if found.size == 1:
        raise UserError(f"{where}: every example has the label {found[0]:g}; two different labels are needed")
    raise UserError(
        f"{where} has {found.size} different labels ({describe(found)}); say which of them are positive, "
        f"as in positive={found[0]:g}"
    )


def _named(wanted: Labels, found: Floats, role: str, where: str) -> Floats:
    try:
        labels = np.unique(np.atleast_1d(np.asarray(wanted, dtype=np.float64)).ravel())
    except (TypeError, ValueError):
        raise UserError(f"{where}: {role} must be a label or a list of labels, not {wanted!r}") from None
    if not labels.size:
        raise UserError(f"{where}: {role} names no label")
    absent = labels[~np.isin(labels, found)]
    if absent.size:
        raise UserError(
            f"{where}: no example has the {role} label {absent[0]:g}; the file has {describe(found)}"
        )
    return labels


def describe(labels: Any) -> str:
    """Return the different labels as words, a few of them if there are many."""
    shown = ", ".join(f"{label:g}" for label in labels[:10])
    return shown if len(labels) <= 10 else f"{shown}, ..."
