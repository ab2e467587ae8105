"""Pairs of variants of an algorithm on all data sets: a table, and a figure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from olbench.analysis.results import Entry, Results
from olbench.records.quantities import Quantity
from olbench.report import table as t
from olbench.report.model import Report
from olbench.report.table import Column, Table, capitalise, columns
from olbench.report.tables import REGISTRY, Figures, Item

FEWEST = 3


@dataclass(frozen=True)
class Pairing:
    """Entries to compare in a quantity: alike but for a respect, x in one, y in the other.

    The respect is an option, such as the projection, or "algorithm".
    """

    quantity: Quantity
    respect: str
    x: str
    y: str


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
    def count(self) -> str:
        equal = sum(y == x for x, y in self.points.values())
        ties = f", {equal} on the line" if equal else ""
        return f"{self.above} of {len(self.points)} above the line{ties}"


def find_contrasts(results: Results, pairing: Pairing) -> list[Contrast]:
    respect = pairing.respect
    facts = {
        each.label: {**each.options, "algorithm": each.algorithm, "tuning": split_label(each.label)[1]}
        for each in results.entries
    }
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


def add_contrasts(id: str, title: str, order: int, measured: str, pairing: Pairing, module: str) -> None:
    """Add a table and a figure of all pairs of a run; `measured` names the accuracy that they compare."""

    def contrasts(report: Report) -> list[Contrast]:
        return (
            find_contrasts(report.results, pairing) if pairing.quantity in report.protocol.quantities else []
        )

    def make(report: Report) -> Iterator[Table]:
        for each in contrasts(report):
            if not each.tuning:
                yield Table(
                    f"{capitalise(measured)} (%) of {each.y} and {each.x}: {each.y} is higher on "
                    f"{each.above} of {len(each.points)}",
                    (
                        Column("data set"),
                        *columns(each.y, each.x, format=t.number(2)),
                        Column("difference", t.number(2, "+")),
                    ),
                    [(dataset, y, x, y - x) for dataset, (x, y) in each.points.items()],
                )

    def figures(report: Report) -> Figures:
        from olbench.papers.contrasts.figure import contrast_figure

        found, drawn = contrasts(report), {}
        for tuning in dict.fromkeys(each.tuning for each in found):
            own = [each for each in found if each.tuning == tuning]
            heading = f" (tuning: {tuning})" if tuning else ""
            drawn[with_tuning(id, tuning)] = partial(contrast_figure, own, measured, heading)
        return drawn

    REGISTRY.add(id, Item(id, title, order, make, figures), module)
