"""Models: a learner after its pass, with what new rows need to be read as the old ones were.

A model is one .npz file of plain arrays; nothing in it is executed when it is loaded.

>>> import tempfile
>>> import numpy as np
>>> from olbench.estimators import AROW
>>> from olbench.models import Model, load_model
>>> X, y = np.array([[1.0, 0.0], [0.0, 1.0]] * 20), np.array(["ham", "spam"] * 20)
>>> with tempfile.TemporaryDirectory() as folder:
...     Model(AROW(r=0.5).fit(X, y)).save(f"{folder}/spam.npz")
...     load_model(f"{folder}/spam.npz").predict([[2.0, 0.0]]).tolist()
['ham']
"""

import json
import zipfile
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olbench import estimators
from olbench.data.prepare.columns import TableColumn
from olbench.data.prepare.recipe import Recipe
from olbench.data.prepare.scaling import Scaler
from olbench.errors import UserError
from olbench.files import write_whole
from olbench.learn.classifiers import OnlineClassifier
from olbench.learn.learners import DualLearner

VERSION = 1
#: Made from the definition of the algorithm, or of one round only: no part of what is learnt.
DERIVED = ("p", "margins")
#: The arrays of a recipe.
FITTED = ("means", "shift", "factor")


@dataclass(frozen=True)
class Model:
    """A fitted estimator, how its data was read, and where both come from."""

    estimator: OnlineClassifier
    recipe: Recipe = field(default_factory=Recipe)
    #: What it was trained on, by name.
    facts: dict[str, Any] = field(default_factory=dict)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted class of each row."""
        return self.estimator.predict(X)

    def read(self, path: str | Path) -> tuple[Any, Any]:
        """Return the rows of a file as the model reads them, and its labels, or None if it has none."""
        return self.recipe.read(Path(path), self.estimator.n_features_in_)

    def save(self, path: str | Path) -> None:
        """Write the model to a file in one piece."""
        from olbench import __version__

        estimator, recipe, scaler = self.estimator, self.recipe, self.recipe.scaler
        about = {
            "format": "olbench model", "version": VERSION, "olbench": __version__,
            "estimator": type(estimator).__name__, "params": estimator.get_params(),
            "classes": estimator.classes_.tolist(), "features": estimator.n_features_in_,
            "learners": len(estimator.learners_), "facts": self.facts,
            "recipe": {
                "columns": [asdict(column) for column in recipe.columns], "missing": recipe.missing,
                "scale": recipe.scale, "bias": recipe.bias, "label": recipe.label,
                "delimiter": recipe.delimiter,
            },
        }  # fmt: skip
        fitted = (recipe.means, *((scaler.shift, scaler.factor) if scaler else (np.empty(0), np.empty(0))))
        arrays: dict[str, Any] = dict(zip(FITTED, fitted, strict=True))
        for number, learner in enumerate(estimator.learners_):
            arrays |= {f"{number}.{name}": value for name, value in _state(learner).items()}
        text = np.frombuffer(json.dumps(about).encode(), np.uint8)
        with write_whole(Path(path)) as draft, open(draft, "wb") as file:
            np.savez_compressed(file, about=text, **arrays)


def _state(learner: Any) -> dict[str, NDArray[Any]]:
    return {k: v for k, v in vars(learner).items() if isinstance(v, np.ndarray) and k not in DERIVED}


def load_model(path: str | Path) -> Model:
    """Return the model of a file that `olbench train` or `Model.save` wrote."""
    try:
        if Path(path).is_file() and not zipfile.is_zipfile(path):
            raise ValueError
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        about = json.loads(arrays.pop("about").tobytes())
        if about["format"] != "olbench model":
            raise ValueError
    except FileNotFoundError:
        raise UserError(f"there is no file {path}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile):
        raise UserError(f"{path} is not a model that `olbench train` wrote, or it is damaged") from None
    if about["version"] > VERSION:
        raise UserError(f"{path} was written by olbench {about['olbench']}, which is newer; upgrade olbench")
    try:
        return Model(_restore(about, arrays), _read_recipe(about["recipe"], arrays), about["facts"])
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise UserError(
            f"{path} does not fit this version of olbench ({error}); it was written by "
            f"{about.get('olbench')}: train the model again"
        ) from None


def _restore(about: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> OnlineClassifier:
    """Return the estimator with the state that its arrays hold."""
    estimator = estimators.ESTIMATORS[about["estimator"]](**about["params"])
    estimator.n_features_in_ = int(about["features"])
    estimator._start(np.array(about["classes"]))
    for number, learner in enumerate(estimator.learners_):
        for name, fresh in _state(learner).items():
            value = arrays[f"{number}.{name}"]
            # The support of a kernel learner grows; every other array has its size from the start.
            grows = isinstance(learner, DualLearner)
            if value.dtype != fresh.dtype or not (grows or value.shape == fresh.shape):
                raise ValueError(f"{name} has another size")
            setattr(learner, name, np.ascontiguousarray(value))
    return estimator


def _read_recipe(content: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Recipe:
    columns = [
        TableColumn(**{**each, "texts": _as_tuple(each["texts"]), "parts": tuple(each["parts"])})
        for each in content["columns"]
    ]
    recipe = Recipe(**{**content, "columns": tuple(columns)})
    means, shift, factor = (arrays[name] for name in FITTED)
    return replace(recipe, means=means, scaler=Scaler(shift, factor) if factor.size else None)


def _as_tuple(texts: list[str] | None) -> tuple[str, ...] | None:
    return None if texts is None else tuple(texts)
