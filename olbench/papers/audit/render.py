"""An audit as a table for the terminal, as Markdown and as JSON."""

import importlib
import json
import math
from collections.abc import Sequence
from itertools import groupby

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from olbench.papers.audit.definition import Evidence, Plain, Result
from olbench.plugins import find_paper_part
from olbench.report.renderers.md import escape
from olbench.report.renderers.text import new_console, printed_text

COLOURS = {"holds": "green", "wrong": "red", "not needed": "dim"}
NARROWEST = 80


def title(paper: str) -> str:
    doc = importlib.import_module(find_paper_part(paper, "audit")).__doc__ or paper
    return doc.strip().splitlines()[0]


def number(value: Plain) -> str:
    """Return a number, or a list of them, as one writes it in a sentence.

    >>> number([[10.0, 0.0], [-3.0, 0.123456]])
    '((10, 0), (-3, 0.1235))'
    """
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return f"({', '.join(map(number, value))})"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def evidence(result: Result) -> list[str]:
    outcome = result.outcome
    parts = [f"As printed, {_count(outcome.printed)}."]
    if outcome.printed.example:
        parts.append(f"Counter-example: {_example(outcome.printed)}.")
    if outcome.corrected is not None:
        parts.append(f"Corrected, {_count(outcome.corrected)}.")
        if outcome.corrected.example:
            parts.append(f"It fails at {_example(outcome.corrected)}.")
    return parts + ([f"{outcome.note}."] if outcome.note else [])


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
    wrong = sum(result.printed == "wrong" for result in results)
    repaired = sum(result.corrected == "holds" for result in results)
    text = (
        f"Statements checked: {len(results)}. Right as printed: {len(results) - wrong}. "
        f"Wrong as printed: {wrong}. Corrections that hold: {repaired}."
    )
    odd = [f"{result.check.paper} {result.check.id}" for result in results if not result.as_expected]
    return f"{text} Not as expected: {', '.join(odd)}." if odd else f"{text} Everything is as expected."


def _paper(result: Result) -> str:
    return result.check.paper


def render_text(results: Sequence[Result], width: int = 120, colour: bool = False) -> str:
    console = new_console(max(width, NARROWEST), colour)
    for paper, rows in groupby(results, _paper):
        console.print(Text(f"{paper}: {title(paper)}", style="bold"))
        table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold", expand=True)
        table.add_column("where, statement, evidence, command", ratio=1)
        table.add_column("printed", no_wrap=True)
        table.add_column("corrected", no_wrap=True)
        for result in rows:
            verdicts = [Text(each, style=COLOURS[each]) for each in (result.printed, result.corrected)]
            if not result.as_expected:
                verdicts[0].append(" !", style="bold red")
            story = Text().append(result.check.where, style="bold").append(f"\n{result.check.statement}.")
            if result.check.correction:
                story.append(f"\nCorrection: {result.check.correction}.", style="italic")
            story.append("\n" + " ".join(evidence(result))).append(f"\n{result.command}", style="dim")
            table.add_row(story, *verdicts)
            table.add_row()
        console.print(table)
        console.print()
    console.print(Text(summary(results)))
    return printed_text(console)


def render_markdown(results: Sequence[Result]) -> str:
    parts = []
    for paper, rows in groupby(results, _paper):
        lines = [f"## {paper}", "", title(paper), ""]
        lines += ["| where | statement | correction | printed | corrected | evidence | command |"]
        lines += ["|:--|:--|:--|:--|:--|:--|:--|"]
        for result in rows:
            check = result.check
            texts = [check.where, check.statement, check.correction, result.printed, result.corrected]
            texts = [*map(escape, (*texts, " ".join(evidence(result)))), f"`{result.command}`"]
            lines.append(f"| {' | '.join(texts)} |")
        parts.append("\n".join(lines))
    return "\n\n".join([*parts, escape(summary(results))]) + "\n"


def render_json(results: Sequence[Result]) -> str:
    rows = [
        {
            "paper": result.check.paper,
            "check": result.check.id,
            "where": result.check.where,
            "statement": result.check.statement,
            "correction": result.check.correction or None,
            "printed": _finding(result.printed, result.outcome.printed),
            "corrected": _finding(result.corrected, result.outcome.corrected),
            "note": result.outcome.note or None,
            "as_expected": result.as_expected,
            "seed": result.seed,
            "trials": result.trials,
            "command": result.command,
        }
        for result in results
    ]
    return json.dumps({"checks": rows}, indent=1, allow_nan=False) + "\n"


def _finding(verdict: str, finding: Evidence | None) -> dict[str, object] | None:
    if finding is None:
        return None
    return {
        "verdict": verdict,
        "tried": finding.tried,
        "violations": finding.violations,
        "worst": _finite(finding.worst),
        "unit": finding.unit or None,
        "example": {name: _finite(value) for name, value in finding.example.items()} or None,
    }


def _finite(value: Plain) -> Plain:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
