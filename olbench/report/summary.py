"""Several papers on one page: what each run makes of its paper's numbers and claims."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from olbench.errors import UserError
from olbench.papers import Paper, load_paper
from olbench.quantities import Quantity
from olbench.report import verdicts
from olbench.report.claims import NOT_CHECKED, OUTCOMES
from olbench.report.document import Document
from olbench.report.grid import Grid, boxes, left, right
from olbench.report.model import Report, make_report
from olbench.report.sections import Section
from olbench.trials import run_file


@dataclass(frozen=True)
class Reproduction:
    """The runs that speak for a paper; a number or a claim counts in the first run that can decide it."""

    paper: Paper
    reports: tuple[Report, ...]

    @property
    def counts(self) -> dict[Quantity, Counter[str]]:
        """How many numbers have each verdict, by quantity, without the unexplained ones."""
        judged = {each.name: each for report in self.reports for each in report.judged}
        return {quantity: verdicts.count(self.judgements, quantity) for quantity in judged.values()}

    @property
    def claims(self) -> Counter[str]:
        """How many claims have each verdict."""
        decided: dict[str, str] = {}
        for claim in (claim for report in self.reports for claim in report.claims):
            if decided.get(claim.id, NOT_CHECKED) == NOT_CHECKED:
                decided[claim.id] = claim.verdict
        return Counter(decided.values())

    @cached_property
    def judgements(self) -> list[verdicts.Judgement]:
        """The verdict on every reported number, from the first run that can judge it."""
        decided: dict[str, verdicts.Judgement] = {}
        for each in (each for report in self.reports for each in report.judgements):
            known = decided.get(each.key)
            if known is None or known.verdict == verdicts.NOT_COMPARABLE:
                decided[each.key] = each
        return list(decided.values())


def find_runs(root: Path) -> list[Path]:
    """Return the finished runs of papers: the user's own, then those that ship and have no counterpart."""
    found: dict[str, Path] = {}
    for pattern, level in ((f"*/{run_file.NAME}", 0), (f"*/{run_file.REFERENCE}/{run_file.NAME}", 1)):
        for path in sorted(root.glob(pattern)):
            try:
                run = run_file.read(path.parent)
            except UserError:
                continue  # skip folders that are not runs
            if run.config.paper and run.end:
                found.setdefault(path.parents[level].name, path.parent)
    return list(found.values())


def reproductions(folders: Sequence[Path]) -> list[Reproduction]:
    """Return the findings on the papers of some runs, by the papers' ids."""
    reports: dict[str, list[Report]] = {}
    for folder in folders:
        report = make_report(folder)
        if report.results.config.paper:
            reports.setdefault(report.results.config.paper, []).append(report)
    return [Reproduction(load_paper(id), tuple(reports[id])) for id in sorted(reports)]


def _numbers(found: Sequence[Reproduction]) -> Grid:
    rows = []
    for each in found:
        for quantity, counts in each.counts.items():
            numbers = [str(counts[verdict]) for verdict in verdicts.VERDICTS]
            if leaning := verdicts.count_leaning(each.judgements, quantity):
                numbers[0] += f" ({leaning}{verdicts.LEANS})"
            rows.append(boxes(each.paper.id, quantity.counted, str(counts.total()), *numbers))
    columns = (*left("paper", "numbers"), *right("all", *verdicts.VERDICTS))
    note = (
        f"Reproduced: {verdicts.MEANINGS[verdicts.REPRODUCED]}. {verdicts.BINOMIAL} "
        f"{verdicts.LEANS} {verdicts.LEANS_MEANING}."
    )
    return Grid("Published numbers, ours beside them", columns, rows, note)


def _claims(found: Sequence[Reproduction]) -> Grid:
    rows = [
        boxes(each.paper.id, str(each.claims.total()), *(str(each.claims[outcome]) for outcome in OUTCOMES))
        for each in found
    ]
    return Grid("Claims, checked on our runs", (*left("paper"), *right("all", *OUTCOMES)), rows)


def _runs(found: Sequence[Reproduction]) -> Grid:
    rows = []
    for paper, report in ((each.paper, report) for each in found for report in each.reports):
        folder = report.results.folder
        rows.append(boxes(paper.id, paper.citation, str(folder), report.made, f"olbench report {folder}"))
    return Grid("Runs", left("paper", "citation", "folder", "ended", "in full"), rows)


def summary_document(found: Sequence[Reproduction]) -> Document[Sequence[Reproduction]]:
    """Return the summary; on its page, every table is a section."""
    tables = [_numbers(found), _claims(found), _runs(found)]

    def section(number: int, table: Grid) -> Section[Sequence[Reproduction]]:
        return Section(f"part-{number}", table.title, lambda _: [table])

    return Document(
        found,
        [section(number, table) for number, table in enumerate(tables)],
        parts=lambda: tables,
        content=lambda: {each.paper.id: _content(each) for each in found},
        name="Papers, run again",
        kicker="olbench summary",
        lead="What came out of every paper's experiments.",
    )


def _content(found: Reproduction) -> dict[str, Any]:
    return {
        "title": found.paper.title,
        "folders": [str(report.results.folder) for report in found.reports],
        "numbers": {quantity.name: dict(counts) for quantity, counts in found.counts.items()},
        "claims": dict(found.claims),
    }
