"""olbench rerun: one trial again, compared with its record."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from olbench.trials.trial import Record


@click.command("rerun")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("key")
def command(folder: Path, key: str) -> None:
    """Compute the trial KEY (the beginning is enough) of DIR again and compare; nothing is written.

    Exit code 1: a count differs from the ledger.

    \b
    Example:
      olbench rerun results/quick 3f2a
    """
    from olbench.data.source import find_named
    from olbench.engine import runfile
    from olbench.engine.executors import attempt
    from olbench.engine.stopping import stop_on_interrupt
    from olbench.trials import ledger
    from olbench.trials.behaviour import behaviour
    from olbench.trials.trial import Trial

    recorded = ledger.current(folder)
    record = recorded[ledger.find_key(recorded, key, folder)]
    trial = Trial.of(record)
    source = find_named(runfile.read_config(folder).datasets, trial.dataset)
    if source.fingerprint != trial.fingerprint:
        click.echo("the data has changed since the trial ran")
    if behaviour(trial.algorithm, trial.options) != trial.code:
        click.echo("the algorithm behaves differently from when the trial ran")
    with stop_on_interrupt() as stop:
        finished = attempt(trial, source, stop)
    if finished is None:
        raise KeyboardInterrupt
    sys.exit(show(record, finished.record))


def show(record: "Record", again: "Record") -> int:
    """Print a record beside the same trial run now; return the exit code."""
    from olbench.protocols import get_protocol

    protocol = get_protocol(record["protocol"])
    params = ", ".join(f"{name}={value}" for name, value in record["params"].items())
    place = f"{record['dataset']}, {record['role']} {protocol.numbered} {record['number']}"
    click.echo(f"{record['key']}: {record['algorithm']} ({params}) on {place}")
    if again["status"] == "failed":
        click.echo(f"it fails: {again['error']}", err=True)
        return 3
    exact = [quantity.name for quantity in protocol.exact]
    others = [each.name for each in protocol.quantities if each.name not in exact and not each.ratio]
    for name in (*exact, *others):
        mark = "  DIFFERS" if name in exact and again[name] != record[name] else ""
        click.echo(f"{name:18} {record[name]!s:>12} in the ledger {again[name]!s:>12} now{mark}")
    return int(any(again[name] != record[name] for name in exact))
