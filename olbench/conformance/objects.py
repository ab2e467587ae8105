"""Python objects, functions step(state, x, y) and rules as subjects, also by name: MODULE:OBJECT.

An object has predict_one and learn_one (River), predict and partial_fit (scikit-learn), or predict and fit.
"""

import contextlib
import importlib
import inspect
import sys
from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np

from olbench.algorithms.definition import Definition, Value
from olbench.conformance.replica import make_replica
from olbench.conformance.subjects import Recording, Recordings, Sighting, Subject, SubjectError
from olbench.errors import UserError, count, describe_error, short, shorten, show_name, suggest
from olbench.learners.contestants import LABELS, find_style
from olbench.learners.examples import Floats
from olbench.plugins import make_module

NAMES = {
    "weights": (
        "coef_", "weights", "w", "mu", "mean", "w_", "mu_", "weights_", "mean_", "_w", "_mu", "_weights",
        "_mean", "weight", "theta", "coef",
    ),
    "covariance": (
        "covariance", "Sigma", "sigma", "S", "cov", "covariance_", "Sigma_", "sigma_", "cov_", "_sigma",
        "_Sigma", "_cov", "_covariance", "_S",
    ),
}  # fmt: skip
EPOCHS = ("epochs", "n_epochs", "max_iter", "n_iter", "num_iterations", "n_iterations")
#: A learner that can only fit from scratch is watched in every round up to this one, then ever more rarely.
EVERY_ROUND = 24
CHANGES_ROWS = "it changes the rows that it is given"


def expose(holder: Any, d: int, exposed: Mapping[str, str]) -> dict[str, Any]:
    """Return the weights and covariance that a state shows, under the given names or the usual ones."""
    fields, found = _read_fields(holder, d), {}
    for quantity, usual in NAMES.items():
        given = exposed.get(quantity)
        for name in (given,) if given else usual:
            value = fields[name] if name in fields else getattr(holder, name, None)
            array = _as_array(value, d, quantity)
            if array is not None:
                found[quantity] = array
                break
        if given and quantity not in found and value is not None:
            raise UserError(f"{show_name(given)} cannot be the {quantity} of {count(d, 'feature')}")
    if "weights" not in found and "weights" not in exposed:
        vectors = [each for each in fields.values() if isinstance(each, np.ndarray) and each.shape == (d,)]
        numeric = [each for each in vectors if each.dtype.kind in "fiu"]
        if len(numeric) == 1:
            found["weights"] = numeric[0].copy()
    return found


def _as_array(value: Any, d: int, quantity: str) -> Any:
    """Return a value as d weights, or as d or d times d covariances; None if it cannot be that."""
    if isinstance(value, Mapping):
        if quantity != "weights" or not all(isinstance(key, int) and 0 <= key < d for key in value):
            return None
        value = [value.get(j, 0.0) for j in range(d)]
    try:
        array = np.asarray(value.todense() if hasattr(value, "todense") else value)
    except Exception:
        return None
    if array.dtype.kind not in "fiu" or array.size == 0:
        return None
    if quantity == "weights":
        return array.ravel().copy() if array.size == d and (d > 1 or array.ndim > 0) else None
    if d > 1 and array.shape == (d, d):
        return array.copy()
    return array.ravel().copy() if array.shape in ((d,), (1, d), (d, 1)) else None


def _read_fields(state: Any, d: int) -> Mapping[str, Any]:
    """Return the parts of a state by name; in a tuple, the first vector is the weights."""
    if isinstance(state, Mapping) and not (state and all(isinstance(key, int) for key in state)):
        return {str(key): value for key, value in state.items()}
    if isinstance(state, Mapping | np.ndarray):
        return {"weights": state}
    if isinstance(state, tuple | list):
        arrays = [np.asarray(each) for each in state]
        vectors = [each for each in arrays if each.shape == (d,)]
        squares = [each for each in arrays if each.shape == (d, d)]
        return dict(zip(("weights", "covariance"), [*vectors[:1], *squares, *vectors[1:]], strict=False))
    return getattr(state, "__dict__", {})


