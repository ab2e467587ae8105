"""Several papers on one page: what each run makes of its paper's numbers and claims."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from olbench.errors import UserError
from olbench.papers import Paper, load_paper
from olbench.quantities import Quantity
from olbench.report import verdicts
from olbench.report.claims import NOT_CHECKED, OUTCOMES
from olbench.report.document import Document
from olbench.report.grid import Grid, Part, boxes, left, right
from olbench.report.model import Report, make_report
from olbench.report.sections import Section
from olbench.trials import run_file


@dataclass(frozen=True)
class Reproduction:
    """The runs that speak for a paper; a number or a claim counts in the first run that can decide it."""

    paper: Paper
    reports: tuple[Report, ...]

    @property
    def counts(self) -> dict[str, Counter[str]]:
        """How many numbers have each verdict, by quantity, without the unexplained ones."""
        judged = {each.name: each for report in self.reports for each in report.judged}
        return {name: verdicts.count(self.judgements, quantity) for name, quantity in judged.items()}

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

    def quantity(self, name: str) -> Quantity:
        """Return the count of a name."""
        return next(
            each for report in self.reports for each in report.protocol.quantities if each.name == name
        )


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


def parts(found: Sequence[Reproduction]) -> list[Part]:
    """Return the tables of the summary: numbers, claims, and where to read on."""
    if not found:
        return ["There is no finished run with a paper; start one with `make reproduce`."]
    return [_numbers(found), _claims(found), _runs(found)]


def _numbers(found: Sequence[Reproduction]) -> Grid:
    rows = []
    for each in found:
        for name, counts in each.counts.items():
            quantity = each.quantity(name)
            numbers = [str(counts[verdict]) for verdict in verdicts.VERDICTS]
            if leaning := verdicts.count_leaning(each.judgements, quantity):
                numbers[0] += f" ({leaning}{verdicts.LEANS})"
            rows.append(boxes(each.paper.id, quantity.counted, str(counts.total()), *numbers))
    columns = (*left("paper", "numbers"), *right("all", *verdicts.VERDICTS))
    note = (
        f"Reproduced: {verdicts.MEANINGS[verdicts.REPRODUCED]}. {verdicts.BINOMIAL} "
        f"{verdicts.LEANS} {verdicts.LEANS_MEANING}."
    )
    return Grid("Published numbers, ours beside them", columns, tuple(rows), note)


def _claims(found: Sequence[Reproduction]) -> Grid:
    rows = [
        boxes(each.paper.id, str(each.claims.total()), *(str(each.claims[outcome]) for outcome in OUTCOMES))
        for each in found
    ]
    return Grid("Claims, checked on our runs", (*left("paper"), *right("all", *OUTCOMES)), tuple(rows))


def _runs(found: Sequence[Reproduction]) -> Grid:
    rows = [
        boxes(
            each.paper.id, each.paper.citation, str(report.results.folder), report.made,
            f"olbench report {report.results.folder}",
        )
        for each in found
        for report in each.reports
    ]  # fmt: skip
    return Grid("Runs", left("paper", "citation", "folder", "ended", "in full"), tuple(rows))


def summary_document(found: Sequence[Reproduction]) -> Document[Sequence[Reproduction]]:
    """Return the summary; on its page, every table is a section."""
    tables = parts(found)
    return Document(
        found,
        [
            Section(
                f"part-{number}",
                part.title if isinstance(part, Grid) else "Summary",
                partial(_only, part),
            )
            for number, part in enumerate(tables)
        ],
        parts=lambda: tables,
        content=lambda: plain(found),
        name="Papers, run again",
        kicker="olbench summary",
        lead="What came out of every paper's experiments.",
    )


def _only(part: Part, found: Sequence[Reproduction]) -> list[Part]:
    return [part]


def plain(found: Sequence[Reproduction]) -> dict[str, Any]:
    """Return the summary as plain values."""
    return {
        each.paper.id: {
            "title": each.paper.title,
            "folders": [str(report.results.folder) for report in each.reports],
            "numbers": {name: dict(counts) for name, counts in each.counts.items()},
            "claims": dict(each.claims),
        }
        for each in found
    }
