"""Which entries of a run a figure sets against each other: algorithms over epochs, and pairs of variants."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from olbench.analysis.results import Entry, Results
from olbench.protocols.definition import Pairing

FEWEST = 3


def split_label(label: str) -> tuple[str, str]:
    """Return the name in a label and the tuning in brackets behind it, which is empty for the config's first.

    >>> split_label("var-KL"), split_label("var-KL [paper]")
    (('var-KL', ''), ('var-KL', 'paper'))
    """
    name, bracket, tuning = label.removesuffix("]").rpartition(" [")
    return (name, tuning) if bracket and label.endswith("]") else (label, "")


def tunings_of(entries: Iterable[Entry]) -> list[str]:
    return list(dict.fromkeys(split_label(entry.label)[1] for entry in entries))


def with_tuning(name: str, tuning: str) -> str:
    return f"{name}-{tuning}" if tuning else name


def entries_by_epoch(results: Results, tuning: str) -> dict[str, list[Entry]]:
    found = {
        dataset: [
            entry
            for entry in results.of(dataset)
            if entry.points.size > 1 and split_label(entry.label)[1] == tuning
        ]
        for dataset in results.datasets
    }
    followed = results.protocol.followed
    labels = {entry.label for entries in found.values() for entry in entries if entry.algorithm in followed}
    shown = {
        dataset: [entry for entry in entries if len(labels) < 2 or entry.label in labels]
        for dataset, entries in found.items()
    }
    return {dataset: entries for dataset, entries in shown.items() if entries}


def accuracy(error: float) -> float:
    return 100.0 - 100.0 * error


@dataclass(frozen=True)
class Contrast:
    x: str
    y: str
    tuning: str
    points: Mapping[str, tuple[float, float]]

    @property
    def above(self) -> int:
        return sum(y > x for x, y in self.points.values())

    @property
    def equal(self) -> int:
        return sum(y == x for x, y in self.points.values())

    @property
    def count(self) -> str:
        ties = f", {self.equal} on the line" if self.equal else ""
        return f"{self.above} of {len(self.points)} above the line{ties}"


def find_contrasts(results: Results, pairing: Pairing) -> list[Contrast]:
    respect = pairing.respect
    facts = {entry.label: _facts(entry) for entry in results.entries}
    pairs = [
        (one, other)
        for one, own in facts.items()
        if own.get(respect) == pairing.x
        for other, others in facts.items()
        if others == {**own, respect: pairing.y}
    ]
    means = {
        (entry.dataset, entry.label): accuracy(entry.mean(pairing.quantity))
        for entry in results.entries
        if entry.done and any(entry.label in pair for pair in pairs)
    }
    found = []
    for x, y in pairs:
        shared = [name for name in results.datasets if (name, x) in means and (name, y) in means]
        if len(shared) >= FEWEST:
            (first, tuning), (second, _) = split_label(x), split_label(y)
            points = {name: (means[name, x], means[name, y]) for name in shared}
            found.append(Contrast(first, second, tuning, points))
    return found


def _facts(entry: Entry) -> dict[str, Any]:
    return {**entry.options, "algorithm": entry.algorithm, "tuning": split_label(entry.label)[1]}
