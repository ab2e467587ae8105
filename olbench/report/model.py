"""A report: everything that the tables and figures of a run show, computed once."""

import math
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from olbench.analysis import claims, evidence, results, stats, verdicts
from olbench.analysis.claims import HOLDS, PARTLY, ClaimVerdict
from olbench.analysis.evidence import Identification, PrintedCell, WrongLearners
from olbench.analysis.published import Paper, load_paper
from olbench.analysis.results import Entry, Guesses, Results
from olbench.analysis.verdicts import ABSENT, NOT_COMPARABLE, Attempt, Judgement
from olbench.errors import InputWarning, UserError, count, list_some
from olbench.protocols import Experiment, Protocol
from olbench.records.quantities import TEST_ERROR, Quantity
from olbench.report import words

#: Two algorithms that have fewer data sets in common are not compared over them.
FEWEST_FOR_PAIRS = 3


class Standing(NamedTuple):
    label: str
    rank: float | None
    wins: int
    among_best: int


@dataclass(frozen=True)
class Report:
    results: Results
    paper: Paper | None
    #: What the bands of curves show: see `figures.run.BANDS`.
    band: str = "deviation"
    #: The report of all rows, if this one has only some of them.
    whole: "Report | None" = None
    #: The quantity that ranks the algorithms, if not the first of the protocol.
    measure: Quantity | None = None

    @cached_property
    def attempt(self) -> Attempt | None:
        return Attempt(self.results, self.paper) if self.paper else None

    @property
    def protocol(self) -> Protocol:
        return self.results.protocol

    @property
    def headline(self) -> Quantity:
        return self.measure or self.protocol.quantities[0]

    @property
    def is_cross_validated(self) -> bool:
        return self.headline.name == TEST_ERROR.name

    @property
    def size(self) -> str:
        whole = (self.whole or self).results
        counts = (
            (len(self.results.datasets), len(whole.datasets), "data set"),
            (len(self.results.names), len(whole.names), "algorithm"),
        )
        return ", ".join(
            count(every, thing) if shown == every else f"{shown} of {count(every, thing)}"
            for shown, every, thing in counts
        )

    @property
    def made(self) -> str:
        """When the run ended, or began if it is not finished; no other date, so that bytes repeat."""
        return self.results.run.end or self.results.run.start

    @cached_property
    def rows(self) -> list[Entry]:
        return [entry for dataset in self.results.datasets for entry in self.block(dataset)]

    def block(self, dataset: str) -> list[Entry]:
        order = {row: place for place, row in enumerate(self.paper.algorithms if self.paper else ())}

        def place(entry: Entry) -> int:
            return order.get(self._paper_rows.get(self.results.name_of(entry), entry.algorithm), -1)

        return sorted(self.results.of(dataset), key=place)

    @cached_property
    def _paper_rows(self) -> dict[str, str]:
        names = {entry.label: self.results.name_of(entry) for entry in self.results.entries}
        return {names[each.label]: each.algorithm for each in self.judgements if each.label in names}

    def judgements_of(self, entry: Entry) -> dict[str, Judgement]:
        return self._judgements_of.get((entry.dataset, entry.label), {})

    @cached_property
    def _judgements_of(self) -> dict[tuple[str, str], dict[str, Judgement]]:
        found: dict[tuple[str, str], dict[str, Judgement]] = {}
        for each in self.judgements:
            found.setdefault((each.dataset, each.label), {})[each.quantity] = each
        return found

    @cached_property
    def by_place(self) -> dict[tuple[str, str, str], Judgement]:
        return {judgement.place: judgement for judgement in self.judgements}

    @cached_property
    def means(self) -> dict[str, dict[str, float]]:
        """The mean of the headline quantity by data set and label; equal algorithms count once."""
        results = self.results
        return {
            dataset: {
                entry.label: entry.mean(self.headline)
                for entry in results.contestants(dataset)
                if entry.label not in results.twins
            }
            for dataset in results.datasets
        }

    @cached_property
    def ranks(self) -> dict[str, float]:
        return stats.mean_ranks(self.means, self.headline.better)

    @property
    def complete(self) -> int:
        return sum(stats.is_complete(row, self.ranks) for row in self.means.values()) if self.ranks else 0

    @property
    def leaders(self) -> list[Entry]:
        found, quantity = map(self._contestants, self.results.datasets), self.headline
        return [min(own, key=lambda each: quantity.loss(each.mean(quantity))) for own in found if own]

    def _contestants(self, dataset: str) -> list[Entry]:
        entries = filter(self.results.is_contestant, self.block(dataset))
        return [entry for entry in entries if not math.isnan(entry.mean(self.headline))]

    @cached_property
    def wins(self) -> Counter[str]:
        """On how many data sets an algorithm has the best mean; equal means all count."""
        found = Counter[str]()
        for row in self.means.values():
            found.update(stats.find_best(row, self.headline.better))
        return found

    @property
    def most_wins(self) -> tuple[list[str], int]:
        """The algorithms with the best mean on most data sets, and on how many."""
        most = max(self.wins.values(), default=0)
        return [label for label, wins in self.wins.items() if wins == most], most

    @property
    def leader(self) -> str:
        """The algorithms with the best mean on most data sets, such as "arow on 3 of 4 data sets"."""
        (labels, most), size = self.most_wins, len(self.results.datasets)
        who, each = list_some(labels, 3), " each" if len(labels) > 1 else ""
        return f"{who} on {most} of {size} data sets{each}" if size > 1 and who else who

    @cached_property
    def winners(self) -> list[tuple[Entry, tuple[str, ...]]]:
        """The leader on each data set, with the algorithms that are not significantly worse."""
        found = []
        for best in self.leaders:
            others = (each for each in self._contestants(best.dataset) if each is not best)
            found.append((best, tuple(each.label for each in others if self.results.is_best(each))))
        return found

    @property
    def standings(self) -> list[Standing]:
        among = Counter(label for best, equals in self.winners for label in (best.label, *equals))
        labels = list(dict.fromkeys(label for row in self.means.values() for label in row))
        found = [Standing(label, self.ranks.get(label), self.wins[label], among[label]) for label in labels]
        worst = len(labels) + 1.0
        return sorted(found, key=lambda each: (worst if each.rank is None else each.rank, -each.among_best))

    @cached_property
    def judgements(self) -> list[Judgement]:
        if self.attempt is None:
            return []
        if self.whole is not None:  # what other learners would reproduce depends on the whole run
            return _select(self.whole.judgements, self.results)
        return verdicts.judge(self.attempt)

    @cached_property
    def tuning_verdicts(self) -> dict[str, Counter[str]]:
        """The verdicts on the headline by way of tuning."""
        if self.attempt is None:
            return {}
        found = {way: verdicts.judge_tuning(self.attempt, way) for way in self.results.tunings}
        return {way: verdicts.count(own, self.headline) for way, own in found.items()}

    @property
    def judged(self) -> tuple[Quantity, ...]:
        names = {judgement.quantity for judgement in self.judgements}
        return tuple(each for each in self.protocol.quantities if each.judged and each.name in names)

    @cached_property
    def printed_cells(self) -> list[PrintedCell]:
        if self.whole is not None:  # a few cells prove nothing; the report of the whole run has them
            return []
        return evidence.printed_cells(self.judgements)

    @cached_property
    def controls(self) -> dict[Quantity, WrongLearners]:
        return {quantity: evidence.control(self.printed_cells, quantity) for quantity in self.judged}

    @cached_property
    def identification(self) -> Identification:
        return evidence.identify(self.printed_cells)

    @property
    def verdict_lines(self) -> list[str]:
        lines = [*map(self.describe_verdicts, self.judged)]
        absent = sum(each.reason == ABSENT and not each.reported.suspect for each in self.judgements)
        if absent:
            lines.append(f"{count(absent, 'number is', 'numbers are')} on other data sets: `olbench summary`")
        return list(filter(None, (*lines, words.describe_identification(self.identification))))

    @property
    def obstacles(self) -> str:
        """Why numbers are not comparable: the most frequent reason."""
        reasons = Counter(
            each.reason
            for each in self.judgements
            if each.verdict == NOT_COMPARABLE and each.reason not in ("", ABSENT)
        )
        if not reasons:
            return ""
        [(reason, number)] = reasons.most_common(1)
        return f"Not comparable: {reason} ({number} of {count(reasons.total(), 'number')})"

    def describe_verdicts(self, quantity: Quantity) -> str:
        control = words.describe_control(self.controls[quantity])
        return ". ".join(filter(None, (words.summary(self.judgements, quantity), control)))

    @cached_property
    def time_ratios(self) -> dict[tuple[str, str], float]:
        """The paper's seconds divided by ours, by data set and label; shown, never judged."""
        return verdicts.time_ratios(self.attempt) if self.attempt else {}

    @cached_property
    def claims(self) -> list[ClaimVerdict]:
        return claims.check_claims(self.attempt) if self.attempt else []

    @cached_property
    def claim_chances(self) -> dict[str, Counter[str]]:
        return claims.chances(self.attempt) if self.attempt else {}

    def chance_of(self, claim: ClaimVerdict) -> float | None:
        """How often a claim does at least as well with algorithm labels shuffled, if that can be tried."""
        found = self.claim_chances.get(claim.id)
        if found is None or claim.verdict not in (HOLDS, PARTLY):
            return None
        return (found[HOLDS] + found[PARTLY] * (claim.verdict == PARTLY)) / found.total()

    @cached_property
    def guesses(self) -> Guesses:
        return results.find_guesses(self.results)

    def describe_guesses(self, most: int = 6) -> str:
        return words.describe_guesses(self.guesses, self.headline, self.unlearnt, most)

    @cached_property
    def unlearnt(self) -> dict[str, bool]:
        """The data sets whose best algorithm is not better than guessing, and whether a test says so."""
        found, headline = {}, self.headline
        for dataset, (guess, _) in self.guesses.items():
            contest = self.results.contest(dataset, headline)
            if contest is not None and not contest.exceeds(guess):
                best = contest.means[contest.labels.index(contest.best)]
                found[dataset] = headline.is_better(float(best), guess)
        return found

    @cached_property
    def taus(self) -> dict[str, float]:
        return verdicts.taus(self.attempt) if self.attempt else {}

    @cached_property
    def without(self) -> dict[str, str]:
        """The algorithms that would lead if a data set were left out; it needs no slow import."""
        return stats.leave_one_out(self.means, self.headline.better)

    @cached_property
    def across(self) -> stats.Across | str:
        return stats.across(self.means, self.headline.better)

    @property
    def control(self) -> str:
        """The algorithm that others are compared with across data sets; '' is the best."""
        return self.results.twins.get(self.results.control, self.results.control)

    @cached_property
    def against(self) -> stats.Against | str:
        """The comparison over data sets with the control of the results or, without one, with the best."""
        negligible = self.results.config.negligible
        return stats.against(self.means, self.headline.better, self.control or None, negligible)

    @cached_property
    def pairwise(self) -> list[stats.Pair]:
        """Every two algorithms over the data sets that both have, at least FEWEST_FOR_PAIRS."""
        found = stats.pairwise(self.means, self.headline.better)
        return [each for each in found if each.wins + each.ties + each.losses >= FEWEST_FOR_PAIRS]


