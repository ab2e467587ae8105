"""olbench audit: the theory of the papers, checked numerically."""

import shutil
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olbench.cli.flags import OUTPUT, format_flag
from olbench.cli.output import deliver, say

if TYPE_CHECKING:
    from olbench.papers.audit import Check, Result

FORMATS = ("text", "json", "md")


@click.command("audit")
@click.argument("paper", required=False)
@click.option("--check", "id", metavar="ID", help="Run only this check.")
@click.option("--list", "listing", is_flag=True, help="List the checks and run none.")
@format_flag(*FORMATS)
@OUTPUT
@click.option("--seed", type=click.IntRange(0), help="Seed of the random instances [default: 2012].")
@click.option(
    "--trials", type=click.IntRange(1), help="Runs, or groups of points, that each check tries [default: 40]."
)
def command(
    paper: str | None, id: str | None, listing: bool, form: str, output: Path | None, seed: int | None,
    trials: int | None,
) -> None:  # fmt: skip
    """Check the theory of PAPER, or of all papers, as printed and as corrected.

    Each statement is checked numerically on many instances: closed forms against numerical optimisers, lemmas
    and bounds on runs of the learners. The exit code is 0 if every true statement holds and every statement
    known to be wrong has its counter-example, and 1 otherwise.

    \b
    Examples:
      olbench audit
      olbench audit cw2008
      olbench audit cw2008 --check theorem-4
      olbench audit scw2012 --format md --output audit.md
      olbench audit --list
    """
    from olbench.papers.audit import SEED, TRIALS, checks

    chosen = checks(paper, id)
    if listing:
        width = max(len(each.id) for each in chosen)
        for each in chosen:
            say(f"{each.paper:8}  {each.id:{width}}  {each.where}", indent=10)
        return
    results = examine(chosen, SEED if seed is None else seed, TRIALS if trials is None else trials)
    deliver(rendered(results, form, output), output, "audit")
    sys.exit(0 if all(result.as_expected for result in results) else 1)


def examine(chosen: "list[Check]", seed: int, trials: int) -> "list[Result]":
    from rich.console import Console

    from olbench.engine.stopping import stop_on_interrupt

    console = Console(stderr=True)
    results = []
    with console.status("") as status, stop_on_interrupt() as stop:
        for number, each in enumerate(chosen, start=1):
            status.update(f"{number} of {len(chosen)}: {each.paper} {each.id}")
            # The compiler may swallow an interrupt; the flag stays.
            result = stop.or_none(partial(each.run, seed, trials))
            if result is None:
                raise KeyboardInterrupt
            results.append(result)
    return results


def rendered(results: "list[Result]", form: str, output: Path | None) -> str:
    from olbench.papers.audit import render

    if form == "json":
        return render.render_json(results)
    if form == "md":
        return render.render_markdown(results)
    terminal = output is None and sys.stdout.isatty()
    width = min(shutil.get_terminal_size((120, 24)).columns, 140) if output is None else 120
    return render.render_text(results, width, terminal)
