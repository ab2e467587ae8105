"""olbench merge: parts of one experiment, put together."""

import sys
from pathlib import Path

import click

from olbench.cli.flags import TRUST
from olbench.cli.output import program, say
from olbench.errors import UserError, count, escape_controls

#: How many conflicts are printed at most.
MAX_LINES = 100


@click.command("merge")
@click.argument("runs", metavar="DIR|FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--output", "-o", required=True, type=click.Path(path_type=Path), help="The folder to write; a new one."
)
@TRUST
def command(runs: tuple[Path, ...], output: Path, trust_plugins: bool) -> None:
    """Put parts of one experiment, as folders or bundles, together in a new folder.

    The parts may have different data sets and algorithms, and different numbers of trials; all other keys
    of their configs must agree. Trials that several parts have must agree in every count. Their times are
    those of the first part. Exit code 1: the parts contradict each other; nothing is written then.

    \b
    Examples:
      olbench merge results/first results/second -o results/whole
      olbench merge anna.olb results/scw -o both && olbench report both
    """
    from olbench import api
    from olbench.engine.merging import ConflictError

    if len(runs) < 2:
        raise UserError("there is nothing to merge: name at least two runs")
    try:
        merged = api.merge(runs, output, trust_plugins=trust_plugins)
    except ConflictError as error:
        for conflict in error.conflicts[:MAX_LINES]:
            say(f"CONFLICT: {escape_controls(conflict)}", err=True)
        found = count(len(error.conflicts), "conflict")
        say(f"olbench: {found}, so nothing was written", err=True)
        sys.exit(error.exit_code)
    held = f"{count(merged.trials, 'trial')} from {count(merged.parts, 'part')}"
    say(f"{merged.folder}: {held}" + ("" if merged.is_complete else "; it is not complete yet"))
    if merged.shared:
        say(
            f"{count(merged.shared, 'trial')} in more than one part, the same to the digit; times are those "
            "of the first part"
        )
    click.echo(f"next: {program()} report {merged.folder}")
