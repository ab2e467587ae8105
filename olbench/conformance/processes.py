"""Programs that speak lines as subjects."""

import os
import selectors
import shlex
import subprocess
import time
from collections.abc import Mapping
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
    def __init__(self, process: "subprocess.Popen[bytes]"):
        self.process, self.buffer = process, b""
        self.deadline = time.monotonic() + subjects.PATIENCE
        self.selector = selectors.DefaultSelector()
        assert process.stdout is not None
        self.selector.register(process.stdout, selectors.EVENT_READ)

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(f"{line}\n".encode())
            self.process.stdin.flush()
        except OSError:
            raise SubjectError(self._describe_end()) from None

    def ask(self, line: str) -> str:
        self.say(line)
        assert self.process.stdout is not None
        while b"\n" not in self.buffer:
            if not self.selector.select(max(0.0, self.deadline - time.monotonic())):
                raise SubjectError(f"it does not finish a pass within {subjects.PATIENCE:g} seconds")
            chunk = os.read(self.process.stdout.fileno(), 1 << 16)
            if not chunk:
                raise SubjectError(self._describe_end())
            self.buffer += chunk
        answer, self.buffer = self.buffer.split(b"\n", 1)
        return answer.decode(errors="replace")

    def _describe_end(self) -> str:
        code = self.process.wait(subjects.PATIENCE)
        return f"the process ends (exit code {code}) before it has answered every line"


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


def unit_of(digits: int) -> float:
    """Return the unit of rounding of numbers with so many digits; from 16 on, that of doubles."""
    return DOUBLE if digits == 0 or digits > 15 else max(DOUBLE, 0.5 * 10.0 ** (1 - digits))
