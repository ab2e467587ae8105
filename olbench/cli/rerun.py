"""olbench rerun: one trial again, compared with its record."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from olbench.experiments.trial import Record


@click.command("rerun")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("key")
def command(folder: Path, key: str) -> None:
    """Compute the trial KEY (the beginning is enough) of DIR again and compare; nothing is written.

    Exit code 1 says that a count is not what the ledger has.

    \b
    Example:
      olbench rerun results/quick 3f2a
    """
    from olbench.engine import ledger, runfile
    from olbench.engine.executor import attempt
    from olbench.engine.provenance import code_version
    from olbench.engine.stopping import stop_on_interrupt
    from olbench.experiments.sources import load_named
    from olbench.experiments.trial import Trial

    recorded = ledger.latest(ledger.read(folder))
    record = recorded[ledger.one_key(recorded, key, folder)]
    trial = Trial.of(record)
    source = load_named(runfile.read_config(folder).datasets, trial.dataset)
    if source.fingerprint != trial.fingerprint:
        click.echo("the data is not what it was when the trial ran")
    if code_version(trial.algorithm) != trial.kernels:
        click.echo("the code is not what it was when the trial ran")
    with stop_on_interrupt() as stop:
        again = attempt(trial, source, stop)
    if again is None:
        raise KeyboardInterrupt
    sys.exit(show(record, again))


def show(record: "Record", again: "Record") -> int:
    """Print a record beside the same trial of now; return the exit code."""
    from olbench.engine.runner import COUNTS

    about = ", ".join(f"{name}={value}" for name, value in record["params"].items())
    trial = f"{record['dataset']}, {record['role']} {record['permutation']}"
    click.echo(f"{record['key']}: {record['algorithm']} ({about}) on {trial}")
    if again["status"] == "failed":
        click.echo(f"it fails: {again['error']}", err=True)
        return 3
    for name in (*COUNTS, "seconds"):
        differs = name in COUNTS and again[name] != record[name]
        mark = "  DIFFERS" if differs else ""
        click.echo(f"{name:18} {record[name]!s:>12} in the ledger {again[name]!s:>12} now{mark}")
    return int(any(again[name] != record[name] for name in COUNTS))
