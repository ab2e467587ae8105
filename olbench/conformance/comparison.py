"""Compare recordings of a subject with a replica, round by round, up to the first difference."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from olbench.algorithms.definition import KEEPS_PRODUCT
from olbench.conformance.inputs import Input
from olbench.conformance.replica import Exchange, Replica, ReplicaRound
from olbench.conformance.subjects import Recording, Recordings, Sighting
from olbench.learners.examples import Floats

#: Differences up to this fraction of the largest weight so far are rounding, in double precision; with fewer
#: digits, up to ROUNDINGS units of rounding.
TOLERANCE, ROUNDINGS = 1e-9, 200.0
#: How strongly a replica is disturbed, in units of rounding, to see how much rounding can grow; a difference
#: up to GROWTH times as large is still rounding.
DISTURBANCE, GROWTH = 16.0, 300.0
#: A covariance whose largest entry differs by less than this fraction is the same.
SIGMA = 1e-6
MakeReplica = Callable[[Sequence[Exchange]], Replica]


@dataclass(frozen=True)
class Divergence:
    input: Input
    round: int
    quantity: str


@dataclass
class Agreement:
    divergence: Divergence | None = None
    rounds: int = 0
    #: The largest difference relative to the scale of the quantity, over all rounds that agree.
    largest: float = 0.0
    quantities: set[str] = field(default_factory=set)
    reached: dict[str, int] = field(default_factory=dict)
    #: Rounds left out because the difference may be rounding.
    unclear: int = 0
    #: Whether the covariance shown is Sigma in all rounds. If it is another matrix, that is not a difference:
    #: a wrong Sigma shows in the weights of the next rounds.
    is_sigma: bool = True
    #: Whether it predicts -1 somewhere where the margin is exactly zero.
    ties_are_negative: bool = False

    @property
    def holds(self) -> bool:
        return self.divergence is None and bool(self.quantities)

    def explains(self, first: Divergence) -> bool:
        """Whether nothing differs, up to and including the round where the algorithm itself did."""
        return self.holds and self.reached.get(first.input.name, 0) >= first.round


def tolerance_of(unit: float) -> float:
    return max(TOLERANCE, ROUNDINGS * unit)


def compare(make: MakeReplica, recordings: Recordings) -> Agreement:
    agreement, readings = Agreement(), _Readings(make(()))
    with np.errstate(all="ignore"):  # a wrong candidate may leave the range of doubles
        for recording in recordings:
            agreement.divergence = _compare_pass(make, recording, agreement, readings)
            if agreement.divergence is not None:
                break
    if not agreement.is_sigma:
        agreement.quantities.discard("covariance")
    return agreement


def _compare_pass(
    make: MakeReplica, recording: Recording, agreement: Agreement, readings: "_Readings"
) -> Divergence | None:
    given, scale, tolerance = recording.input, 0.0, tolerance_of(recording.unit)
    means: list[Floats] = []
    if recording.start is not None and np.any(recording.start != 0.0):
        return Divergence(given, 0, "weights")
    rounds = make(()).meet(given)
    for t, (sighting, expected) in enumerate(zip(recording.sightings, rounds, strict=False), start=1):
        means.append(expected.mu)
        scale = max(scale, float(np.max(np.abs(expected.mu), initial=0.0)))
        if sighting is None:
            continue
        # The weights are as exact as the largest has been, and a margin as the sum over them.
        size = scale * float(np.sum(np.abs(given.X[t - 1])))
        for quantity, difference in readings.differences(sighting, expected, given.y[t - 1], scale, size):
            if quantity == "prediction" and expected.margin == 0.0:
                agreement.ties_are_negative |= sighting.prediction != 1.0
            elif difference <= tolerance:
                agreement.largest = max(agreement.largest, difference)
                agreement.quantities.add(quantity)
            elif _is_rounding(make, given, means, difference * (scale or 1.0), recording.unit):
                agreement.unclear += len(recording.sightings) - t + 1
                return None
            else:
                return Divergence(given, t, quantity)
        if sighting.covariance is not None and expected.covariance is not None and agreement.is_sigma:
            agreement.is_sigma = covariance_difference(sighting.covariance, expected.covariance) <= SIGMA
            agreement.quantities.add("covariance")
        agreement.rounds += 1
        agreement.reached[given.name] = t
    return None


def _is_rounding(
    make: MakeReplica, given: Input, means: Sequence[Floats], difference: float, unit: float
) -> bool:
    """Return whether replicas that are disturbed a little in every round go as far from these means."""
    disturbed = (make((_disturb(seed, DISTURBANCE * unit),)).meet(given) for seed in range(2))
    return math.isfinite(difference) and any(
        difference <= GROWTH * float(np.max(np.abs(found.mu - mu)))
        for rounds in disturbed
        for found, mu in zip(rounds, means, strict=False)
    )


def _disturb(seed: int, size: float) -> Exchange:
    """Return the exchange that changes rows and state at random in every round, as rounding would."""
    rng = np.random.default_rng(seed)

    def row(before: Any, s: Replica, x: Floats) -> Any:
        return before(s, x) * (1.0 + size * rng.uniform(-1.0, 1.0, before(s, x).size))

    def update(before: Any, s: Replica, *arguments: Any) -> None:
        mu, sigma = np.abs(s.mu), np.abs(s.sigma)
        before(s, *arguments)
        # A difference has the rounding of its terms.
        s.mu = s.mu + size * rng.uniform(-1.0, 1.0, mu.size) * (mu + np.abs(s.mu))
        noise = rng.uniform(-1.0, 1.0, sigma.shape)
        s.sigma = s.sigma + size * (noise + noise.T) / 2.0 * (sigma + np.abs(s.sigma))

    return {"row": row, "update": update}


class _Readings:
    """The possible meanings of a shown quantity; each round drops those that do not fit."""

    def __init__(self, replica: Replica):
        definition = replica.definition
        self.meanings: dict[str, list[Callable[[ReplicaRound, float], Any]]] = {
            "margin": [lambda r, y: r.margin, lambda r, y: y * r.margin],
            "weights": [lambda r, y: r.weights],
        }
        # Online, an averaged learner may predict with w; the average is for unseen examples.
        self.is_averaged = definition.averaged
        if definition.averaged:
            self.meanings["weights"].append(lambda r, y: r.mu)
            self.meanings["margin"].append(lambda r, y: r.learning_margin)
        if definition.order == "second" and (definition.product or definition.no_diagonal == KEEPS_PRODUCT):
            # The papers keep w or theta, and mu = Sigma w; they predict with the Sigma that has x in it.
            self.meanings["weights"].append(lambda r, y: np.linalg.solve(np.asarray(r.covariance), r.weights))
            self.meanings["margin"].append(lambda r, y: r.margin / (1.0 + r.variance))

    def differences(
        self, sighting: Sighting, expected: ReplicaRound, y: float, scale: float, size: float
    ) -> Iterator[tuple[str, float]]:
        """Yield the quantities that were seen and by how much they differ."""
        if sighting.prediction is not None:
            wrong = sighting.prediction != expected.prediction
            if self.is_averaged:
                wrong = wrong and (sighting.prediction > 0) != (expected.learning_margin >= 0.0)
            yield "prediction", wrong * abs(expected.margin) / (size or 1.0)
        if sighting.margin is not None:
            yield "margin", self._differ("margin", sighting.margin, expected, y, size)
        if sighting.weights is not None:
            yield "weights", self._differ("weights", sighting.weights, expected, y, scale)

    def _differ(self, quantity: str, seen: Any, expected: ReplicaRound, y: float, scale: float) -> float:
        differences = []
        for meaning in self.meanings[quantity]:
            value = meaning(expected, y)
            largest = np.max(np.abs(seen - (value[: np.size(seen)] if np.ndim(value) else value)))
            # NaN differs from everything.
            differences.append(math.inf if np.isnan(largest) else float(largest) / (scale or 1.0))
        smallest = min(differences)
        pairs = zip(self.meanings[quantity], differences, strict=True)
        self.meanings[quantity] = [meaning for meaning, each in pairs if each <= max(smallest, TOLERANCE)]
        return smallest


def covariance_difference(seen: Floats, expected: Floats) -> float:
    """Return by how much a shown covariance, full or diagonal, differs from Sigma, relative to its size."""
    expected = expected[: len(seen), : len(seen)]
    wanted = np.diag(expected) if seen.ndim == 1 else expected
    return float(np.max(np.abs(seen - wanted))) / (float(np.max(np.abs(wanted))) or 1.0)
