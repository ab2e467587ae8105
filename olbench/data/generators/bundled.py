"""Real data bundled with scikit-learn, which needs no download."""

from typing import Any

import numpy as np

NAMES = ("breast-cancer", "digits")


def read_bundled(name: str) -> tuple[Any, Any]:
    """Return (X, labels) of a data set bundled with scikit-learn."""
    from sklearn.datasets import load_breast_cancer, load_digits

    loaders: dict[str, Any] = {"breast-cancer": load_breast_cancer, "digits": load_digits}
    X, labels = loaders[name](return_X_y=True)
    return X, labels.astype(np.float64)
