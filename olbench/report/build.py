"""A report: everything that a renderer shows, computed once from a results folder."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from olbench import stats
from olbench.papers import Paper, load_paper
from olbench.protocols import Protocol
from olbench.quantities import Quantity
from olbench.report import claims, verdicts
from olbench.report.claims import ClaimVerdict
from olbench.report.results import Entry, Results, aligned, load_results
from olbench.report.verdicts import Judgement

Spread = tuple[float, float]


@dataclass(frozen=True)
class Row:
    """A row of the results: means and deviations, whether it is among the best, what the paper reports."""

    entry: Entry
    #: Mean and deviation by quantity.
    spreads: Mapping[str, Spread]
    #: Best, or not significantly worse than the best, by the paired t-test over shared trials.
    bold: bool
    #: By quantity, where the paper reports this row.
    judgements: Mapping[str, Judgement]

    @property
    def timing(self) -> str:
        """How the times were taken: "exclusive" only if all were measured alone."""
        return "exclusive" if self.entry.exclusive else "shared"


@dataclass(frozen=True)
class Report:
    """A results folder with its verdicts and statistics."""

    results: Results
    paper: Paper | None

    @property
    def protocol(self) -> Protocol:
        """The protocol of the run."""
        return self.results.protocol

    @property
    def headline(self) -> Quantity:
        """The quantity that ranks the algorithms."""
        return self.protocol.headline

    @property
    def made(self) -> str:
        """When the run ended or, if it has not, began: a report has no other clock, so bytes repeat."""
        return self.results.run.end or self.results.run.start

    @cached_property
    def datasets(self) -> list[str]:
        """The data sets of the run, then those that only the paper has: the order of every table and map."""
        reported = self.paper.datasets if self.paper else ()
        return list(dict.fromkeys((*self.results.datasets, *reported)))

    @cached_property
    def rows(self) -> list[Row]:
        """The rows of the results: data sets in the order of the config, algorithms in the paper's."""
        return [row for dataset in self.results.datasets for row in self._make_block(dataset)]

    def block(self, dataset: str) -> list[Row]:
        """Return the rows of a data set."""
        return [row for row in self.rows if row.entry.dataset == dataset]

    def _make_block(self, dataset: str) -> list[Row]:
        entries = sorted(self.results.of(dataset), key=self._place)
        values = aligned(entries, self.headline)
        best = stats.not_worse(values, self.headline.better) if entries else set()
        return [self._row(entry, entry.label in best) for entry in entries]

    def _place(self, entry: Entry) -> int:
        """Sort by the paper's order; algorithms that the paper does not report keep their place before it."""
        order = self.paper.algorithms if self.paper else ()
        return order.index(entry.algorithm) if entry.algorithm in order else -1

    def _row(self, entry: Entry, bold: bool) -> Row:
        spreads = {each.name: entry.spread(each) or (0.0, 0.0) for each in self.protocol.quantities}
        return Row(entry, spreads, bold, self._judged.get((entry.dataset, entry.label), {}))

    @cached_property
    def _judged(self) -> dict[tuple[str, str], dict[str, Judgement]]:
        found: dict[tuple[str, str], dict[str, Judgement]] = {}
        for each in self.judgements:
            found.setdefault((each.dataset, each.label), {})[each.quantity] = each
        return found

    @cached_property
    def judgements(self) -> list[Judgement]:
        """The verdict on every reported number; none without a paper."""
        return verdicts.judge(self.results, self.paper) if self.paper else []

    @property
    def judged(self) -> tuple[Quantity, ...]:
        """The quantities that have a verdict somewhere."""
        names = {judgement.quantity for judgement in self.judgements}
        return tuple(quantity for quantity in self.protocol.judged if quantity.name in names)

    @cached_property
    def time_ratios(self) -> dict[tuple[str, str], float]:
        """The paper's seconds over ours, by data set and label; shown, never judged."""
        found = verdicts.time_ratios(self.results, self.paper) if self.paper else []
        return {(each.dataset, each.label): each.ratio for each in found}

    @cached_property
    def claims(self) -> list[ClaimVerdict]:
        """The verdict on every claim of the paper."""
        return claims.check_claims(self.results, self.paper) if self.paper else []

    @cached_property
    def taus(self) -> dict[str, float]:
        """How well the order of the algorithms agrees with the paper's, by data set."""
        return verdicts.taus(self.results, self.paper) if self.paper else {}

    @cached_property
    def within(self) -> dict[str, tuple[str, list[stats.Difference]]]:
        """Differences to the best on each data set, conditional on that data set."""
        found = {}
        for dataset in self.results.datasets:
            entries = self.results.of(dataset)
            if len(entries) > 1:
                found[dataset] = stats.within(aligned(entries, self.headline), self.headline.better)
        return found

    @cached_property
    def across(self) -> stats.Across | str:
        """The comparison over data sets, or why there is none."""
        means = {
            dataset: {entry.label: entry.mean(self.headline) for entry in self.results.of(dataset)}
            for dataset in self.results.datasets
        }
        return stats.across(means, self.headline.better)


def make_report(folder: Path) -> Report:
    """Return the report of a results folder."""
    results = load_results(folder)
    paper = results.config.paper
    return Report(results, load_paper(paper) if paper else None)
