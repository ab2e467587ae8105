"""An audit as a table for the terminal, as Markdown and as JSON."""

import math
import sys
from collections.abc import Sequence
from itertools import groupby

from olbench.analysis.published import load_paper
from olbench.papers.audit import Check, Evidence, Plain, Result
from olbench.report.document import Document
from olbench.report.table import Column, Format, Part, Table, columns


def number(value: Plain) -> str:
    """Return a number, or a list of numbers, for use in a sentence.

    >>> number([[10.0, 0.0], [-3.0, 0.123456]])
    '((10, 0), (-3, 0.1235))'
    """
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return f"({', '.join(map(number, value))})"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def evidence(result: Result) -> list[str]:
    parts = [f"As printed, {_count(result.printed)}."]
    if result.printed.example:
        parts.append(f"Counter-example: {_example(result.printed)}.")
    if result.corrected is not None:
        parts.append(f"Corrected, {_count(result.corrected)}.")
        if result.corrected.example:
            parts.append(f"It fails at {_example(result.corrected)}.")
    return parts + ([f"{result.note}."] if result.note else [])


def _example(finding: Evidence) -> str:
    return ", ".join(f"{name} = {number(value)}" for name, value in finding.example.items())


def _count(finding: Evidence) -> str:
    if not finding.tried:
        return "nothing could be tried"
    share = finding.unit == "of the bound"
    if finding.violations:
        amount = f"{finding.worst:.0%}" if share else f"{finding.worst:.3g}"
        size = f", by up to {amount} {finding.unit}" if finding.unit else ""
        return f"{finding.violations:,} of {finding.tried:,} fail{size}"
    if share:
        return f"all {finding.tried:,} hold, at most {max(0.0, 1.0 + finding.worst):.0%} of the bound"
    size = f", to {finding.worst:.0e} {finding.unit}" if finding.unit and finding.worst > 0.0 else ""
    return f"all {finding.tried:,} hold{size}"


def summary(results: Sequence[Result]) -> str:
    wrong = sum(not result.printed.holds for result in results)
    repaired = sum(result.corrected is not None and result.corrected.holds for result in results)
    text = (
        f"Statements checked: {len(results)}. Right as printed: {len(results) - wrong}. "
        f"Wrong as printed: {wrong}. Corrections that hold: {repaired}."
    )
    odd = [f"{result.check.paper} {result.check.id}" for result in results if not result.as_expected]
    return f"{text} Not as expected: {', '.join(odd)}." if odd else f"{text} Everything is as expected."


def parts(results: Sequence[Result]) -> list[Part]:
    story = Column("where, statement, evidence, command", Format(side="left", multiline=True))
    shown = (story, *columns("printed", "corrected"))
    found: list[Part] = []
    for paper, group in groupby(results, lambda result: result.check.paper):
        own = list(group)
        doc = sys.modules[own[0].check.examine.__module__].__doc__ or load_paper(paper).title
        rows = []
        for result in own:
            check, doubt = result.check, "" if result.as_expected else " !"
            lines = [check.where, f"{check.statement}."]
            lines += [f"Correction: {check.correction}."] if check.correction else []
            lines += [" ".join(evidence(result)), result.command, ""]
            corrected = result.corrected.verdict if result.corrected else "not needed"
            rows.append(("\n".join(lines), f"{result.printed.verdict}{doubt}", corrected))
        found.append(Table(f"{paper}: {doc.strip().splitlines()[0]}", shown, rows))
    return [*found, summary(results)]


def list_checks(checks: Sequence[Check]) -> Table:
    rows = [(check.paper, check.id, check.where) for check in checks]
    return Table("Checks: olbench audit PAPER --check ID", columns("paper", "id", "where"), rows)


def audit_document(results: Sequence[Result]) -> Document:
    return Document("Audit", lambda: parts(results), sections=list, content=lambda: content(results))


def content(results: Sequence[Result]) -> dict[str, object]:
    rows = [
        {
            "paper": result.check.paper,
            "check": result.check.id,
            "where": result.check.where,
            "statement": result.check.statement,
            "correction": result.check.correction or None,
            "printed": _finding(result.printed),
            "corrected": result.corrected and _finding(result.corrected),
            "note": result.note or None,
            "as_expected": result.as_expected,
            "seed": result.seed,
            "trials": result.trials,
            "command": result.command,
        }
        for result in results
    ]
    return {"checks": rows}


def _finding(finding: Evidence) -> dict[str, object]:
    return {
        "verdict": finding.verdict,
        "tried": finding.tried,
        "violations": finding.violations,
        "worst": _finite(finding.worst),
        "unit": finding.unit or None,
        "example": {name: _finite(value) for name, value in finding.example.items()} or None,
    }


def _finite(value: Plain) -> Plain:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
