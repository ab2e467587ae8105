"""The smallest example on which a subject and its algorithm differ, and where in the round they do."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from olbench.conformance.comparison import SIGMA, Divergence, compare, covariance_difference
from olbench.conformance.inputs import Input
from olbench.conformance.search import Candidate
from olbench.conformance.subjects import Recording, Recordings, Sighting, Subject
from olbench.learners.examples import Floats

TRIES, SECONDS = 400, 10.0
PLACES = {
    "start": "in the weights before the first round",
    "trigger": "in when it updates",
    "step": "in the size of the step on the weights",
    "direction": "in the direction of the step on the weights",
    "covariance": "in the update of Sigma",
    "margin": "in the margin, though the weights before it agree",
    "prediction": "in the prediction, though the margin is clear",
    "state": "in its state before this round (it does not show its weights)",
}


@dataclass(frozen=True)
class SmallestExample:
    """Rounds with the values shown and expected; they differ in the last one, at `place`."""

    input: Input
    place: str
    rows: tuple[dict[str, Any], ...]


def find_example(
    subject: Subject, target: Candidate, first: Divergence, recordings: Recordings
) -> SmallestExample:
    recording = next(each for each in recordings if each.input is first.input)
    shown = _show_rounds(target, first, recording)

    def watch(smaller: Input) -> SmallestExample | None:
        seen = replace(subject.record(smaller), unit=recording.unit)
        found = compare(target.make, [seen]).divergence
        return None if found is None else _show_rounds(target, found, seen)

    def differs(smaller: Input) -> bool:
        found = watch(smaller)
        return found is not None and found.place == shown.place

    if differs(shown.input):
        return watch(shrink(shown.input, differs)) or shown
    return shown


def shrink(given: Input, differs: Callable[[Input], bool]) -> Input:
    """Drop rows, columns and digits of an input as long as the difference stays."""
    tries, deadline = 0, time.monotonic() + SECONDS

    def accepts(smaller: Input) -> bool:
        nonlocal tries
        tries += 1
        return tries <= TRIES and time.monotonic() <= deadline and differs(smaller)

    for _ in range(2):
        size = max(1, len(given.y) // 2)
        while size:
            given = _drop(given, 0, size, accepts)
            size //= 2
        given = _round_numbers(_drop(given, 1, 1, accepts), accepts)
    return given


def _drop(given: Input, axis: int, size: int, accepts: Callable[[Input], bool]) -> Input:
    begin = 0
    while begin < given.X.shape[axis] and given.X.shape[axis] > 1:
        kept = [i for i in range(given.X.shape[axis]) if not begin <= i < begin + size]
        smaller = given.keep(kept) if axis == 0 else given.keep(slice(None), kept)
        if kept and accepts(smaller):
            given = smaller
        else:
            begin += size
    return given


def _round_numbers(given: Input, accepts: Callable[[Input], bool]) -> Input:
    for i, j in np.ndindex(*given.X.shape):
        value = given.X[i, j]
        for simple in (0.0, float(np.sign(value)), float(np.round(value)), float(np.round(value, 1))):
            if simple == value:
                break
            smaller = replace(given, X=given.X.copy())
            smaller.X[i, j] = simple
            if accepts(smaller):
                given = smaller
                break
    return given


def _show_rounds(target: Candidate, first: Divergence, recording: Recording) -> SmallestExample:
    given, order = recording.input.keep(slice(max(1, first.round))), target.definition.order
    d = given.X.shape[1]
    before: Floats | None = np.zeros(d)
    sigma: Floats | None = np.eye(d)
    change, rows = None, []
    rounds = zip(given.X, given.y, recording.sightings, target.make().meet(given), strict=False)
    for x, y, sighting, found in rounds:
        seen = sighting or Sighting()
        change = None
        if before is not None and seen.weights is not None:
            change = np.asarray(seen.weights, np.float64) - before
        z = x if sigma is None or order == "first" else sigma @ x
        step = None if change is None or target.definition.averaged else _imply_step(change, z, y)
        alpha = None if order == "compiled" else found.step.alpha
        row: dict[str, Any] = {"x": x, "y": float(y), "variance": {"expected": found.variance}}
        row["step"] = {"seen": step, "expected": alpha}
        for name in ("margin", "prediction", "weights", "covariance"):
            row[name] = {"seen": getattr(seen, name), "expected": getattr(found, name)}
        rows.append(row)
        before, sigma = seen.weights, found.covariance
    place = _find_place(order, first.quantity, rows, change) if first.round else "start"
    return SmallestExample(given, place, tuple(rows))


def _imply_step(change: Floats, z: Floats, y: float) -> float | None:
    """Return the alpha that a change of the weights shows, if it is along the direction of the algorithm."""
    size = float(z @ z)
    return float(y * (change @ z)) / size if size and _is_parallel(change, z) else None


def _is_parallel(a: Floats, b: Floats) -> bool:
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    return lengths == 0.0 or abs(abs(float(a @ b)) / lengths - 1.0) < 1e-7


def _find_place(order: str, quantity: str, rows: Sequence[dict[str, Any]], change: Floats | None) -> str:
    *earlier, last = rows
    for row in earlier:
        seen, expected = row["covariance"]["seen"], row["covariance"]["expected"]
        if seen is not None and expected is not None and covariance_difference(seen, expected) > SIGMA:
            return "covariance"
    if quantity in ("margin", "prediction"):
        return quantity if not earlier or earlier[-1]["weights"]["seen"] is not None else "state"
    if change is None:
        return "state"
    before = earlier[-1]["weights"]["expected"] if earlier else 0.0
    wanted = (last["weights"]["expected"] - before)[: change.size]
    if np.any(change != 0.0) != np.any(wanted != 0.0):
        return "trigger"
    if _is_parallel(change, wanted):
        return "step"
    is_later = order == "second" and bool(earlier)
    return "covariance" if is_later and not _is_parallel(change, last["x"]) else "direction"
