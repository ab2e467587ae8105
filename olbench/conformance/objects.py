"""Python objects, functions step(state, x, y) and rules as subjects.

An object has predict_one and learn_one (River), predict and partial_fit (scikit-learn), or predict and fit.
"""

import contextlib
import inspect
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

import numpy as np

from olbench.algorithms.definition import Definition, Value
from olbench.conformance.replica import Replica
from olbench.conformance.subjects import Recording, Sighting, Subject
from olbench.errors import UserError, count, show_name
from olbench.learners.examples import Floats

NAMES = {
    "weights": (
        "coef_", "weights", "w", "mu", "mean", "w_", "mu_", "weights_", "mean_", "_w", "_mu", "_weights",
        "_mean", "weight", "theta", "coef",
    ),
    "covariance": (
        "covariance", "Sigma", "sigma", "S", "cov", "covariance_", "Sigma_", "sigma_", "cov_", "_sigma",
        "_Sigma", "_cov", "_covariance", "_S",
    ),
    "bias": ("intercept_", "intercept", "bias", "b_", "_bias", "_intercept", "bias_"),
}  # fmt: skip
EPOCHS = ("epochs", "n_epochs", "max_iter", "n_iter", "num_iterations", "n_iterations")
#: Up to this round a learner that can only fit from scratch is watched in every round, then ever more rarely.
EVERY_ROUND = 24


