"""Programs that speak lines as subjects."""

import shlex
import time
from collections.abc import Mapping
from subprocess import DEVNULL, PIPE, Popen
from threading import Timer
from typing import Any

import numpy as np

from olbench.conformance import subjects
from olbench.conformance.subjects import DOUBLE, Recording, Sighting, Subject, SubjectError
from olbench.errors import UserError, count, show_name


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
        d = recording.input.X.shape[1]
        lines = f"start {d} {self.settings}".rstrip() + "\n"
        try:
            process = Popen(self.command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, errors="replace")
        except OSError as error:
            raise UserError(f"cannot start {show_name(self.command[0])}: {error.strerror}") from None
        # A process that hangs is ended from outside, so that reading and writing can wait for it.
        deadline, timer = time.monotonic() + subjects.PATIENCE, Timer(subjects.PATIENCE, process.kill)
        timer.start()
        try:
            for x, y in zip(recording.input.X, recording.input.y, strict=True):
                answer = _ask(process, f"{lines}{y:+.0f} {' '.join(map(repr, x.tolist()))}\n")
                if not answer.endswith("\n"):
                    code = process.wait(subjects.PATIENCE)
                    if time.monotonic() >= deadline:
                        raise SubjectError(f"it does not finish a pass within {subjects.PATIENCE:g} seconds")
                    raise SubjectError(
                        f"the process ends (exit code {code}) before it has answered every line"
                    )
                self.digits = max(self.digits, *map(count_digits, answer.split()), 0)
                recording.sightings.append(read_answer(answer.rstrip("\n"), d))
                lines = ""
        finally:
            timer.cancel()
            process.kill()
            process.communicate()
            # From 16 digits on, the unit of rounding is that of doubles.
            self.unit = max(DOUBLE, 0.5 * 10.0 ** (1 - self.digits)) if 0 < self.digits < 16 else DOUBLE


def _ask(process: Popen[str], lines: str) -> str:
    """Return the answer to some lines, empty if the process has ended."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(lines)
        process.stdin.flush()
    except OSError:
        return ""
    return process.stdout.readline()


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
