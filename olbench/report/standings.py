"""Who won: the best algorithm on each data set, and how all of them rank over the data sets."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from olbench.report.model import Report
from olbench.report.results import Entry
from olbench.stats import average_ranks, mean_ranks


@dataclass(frozen=True)
class RankedLabel:
    label: str
    #: The mean over data sets of its rank on each, or None if none has every algorithm.
    rank: float | None
    #: On how many data sets it has the best mean, and on how many it is best or not significantly different.
    wins: int
    among_best: int


def winners(report: Report) -> list[tuple[Entry, tuple[str, ...]]]:
    results, headline, found = report.results, report.headline, []
    for dataset in results.datasets:
        entries = [entry for entry in report.block(dataset) if results.is_contestant(entry)]
        if entries:
            best = min(entries, key=lambda entry: headline.loss(entry.mean(headline)))
            found.append((best, tuple(e.label for e in entries if results.is_best(e) and e is not best)))
    return found


def rank_algorithms(report: Report) -> dict[str, float]:
    return rank_means(report.means, report.headline.better)


def rank_means(means: Mapping[str, Mapping[str, float]], better: str) -> dict[str, float]:
    """Return the average ranks that the tests across data sets use or, without tests, the mean ranks."""
    return average_ranks(means, better) or mean_ranks(means, better)


def standings(report: Report) -> list[RankedLabel]:
    won = winners(report)
    wins = Counter(best.label for best, _ in won)
    among = Counter(label for best, equals in won for label in (best.label, *equals))
    ranks = rank_algorithms(report)
    labels = list(dict.fromkeys(label for row in report.means.values() for label in row))
    found = [RankedLabel(label, ranks.get(label), wins[label], among[label]) for label in labels]
    worst = len(labels) + 1.0
    return sorted(found, key=lambda each: (worst if each.rank is None else each.rank, -each.among_best))
