"""Several papers on one page: how their numbers and claims fare in our runs."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from olbench.analysis import evidence, verdicts
from olbench.analysis.claims import OPEN, OUTCOMES, ClaimVerdict, combine
from olbench.analysis.evidence import NamedRow, WrongLearners
from olbench.analysis.published import Paper, load_paper
from olbench.analysis.verdicts import NOT_COMPARABLE, Judgement
from olbench.errors import UserError
from olbench.protocols.recorded import read_run
from olbench.records import run_file
from olbench.records.quantities import Quantity
from olbench.records.shipped import runs
from olbench.report import table as t
from olbench.report import words
from olbench.report.document import Document, Section
from olbench.report.model import Report, find_paper_of, make_report
from olbench.report.table import Column, Table, columns


@dataclass(frozen=True)
class Reproduction:
    """The runs of a paper. A number is judged by the first, most complete run that can judge it.

    A claim is checked by every run, unless another run checks it on the same data sets and more.
    """

    paper: Paper
    reports: tuple[Report, ...]

    @property
    def counts(self) -> dict[Quantity, Counter[str]]:
        judged = {each.name: each for report in self.reports for each in report.judged}
        return {quantity: verdicts.count(self.judgements, quantity) for quantity in judged.values()}

    @cached_property
    def controls(self) -> dict[Quantity, evidence.WrongLearners]:
        return {quantity: evidence.control(self.printed_cells, quantity) for quantity in self.counts}

    @cached_property
    def identification(self) -> evidence.Identification:
        return evidence.identify(self.printed_cells)

    @cached_property
    def deciding(self) -> dict[str, list[tuple[Report, ClaimVerdict]]]:
        found: dict[str, list[tuple[Report, ClaimVerdict]]] = {}
        for report in self.reports:
            for claim in report.claims:
                found.setdefault(claim.id, []).append((report, claim))
        return {id: _drop_subsumed(each) for id, each in found.items()}

    @property
    def claims(self) -> Counter[str]:
        found = self.deciding.values()
        return Counter(combine(claim.verdict for _, claim in each) if each else OPEN for each in found)

    @property
    def conflicts(self) -> dict[str, list[tuple[Report, ClaimVerdict]]]:
        return {id: own for id, own in self.deciding.items() if len({claim.verdict for _, claim in own}) > 1}

    @cached_property
    def judgements(self) -> list[Judgement]:
        return [judgement for _, judgement in self._decided.values()]

    @cached_property
    def _decided(self) -> dict[str, tuple[Report, Judgement]]:
        decided: dict[str, tuple[Report, Judgement]] = {}
        for report in self.reports:
            for each in report.judgements:
                known = decided.get(each.key)
                if known is None or (known[1].verdict == NOT_COMPARABLE != each.verdict):
                    decided[each.key] = report, each
        return decided

    @cached_property
    def cells_by_run(self) -> dict[str, list[evidence.PrintedCell]]:
        """The printed cells that each run decides, by its name, of runs that decide any."""
        found: dict[str, list[evidence.PrintedCell]] = {}
        for report in self.reports:
            own = (judgement for deciding, judgement in self._decided.values() if deciding is report)
            found.setdefault(report.results.name, []).extend(evidence.printed_cells(own))
        return {name: own for name, own in found.items() if own}

    @property
    def printed_cells(self) -> list[evidence.PrintedCell]:
        return [cell for own in self.cells_by_run.values() for cell in own]


def _drop_subsumed(found: list[tuple[Report, ClaimVerdict]]) -> list[tuple[Report, ClaimVerdict]]:
    """Return the runs that decide a claim, without those whose data sets another run covers."""
    decided = [(report, claim) for report, claim in found if claim.verdict != OPEN]
    kept: list[tuple[Report, ClaimVerdict]] = []
    for report, claim in sorted(decided, key=lambda each: -len(each[1].datasets)):
        if not any(set(claim.datasets) <= set(other.datasets) for _, other in kept):
            kept.append((report, claim))
    return kept


def find_runs(root: Path) -> list[Path]:
    """Return one run per name: the most complete, then the largest, then the user's; not quick looks."""
    best: dict[str, tuple[tuple[int, int, bool], Path]] = {}
    own = (path.parent for path in sorted(root.glob(f"*/{run_file.NAME}")))
    candidates = [(folder.name, folder, True) for folder in own]
    candidates += [(name, folder, False) for name, folder in runs().items()]
    for name, folder, is_own in candidates:
        try:
            run = read_run(folder)
        except UserError:
            continue  # skip folders that are not runs
        if not (run.file.end and (paper := find_paper_of(folder, run.config))):
            continue
        needed = max((each.n or 0 for each in paper.numbers if each.deviation is not None), default=0)
        if max((cell.planned for cell in run.file.cells), default=0) >= needed:
            done = [len(cell.keys) for cell in run.file.cells if cell.params is not None]
            standing = len(done), sum(done), is_own
            if name not in best or standing > best[name][0]:
                best[name] = standing, folder
    return [folder for _, folder in best.values()]


def reproductions(folders: Sequence[Path]) -> list[Reproduction]:
    reports: dict[str, list[Report]] = {}
    for folder in folders:
        report = make_report(folder)
        if report.paper:
            reports.setdefault(report.results.config.paper, []).append(report)
    return [Reproduction(load_paper(id), tuple(sorted(reports[id], key=_standing))) for id in sorted(reports)]


