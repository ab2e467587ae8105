"""olbench summary: every paper on one page."""

import sys
from pathlib import Path

import click

from olbench.cli.flags import OUTPUT, format_flag
from olbench.cli.output import deliver, render, say


@click.command("summary")
@click.argument("folders", metavar="[DIR]...", nargs=-1, type=click.Path(path_type=Path))
@format_flag("text", "md", "json", "html")
@OUTPUT
def command(folders: tuple[Path, ...], form: str, output: Path | None) -> None:
    """Sum up the papers: how many of their numbers are reproduced, and how many of their claims hold.

    Without DIR: the finished runs of papers that ship, and yours below results/. Of two runs of one name, the
    more complete one speaks, then the one with more trials, then yours; a quick look, with fewer
    permutations than the paper has, never does. A number counts in the most complete run that can judge it.
    Claims on which runs disagree are listed.

    \b
    Examples:
      olbench summary
      olbench summary results/scw/reference results/cw/reference
      olbench summary --format html --output papers.html
    """
    from olbench.report import summary

    found = summary.reproductions(folders or summary.find_runs(Path("results")))
    if not found:
        say("olbench: there is no finished run of a paper below results/", err=True)
        sys.exit(4)
    deliver(render(summary.summary_document(found), form, output), output, "summary")
