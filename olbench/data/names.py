"""What the words of a rule mean in the data at hand: the columns of features, the signs of classes."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from olbench.errors import UserError, count

#: More features than this fill the memory when they are written as a range.
MOST_FEATURES = 1_000_000


def fold(name: str) -> str:
    """Return a name as it is compared: without case, and with _ for spaces and hyphens."""
    return re.sub(r"[\s\-]+", "_", name.strip().casefold())


@dataclass(frozen=True)
class Names:
    """`classes` gives the sign of every name of a class; of several, the one told from the rest is +1.

    `binary` and `whole` are the columns known to hold only 0 and 1, and only whole numbers.
    """

    features: tuple[str, ...]
    classes: Mapping[str, int] = field(default_factory=lambda: {"1": 1, "-1": -1})
    two_classes: bool = True
    binary: frozenset[int] | None = None
    whole: frozenset[int] | None = None

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for name in self.features:
            if fold(name) in seen:
                raise UserError(f"two features are called '{name}'; give one of them another name")
            seen.add(fold(name))

    @cached_property
    def columns(self) -> dict[str, int]:
        """The column of every name of a feature; x1, x2, ... stand for those that the data does not name."""
        numbered = {f"x{j + 1}": j for j in range(len(self.features))}
        return {**numbered, **{fold(name): j for j, name in enumerate(self.features)}}

    def column(self, spellings: Sequence[str]) -> int | None:
        for name in spellings:
            if fold(name) in self.columns:
                return self.columns[fold(name)]
        return None

    def sign(self, name: str, negated: bool) -> int | None:
        """None if that does not determine the sign; a name that is not a class raises a KeyError."""
        signs = {_fold_class(known): sign for known, sign in self.classes.items()}
        whole = f"not {name}" if negated else name
        if _fold_class(whole) in signs:
            return signs[_fold_class(whole)]
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
        import scipy.sparse as sp

        columns = sp.csc_matrix(X) if sp.issparse(X) else np.asarray(X, dtype=np.float64)
        if columns.shape[1] != len(self.features):
            raise UserError(f"X has {count(columns.shape[1], 'feature')}, but {len(self.features)} are named")
        whole, binary = set(), set()
        for j in range(columns.shape[1]):
            values: Any = columns[:, [j]].data if sp.issparse(columns) else columns[:, j]
            if (values == np.rint(values)).all():
                whole.add(j)
                if ((values == 0.0) | (values == 1.0)).all():
                    binary.add(j)
        return replace(self, binary=frozenset(binary), whole=frozenset(whole))


def _fold_class(name: str) -> str:
    """Return a class as it is compared: numbers by their value, words as features are."""
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
        match = re.fullmatch(r"(.*\D)\(([0-9]{1,9})-([0-9]{1,9})\)", name.strip())
        if match is None:
            names.append(name.strip())
        elif int(match[3]) - int(match[2]) >= MOST_FEATURES:
            raise UserError(f"'{match[0]}' stands for more than {MOST_FEATURES:,} features")
        else:
            names += [f"{match[1]}{k}" for k in range(int(match[2]), int(match[3]) + 1)]
    return tuple(names)
