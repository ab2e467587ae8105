"""A report: everything that a renderer shows, computed once from a results folder."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from olbench import stats
from olbench.papers import QUANTITIES, Paper, load_paper
from olbench.report import verdicts
from olbench.report.frame import Entry, Results, aligned, load_results
from olbench.report.verdicts import ClaimVerdict, Judgement

Spread = tuple[float, float]


@dataclass(frozen=True)
class Row:
    """A row of Table 3: means and deviations, whether it is among the best, what the paper has for it."""

    entry: Entry
    mistake_rate: Spread
    updates: Spread
    seconds: Spread
    #: Best, or not significantly worse than the best, by the paired t-test over shared permutations.
    bold: bool
    #: By quantity, where the paper reports this cell.
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
    def made(self) -> str:
        """When the run ended or, if it has not, began: a report has no other clock, so bytes repeat."""
        return str(self.results.info.get("end") or self.results.info.get("start"))

    @cached_property
    def rows(self) -> list[Row]:
        """The rows of Table 3: data sets in the order of the config, algorithms in the paper's."""
        return [row for dataset in self.results.datasets for row in self._block(dataset)]

    def block(self, dataset: str) -> list[Row]:
        """Return the rows of a data set."""
        return [row for row in self.rows if row.entry.dataset == dataset]

    def _block(self, dataset: str) -> list[Row]:
        entries = sorted(self.results.of(dataset), key=self._place)
        best = stats.not_worse(aligned(entries)) if entries else set()
        return [self._row(entry, entry.label in best) for entry in entries]

    def _place(self, entry: Entry) -> int:
        """Sort by the paper's order what the paper has; what it has not keeps its place before that."""
        order = self.paper.algorithms if self.paper else ()
        return order.index(entry.algorithm) if entry.algorithm in order else -1

    def _row(self, entry: Entry, bold: bool) -> Row:
        rate, updates, seconds = (entry.spread(quantity) or (0.0, 0.0) for quantity in QUANTITIES)
        own = {
            judgement.quantity: judgement
            for judgement in self.judgements
            if (judgement.dataset, judgement.label) == (entry.dataset, entry.label)
        }
        return Row(entry, rate, updates, seconds, bold, own)

    @cached_property
    def judgements(self) -> list[Judgement]:
        """The verdict on every reported number; none without a paper."""
        return verdicts.judge(self.results, self.paper) if self.paper else []

    @cached_property
    def time_ratios(self) -> dict[tuple[str, str], float]:
        """The paper's seconds over ours, by data set and label; shown, never judged."""
        found = verdicts.time_ratios(self.results, self.paper) if self.paper else []
        return {(each.dataset, each.label): each.ratio for each in found}

    @cached_property
    def claims(self) -> list[ClaimVerdict]:
        """The verdict on every claim of the paper."""
        return verdicts.check_claims(self.results, self.paper) if self.paper else []

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
                found[dataset] = stats.within(aligned(entries))
        return found

    @cached_property
    def across(self) -> stats.Across | str:
        """The comparison over data sets, or why there is none."""
        means = {
            dataset: {entry.label: float(entry.rates.mean()) for entry in self.results.of(dataset)}
            for dataset in self.results.datasets
        }
        return stats.across(means)


def make_report(folder: Path) -> Report:
    """Return the report of a results folder."""
    results = load_results(folder)
    return Report(results, load_paper(results.paper) if results.paper else None)
