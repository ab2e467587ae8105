"""Subjects: implementations from elsewhere, what is seen of them while they learn, and their failures."""

import contextlib
import io
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from olbench.conformance.inputs import Input
from olbench.errors import UserError, describe_error, shorten, show_name
from olbench.learners.examples import Floats

PATIENCE = 20.0
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
    #: The unit of rounding of what was seen.
    unit: float = DOUBLE


Recordings = Sequence[Recording]


class Subject(ABC):
    #: Whether it can start from a given state. Most objects have more state than they show.
    can_start = False
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
        recording, out = Recording(given), io.StringIO()
        if given.start is not None and not self.can_start:
            return recording
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
    """Note the unit of rounding of what was seen: single precision if every weight fits into it."""
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
