"""olbench site: a static site over many runs."""

import sys
from pathlib import Path

import click

from olbench.cli.output import say
from olbench.report.grid import count


@click.command("site")
@click.argument("runs", metavar="[RUN]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--output", "-o", metavar="DIR", required=True, type=click.Path(path_type=Path),
    help="The folder of the site. A site that is there already is replaced; anything else is refused.",
)  # fmt: skip
def command(runs: tuple[Path, ...], output: Path) -> None:
    """Make a static site of RUNs: folders, bundles, or names of runs that ship. Without RUN, all that ship.

    The site has an index with filters, a leaderboard per protocol and measure, and a page per algorithm and
    per data set with every result, where it comes from, and the command that runs it again. It
    needs no server and loads nothing from elsewhere: open index.html, or copy the
    folder to any web server.

    \b
    Examples:
      olbench site -o public
      olbench site scw results/quick -o public
      olbench site results/quick scw.olb -o public
    """
    from olbench.report.site.build import build_site, load_runs

    loaded = load_runs(runs)
    if not loaded:
        say("olbench: no trial of these runs is done yet; run their configs first", err=True)
        sys.exit(4)
    pages = build_site(loaded, output)
    say(f"{count(pages, 'page')} on {count(len(loaded), 'run')}: open {output / 'index.html'}", err=True)
