"""What the words of a rule mean in the data at hand: the columns of features, the signs of classes.

Features are called as in the catalogue or in the header of a table, classes by their sign.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from olbench.data.catalog import CatalogEntry, resolve
from olbench.data.dataset import About, Dataset
from olbench.data.labels import Labels, label_text
from olbench.data.load import load_dataset, load_spec
from olbench.data.spec import DatasetSpec
from olbench.errors import UserError, count
from olbench.papers.adviceptron2010.grammar import MOST_DIGITS

RANGE = rf"(.*\D)\(([0-9]{{1,{MOST_DIGITS}}})-([0-9]{{1,{MOST_DIGITS}}})\)"


def fold(name: str) -> str:
    """Return the form in which names are compared: without case, and with _ for spaces and hyphens."""
    return re.sub(r"[\s\-]+", "_", name.strip().casefold())


@dataclass(frozen=True)
class Names:
    """`classes` maps names of classes to signs; of several classes, the one against the others is +1.

    `binary` and `whole` are the columns known to hold only 0 and 1, and only whole numbers.
    """

    features: tuple[str, ...]
    classes: Mapping[str, int] = field(default_factory=lambda: {"1": 1, "-1": -1})
    two_classes: bool = True
    binary: frozenset[int] | None = None
    whole: frozenset[int] | None = None

    def __post_init__(self) -> None:
        places: dict[str, int] = {}
        for place, name in enumerate(self.features):
            if places.setdefault(fold(name), place) != place:
                raise UserError(f"two features are called '{name}'; give one of them another name")

    @cached_property
    def columns(self) -> dict[str, int]:
        """The column of every name of a feature; x1, x2, ... stand for those that the data does not name."""
        numbered = {f"x{j + 1}": j for j in range(len(self.features))}
        return {**numbered, **{fold(name): j for j, name in enumerate(self.features)}}

    def column(self, spellings: Sequence[str]) -> int | None:
        return next((self.columns[name] for name in map(fold, spellings) if name in self.columns), None)

    def sign(self, name: str, negated: bool) -> int | None:
        """None if that does not determine the sign; a name that is not a class raises a KeyError."""
        signs = {_fold_class(known): sign for known, sign in self.classes.items()}
        if negated and (whole := _fold_class(f"not {name}")) in signs:
            return signs[whole]
        sign = signs[_fold_class(name)]
        if not negated:
            return sign
        return -sign if self.two_classes or sign > 0 else None

    def title(self, sign: int) -> str:
        """Return the name of a class: by a word, as the negation of the other's, or by a number.

        >>> Names((), {"diabetes": 1, "-1": -1}).title(-1)
        'not diabetes'
        """
        for turned, prefix in ((1, ""), (-1, "not ")):
            for name, known in self.classes.items():
                if known == turned * sign and not _is_number(name):
                    return prefix + name
        return next((name for name, known in self.classes.items() if known == sign), f"{sign:+d}")

    def with_values(self, X: Any) -> "Names":
        """Return the names with the columns that are whole or binary in these examples."""
        d = X.shape[1]
        if d != len(self.features):
            raise UserError(f"X has {count(d, 'feature')}, but {len(self.features)} are named")
        entries = sp.csr_matrix(X)
        values = entries.data

        def columns_without(wrong: NDArray[np.bool_]) -> frozenset[int]:
            found = np.bincount(entries.indices[wrong], minlength=d)
            return frozenset(np.flatnonzero(found == 0).tolist())

        return replace(
            self,
            binary=columns_without((values != 0.0) & (values != 1.0)),
            whole=columns_without(values != np.rint(values)),
        )


def _fold_class(name: str) -> str:
    """Return the form in which classes are compared: numbers by their value, words like features."""
    return f"{float(name):g}" if _is_number(name) else fold(name)


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def default_features(d: int) -> tuple[str, ...]:
    return tuple(f"x{j + 1}" for j in range(d))


def expand_names(listed: Sequence[str]) -> tuple[str, ...]:
    """Return the names of a list in which stem(1-43) stands for stem1, stem2, ..., stem43.

    >>> expand_names(["age", "spacer(1-3)"])
    ('age', 'spacer1', 'spacer2', 'spacer3')
    """
    names: list[str] = []
    for name in listed:
        match = re.fullmatch(RANGE, name.strip())
        if match is None:
            names.append(name.strip())
        else:
            names += [f"{match[1]}{k}" for k in range(int(match[2]), int(match[3]) + 1)]
    return tuple(names)


@dataclass(frozen=True)
class NamedDataset:
    """`missing_zeros` are the columns in which a zero stands for a missing value."""

    data: Dataset
    names: Names
    missing_zeros: tuple[int, ...] = ()


def load_named(
    name_or_path: str | Path, positive: Labels = None, features: tuple[str, ...] = ()
) -> NamedDataset:
    """Load a data set and its names; `features` replaces those that the data has.

    >>> named = load_named("advice-synthetic")
    >>> named.names.features, named.names.title(1)
    (('x1', 'x2'), '+')
    """
    return _add_names(load_dataset(name_or_path, positive), resolve(name_or_path), positive, features)


def load_named_spec(spec: DatasetSpec, features: tuple[str, ...] = ()) -> NamedDataset:
    return _add_names(load_spec(spec), resolve(spec.path or spec.name), spec.positive, features)


def _add_names(
    data: Dataset, entry: CatalogEntry | Path, positive: Labels, features: tuple[str, ...]
) -> NamedDataset:
    d, known = data.X.shape[1], data.about.features
    zeros: tuple[str, ...] = ()
    if d > 10**MOST_DIGITS:
        raise UserError(
            f"{data.name} has {d:,} features, and rules can name {10**MOST_DIGITS:,}; give features smaller "
            "numbers, or leave out those that no rule names"
        )
    if isinstance(entry, Path):
        classes = _name_classes(data.about) if data.about.classes else _read_classes(entry, positive)
    else:
        known, zeros = expand_names(entry.feature_names), entry.missing_zeros
        # Only the signs where the user chose the labels.
        words = {} if positive is not None else {name: sign for sign, name in entry.class_names.items()}
        classes = {**words, "1": 1, "-1": -1}
    listed = expand_names(features) or known or default_features(d)
    if len(listed) != d:
        raise UserError(f"{data.name} has {count(d, 'feature')}, but {len(listed)} are named")
    names = Names(listed, classes).with_values(data.X)
    return NamedDataset(data, names, tuple(listed.index(name) for name in zeros if name in listed))


def _name_classes(about: About) -> dict[str, int]:
    classes = dict(about.classes)
    if about.label and classes in ({"0": -1, "1": 1}, {"-1": -1, "1": 1}):
        classes = {about.label: 1, **classes}
    return classes


def _read_classes(path: Path, positive: Labels) -> dict[str, int]:
    from olbench.data.libsvm import read_libsvm

    _, labels, *_ = read_libsvm([path])
    found = np.unique(labels).tolist()
    plus = [max(found)] if positive is None else np.atleast_1d(np.asarray(positive, dtype=np.float64))
    return {label_text(label): 1 if label in plus else -1 for label in found}