def _select(judgements: Iterable[Judgement], results: Results) -> list[Judgement]:
    rows = {(entry.dataset, entry.label) for entry in results.entries}
    return [each for each in judgements if (each.dataset, each.label) in rows]


def select_rows(report: Report, algorithms: Sequence[str] = (), datasets: Sequence[str] = ()) -> Report:
    """Return a report on some rows: ranks and tests are among them, verdicts come from the whole run."""
    if not algorithms and not datasets:
        return report
    results, paper = report.results.select(algorithms, datasets), report.paper
    if paper is not None:
        rows = {(each.dataset, each.algorithm) for each in _select(report.judgements, results)}
        numbers = tuple(number for number in paper.numbers if (number.dataset, number.row) in rows)
        own = replace(paper, numbers=numbers, claims=(), ranks=(), marked=())
        paper = own if numbers else None
    return replace(report, results=results, paper=paper, whole=report)


def make_report(folder: Path, measures: Sequence[str] = ()) -> Report:
    run = results.load_results(folder, measures)
    headline = run.protocol.quantities[0]
    absent = words.describe_absent(run)
    if absent and all(np.isnan(entry.values(headline)).all() for entry in run.entries):
        raise UserError(f"the algorithms cannot be ranked: {absent}")
    return Report(run, find_paper_of(folder, run.config))


def find_paper_of(folder: Path, config: Experiment) -> Paper | None:
    """Return the paper that a run is compared with; warn if its file cannot be read, as after a move."""
    try:
        return load_paper(config.paper).under(config.protocol) if config.paper else None
    except UserError as error:
        warnings.warn(f"{folder} is not compared with its paper: {error}", InputWarning, stacklevel=2)
    return None
