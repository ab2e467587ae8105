"""olbench figures: the illustrations of a paper, which need no run of the user's."""

from pathlib import Path

import click

from olbench.cli.output import say
from olbench.errors import list_some


@click.command("figures")
@click.argument("paper")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path, file_okay=False), default=Path("figures"),
    show_default=True, help="Folder for the figures.",
)  # fmt: skip
def command(paper: str, output: Path) -> None:
    """Draw the illustrations of PAPER as PNG, PDF and SVG: formulas, data, single learners, runs that ship.

    One that shows a data set fetches it. If that fails, the others are drawn all the same.
    All figures of a run are drawn by `olbench report DIR --figures FOLDER`.

    \b
    Examples:
      olbench figures cw2008
      olbench figures scw2012
      olbench figures cw2012 --output paper/figures
    """
    from olbench.report.illustrations import save_illustrations

    paths, refused = save_illustrations(paper, output)
    names = list(dict.fromkeys(path.stem for path in paths))
    verb = "are" if len(names) > 1 else "is"
    listed = " and ".join(names) if len(names) < 3 else list_some(names, 2)
    say(f"{listed} {verb} in {output}, as PNG, PDF and SVG", err=True)
    for name, error in refused.items():
        say(f"{name} is left out: {error}", err=True)
