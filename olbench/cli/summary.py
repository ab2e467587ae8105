"""olbench summary: every paper on one page."""

import json
import shutil
import sys
from pathlib import Path

import click

from olbench.cli.output import deliver


@click.command("summary")
@click.argument("folders", metavar="[DIR]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--format", "form", type=click.Choice(["text", "md", "json", "html"]), default="text", show_default=True,
    help="What to make.",
)  # fmt: skip
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file.")
def command(folders: tuple[Path, ...], form: str, output: Path | None) -> None:
    """Sum up the papers: how many of their numbers are reproduced, and how many of their claims hold.

    Without DIR: every finished run of a paper below results/; of each config your own, or else the one that
    ships. Several runs may speak for one paper: a number counts in the first of them that can be compared.

    \b
    Examples:
      olbench summary
      olbench summary results/scw/reference results/cw/reference
      olbench summary --format html --output papers.html
    """
    from olbench.report import markdown, summary, text

    found = summary.reproductions(folders or summary.find_runs(Path("results")))
    if not found:
        click.echo("olbench: there is no finished run of a paper below results/", err=True)
        sys.exit(4)
    if form == "json":
        content = json.dumps(summary.plain(found), indent=1) + "\n"
    elif form == "html":
        content = summary.render_html(found)
    elif form == "md":
        content = markdown.render(summary.parts(found))
    else:
        content = text.render(summary.parts(found), shutil.get_terminal_size((160, 24)).columns)
    deliver(content, output, "summary")