def expose(holder: Any, d: int, exposed: Mapping[str, str], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the weights, covariance and bias that a state shows, by the given names or by the usual ones."""
    found: dict[str, Any] = {}
    for quantity, usual in NAMES.items():
        given = exposed.get(quantity)
        for name in (given,) if given else usual:
            value = fields.get(name) if name in fields else getattr(holder, name, None)
            array = _as_array(value, d, quantity)
            if array is not None:
                found[quantity] = array
                break
        if given and quantity not in found and value is not None:
            raise UserError(f"{show_name(given)} is no {quantity} of {count(d, 'feature')}")
    if "weights" not in found and "weights" not in exposed:
        arrays = [value for value in fields.values() if isinstance(value, np.ndarray) and value.shape == (d,)]
        known = [each for each in (_as_array(value, d, "weights") for value in arrays) if each is not None]
        if len(known) == 1:
            found["weights"] = known[0]
    return found


def _as_array(value: Any, d: int, quantity: str) -> Any:
    """Return a value as d weights, as d or d times d covariances, or as a number; None if it is none."""
    if value is None or callable(value) or isinstance(value, str | bytes | bool):
        return None
    if isinstance(value, Mapping):
        if quantity == "bias" or not all(isinstance(key, int) and 0 <= key < d for key in value):
            return None
        if quantity == "covariance":
            return None
        dense = np.zeros(d)
        for key, entry in value.items():
            dense[key] = entry
        return dense
    try:
        array = np.asarray(value.todense() if hasattr(value, "todense") else value)
    except Exception:
        return None
    if array.dtype.kind not in "fiu" or array.size == 0:
        return None
    if quantity == "bias":
        return float(array.ravel()[0]) if array.size == 1 else None
    if quantity == "weights":
        return array.ravel().copy() if array.size == d and (d > 1 or array.ndim > 0) else None
    if array.shape in ((d, d), (d,), (1, d), (d, 1)):
        return array.reshape(d, d).copy() if array.size == d * d and d > 1 else array.ravel().copy()
    return None


class ObjectSubject(Subject):
    def __init__(
        self, make: Callable[[int], Any], name: str, exposed: Mapping[str, str] = {}, signed: bool = False
    ):
        super().__init__(name)
        self.make, self.exposed = make, exposed
        #: Whether learn_one gets -1 and +1; River's learners get False and True.
        self.signed = signed
        self.style = ""

    def watch(self, recording: Recording) -> None:
        """Meet the rows one by one; a learner that can only fit is fitted anew to ever more rows."""
        X, y, d = recording.input.X, recording.input.y, recording.input.X.shape[1]
        model = self.make(d)
        self.style = find_way(model, self.name)
        if self.style == "fit":
            self._watch_fits(recording)
            return
        self.can_start = self.style == "step"
        state = None if self.style == "step" else model
        if recording.input.start is not None:
            state = _place(model(None, X[0].copy(), y[0]), *recording.input.start)
            if state is None:
                return
        if self.style != "step":
            recording.start = self._expose(state, d).get("weights")
        for t in range(len(y)):
            before = self._predict(state, X[t]) if t else {}
            state = self._learn(model, state, X[t].copy(), y[t], X[t])
            recording.sightings.append(self._see(state, d, before))

    def _watch_fits(self, recording: Recording) -> None:
        X, y, d = recording.input.X, recording.input.y, recording.input.X.shape[1]
        for n in range(1, len(y) + 1):
            if n > EVERY_ROUND and n & (n - 1) and n < len(y):
                recording.sightings.append(None)
                continue
            model = self.make(d)
            for name in EPOCHS:
                if type(getattr(model, name, None)) is int:
                    setattr(model, name, 1)
            rows = X[:n].copy()
            try:
                model.fit(rows, y[:n].copy())
            except ValueError:
                # Some learners refuse to fit a single class, which is no failure of the algorithm.
                if np.ptp(y[:n]):
                    raise
                recording.sightings.append(None)
                continue
            self._note_change(rows, X[:n])
            # A prediction would come after the fit; what it was before, only the weights tell.
            recording.sightings.append(self._see(model, d, {}))

    def _learn(self, model: Any, state: Any, x: Floats, y: float, original: Floats) -> Any:
        if self.style == "step":
            state = model(state, x, y)
        elif self.style == "one":
            row = dict(enumerate(x.tolist()))
            kept = dict(row)
            model.learn_one(row, y if self.signed else bool(y > 0))
            x = x if row == kept else x + 1.0
        else:
            rows = x.reshape(1, -1)
            takes = "classes" in inspect.signature(model.partial_fit).parameters
            model.partial_fit(rows, np.array([y]), **({"classes": [-1.0, 1.0]} if takes else {}))
        self._note_change(x, original)
        return state

    def _note_change(self, x: Floats, original: Floats) -> None:
        if not np.array_equal(x, original):
            self.remarks["it changes the rows that it is given"] = None

    def _predict(self, model: Any, x: Floats) -> dict[str, Any]:
        if self.style == "step":
            return {}
        if self.style == "one":
            label = model.predict_one(dict(enumerate(x.tolist())))
            return {} if label is None else {"prediction": 1.0 if label > 0 else -1.0}
        found = {"prediction": 1.0 if np.ravel(model.predict(x.reshape(1, -1)))[0] > 0 else -1.0}
        if hasattr(model, "decision_function"):
            found["margin"] = float(np.ravel(model.decision_function(x.reshape(1, -1)))[0])
        return found

    def _see(self, state: Any, d: int, before: dict[str, Any]) -> Sighting:
        return Sighting(**before, **self._expose(state, d))

    def _expose(self, state: Any, d: int) -> dict[str, Any]:
        found = expose(state, d, self.exposed, _read_fields(state, d))
        if "weights" not in found and self.style in ("batch", "fit") and hasattr(state, "decision_function"):
            with contextlib.suppress(Exception):
                scores = np.ravel(state.decision_function(np.vstack((np.zeros(d), np.eye(d)))))
                found |= {"weights": scores[1:] - scores[0], "bias": float(scores[0])}
        return found


WAYS = {"one": ("predict_one", "learn_one"), "batch": ("predict", "partial_fit"), "fit": ("predict", "fit")}


def _has_methods(model: Any) -> str:
    ways = (
        way for way, methods in WAYS.items() if all(callable(getattr(model, each, None)) for each in methods)
    )
    return next(ways, "")


def find_way(model: Any, name: str) -> str:
    way = _has_methods(model) or ("step" if callable(model) else "")
    if way:
        return way
    raise UserError(
        f"{name}: a subject needs predict_one and learn_one, predict and partial_fit, or predict and fit; or "
        "it is a function step(state, x, y) that returns the state"
    )


def _read_fields(state: Any, d: int) -> Mapping[str, Any]:
    """Return what a state consists of, by name; of a tuple, the first vector is the weights."""
    if isinstance(state, Mapping):
        if state and all(isinstance(key, int) for key in state):
            return {"weights": state}
        return {str(key): value for key, value in state.items()}
    if isinstance(state, np.ndarray):
        return {"weights": state}
    if isinstance(state, tuple | list):
        arrays = [np.asarray(each) for each in state]
        vectors = [each for each in arrays if each.shape == (d,)]
        squares = [each for each in arrays if each.shape == (d, d)]
        return dict(zip(("weights", "covariance"), [*vectors[:1], *squares, *vectors[1:]], strict=False))
    return getattr(state, "__dict__", {})


def _place(template: Any, mu: Floats, sigma: Floats) -> Any:
    d = mu.size
    if isinstance(template, np.ndarray):
        return mu.copy() if template.shape == (d,) else None
    entries = template if isinstance(template, dict) else dict(enumerate(template))
    placed = {name: _replace_array(value, mu, sigma) for name, value in entries.items()}
    arrays = [np.ndim(value) for value in placed.values() if value is not None]
    if sorted(arrays) not in ([1], [1, 2]) or len(arrays) < len(placed):
        return None
    return placed if isinstance(template, dict) else type(template)(placed.values())


def _replace_array(value: Any, mu: Floats, sigma: Floats) -> Floats | None:
    shape = np.shape(value)
    return mu.copy() if shape == mu.shape else sigma.copy() if shape == sigma.shape else None


class RuleSubject(Subject):
    """A rule of one's own, of first or second order, run in plain NumPy."""

    can_start = True

    def __init__(self, definition: Definition, params: Mapping[str, Value]):
        super().__init__(definition.id)
        self.definition, self.params = definition, params

    def watch(self, recording: Recording) -> None:
        for each in Replica(self.definition, self.params).meet(recording.input):
            seen = Sighting(each.prediction, each.margin, each.weights, each.covariance)
            recording.sightings.append(seen)


def make_subject(
    factory: Any, params: Mapping[str, Any], name: str = "", exposed: Mapping[str, str] = {}
) -> ObjectSubject:
    """Return the subject of a factory, a class, an object's class or a step function.

    The factory gets the number of features if it has a required argument for it, and the parameters that it
    names.
    """
    name = name or getattr(factory, "__name__", type(factory).__name__)
    name = "the subject" if name == "<lambda>" else name
    if not inspect.isclass(factory) and _has_methods(factory):
        name = type(factory).__name__
        return ObjectSubject(lambda d: deepcopy(factory), name, exposed)
    if not callable(factory):
        raise UserError(f"{name} is no class, no factory and no function step(state, x, y)")
    try:
        parameters = list(inspect.signature(factory).parameters.values())
    except (TypeError, ValueError):
        return ObjectSubject(lambda d: factory(), name, exposed)
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required = [
        each
        for each in parameters
        if each.kind in positional and each.default is each.empty and each.name not in params
    ]
    if len(required) >= 3:
        known = {each.name for each in parameters}
        fixed = {key: value for key, value in params.items() if key in known}
        return ObjectSubject(lambda d: lambda state, x, y: factory(state, x, y, **fixed), name, exposed)
    takes_all = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters)
    named = {each.name for each in parameters} - {each.name for each in required}
    given = {key: value for key, value in params.items() if takes_all or key in named}
    if len(required) > 1:
        raise UserError(
            f"{name} needs {', '.join(each.name for each in required)}; a factory takes the number of "
            "features and parameters"
        )
    return ObjectSubject(lambda d: factory(*([d] if required else []), **given), name, exposed)