def _standing(report: Report) -> tuple[int, int, str]:
    judged = sum(each.verdict != NOT_COMPARABLE for each in report.judgements)
    return -judged, -sum(entry.done for entry in report.results.entries), report.results.name


def _numbers(found: Sequence[Reproduction]) -> Table:
    rows = []
    for each in found:
        for quantity, counts in each.counts.items():
            leaning = verdicts.count_leaning(each.judgements, quantity)
            first = f"{counts[verdicts.REPRODUCED]}" + (f" ({leaning}{words.LEANS})" if leaning else "")
            others = [counts[verdict] for verdict in verdicts.VERDICTS[1:]]
            rows.append((each.paper.id, quantity.counted, counts.total(), first, *others))
    shown = (
        *columns("paper", "numbers"),
        Column("all", t.COUNT),
        Column(verdicts.REPRODUCED, t.RIGHT),
        *columns(*verdicts.VERDICTS[1:], format=t.COUNT),
    )
    judgements = [judgement for each in found for judgement in each.judgements]
    notes = (
        f"Reproduced: {words.describe_meanings(judgements)[verdicts.REPRODUCED]}.",
        words.describe_exceptions(judgements),
        f"{words.LEANS} {words.MARKS[words.LEANS]}." if any(each.leans for each in judgements) else "",
        "A number counts once, in the first run that can judge it; the next table lists the runs.",
    )
    return Table("Published numbers compared with ours", shown, rows, " ".join(filter(None, notes)))


def _evidence(found: Sequence[Reproduction]) -> Table:
    rows = []

    def add(texts: Sequence[str], control: WrongLearners | None, named: Sequence[NamedRow]) -> None:
        ours = others = ""
        if control:
            fewest, middle, most = control.deranged or (math.nan,) * 3
            ours = f"{control.reproduced} of {control.total}"
            others = f"{middle:.0f} ({fewest:.0f} to {most:.0f})"
        right_ones, decisive = sum(row.is_right for row in named), sum(row.is_identified for row in named)
        rows.append((*texts, ours, others, f"{right_ones} of {len(named)}", decisive))

    for id, each in ((each.paper.id, each) for each in found):
        for name, own in each.cells_by_run.items():
            for quantity in each.counts:
                control = evidence.control(own, quantity)
                if control.deranged:
                    judged = [cell.judged[quantity.name] for cell in own if quantity.name in cell.judged]
                    named = evidence.identify(evidence.printed_cells(judged)).rows
                    add((id, name, quantity.counted), control, named)
            named = evidence.identify(own).rows
            if named and len(each.counts) > 1:
                add((id, name, "all together"), None, named)
        if len(each.cells_by_run) > 1:
            for quantity, control in each.controls.items():
                add((id, "all runs", quantity.counted), control, each.identification.rows)
    note = (
        "Other learners: the median and range if every row gets the learner of another row. Rows named "
        "right: blind matching finds the learner of the row; decisively, if by a factor of 20. All runs: one "
        "assignment for the whole paper, so its numbers are not the sums of the parts."
    )
    shown = (
        *columns("paper", "run", "numbers"),
        *columns("right learners", "other learners", "rows named right", format=t.RIGHT),
        Column("decisively", t.COUNT),
    )
    return Table("What the verdicts prove", shown, rows, note)


def _claims(found: Sequence[Reproduction]) -> Table:
    counts = {each.paper.id: each.claims for each in found if each.claims}
    rows = [(id, own.total(), *(own[outcome] for outcome in OUTCOMES)) for id, own in counts.items()]
    shown = (Column("paper"), *columns("all", *OUTCOMES, format=t.COUNT))
    return Table("Claims, checked on our runs", shown, rows)


def _conflicts(found: Sequence[Reproduction]) -> Table:
    rows = [
        (each.paper.id, own[0][1].text, "; ".join(f"{r.results.name}: {c.verdict}" for r, c in own))
        for each in found
        for own in each.conflicts.values()
    ]
    return Table("Claims on which runs disagree", columns("paper", "claim", "runs"), rows)


def _runs(found: Sequence[Reproduction]) -> Table:
    names = {folder: name for name, folder in runs().items()}
    rows = []
    for paper, report in ((each.paper, report) for each in found for report in each.reports):
        name = names.get(report.results.folder, str(report.results.folder))
        rows.append((paper.id, paper.citation, name, report.made[:10], f"olbench report {name}"))
    return Table("Runs", columns("paper", "citation", "run", "ended", "in full"), rows)


def summary_document(found: Sequence[Reproduction]) -> Document:
    made = (_numbers(found), _evidence(found), _claims(found), _conflicts(found), _runs(found))
    tables = [table for table in made if table.rows]
    return Document(
        "Papers, run again",
        parts=lambda: tables,
        sections=lambda: [Section(table.caption, [table]) for table in tables],
        content=lambda: {each.paper.id: _content(each) for each in found},
        kicker="olbench summary",
        lead="What came out of every paper's experiments.",
    )


def _content(found: Reproduction) -> dict[str, Any]:
    return {
        "title": found.paper.title,
        "folders": [str(report.results.folder) for report in found.reports],
        "numbers": {quantity.name: dict(counts) for quantity, counts in found.counts.items()},
        "wrong_learners": {quantity.name: each.deranged for quantity, each in found.controls.items()},
        "rows_named_right": sum(row.is_right for row in found.identification.rows),
        "claims": dict(found.claims),
        "conflicts": {
            id: {report.results.name: claim.verdict for report, claim in own}
            for id, own in found.conflicts.items()
        },
    }
