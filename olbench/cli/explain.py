"""olbench explain: why trials are or are not reused."""

from collections import Counter
from pathlib import Path

import click

from olbench.cli.flags import SET
from olbench.errors import UserError


@click.command("explain")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("key", required=False)
@click.option("--config", "path", type=click.Path(path_type=Path), help="As if this config were run in DIR.")
@SET
def command(folder: Path, key: str | None, path: Path | None, overrides: tuple[str, ...]) -> None:
    """Say which trials the next run in DIR would take from the ledger, and why it would run the others.

    With KEY, the beginning of a trial's key, say it for that trial.

    \b
    Examples:
      olbench explain results/quick
      olbench explain results/quick --config configs/quick.yaml --set seed=7
      olbench explain results/quick 3f2a
    """
    from olbench.config import read_config
    from olbench.engine import ledger, runfile
    from olbench.experiments.online import cells
    from olbench.experiments.reuse import reasons
    from olbench.experiments.sources import load_present

    if overrides and not path:
        raise UserError("--set changes a config; say which with --config")
    recorded = ledger.latest(ledger.read(folder))
    config = read_config(path, overrides) if path else runfile.read_config(folder)
    sources, skipped = load_present(config.datasets, skip_missing=True)
    found = reasons(cells(config, sources), recorded)
    if key:
        chosen = ledger.one_key({**recorded, **found}, key, folder)
        if chosen not in found:
            click.echo(f"{chosen}: not needed: the config asks for other trials")
            return
        found = {chosen: found[chosen]}
    show({name: why for name, (_, why) in found.items()})
    unused = len(recorded.keys() - found.keys())
    if unused and not key:
        click.echo(f"{unused} records of the ledger belong to other configs, data or code")
    if skipped:
        click.echo(f"left out, as not here: {', '.join(skipped)}")


def show(reasons: dict[str, str]) -> None:
    """Print how many trials are reused and, for each reason, how many are not."""
    counts = Counter(why for why in reasons.values() if why)
    click.echo(f"{len(reasons) - counts.total()} trials are reused: all that decides them is the same")
    for why, count in counts.most_common():
        example = next(key for key, other in reasons.items() if other == why)
        click.echo(f"{count} trials have to run (such as {example}): {why}")
