"""olbench check: compare the counts of an experiment with a committed baseline."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olbench.cli.flags import experiment
from olbench.errors import UserError
from olbench.report.grid import count

if TYPE_CHECKING:
    from olbench.engine.baseline import Comparison
    from olbench.engine.runner import Run
    from olbench.protocols.definition import Cell

#: How many changes are printed at most.
MAX_LINES = 20


@click.command("check")
@click.argument("config", type=click.Path(path_type=Path))
@click.option(
    "--against", default="results/ci-baseline.json", show_default=True, type=click.Path(path_type=Path),
    help="A baseline file, or the folder of a run; of a run, only the data sets of CONFIG are compared.",
)  # fmt: skip
@click.option(
    "--tolerance", default=0.0, show_default=True, type=click.FloatRange(0, 1),
    help="How much a count may change, as a fraction of the number of examples.",
)  # fmt: skip
@click.option("--update", is_flag=True, help="Write the current counts as the new baseline.")
@experiment
def command(
    config: Path, against: Path, tolerance: float, update: bool, jobs: int | None,
    overrides: tuple[str, ...], skip_missing: bool, quiet: bool,
) -> None:  # fmt: skip
    """Run CONFIG and compare the counts of every trial with a baseline.

    Exit codes: 1 if a count has changed, 3 if trials failed, 4 if nothing was compared.

    \b
    Examples:
      olbench check configs/ci.yaml --against results/ci-baseline.json
      olbench check configs/ci.yaml --update
      olbench check configs/scw.yaml --set 'datasets=[synthetic]' --against results/scw/reference
    """
    from olbench.config import read_config
    from olbench.data.source import find_sources
    from olbench.engine import baseline
    from olbench.engine.budget import refuse_excess
    from olbench.engine.executors import default_jobs
    from olbench.protocols import get_protocol
    from olbench.shipped import find_config

    if update and against.is_dir():
        raise UserError(f"{against} is the folder of a run; --update writes a file: name one with --against")
    plan = read_config(find_config(str(config)), overrides)
    before = [] if update else baseline.read(against)
    sources, skipped = find_sources(plan.datasets, skip_missing)
    if skipped:
        click.echo(f"skipped: {', '.join(skipped)} not downloaded", err=True)
    protocol = get_protocol(plan.protocol)
    planned = protocol.cells(plan, sources)
    # A check may leave out the large data sets of a run; a baseline file covers its whole config.
    present = {source.name for source in sources}
    before = [
        row
        for row in before
        if row["dataset"] in present or not (against.is_dir() or row["dataset"] in skipped)
    ]
    workers = jobs or default_jobs()
    refuse_excess(planned, workers)
    run = measure(planned, workers, quiet)
    now = baseline.rows_of(planned, run.known)
    if update and not run.failed:
        baseline.write(against, now)
        click.echo(f"{against}: {count(len(now), 'row')} written")
        return
    sys.exit(verdict(run, baseline.compare(before, now, tolerance, protocol.numbered)))


def measure(planned: "list[Cell]", jobs: int, quiet: bool) -> "Run":
    """Run all trials of the cells in a temporary folder."""
    from tempfile import TemporaryDirectory

    from olbench.engine.runner import open_run

    with TemporaryDirectory(prefix="olbench-check-") as folder:
        with open_run(Path(folder), planned, jobs, quiet=quiet) as run:
            run.complete()
        if run.stop.is_set():
            raise KeyboardInterrupt
        return run


def verdict(run: "Run", comparison: "Comparison") -> int:
    """Print what has changed, and return the exit code."""
    for change in comparison.changes[:MAX_LINES]:
        click.echo(str(change))
    if len(comparison.changes) > MAX_LINES:
        click.echo(f"... and {len(comparison.changes) - MAX_LINES} more")
    for cell in comparison.unknown:
        click.echo(f"{cell}: not in the baseline; add it with --update")
    for record in run.failed[:MAX_LINES]:
        click.echo(f"{record['dataset']}, {record['algorithm']}: failed: {record['error']}", err=True)
    click.echo(f"{count(comparison.compared, 'count')} compared, {len(comparison.changes)} changed")
    if not comparison.compared:
        return 3 if run.failed else 4
    if comparison.changes:
        return 1
    return 3 if run.failed else 0