class ObjectSubject(Subject):
    def __init__(self, make: Callable[[int], Any], name: str, exposed: Mapping[str, str] = {}):
        super().__init__(name)
        self.make, self.exposed, self.style = make, exposed, ""
        #: Whether learn_one gets -1 and +1; River's learners get False and True.
        self.signed = False

    def watch(self, recording: Recording) -> None:
        """Show the rows one by one; a learner that can only fit is fitted from scratch to ever more rows."""
        X, y, d = recording.input.X, recording.input.y, recording.input.X.shape[1]
        model = self.make(d)
        self.style = find_style(model) or ("step" if callable(model) else "")
        if not self.style:
            raise UserError(
                f"{self.name}: a subject needs predict_one and learn_one, predict and partial_fit, or "
                "predict and fit; or it is a function step(state, x, y) that returns the state"
            )
        if self.style == "fit":
            self._watch_fits(recording)
            return
        state = None if self.style == "step" else model
        if state is not None:
            recording.start = self._expose(state, d).get("weights")
        for t in range(len(y)):
            before = self._predict(state, X[t]) if t else {}
            state = self._learn(model, state, X[t], y[t])
            recording.sightings.append(Sighting(**before, **self._expose(state, d)))

    def _watch_fits(self, recording: Recording) -> None:
        X, y, d = recording.input.X, recording.input.y, recording.input.X.shape[1]
        for n in range(1, len(y) + 1):
            is_skipped = n > EVERY_ROUND and n & (n - 1) and n < len(y)
            recording.sightings.append(None if is_skipped else self._fit(X[:n], y[:n], d))

    def _fit(self, X: Floats, y: Floats, d: int) -> Sighting | None:
        model, rows = self.make(d), X.copy()
        for name in EPOCHS:
            if type(getattr(model, name, None)) is int:
                setattr(model, name, 1)
        try:
            model.fit(rows, y.copy())
        except ValueError:
            # To refuse to fit a single class is not a failure of the algorithm.
            if np.ptp(y):
                raise
            return None
        if not np.array_equal(rows, X):
            self.remarks[CHANGES_ROWS] = None
        # It predicts with the last row fitted; only the weights of the round before show what it knew.
        return Sighting(**self._expose(model, d))

    def _learn(self, model: Any, state: Any, original: Floats, y: float) -> Any:
        x, row = original.copy(), dict(enumerate(original.tolist()))
        if self.style == "step":
            state = model(state, x, y)
        elif self.style == "one":
            model.learn_one(row, y if self.signed else bool(y > 0))
        else:
            takes = "classes" in inspect.signature(model.partial_fit).parameters
            model.partial_fit(x.reshape(1, -1), np.array([y]), **({"classes": [-1.0, 1.0]} if takes else {}))
        if not np.array_equal(x, original) or row != dict(enumerate(original.tolist())):
            self.remarks[CHANGES_ROWS] = None
        return state

    def _predict(self, model: Any, x: Floats) -> dict[str, Any]:
        if self.style == "step":
            return {}
        if self.style == "one":
            predicted = model.predict_one(dict(enumerate(x.tolist())))
        else:
            predicted = model.predict(x.reshape(1, -1))
        label = np.ravel(predicted).tolist()[0]
        if label not in LABELS:
            raise SubjectError(f"it predicts {shorten(repr(label))} where it must predict -1 or +1")
        found = {} if label is None else {"prediction": 1.0 if label > 0 else -1.0}
        if self.style == "batch" and hasattr(model, "decision_function"):
            found["margin"] = float(np.ravel(model.decision_function(x.reshape(1, -1)))[0])
        return found

    def _expose(self, state: Any, d: int) -> dict[str, Any]:
        found = expose(state, d, self.exposed)
        if "weights" not in found and self.style in ("batch", "fit") and hasattr(state, "decision_function"):
            with contextlib.suppress(Exception):
                scores = np.ravel(state.decision_function(np.vstack((np.zeros(d), np.eye(d)))))
                found["weights"] = scores[1:] - scores[0]
        return found


def check_exposed(subject: ObjectSubject, recordings: Recordings) -> None:
    """Refuse the name of an attribute that no round showed, or agreement would be claimed without it."""
    seen = [each for one in recordings for each in one.sightings if each]
    for quantity, name in subject.exposed.items():
        if seen and all(getattr(each, quantity) is None for each in seen):
            raise UserError(f"{subject.name} has no attribute {show_name(name)}")


class RuleSubject(Subject):
    """A rule or a compiled learner, run in plain NumPy."""

    def __init__(self, definition: Definition, params: Mapping[str, Value]):
        super().__init__(definition.id)
        self.definition, self.params = definition, params

    def watch(self, recording: Recording) -> None:
        for each in make_replica(self.definition, self.params).meet(recording.input):
            recording.sightings.append(Sighting(each.prediction, each.margin, each.weights, each.covariance))


