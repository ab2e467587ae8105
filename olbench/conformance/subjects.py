"""Subjects: implementations from elsewhere, and how they are watched while they learn.

A subject is an object with predict_one and learn_one, with predict and partial_fit, or with fit and predict;
a function step(state, x, y) -> state; a process that speaks lines; or a file of rounds recorded elsewhere.
"""

import contextlib
import inspect
import io
import os
import selectors
import shlex
import signal
import subprocess
import threading
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from olbench.algorithms.definition import Definition, Value
from olbench.algorithms.plugins import forbid_exit
from olbench.conformance.inputs import Input
from olbench.conformance.replica import Replica
from olbench.errors import UserError, describe_error, shorten, show_name
from olbench.learn.examples import Floats

#: Seconds that a pass over one input may take.
PATIENCE = 20.0
#: Names under which implementations keep their state; the first that fits is taken.
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
SINGLE = float(np.finfo(np.float32).eps) / 2.0
DOUBLE = float(np.finfo(np.float64).eps) / 2.0


class SubjectError(Exception):
    """A subject crashed, exited, hung or answered nonsense; the message is one sentence."""


@dataclass(frozen=True)
class Sighting:
    """What is seen of a subject in a round: prediction and margin before it learns, the rest afterwards."""

    prediction: float | None = None
    margin: float | None = None
    weights: Floats | None = None
    covariance: Floats | None = None
    bias: float | None = None

    @property
    def is_finite(self) -> bool:
        """Whether everything that is seen is a number."""
        shown = (self.margin, self.weights, self.covariance, self.bias)
        return all(bool(np.all(np.isfinite(each))) for each in shown if each is not None)


@dataclass
class Recording:
    """A pass of a subject over an input, round by round; None where nothing was seen."""

    input: Input
    sightings: list[Sighting | None] = field(default_factory=list)
    #: The weights before the first round, where they can be seen.
    start: Floats | None = None
    #: Why the pass ended early, in one sentence.
    failure: str = ""


class Subject(ABC):
    """An implementation that can be watched."""

    #: Whether it can be given other inputs, to find the smallest on which it differs.
    is_live = True
    #: The unit of rounding of what it shows; larger if it shows fewer digits than a double has.
    unit = DOUBLE

    def __init__(self, name: str):
        self.name = name
        #: What is odd about it but no difference: it prints, or changes its input.
        self.remarks: dict[str, None] = {}

    @abstractmethod
    def watch(self, recording: Recording) -> None:
        """Pass over the input of a recording, and add what is seen."""

    def record(self, given: Input) -> Recording:
        """Return a pass over an input; a failure of the subject ends it and is part of it."""
        recording = Recording(given)
        try:
            with _guard(self.remarks):
                self.watch(recording)
        except SubjectError as error:
            recording.failure = str(error)
        for t, seen in enumerate(recording.sightings):
            if seen is not None and not seen.is_finite:
                del recording.sightings[t:]
                recording.failure = "what it shows is not a number"
                break
        return recording

    def inputs(self, wanted: Sequence[Input]) -> Sequence[Input]:
        """Return the inputs that it is compared on."""
        return wanted


class _TimeoutError(BaseException):
    """The time for a pass is over; nobody catches it by accident."""


@contextmanager
def _guard(remarks: dict[str, None]) -> Iterator[None]:
    """Turn everything that foreign code may do into one sentence."""
    out = io.StringIO()
    try:
        with (
            contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()), forbid_exit(),
            warnings.catch_warnings(), np.errstate(all="ignore"), _limit_time(),
        ):  # fmt: skip
            warnings.simplefilter("ignore")
            yield
    except (SubjectError, UserError, KeyboardInterrupt):
        raise
    except _TimeoutError:
        raise SubjectError(f"it does not finish a pass within {PATIENCE:g} seconds") from None
    except SystemExit as error:
        raise SubjectError(f"it ends the process (exit code {error.code})") from None
    except BaseException as error:
        raise SubjectError(f"it fails with {shorten(describe_error(error), 120)}") from error
    finally:
        if out.getvalue().strip():
            first = out.getvalue().strip().splitlines()[0]
            remarks[f"it prints while it learns, first {show_name(first)}"] = None


