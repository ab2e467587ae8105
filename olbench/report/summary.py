"""Several papers on one page: what each run makes of its paper's numbers and claims."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from olbench.engine import runfile
from olbench.errors import UserError
from olbench.papers import Paper
from olbench.report import verdicts
from olbench.report.build import Report, make_report
from olbench.report.claims import OUTCOMES
from olbench.report.grid import Grid, Part, boxes, left, right
from olbench.report.html import render_plain


@dataclass(frozen=True)
class Reproduction:
    """The run that speaks for a paper."""

    paper: Paper
    report: Report

    @property
    def counts(self) -> dict[str, Counter[str]]:
        """How many numbers have each verdict, by quantity."""
        return {each.name: verdicts.count(self.report.judgements, each) for each in self.report.judged}

    @property
    def claims(self) -> Counter[str]:
        """How many claims have each verdict."""
        return Counter(claim.verdict for claim in self.report.claims)


def find_runs(root: Path) -> list[Path]:
    """Return one folder per paper and protocol: the user's newest run, or else the one that ships."""
    found: dict[tuple[str, str], tuple[bool, str, Path]] = {}
    for pattern, own in ((f"*/{runfile.NAME}", True), (f"*/{runfile.REFERENCE}/{runfile.NAME}", False)):
        for path in sorted(root.glob(pattern)):
            try:
                run = runfile.read(path.parent)
            except UserError:
                continue  # skip folders that are not runs
            rank = own, run.start, path.parent
            about = run.config.paper, run.config.protocol
            if run.config.paper and run.end and rank > found.get(about, (False, "", Path())):
                found[about] = rank
    return [folder for _, _, folder in found.values()]


def reproductions(folders: Sequence[Path]) -> list[Reproduction]:
    """Return what is known of the papers of some runs."""
    reports = [make_report(folder) for folder in folders]
    return [Reproduction(report.paper, report) for report in reports if report.paper]


def parts(found: Sequence[Reproduction]) -> list[Part]:
    """Return the tables of the summary: numbers, claims, and where to read on."""
    if not found:
        return ["There is no finished run with a paper; start one with `make reproduce`."]
    return [_numbers(found), _claims(found), _runs(found)]


def _numbers(found: Sequence[Reproduction]) -> Grid:
    rows = []
    for each in found:
        for name, counts in each.counts.items():
            quantity = each.report.protocol.quantity(name)
            numbers = [str(counts[verdict]) for verdict in verdicts.VERDICTS]
            rows.append(boxes(each.paper.id, quantity.counted, str(counts.total()), *numbers))
    columns = (*left("paper", "numbers"), *right("all", *verdicts.VERDICTS))
    note = f"Reproduced: {verdicts.MEANINGS[verdicts.REPRODUCED]}. {verdicts.BINOMIAL}"
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
            each.paper.id, each.paper.citation, str(each.report.results.folder), each.report.made,
            f"olbench report {each.report.results.folder}",
        )
        for each in found
    ]  # fmt: skip
    return Grid("Runs", left("paper", "citation", "folder", "ended", "in full"), tuple(rows))


def render_html(found: Sequence[Reproduction]) -> str:
    """Return the summary as a page."""
    return render_plain("Papers, run again", "What came out of every paper's experiments.", parts(found))


def plain(found: Sequence[Reproduction]) -> dict[str, Any]:
    """Return the summary as plain values."""
    return {
        each.paper.id: {
            "title": each.paper.title,
            "folder": str(each.report.results.folder),
            "numbers": {name: dict(counts) for name, counts in each.counts.items()},
            "claims": dict(each.claims),
        }
        for each in found
    }
