"""The smallest example on which a subject and its algorithm differ, and where in the round they do."""

import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from olbench.conformance.comparison import SIGMA, Divergence, compare, covariance_difference
from olbench.conformance.inputs import Input
from olbench.conformance.replica import Replica
from olbench.conformance.search import Candidate
from olbench.conformance.subjects import Recording, Sighting, Subject

TRIES, SECONDS = 400, 10.0
PLACES = {
    "start": "in the weights before the first round",
    "trigger": "in when it updates",
    "step": "in the size of the step on the weights",
    "direction": "in the direction of the step on the weights",
    "covariance": "in the update of Sigma",
    "margin": "in the margin, though the weights before it agree",
    "prediction": "in the prediction, though the margin is clear",
    "state": "in what was learnt before this round (the weights are not shown)",
}


@dataclass(frozen=True)
class SmallestExample:
    """Rounds with what was seen and what is expected; they differ in the last one, at `place`."""

    input: Input
    place: str
    rows: tuple[dict[str, Any], ...]


def find_example(
    subject: Subject, target: Candidate, first: Divergence, recordings: Sequence[Recording], unit: float
) -> SmallestExample:
    recording = next(each for each in recordings if each.input is first.input)
    shown = _show_rounds(target, first, recording)

    def watch(smaller: Input) -> SmallestExample | None:
        seen = subject.record(smaller)
        found = compare(target.make, [seen], unit).divergence
        return None if found is None else _show_rounds(target, found, seen)

    def differs(smaller: Input) -> bool:
        found = watch(smaller)
        return found is not None and found.place == shown.place

    if differs(shown.input):
        return watch(shrink(shown.input, differs)) or shown
    return shown


def shrink(given: Input, differs: Callable[[Input], bool]) -> Input:
    """Return what is left of an input without rows, columns and digits that it can do without."""
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
    length = max(1, first.round)
    given = recording.input.keep(slice(length))
    recording = Recording(given, recording.sightings[:length], recording.start)
    replica, rows = target.make(), []
    replica.given = given.start
    for t, sighting in enumerate(recording.sightings):
        x, y = recording.input.X[t], float(recording.input.y[t])
        before = copy(replica)
        found = replica.learn(x, y)
        seen = sighting or Sighting()
        rows.append(
            {
                "x": x,
                "y": y,
                "margin": {"seen": seen.margin, "expected": found.margin},
                "prediction": {"seen": seen.prediction, "expected": found.prediction},
                "variance": {"expected": found.variance},
                "step": {"seen": _implied_step(before, recording, t, y), "expected": found.step.alpha},
                "weights": {"seen": seen.weights, "expected": found.weights},
                "covariance": {"seen": seen.covariance, "expected": found.covariance},
            }
        )
    place = _find_place(target, first, recording, rows)
    return SmallestExample(recording.input, place, tuple(rows))


def _change_seen(recording: Recording, t: int) -> Any:
    """Return by how much the weights that were seen changed in a round; None if that is not known."""
    start = recording.input.start[0] if recording.input.start else np.zeros(recording.input.X.shape[1])
    before = recording.sightings[t - 1] if t else Sighting(weights=start)
    after = recording.sightings[t]
    if before is None or after is None or before.weights is None or after.weights is None:
        return None
    return np.asarray(after.weights, np.float64) - before.weights


def _implied_step(before: Replica, recording: Recording, t: int, y: float) -> float | None:
    """Return the alpha that the weights show, if they moved along the direction of the algorithm."""
    change = _change_seen(recording, t)
    if change is None or before.definition.averaged:
        return None
    x = recording.input.X[t]
    sigma = before.sigma if before.t else before.given[1] if before.given else np.eye(x.size)
    z = sigma @ x if before.definition.order == "second" else x
    size = float(z @ z)
    if not size or not _is_parallel(change, z):
        return None
    return y * float(change @ z) / size


def _is_parallel(a: Any, b: Any) -> bool:
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    return lengths == 0.0 or abs(abs(float(a @ b)) / lengths - 1.0) < 1e-7


def _has_other_sigma(seen: Any, expected: Any) -> bool:
    known = seen is not None and expected is not None
    return known and covariance_difference(seen, expected) > SIGMA


def _find_place(
    target: Candidate, first: Divergence, recording: Recording, rows: Sequence[dict[str, Any]]
) -> str:
    if first.round == 0:
        return "start"
    if any(_has_other_sigma(**row["covariance"]) for row in rows[:-1]):
        return "covariance"
    last, t = rows[-1], len(rows) - 1
    change = _change_seen(recording, t)
    if first.quantity in ("margin", "prediction"):
        known = t == 0 or (recording.sightings[t - 1] or Sighting()).weights is not None
        return first.quantity if known else "state"
    start = recording.input.start[0] if recording.input.start else 0.0
    expected = last["weights"]["expected"] - (rows[t - 1]["weights"]["expected"] if t else start)
    if change is None:
        return "state"
    expected = expected[: change.size]
    moved, should = bool(np.any(np.abs(change) > 0.0)), bool(np.any(np.abs(expected) > 0.0))
    if moved != should:
        return "trigger"
    if _is_parallel(change, expected):
        return "step"
    second = target.definition.order == "second"
    x = recording.input.X[t]
    return "covariance" if second and t > 0 and not _is_parallel(change, x) else "direction"
