"""Finding what explains a difference: a convention, another algorithm, a known defect, or two of them."""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any

import numpy as np

from olbench.algorithms import definitions
from olbench.algorithms.definition import Definition, Value
from olbench.conformance.catalogue import Deviation, Kind, find_deviations
from olbench.conformance.comparison import Agreement, Divergence, compare, tolerance_of
from olbench.conformance.replica import Exchange, Replica, make_replica
from olbench.conformance.subjects import Recording, Recordings
from olbench.errors import UserError

BEAM = 40


@dataclass(frozen=True)
class Candidate:
    definition: Definition
    params: dict[str, Value]
    deviations: tuple[Deviation, ...] = ()

    def make(self, exchanges: Sequence[Exchange] = ()) -> Replica:
        known = [each.exchange for each in self.deviations]
        return make_replica(self.definition, self.params, (*known, *exchanges))

    def compare(self, recordings: Recordings) -> Agreement:
        try:
            return compare(self.make, recordings)
        # A parameter out of bounds, or a Sigma that became singular: it is not this candidate.
        except (ValueError, ArithmeticError):
            return Agreement()

    def list_more(self) -> Iterator["Candidate"]:
        """Yield the candidates with one deviation more."""
        for each in find_deviations(self.definition, self.params):
            yield Candidate(self.definition, self.params, (*self.deviations, each))

    def kind(self, target: Definition) -> Kind:
        """Return the gravest of its deviations; another algorithm is a variant."""
        kinds = {each.kind for each in self.deviations}
        if "defect" in kinds:
            return "defect"
        return "variant" if "variant" in kinds or self.definition is not target else "convention"


def find_others(target: Definition, params: dict[str, Value]) -> list[Candidate]:
    found: list[Candidate] = []
    for other in definitions():
        # Few implementations of a rule are another family's learner, and these take long in plain Python.
        if other.order not in ("first", "second", target.order) or other.rule is None:
            continue
        if other is target or other.is_own or other.only_native:
            continue
        names = {parameter.name for parameter in other.parameters if not parameter.instead_of}
        shared = {name: value for name, value in params.items() if name in names}
        # AROW's r is the inverse of what others call C.
        for ours, theirs in (("r", "C"), ("C", "r")):
            if ours in params and theirs in names and theirs not in params:
                shared[theirs] = 1.0 / float(params[ours])
        for given in (shared, {}):
            with contextlib.suppress(UserError):
                candidate = Candidate(other, other.resolve(given))
                if candidate not in found:
                    found.append(candidate)
    return sorted(found, key=lambda each: each.definition.order != target.order)


def search(
    target: Candidate, first: Divergence, recordings: Recordings
) -> tuple[Candidate, Agreement] | None:
    singles = list(target.list_more())
    others = find_others(target.definition, target.params)
    waves: list[Iterable[Candidate]] = [
        [each for each in singles if each.kind(target.definition) != "defect"] + others,
        [each for each in singles if each.kind(target.definition) == "defect"],
        _list_pairs(target),
        (more for other in others for more in other.list_more()),
    ]
    tried: list[list[tuple[int, Candidate]]] = []
    second_best = None
    for wave in waves:
        tried.append([])
        for candidate in wave:
            agreement = candidate.compare(recordings)
            if agreement.explains(first) and agreement.is_sigma:
                return candidate, agreement
            if agreement.explains(first):  # the weights agree, but a covariance that is shown does not
                second_best = second_best or (candidate, agreement)
            tried[-1].append((agreement.rounds, candidate))
        if second_best is not None:
            return second_best
    # The first two waves were extended by the last two. Each has its own beam, since the target's many pairs
    # with a deviation that changes nothing would crowd out other algorithms.
    for extended in tried[2:]:
        for _, candidate in sorted(extended, key=lambda each: -each[0])[:BEAM]:
            for more in candidate.list_more():
                agreement = more.compare(recordings)
                if agreement.explains(first):
                    return more, agreement
    return None


def find_alternatives(found: Candidate, first: Divergence, recordings: Recordings) -> list[Deviation]:
    """Return the other single deviations that explain all rounds.

    Some are mathematically equal: to learn each example twice with AROW is to learn it with r / 2.
    """
    if len(found.deviations) != 1:
        return []
    is_sigma = found.compare(recordings).is_sigma
    alternatives: list[Deviation] = []
    for other in Candidate(found.definition, found.params).list_more():
        agreement = other.compare(recordings)
        if other != found and agreement.explains(first) and agreement.is_sigma is is_sigma:
            alternatives += other.deviations
    return alternatives


def _list_pairs(target: Candidate) -> Iterator[Candidate]:
    """Yield pairs of deviations, those with fewer defects first; the order of a pair may matter."""
    pairs = combinations(find_deviations(target.definition, target.params), 2)
    for first, second in sorted(pairs, key=lambda pair: sum(each.kind == "defect" for each in pair)):
        yield Candidate(target.definition, target.params, (first, second))
        if first.exchange.keys() & second.exchange.keys():
            yield Candidate(target.definition, target.params, (second, first))


def find_order(candidate: Candidate, recordings: Recordings) -> str:
    """Return in which other order a learner visits the rows of a fit, or "" if no order explains it."""
    found: set[str] = set()
    for recording in recordings:
        for n, sighting in enumerate(recording.sightings[:4], start=1):
            if n > 1 and sighting is not None and sighting.weights is not None:
                order = _find_visits(candidate, recording, n, sighting.weights)
                if order is None:
                    return ""
                found.add(order)
    found.discard("")
    return found.pop() if len(found) == 1 else ""


def _find_visits(candidate: Candidate, recording: Recording, n: int, seen: Any) -> str | None:
    X, y = recording.input.X, recording.input.y
    orders = [("", range(n)), *((f"passes {k} times over the rows", [*range(n)] * k) for k in (2, 3))]
    orders += [("visits the rows in an order of its own", each) for each in permutations(range(n))]
    for says, order in orders:
        replica = candidate.make()
        weights = [replica.learn(X[i], float(y[i])).weights for i in order][-1]
        largest = max(1e-300, float(np.max(np.abs(weights))))
        if np.max(np.abs(weights - seen)) <= tolerance_of(recording.unit) * largest:
            return says
    return None
