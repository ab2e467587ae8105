"""A report: everything that the renderers show, computed once from a results folder."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from olbench import stats
from olbench.papers import Paper, load_paper
from olbench.protocols import Protocol
from olbench.quantities import Quantity
from olbench.report import claims, guessing, verdicts
from olbench.report.claims import ClaimVerdict
from olbench.report.guessing import Guess
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
    #: By quantity, if the paper reports this row.
    judgements: Mapping[str, Judgement]

    @property
    def timing(self) -> str:
        """How the times were measured: "exclusive" only if every trial ran alone."""
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
        """When the run ended or, if it is not finished, began. No other date enters, so that bytes repeat."""
        return self.results.run.end or self.results.run.start

    @cached_property
    def datasets(self) -> list[str]:
        """The data sets of the run, then those of the paper alone: the order of every table and map."""
        reported = self.paper.datasets if self.paper else ()
        return list(dict.fromkeys((*self.results.datasets, *reported)))

    @cached_property
    def rows(self) -> list[Row]:
        """The rows of the results: data sets in the order of the config, algorithms in that of the paper."""
        return [row for dataset in self.results.datasets for row in self._make_block(dataset)]

    def block(self, dataset: str) -> list[Row]:
        """Return the rows of a data set."""
        return self._blocks.get(dataset, [])

    @cached_property
    def _blocks(self) -> dict[str, list[Row]]:
        blocks: dict[str, list[Row]] = {}
        for row in self.rows:
            blocks.setdefault(row.entry.dataset, []).append(row)
        return blocks

    def _make_block(self, dataset: str) -> list[Row]:
        entries = sorted(self.results.of(dataset), key=self._place)
        values = aligned(self.results.contestants(dataset), self.headline)
        best = stats.not_worse(values, self.headline.better) if values else set()
        return [self._row(entry, entry.label in best) for entry in entries]

    def _place(self, entry: Entry) -> int:
        """Sort by the paper's order; algorithms that the paper does not report come first."""
        order = self.paper.algorithms if self.paper else ()
        row = self.paper_rows.get(self.results.name_of(entry), entry.algorithm)
        return order.index(row) if row in order else -1

    @cached_property
    def paper_rows(self) -> dict[str, str]:
        """The row of the paper's tables that an entry stands for, by the name of the entry."""
        names = {entry.label: self.results.name_of(entry) for entry in self.results.entries}
        return {names[each.label]: each.algorithm for each in self.judgements if each.label in names}

    def _row(self, entry: Entry, bold: bool) -> Row:
        spreads = {each.name: entry.spread(each) or (0.0, 0.0) for each in self.protocol.quantities}
        return Row(entry, spreads, bold, self._judgements_by_row.get((entry.dataset, entry.label), {}))

    @cached_property
    def _judgements_by_row(self) -> dict[tuple[str, str], dict[str, Judgement]]:
        by_row: dict[tuple[str, str], dict[str, Judgement]] = {}
        for each in self.judgements:
            by_row.setdefault((each.dataset, each.label), {})[each.quantity] = each
        return by_row

    @cached_property
    def judgements(self) -> list[Judgement]:
        """The verdict on every reported number; empty without a paper."""
        return verdicts.judge(self.results, self.paper) if self.paper else []

    @property
    def judged(self) -> tuple[Quantity, ...]:
        """The quantities with at least one verdict."""
        names = {judgement.quantity for judgement in self.judgements}
        return tuple(quantity for quantity in self.protocol.judged if quantity.name in names)

    @cached_property
    def time_ratios(self) -> dict[tuple[str, str], float]:
        """The paper's seconds divided by ours, by data set and label; shown, never judged."""
        ratios = verdicts.time_ratios(self.results, self.paper) if self.paper else []
        return {(each.dataset, each.label): each.ratio for each in ratios}

    @cached_property
    def claims(self) -> list[ClaimVerdict]:
        """The verdict on every claim of the paper."""
        return claims.check_claims(self.results, self.paper) if self.paper else []

    @cached_property
    def guesses(self) -> list[Guess]:
        """The rows that are no better than always predicting the more frequent class."""
        return guessing.find_guesses(self.results)

    @cached_property
    def taus(self) -> dict[str, float]:
        """Kendall's tau of our order of the algorithms and the paper's, by data set."""
        return verdicts.taus(self.results, self.paper) if self.paper else {}

    @cached_property
    def within(self) -> dict[str, tuple[str, list[stats.Difference]]]:
        """Differences from the best algorithm on each data set, conditional on that data set."""
        differences = {}
        for dataset in self.results.datasets:
            entries = self.results.contestants(dataset)
            if len(entries) > 1:
                differences[dataset] = stats.within(aligned(entries, self.headline), self.headline.better)
        return differences

    @cached_property
    def across(self) -> stats.Across | str:
        """The comparison across data sets, or a text that says why there is none."""
        means = {
            dataset: {entry.label: entry.mean(self.headline) for entry in self.results.contestants(dataset)}
            for dataset in self.results.datasets
        }
        return stats.across(means, self.headline.better)


def make_report(folder: Path) -> Report:
    """Return the report of a results folder."""
    results = load_results(folder)
    paper = results.config.paper
    return Report(results, load_paper(paper).under(results.config.protocol) if paper else None)
