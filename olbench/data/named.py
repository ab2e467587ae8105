"""Data sets with the names that rules use: features from the catalogue or a CSV header, classes by sign."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from olbench.data.catalog import CatalogEntry, resolve
from olbench.data.dataset import Dataset
from olbench.data.labels import Labels, number_text
from olbench.data.load import load_dataset
from olbench.data.names import MOST_FEATURES, Names, default_features, expand_names
from olbench.data.spec import USUAL, Reading
from olbench.errors import UserError, count


@dataclass(frozen=True)
class NamedDataset:
    """`missing_zeros` are the columns in which a zero stands for a missing value."""

    data: Dataset
    names: Names
    missing_zeros: tuple[int, ...] = ()


def load_named(
    name_or_path: str | Path,
    positive: Labels = None,
    negative: Labels = None,
    features: tuple[str, ...] = (),
    *,
    reading: Reading = USUAL,
    download: bool = True,
) -> NamedDataset:
    """Load a data set and its names; `features` replaces those that the data has.

    >>> named = load_named("advice-synthetic")
    >>> named.names.features, named.names.title(1)
    (('x1', 'x2'), '+')
    """
    entry = resolve(name_or_path)
    data = load_dataset(
        name_or_path, positive, negative, download=download, **reading.before_trials().plain()
    )
    d = data.X.shape[1]
    if d > MOST_FEATURES:
        raise UserError(
            f"{data.name} has {d:,} features, and rules can name {MOST_FEATURES:,}; give features smaller "
            "numbers, or leave out those that no rule names"
        )
    if isinstance(entry, Path):
        known, classes = _table_names(data) if data.about.classes else _file_names(entry, d, positive)
        zeros: tuple[str, ...] = ()
    else:
        known, zeros = _entry_names(entry, d), entry.missing_zeros
        # Only the signs where the user chose the labels.
        words = {} if positive is not None else {name: sign for sign, name in entry.class_names.items()}
        classes = {**words, "1": 1, "-1": -1}
    listed = expand_names(features) or known
    if len(listed) != d:
        raise UserError(f"{data.name} has {count(d, 'feature')}, but {len(listed)} are named")
    names = Names(listed, classes).with_values(data.X)
    return NamedDataset(data, names, tuple(listed.index(name) for name in zeros if name in listed))


def _entry_names(entry: CatalogEntry, d: int) -> tuple[str, ...]:
    if entry.feature_names:
        return expand_names(entry.feature_names)
    if entry.bundled == "breast-cancer":
        from sklearn.datasets import load_breast_cancer

        return tuple(str(name) for name in load_breast_cancer().feature_names)
    return default_features(d)


def _table_names(data: Dataset) -> tuple[tuple[str, ...], dict[str, int]]:
    about = data.about
    classes = dict(about.classes)
    if about.label and classes in ({"0": -1, "1": 1}, {"-1": -1, "1": 1}):
        classes = {about.label: 1, **classes}
    return about.features or default_features(data.X.shape[1]), classes


def _file_names(path: Path, d: int, positive: Labels) -> tuple[tuple[str, ...], dict[str, int]]:
    from olbench.data.libsvm import read_libsvm

    _, labels, *_ = read_libsvm([path])
    found = np.unique(labels).tolist()
    plus = [max(found)] if positive is None else np.atleast_1d(np.asarray(positive, dtype=np.float64))
    return default_features(d), {number_text(label): 1 if label in plus else -1 for label in found}