@contextmanager
def _limit_time() -> Iterator[None]:
    """Interrupt a pass that takes too long; only the main thread can be interrupted."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise _TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


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
            raise UserError(f"{show_name(given)} is no {quantity} of {d} features")
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
    """A Python object that learns, from a function of the number of features."""

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
        state = None if self.style == "step" else model
        recording.start = self._expose(state, d).get("weights") if state is not None else None
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
            model.fit(rows, y[:n].copy())
            self._note_change(rows, X[:n])
            # A prediction would come after the fit; what it was before, only the weights tell.
            recording.sightings.append(self._see(model, d, {}))

    def _learn(self, model: Any, state: Any, x: Floats, y: float, original: Floats) -> Any:
        if self.style == "step":
            state = model(state, x, y)
        elif self.style == "one":
            row = {j: float(x[j]) for j in np.flatnonzero(x).tolist()}
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
        """Return the prediction and, if the object tells it, the margin."""
        if self.style == "step":
            return {}
        if self.style == "one":
            label = model.predict_one({j: float(x[j]) for j in np.flatnonzero(x).tolist()})
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


#: How an object learns, by the methods that it has.
WAYS = {"one": ("predict_one", "learn_one"), "batch": ("predict", "partial_fit"), "fit": ("predict", "fit")}


def _has_methods(model: Any) -> str:
    """Return how an object learns, or an empty text."""
    ways = (
        way for way, methods in WAYS.items() if all(callable(getattr(model, each, None)) for each in methods)
    )
    return next(ways, "")


def find_way(model: Any, name: str) -> str:
    """Return how an object learns: one, batch, fit or step."""
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
        arrays = [np.asarray(each) for each in state if np.size(each) in (d, d * d)]
        vectors = [each for each in arrays if each.ndim == 1 and each.size == d]
        squares = [each for each in arrays if each.shape == (d, d)]
        return {
            **({"weights": vectors[0]} if vectors else {}),
            **(
                {"covariance": squares[0]}
                if squares
                else {"covariance": vectors[1]}
                if len(vectors) > 1
                else {}
            ),
        }
    return getattr(state, "__dict__", {})


class RuleSubject(Subject):
    """A rule of one's own, of first or second order, run in plain NumPy."""

    def __init__(self, definition: Definition, params: Mapping[str, Value]):
        super().__init__(definition.id)
        self.definition, self.params = definition, params

    def watch(self, recording: Recording) -> None:
        """Run the rule along the rows."""
        replica = Replica(self.definition, self.params)
        for x, y in zip(recording.input.X, recording.input.y, strict=True):
            found = replica.learn(x, float(y))
            recording.sightings.append(
                Sighting(found.prediction, found.margin, found.weights, found.covariance)
            )


class ProcessSubject(Subject):
    """A process that reads `start D NAME=VALUE ...`, then a line `y x1 ... xD` per round, and answers each.

    An answer is the margin before learning and, if the process shows them, the D weights after it and the D
    times D covariance.
    """

    def __init__(self, command: str, params: Mapping[str, Any]):
        super().__init__(command)
        self.command = shlex.split(command)
        self.settings = " ".join(f"{name}={value}" for name, value in params.items())
        self.digits = 0

    def watch(self, recording: Recording) -> None:
        """Start the process, and give it one row after another."""
        X, y, d = recording.input.X, recording.input.y, recording.input.X.shape[1]
        try:
            process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        except OSError as error:
            raise UserError(f"cannot start {show_name(self.command[0])}: {error.strerror}") from None
        try:
            talk = _Talk(process)
            talk.say(f"start {d} {self.settings}".rstrip())
            for x, label in zip(X, y, strict=True):
                answer = talk.ask(f"{label:+.0f} {' '.join(map(repr, x.tolist()))}")
                self.digits = max(self.digits, *map(count_digits, answer.split()), 0)
                recording.sightings.append(read_answer(answer, d))
        finally:
            process.kill()
            process.communicate()
            self.unit = unit_of(self.digits)


