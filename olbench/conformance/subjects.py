"""Subjects: implementations under test, recordings of their passes, and programs that answer line by line."""

import contextlib
import io
import shlex
import subprocess
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from subprocess import DEVNULL, PIPE
from typing import Any

import numpy as np

from olbench.conformance.inputs import Input
from olbench.errors import UserError, count, describe_error, shorten, show_name
from olbench.learners.examples import Floats

#: Seconds for a pass of a program.
PATIENCE = 20.0
SINGLE = float(np.finfo(np.float32).eps) / 2.0
DOUBLE = float(np.finfo(np.float64).eps) / 2.0


class SubjectError(Exception):
    """A subject crashed, exited, hung or answered nonsense."""


@dataclass(frozen=True)
class Sighting:
    """What a subject shows in a round: prediction and margin before it learns, the rest afterwards."""

    prediction: float | None = None
    margin: float | None = None
    weights: Floats | None = None
    covariance: Floats | None = None

    @property
    def is_finite(self) -> bool:
        shown = (self.margin, self.weights, self.covariance)
        return all(bool(np.all(np.isfinite(each))) for each in shown if each is not None)


@dataclass
class Recording:
    input: Input
    sightings: list[Sighting | None] = field(default_factory=list)
    start: Floats | None = None
    failure: str = ""
    #: The unit of rounding of the numbers shown.
    unit: float = DOUBLE


Recordings = Sequence[Recording]


class Subject(ABC):
    #: Larger if it shows fewer digits than a double has.
    unit = DOUBLE

    def __init__(self, name: str):
        self.name = name
        #: Oddities that are not differences, in order: it prints, or changes its input.
        self.remarks: dict[str, None] = {}

    @abstractmethod
    def watch(self, recording: Recording) -> None:
        """Pass over the input of a recording, and append a sighting per round."""

    def record(self, given: Input) -> Recording:
        """Record a pass over an input; a failure of the subject ends it and is recorded too."""
        recording, out = Recording(given), io.StringIO()
        try:
            with (
                contextlib.redirect_stdout(out),
                contextlib.redirect_stderr(io.StringIO()),
                warnings.catch_warnings(action="ignore"),
                np.errstate(all="ignore"),
            ):
                self.watch(recording)
        except (UserError, KeyboardInterrupt):
            raise
        except SubjectError as error:
            recording.failure = str(error)
        except SystemExit as error:
            recording.failure = f"it ends the process (exit code {error.code})"
        except BaseException as error:
            recording.failure = f"it fails with {shorten(describe_error(error), 120)}"
        if out.getvalue().strip():
            first = out.getvalue().strip().splitlines()[0]
            self.remarks[f"it prints while it learns, first {show_name(first)}"] = None
        for t, seen in enumerate(recording.sightings):
            if seen is not None and not seen.is_finite:
                del recording.sightings[t:]
                recording.failure = "what it shows is not a number"
                break
        return recording


def set_unit(subject: Subject, recordings: Recordings) -> None:
    """Find the unit of rounding of what was shown: single precision if every weight fits into it."""
    sightings = [each for one in recordings for each in one.sightings if each]
    seen = [np.ravel(each.weights) for each in sightings if each.weights is not None]
    values = np.concatenate(seen) if seen else np.array([each.margin for each in sightings if each.margin])
    finite = values[np.isfinite(values) & (values != 0)].astype(np.float64)
    with np.errstate(over="ignore"):
        single = finite.size > 8 and bool(np.all(finite.astype(np.float32) == finite))
    # Whole numbers, as a perceptron may have, fit into single precision whatever they were computed in.
    coarse = bool(np.all(finite * 1024 == np.round(finite * 1024)))
    for each in recordings:
        each.unit = max(subject.unit, SINGLE if single and not coarse else 0.0)


class ProcessSubject(Subject):
    """A process that reads `start D NAME=VALUE ...`, then a line `y x1 ... xD` per round, and answers each.

    An answer is the margin before learning and, if the process shows them, the D weights after it and the D
    times D covariance.
    """

    def __init__(self, command: str, params: Mapping[str, Any]):
        super().__init__(command)
        try:
            self.command = shlex.split(command)
        except ValueError as error:
            raise UserError(f"cannot read the command {show_name(command)}: {error}") from None
        if not self.command:
            raise UserError("the command is empty; it names a program, such as --command ./arow")
        self.settings = " ".join(f"{name}={value}" for name, value in params.items())
        self.digits = 0

    def watch(self, recording: Recording) -> None:
        X, d = recording.input.X, recording.input.X.shape[1]
        lines = [f"start {d} {self.settings}".rstrip()]
        for x, y in zip(X.tolist(), recording.input.y, strict=True):
            lines.append(f"{y:+.0f} {' '.join(map(repr, x))}")
        answers, failure = self._run("\n".join([*lines, ""]))
        # What follows the last line break is not a whole answer.
        for answer in answers.split("\n")[:-1][: len(X)]:
            self.digits = max(self.digits, *map(count_digits, answer.split()), 0)
            # From 16 digits on, the unit of rounding is that of doubles.
            self.unit = max(DOUBLE, 0.5 * 10.0 ** (1 - self.digits)) if 0 < self.digits < 16 else DOUBLE
            recording.sightings.append(read_answer(answer, d))
        if len(recording.sightings) < len(X):
            raise SubjectError(failure)

    def _run(self, lines: str) -> tuple[str, str]:
        """Return the answers to the lines, and the reason if some are missing."""
        sent = lines.encode()
        try:
            done = subprocess.run(self.command, input=sent, stdout=PIPE, stderr=DEVNULL, timeout=PATIENCE)
            reason = f"the process ends (exit code {done.returncode}) before it has answered every line"
            answers = done.stdout
        except OSError as error:
            raise UserError(f"cannot start {show_name(self.command[0])}: {error.strerror}") from None
        except subprocess.TimeoutExpired as expired:
            reason = f"it does not finish a pass within {PATIENCE:g} seconds"
            answers = expired.stdout or b""
        return answers.decode(errors="replace"), reason


def read_answer(answer: str, d: int) -> Sighting:
    """Return what an answer shows: a margin, d weights, d times d covariances; each may end it."""
    try:
        numbers = np.array([float(word) for word in answer.split()])
    except ValueError:
        raise SubjectError(f"it answers {show_name(answer)}, where numbers should be") from None
    if numbers.size not in (1, 1 + d, 1 + d + d * d):
        raise SubjectError(
            f"it answers {count(numbers.size, 'number')}; expected the margin, then the weights ("
            f"{d}), then the covariances ({d * d}), or fewer of these"
        )
    return Sighting(
        margin=float(numbers[0]),
        weights=numbers[1 : 1 + d] if numbers.size > d else None,
        covariance=numbers[1 + d :].reshape(d, d) if numbers.size > 1 + d else None,
    )


def count_digits(number: str) -> int:
    return len(number.lower().partition("e")[0].replace(".", "").lstrip("+-0"))
