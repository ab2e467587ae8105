"""olbench bundle: a run in one file."""

from pathlib import Path

import click

from olbench.cli.output import program, say
from olbench.errors import count


@click.command("bundle")
@click.argument("folder", metavar="DIR|NAME", type=click.Path(path_type=Path))
@click.option(
    "--output", "-o", type=click.Path(path_type=Path, dir_okay=False),
    help="The file to write [default: the name of the run, with .olb].",
)  # fmt: skip
def command(folder: Path, output: Path | None) -> None:
    """Write the run in DIR, or one that ships, as one file that others can read, check and run again.

    The file has the config, every trial, the plugins' sources, rules, the paper's numbers, and how to get
    the data; it has no data, and neither paths nor the name of this machine. The same run gives the same
    bytes. `olbench report` and `olbench verify` take it in place of a folder.

    \b
    Examples:
      olbench bundle results/quick -o quick.olb
      olbench bundle scw
      olbench report quick.olb
      olbench verify quick.olb
    """
    from olbench import api

    bundled = api.bundle(folder, output)
    size = f"{bundled.bytes / 1e6:,.2f} MB" if bundled.bytes >= 1e5 else f"{bundled.bytes / 1e3:,.1f} KB"
    held = f"{count(bundled.trials, 'trial')} on {count(bundled.datasets, 'data set')}"
    say(f"{bundled.path}: {held}, {size}")
    if not bundled.is_complete:
        say("the run is not complete; the bundle has what is done", err=True)
    click.echo(f"next: {program()} verify {bundled.path}")
