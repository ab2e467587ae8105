"""olbench run: from one YAML file, or one data file, to a complete record."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olbench.cli.flags import complete_algorithms, experiment
from olbench.cli.output import exit_code
from olbench.errors import UserError

if TYPE_CHECKING:
    from olbench.engine.runner import Run
    from olbench.protocols.definition import Cell
    from olbench.specs import Config


@click.command("run")
@click.argument("what", metavar="CONFIG|DATA", type=click.Path())
@click.option("--out", type=click.Path(path_type=Path), help="Folder of results [default: results/<name>].")
@click.option(
    "--algorithms", shell_complete=complete_algorithms,
    help="Ids separated by commas: run them on the data set or file DATA.",
)  # fmt: skip
@click.option(
    "--plugin", "plugins", multiple=True, type=click.Path(),
    help="With DATA, a Python file with algorithms of your own; a config has the key plugins.",
)  # fmt: skip
@click.option("--positive", type=float, multiple=True, help="With DATA of many labels, those that are +1.")
@click.option(
    "--timing", type=click.Choice(["shared", "exclusive"]), default="shared", show_default=True,
    help="exclusive: after the counts, time every reported trial alone and pinned.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Print the plan, with a time estimate, and stop.")
@experiment
def command(
    what: str, out: Path | None, algorithms: str | None, plugins: tuple[str, ...],
    positive: tuple[float, ...], timing: str, dry_run: bool, jobs: int | None, overrides: tuple[str, ...],
    skip_missing: bool, quiet: bool,
) -> None:  # fmt: skip
    """Run the experiment of CONFIG, or what is missing of it; or a first look at the data set DATA.

    Every finished trial is safe in DIR/trials.jsonl, so the same command goes on where a run was stopped, and
    a changed config reuses what still applies.

    \b
    Examples:
      olbench run configs/quick.yaml
      olbench run configs/quick.yaml --set permutations=5 --out results/five
      olbench run my.libsvm --algorithms arow,scw1
      olbench run my.libsvm --algorithms arow,my-rule --plugin my_rule.py
      olbench run configs/scw.yaml --dry-run --skip-missing
    """
    from olbench.data.source import find_sources
    from olbench.engine.executors import default_jobs
    from olbench.protocols import get_protocol

    config = read(what, algorithms, positive, overrides, plugins)
    workers = jobs or default_jobs()
    sources, skipped = find_sources(config.datasets, skip_missing)
    planned = get_protocol(config.protocol).cells(config, sources)
    if dry_run:
        from olbench.cli.plan import show_plan

        show_plan(config, planned, workers, skipped)
        return
    folder = out or Path("results") / default_name(what)
    sys.exit(carry_out(planned, folder, workers, timing, quiet, skipped))


def default_name(what: str) -> str:
    """Return the name of a config, or of a data file with its ending: my.yaml is not my.libsvm."""
    from olbench.data.compressed import base_name

    return Path(what).stem if is_config(what) else base_name(Path(what).name)


def is_config(what: str) -> bool:
    """Tell a config from a data set by its ending."""
    return Path(what).suffix in (".yaml", ".yml")


def read(
    what: str, algorithms: str | None, positive: tuple[float, ...], overrides: tuple[str, ...],
    plugins: tuple[str, ...],
) -> "Config":  # fmt: skip
    """Return the config of a YAML file, or of a data set with the algorithms to run on it."""
    from olbench.config import data_config, read_config

    if is_config(what):
        if algorithms is not None or positive or plugins:
            raise UserError(
                "--algorithms, --positive and --plugin go with a data set; in a config use its keys or --set"
            )
        return read_config(Path(what), overrides)
    if Path(what).suffix and not Path(what).exists():
        raise UserError(f"there is no file {what}")
    if not algorithms:
        raise UserError(
            f"{what} is not a .yaml file; to run on a data set say which algorithms, as in "
            f"`olbench run {what} --algorithms arow,scw1`"
        )
    return data_config(what, algorithms, positive, overrides, plugins)


def carry_out(
    planned: "list[Cell]", folder: Path, jobs: int, timing: str, quiet: bool, skipped: list[str]
) -> int:
    """Run what is missing in a folder, say how it ended, and return the exit code."""
    from olbench.cli.plan import reader_may_leave
    from olbench.engine.runfile import now
    from olbench.engine.runner import open_run

    with open_run(folder, planned, jobs, quiet=quiet, timing=timing) as run:
        if not run.missing and run.is_recorded:
            with reader_may_leave():
                say(quiet, f"nothing to do: all {run.reused} trials are in {folder}")
            return 0
        run.write()
        run.complete(record=True)
        run.write(end=None if run.stop.is_set() else now())
        run.progress.close()
        return conclude(run, folder, skipped, quiet)


def conclude(run: "Run", folder: Path, skipped: list[str], quiet: bool) -> int:
    """Print the table and what went wrong; return the exit code."""
    from olbench.cli.plan import reader_may_leave, show_results

    with reader_may_leave():
        if not quiet:
            show_results(run.cells, run.known)
        say(quiet, f"{len(run.fresh)} trials run, {run.reused} reused; the record is in {folder}")
        say(quiet, f"see it in full: olbench report {folder}")
    if skipped:
        click.echo(f"skipped: {', '.join(skipped)} not downloaded; see `olbench data fetch`", err=True)
    return exit_code(run)


def say(quiet: bool, text: str) -> None:
    """Print a line, unless asked not to."""
    if not quiet:
        click.echo(text)