def make_subject(
    factory: Any, params: Mapping[str, Any], name: str = "", exposed: Mapping[str, str] = {}
) -> ObjectSubject:
    """Return the subject of a factory, a class, an object's class or a step function.

    The factory gets the number of features if it has a required argument for it, and the parameters that it
    names.
    """
    name = name or getattr(factory, "__name__", type(factory).__name__)
    name = "the subject" if name == "<lambda>" else name
    if not inspect.isclass(factory) and find_style(factory):
        return ObjectSubject(lambda d: deepcopy(factory), type(factory).__name__, exposed)
    if not callable(factory):
        raise UserError(f"{name} is not a class, a factory or a function step(state, x, y)")
    arguments = list_arguments(factory) or []
    positional = [each for each in arguments if each.kind <= each.POSITIONAL_OR_KEYWORD]
    required = [each.name for each in positional if each.default is each.empty and each.name not in params]
    named = {each.name for each in arguments}.difference(required)
    takes_all = any(each.kind is each.VAR_KEYWORD for each in arguments)
    given = {key: value for key, value in params.items() if takes_all or key in named}
    if len(required) >= 3:
        return ObjectSubject(lambda d: lambda state, x, y: factory(state, x, y, **given), name, exposed)
    if len(required) == 2:
        raise UserError(
            f"{name} needs {', '.join(required)}; a factory takes the number of features, and parameters by "
            "name, which --map changes"
        )
    return ObjectSubject(lambda d: factory(*([d] if required else []), **given), name, exposed)


def list_arguments(factory: Any) -> list[inspect.Parameter] | None:
    """Return the arguments of a function or a class; None if unknown, as for some that are written in C."""
    try:
        return list(inspect.signature(factory).parameters.values())
    except (TypeError, ValueError):
        return None


def load_subject(
    spec: str, params: Mapping[str, Value], renamed: Mapping[str, str], exposed: Mapping[str, str]
) -> ObjectSubject:
    """Return the subject MODULE:OBJECT; `renamed` has its names of parameters, 1/name for an inverse."""
    found, theirs, fixed = load_object(spec), {}, []
    if isinstance(found, Definition):
        if found.factory is None:
            words = f"olbench algorithms --plugin FILE {found.id} --conform-to ID"
            raise UserError(f"{spec} is an algorithm of olbench; `{words}` compares it")
        found = found.factory
    for name, value in params.items():
        called = renamed.get(name, name)
        theirs[name] = (called[2:], 1.0 / float(value)) if called.startswith("1/") else (called, value)
    arguments = list_arguments(found)
    known = [each.name for each in arguments or ()]
    takes_all = arguments is None or any(each.kind is each.VAR_KEYWORD for each in arguments)
    for name, (argument, value) in theirs.items():
        if takes_all or argument in known:
            continue
        has_none = f"it has no argument {show_name(argument)}{suggest(argument, known)}"
        if name in renamed:
            raise UserError(f"{spec}: {has_none}; its arguments are {', '.join(known) or 'none'}")
        fixed.append(
            f"{has_none}, so only the exact learner gets {name} = {short(value)}; choose the value with "
            f"--set {name}=VALUE, or the subject's name for it with --map {name}=NAME"
        )
    subject = make_subject(found, dict(theirs.values()), spec.rpartition(":")[2], exposed)
    subject.remarks |= dict.fromkeys(fixed)
    return subject


def load_object(spec: str) -> Any:
    module, colon, path = spec.partition(":") if not spec.endswith(".py") else (spec, "", "")
    if not colon or not path:
        raise UserError(f"{show_name(spec)} is not of the form MODULE:OBJECT, such as my_learners:AROW")
    try:
        found = _import(module)
    except (UserError, KeyboardInterrupt):
        raise
    except BaseException as error:
        hint = suggest(module, list_modules(Path.cwd())) if isinstance(error, ModuleNotFoundError) else ""
        raise UserError(f"cannot import {show_name(module)}{hint}: {describe_error(error)}") from error
    for name in path.split("."):
        if not hasattr(found, name):
            hint = suggest(name, [each for each in dir(found) if not each.startswith("_")])
            raise UserError(f"{module} has no {show_name(name)}{hint}")
        found = getattr(found, name)
    return found


def list_modules(folder: Path) -> list[str]:
    return [each.stem for each in folder.glob("*.py")]


def _import(module: str) -> Any:
    if not module.endswith(".py"):
        sys.path.insert(0, str(Path.cwd()))
        try:
            return importlib.import_module(module)
        finally:
            sys.path.pop(0)
    file = Path(module)
    if not file.is_file():
        raise UserError(f"there is no file {module}{suggest(file.stem, list_modules(file.parent))}")
    loader, loaded = make_module(file.stem, file)
    loader.exec_module(loaded)
    return loaded
