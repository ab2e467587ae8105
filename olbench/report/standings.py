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


def winners(report: Report) -> list[tuple[Entry, tuple[str, ...]]]:
    results, headline, found = report.results, report.headline, []
    for dataset in results.datasets:
        entries = [
            entry
            for entry in report.block(dataset)
            if results.is_contestant(entry) and not math.isnan(entry.mean(headline))
        ]
        if entries:
            best = min(entries, key=lambda entry: headline.loss(entry.mean(headline)))
            found.append((best, tuple(e.label for e in entries if results.is_best(e) and e is not best)))
    return found


def standings(report: Report) -> list[RankedLabel]:
    won = winners(report)
    wins = Counter(best.label for best, _ in won)
    among = Counter(label for best, equals in won for label in (best.label, *equals))
    ranks = report.ranks
    labels = list(dict.fromkeys(label for row in report.means.values() for label in row))
    found = [RankedLabel(label, ranks.get(label), wins[label], among[label]) for label in labels]
    worst = len(labels) + 1.0
    return sorted(found, key=lambda each: (worst if each.rank is None else each.rank, -each.among_best))
