"""Tables that come with scikit-learn."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

FILES = {"breast-cancer": ("breast_cancer.csv", 1), "digits": ("digits.csv.gz", 0)}


def read_bundled(name: str) -> tuple[Any, Any]:
    """Without importing scikit-learn, which takes a second; it is asked only if its files moved."""
    file, lines = FILES[name]
    found = find_spec("sklearn")
    path = Path(found.origin or "").parent / "datasets/data" / file if found else Path(file)
    if path.is_file():
        table = np.loadtxt(path, delimiter=",", skiprows=lines)
        return np.ascontiguousarray(table[:, :-1]), table[:, -1]
    from sklearn import datasets

    loaders = {"breast-cancer": datasets.load_breast_cancer, "digits": datasets.load_digits}
    X, labels = loaders[name](return_X_y=True)
    return X, labels.astype(np.float64)