class _Talk:
    """Lines to and from a process, with a limit on the time that an answer takes."""

    def __init__(self, process: "subprocess.Popen[bytes]"):
        self.process, self.buffer = process, b""
        self.deadline = time.monotonic() + PATIENCE
        self.selector = selectors.DefaultSelector()
        assert process.stdout is not None
        self.selector.register(process.stdout, selectors.EVENT_READ)

    def say(self, line: str) -> None:
        """Send a line."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(f"{line}\n".encode())
            self.process.stdin.flush()
        except OSError:
            raise SubjectError(self._describe_end()) from None

    def ask(self, line: str) -> str:
        """Send a line and return the answer."""
        self.say(line)
        assert self.process.stdout is not None
        while b"\n" not in self.buffer:
            if not self.selector.select(max(0.0, self.deadline - time.monotonic())):
                raise SubjectError(f"it does not finish a pass within {PATIENCE:g} seconds")
            chunk = os.read(self.process.stdout.fileno(), 1 << 16)
            if not chunk:
                raise SubjectError(self._describe_end())
            self.buffer += chunk
        answer, self.buffer = self.buffer.split(b"\n", 1)
        return answer.decode(errors="replace")

    def _describe_end(self) -> str:
        code = self.process.wait(PATIENCE)
        return f"the process ends (exit code {code}) before it has answered every line"


class RecordedSubject(Subject):
    """Rounds recorded elsewhere: lines `y x1 ... xD | margin w1 ... wD`, and `start` before each pass."""

    is_live = False

    def __init__(self, path: str | Path):
        super().__init__(str(path))
        self.recordings = list(_read_recordings(Path(path)))
        numbers = [number for line in _read_lines(Path(path)) for number in line.partition("|")[2].split()]
        self.unit = unit_of(max(map(count_digits, numbers), default=0))

    def inputs(self, wanted: Sequence[Input]) -> Sequence[Input]:
        """Return the inputs that were recorded."""
        return [recording.input for recording in self.recordings]

    def watch(self, recording: Recording) -> None:
        """Look up what was recorded."""
        known = next(each for each in self.recordings if each.input is recording.input)
        recording.sightings = known.sightings


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {path}: {describe_error(error)}") from None


def _read_recordings(path: Path) -> Iterator[Recording]:
    passes: list[list[tuple[int, str]]] = [[]]
    for number, line in enumerate(_read_lines(path), start=1):
        if line.split()[:1] == ["start"]:
            passes.append([])
        elif line.strip() and not line.startswith("#"):
            passes[-1].append((number, line))
    for k, lines in enumerate(filter(None, passes), start=1):
        rows, sightings = [], []
        for number, line in lines:
            row, bar, answer = line.partition("|")
            try:
                values = [float(word) for word in row.split()]
                if not bar or values[0] not in (-1.0, 1.0) or len(values) < 2:
                    raise ValueError
                sightings.append(read_answer(answer, len(values) - 1))
            except (ValueError, IndexError, SubjectError):
                raise UserError(
                    f"{path}:{number}: a round must be `y x1 ... xD | margin w1 ... wD`, with y -1 or +1"
                ) from None
            rows.append(values)
            if len(values) != len(rows[0]):
                raise UserError(
                    f"{path}:{number}: this round has {len(values) - 1} features, "
                    f"the first {len(rows[0]) - 1}"
                )
        table = np.array(rows)
        given = Input(f"recorded pass {k}", "rounds recorded elsewhere", table[:, 1:], table[:, 0])
        yield Recording(given, list(sightings))
    if not any(passes):
        raise UserError(f"{path} has no rounds")


def read_answer(answer: str, d: int) -> Sighting:
    """Return what an answer shows: a margin, d weights, d times d covariances; each may end it."""
    try:
        numbers = np.array([float(word) for word in answer.split()])
    except ValueError:
        raise SubjectError(f"it answers {show_name(answer)}, where numbers should be") from None
    if numbers.size not in (1, 1 + d, 1 + d + d * d):
        raise SubjectError(
            f"it answers {numbers.size} numbers; they must be the margin, then {d} weights, then {d * d} "
            "covariances, or fewer of these"
        )
    return Sighting(
        margin=float(numbers[0]),
        weights=numbers[1 : 1 + d] if numbers.size > d else None,
        covariance=numbers[1 + d :].reshape(d, d) if numbers.size > 1 + d else None,
    )


def count_digits(number: str) -> int:
    """Return how many significant digits a printed number has."""
    return len(number.lower().partition("e")[0].replace(".", "").lstrip("+-0"))


def unit_of(digits: int) -> float:
    """Return the unit of rounding of numbers with so many digits; from 16 on, that of doubles."""
    return DOUBLE if digits == 0 or digits > 15 else max(DOUBLE, 0.5 * 10.0 ** (1 - digits))


def find_unit(subject: Subject, recordings: Sequence[Recording]) -> float:
    """Return the unit of rounding of what was seen: single precision if every weight fits into it."""
    seen = [each.weights for one in recordings for each in one.sightings if each and each.weights is not None]
    margins = [each.margin for one in recordings for each in one.sightings if each and each.margin]
    values = np.concatenate([np.ravel(each) for each in seen]) if seen else np.array(margins)
    finite = values[np.isfinite(values) & (values != 0)].astype(np.float64) if values.size else values
    with np.errstate(over="ignore"):
        single = finite.size > 8 and bool(np.all(finite.astype(np.float32) == finite))
    # Whole numbers, as a perceptron may have, fit into single precision whatever they were computed in.
    coarse = np.all(finite * 1024 == np.round(finite * 1024)) if single else True
    return max(subject.unit, SINGLE if single and not coarse else 0.0)


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
