"""olbench explain: why trials are reused or have to run."""

from collections import Counter
from pathlib import Path

import click

from olbench.cli.flags import SET
from olbench.cli.output import choose_run, say
from olbench.errors import UserError
from olbench.report.grid import count


@click.command("explain")
@click.argument("folder", metavar="DIR|NAME", type=click.Path(path_type=Path))
@click.argument("key", required=False)
@click.option(
    "--config",
    "path",
    type=click.Path(),
    help="Explain a run of this config in DIR, not of the last one.",
)
@SET
def command(folder: Path, key: str | None, path: str | None, overrides: tuple[str, ...]) -> None:
    """Say which trials the next run in DIR would reuse, and why it would run the others.

    With KEY, the start of a trial's key, explain that trial alone.

    \b
    Examples:
      olbench explain quick
      olbench explain results/quick
      olbench explain results/quick --config configs/quick.yaml --set seed=7
      olbench explain results/quick 3f2a
    """
    from olbench.config.reading import read_config
    from olbench.data.source import find_sources
    from olbench.engine.reuse import explain_cells
    from olbench.protocols import cells_of
    from olbench.shipped import find_config
    from olbench.trials import ledger, run_file

    if overrides and not path:
        raise UserError("--set changes a config; say which with --config")
    folder = choose_run(folder)
    recorded = ledger.current(folder)
    config = read_config(find_config(path), overrides) if path else run_file.read_config(folder)
    sources, skipped = find_sources(config.datasets, skip_missing=True)
    reasons = explain_cells(cells_of(config, sources), recorded)
    if key:
        chosen = ledger.find_key({**recorded, **reasons}, key, folder)
        if chosen not in reasons:
            say(f"{chosen}: not needed: the config asks for other trials")
            return
        show({chosen: reasons[chosen]})
        return
    show(reasons)
    if unused := len(recorded.keys() - reasons.keys()):
        verb = "belongs" if unused == 1 else "belong"
        say(f"{count(unused, 'record')} of the ledger {verb} to other configs, data or code")
    if skipped:
        say(f"skipped: {', '.join(skipped)} not downloaded")


def show(reasons: dict[str, str]) -> None:
    """Print how many trials are reused, and how many have to run for each reason."""
    counts = Counter(why for why in reasons.values() if why)
    reused = len(reasons) - counts.total()
    verb, them = ("is", "it") if reused == 1 else ("are", "them")
    say(f"{count(reused, 'trial')} {verb} reused: nothing that determines {them} has changed")
    for why, number in counts.most_common():
        example = next(key for key, other in reasons.items() if other == why)
        verb = "has" if number == 1 else "have"
        say(f"{count(number, 'trial')} {verb} to run (such as {example}): {why}")
