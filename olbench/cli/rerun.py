"""olbench rerun: one trial again, compared with its record."""

import sys
from pathlib import Path

import click


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
    from olbench.engine.provenance import code_version
    from olbench.engine.runner import COUNTS
    from olbench.experiments.online import run_trial
    from olbench.experiments.sources import load_named
    from olbench.experiments.trial import Trial

    recorded = ledger.latest(ledger.read(folder))
    record = recorded[ledger.one_key(recorded, key, folder)]
    config = runfile.read_config(folder)
    trial, source = Trial.of(record), load_named(config.datasets, record["dataset"])
    for name, now in (("data", source.fingerprint), ("code", code_version(trial.algorithm))):
        if now != (trial.fingerprint if name == "data" else trial.kernels):
            click.echo(f"the {name} is not what it was when the trial ran")
    again = run_trial(trial, source, lambda: False)
    about = ", ".join(f"{name}={value}" for name, value in trial.params.items())
    click.echo(
        f"{record['key']}: {trial.algorithm} ({about}) on {trial.dataset}, {trial.role} {trial.permutation}"
    )
    for name in COUNTS:
        mark = "" if again[name] == record[name] else "  DIFFERS"
        click.echo(f"{name:18} {record[name]!s:>10} in the ledger {again[name]:>10} now{mark}")
    click.echo(f"{'seconds':18} {record['seconds'] or 0:>10.4g} in the ledger {again['seconds']:>10.4g} now")
    sys.exit(int(any(again[name] != record[name] for name in COUNTS)))
