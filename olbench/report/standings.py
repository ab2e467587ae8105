"""Who won: the best algorithm on each data set, and how all of them rank over the data sets."""

import math
from collections import Counter
from dataclasses import dataclass

from olbench.analysis.results import Entry
from olbench.report.model import Report


@dataclass(frozen=True)
class RankedLabel:
    label: str
    rank: float | None
    wins: int
    among_best: int


def leaders(report: Report) -> list[Entry]:
    """Return the entry with the best mean on each data set."""
    found = (_contestants(report, dataset) for dataset in report.results.datasets)
    return [
        min(own, key=lambda each: report.headline.loss(each.mean(report.headline))) for own in found if own
    ]


def winners(report: Report) -> list[tuple[Entry, tuple[str, ...]]]:
    """Return the leader on each data set, with the algorithms that are not significantly worse."""
    found = []
    for best in leaders(report):
        others = (each for each in _contestants(report, best.dataset) if each is not best)
        found.append((best, tuple(each.label for each in others if report.results.is_best(each))))
    return found


def _contestants(report: Report, dataset: str) -> list[Entry]:
    entries = filter(report.results.is_contestant, report.block(dataset))
    return [entry for entry in entries if not math.isnan(entry.mean(report.headline))]


def describe_leader(report: Report) -> str:
    """Return who has the best mean on most data sets, such as "arow on 3 of 4 data sets"."""
    wins = Counter(entry.label for entry in leaders(report))
    if not wins:
        return ""
    [(label, number)] = wins.most_common(1)
    datasets = len(report.results.datasets)
    return label if datasets == 1 else f"{label} on {number} of {datasets} data sets"


def standings(report: Report) -> list[RankedLabel]:
    won = winners(report)
    wins = Counter(best.label for best, _ in won)
    among = Counter(label for best, equals in won for label in (best.label, *equals))
    ranks = report.ranks
    labels = list(dict.fromkeys(label for row in report.means.values() for label in row))
    found = [RankedLabel(label, ranks.get(label), wins[label], among[label]) for label in labels]
    worst = len(labels) + 1.0
    return sorted(found, key=lambda each: (worst if each.rank is None else each.rank, -each.among_best))
