"""What the site shows: runs, their results with places and ties, and leaderboards. Nothing here writes."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from olbench.analysis import stats
from olbench.analysis.results import Entry, Results
from olbench.records.quantities import Quantity
from olbench.report.sections.results import is_time


@dataclass(frozen=True)
class SiteRun:
    results: Results
    name: str
    _places: dict[str, dict[tuple[str, str], int]] = field(default_factory=dict, repr=False)

    @property
    def protocol(self) -> str:
        return self.results.protocol.id

    @property
    def paper(self) -> str:
        return (self.results.config.paper or "").replace("\\", "/").rpartition("/")[2].removesuffix(".yaml")

    @cached_property
    def entries(self) -> list[Entry]:
        return [entry for entry in self.results.entries if entry.done]

    @property
    def headline(self) -> Quantity:
        return self.results.protocol.quantities[0]

    @property
    def measures(self) -> list[Quantity]:
        return [
            each
            for each in self.results.protocol.quantities
            if each.better != "neither" and not is_time(each)
            if not all(math.isnan(entry.mean(each)) for entry in self.entries)
        ]

    def place(self, entry: Entry, quantity: Quantity | None = None) -> int | None:
        """The best and all not significantly different share the first place; means order the others."""
        quantity = quantity or self.headline
        if quantity.name not in self._places:
            self._places[quantity.name] = dict(self._find_places(quantity))
        return self._places[quantity.name].get((entry.dataset, entry.label))

    def _find_places(self, quantity: Quantity) -> Iterator[tuple[tuple[str, str], int]]:
        best = self.results.best_by(quantity)
        for dataset, means in self.means(quantity).items():
            losses = {label: quantity.loss(mean) for label, mean in means.items() if not math.isnan(mean)}
            for label, loss in losses.items():
                better = sum(other < loss for other in losses.values())
                yield (dataset, label), 1 if label in best[dataset] else 1 + max(1, better)

    def tied(self, entry: Entry) -> bool:
        place, others = self.place(entry), self.results.contestants(entry.dataset)
        return place is not None and sum(self.place(each) == place for each in others) > 1

    def means(self, quantity: Quantity) -> dict[str, dict[str, float]]:
        names = self.results.datasets
        return {
            name: {entry.label: entry.mean(quantity) for entry in self.results.contestants(name)}
            for name in names
        }


@dataclass(frozen=True)
class BoardRow:
    label: str
    algorithm: str
    rank: float | None
    interval: tuple[float, float] | None
    #: 1 for the best and all not significantly different from it; None where nothing can be tested.
    place: int | None
    wins: int
    among_best: int


@dataclass(frozen=True)
class Leaderboard:
    run: SiteRun
    quantity: Quantity
    rows: tuple[BoardRow, ...]
    complete: int
    note: str

    @property
    def leaders(self) -> list[BoardRow]:
        return [row for row in self.rows if row.place == 1]


def make_leaderboard(run: SiteRun, quantity: Quantity) -> Leaderboard:
    """Rank the algorithms of a run by a measure; the data set is the unit, never the trial."""
    means, results = run.means(quantity), run.results
    # Algorithms that are equal are ranked once, and share that rank.
    twins = results.twins
    once = {name: {label: row[label] for label in row if label not in twins} for name, row in means.items()}
    ranks = stats.mean_ranks(once, quantity.better)
    intervals = stats.rank_intervals(once, quantity.better)
    control = stats.against_control(once, quantity.better)
    ranks |= {label: ranks[twin] for label, twin in twins.items() if twin in ranks}
    intervals |= {label: intervals[twin] for label, twin in twins.items() if twin in intervals}
    entries = [entry for name in results.datasets for entry in results.contestants(name)]
    algorithms = {entry.label: entry.algorithm for entry in entries}
    tied = set[str]()
    if not isinstance(control, str):
        tied = {control.label, *(test.label for test in control.tests if not test.significant)}
    tied |= {label for label, twin in twins.items() if twin in tied}
    wins, among = dict.fromkeys(algorithms, 0), dict.fromkeys(algorithms, 0)
    for entry in entries:
        known = [mean for mean in means[entry.dataset].values() if not math.isnan(mean)]
        mean = means[entry.dataset][entry.label]
        wins[entry.label] += bool(known) and mean == min(known, key=quantity.loss)
        among[entry.label] += run.place(entry, quantity) == 1

    def place(label: str) -> int | None:
        if not tied or label not in ranks:
            return None
        better = (each for each in ranks if each not in twins and ranks[each] < ranks[label])
        return 1 if label in tied else 1 + len(list(better))

    rows = [
        BoardRow(label, id, ranks.get(label), intervals.get(label), place(label), wins[label], among[label])
        for label, id in algorithms.items()
    ]
    worst = len(rows) + 1.0
    rows.sort(key=lambda row: (row.place or 0, worst if row.rank is None else row.rank, -row.among_best))
    complete = sum(stats.is_complete(row, ranks) for row in means.values()) if ranks else 0
    return Leaderboard(run, quantity, tuple(rows), complete, control if isinstance(control, str) else "")
