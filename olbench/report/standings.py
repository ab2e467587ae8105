"""Who won: the best algorithm on each data set, and how all of them rank over the data sets."""

from collections import Counter
from dataclasses import dataclass

from olbench.report.model import Report
from olbench.stats import average_ranks


@dataclass(frozen=True)
class Winner:
    """The best algorithm on a data set."""

    dataset: str
    label: str
    #: Mean and deviation of the headline quantity.
    spread: tuple[float, float]
    #: The others that do not differ from it significantly.
    equals: tuple[str, ...]
    #: How many algorithms were compared.
    compared: int


@dataclass(frozen=True)
class RankedLabel:
    """How an algorithm does over all data sets."""

    label: str
    #: The mean over data sets of its rank on each, or None if none has every algorithm.
    rank: float | None
    #: On how many data sets it has the best mean, and on how many it is best or not significantly different.
    wins: int
    among_best: int


def winners(report: Report) -> list[Winner]:
    """Return the winner on each data set, in the order of the config."""
    results, headline, found = report.results, report.headline, []
    for dataset in results.datasets:
        entries = [entry for entry in report.block(dataset) if results.is_contestant(entry)]
        if entries:
            best = min(entries, key=lambda entry: headline.loss(entry.mean(headline)))
            equals = tuple(e.label for e in entries if results.is_best(e) and e is not best)
            found.append(Winner(dataset, best.label, best.spread(headline), equals, len(entries)))
    return found


def rank_algorithms(report: Report) -> dict[str, float]:
    """Return the average ranks that the tests across data sets use or, without tests, the mean ranks."""
    return average_ranks(report.means, report.headline.better) or report.ranks


def standings(report: Report) -> list[RankedLabel]:
    """Return all algorithms that compete, best first: by rank, then by wins."""
    won = winners(report)
    wins = Counter(each.label for each in won)
    among = Counter(label for each in won for label in (each.label, *each.equals))
    ranks = rank_algorithms(report)
    labels = list(dict.fromkeys(label for row in report.means.values() for label in row))
    found = [RankedLabel(label, ranks.get(label), wins[label], among[label]) for label in labels]
    worst = len(labels) + 1.0
    return sorted(found, key=lambda each: (worst if each.rank is None else each.rank, -each.among_best))
