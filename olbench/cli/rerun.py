"""olbench rerun: run one trial again and compare it with its record."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olbench.cli.flags import TRUST
from olbench.cli.output import say
from olbench.errors import UserError, escape_controls, find_names, list_some

if TYPE_CHECKING:
    from olbench.trials.trial import Record


@click.command("rerun")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("key", required=False)
@click.option("--dataset", metavar="NAME", help="The data set of the trial.")
@click.option(
    "--algorithm", metavar="ID", help="The algorithm of the trial: its id, title, or label in reports."
)
@click.option(
    "--permutation", "--number", "number", type=click.IntRange(0),
    help="The permutation, fold or split of the trial, from 0 [default: 0].",
)  # fmt: skip
@TRUST
def command(
    folder: Path, key: str | None, dataset: str | None, algorithm: str | None, number: int | None,
    trust_plugins: bool,
) -> None:  # fmt: skip
    """Run one trial of DIR, or of a bundle, again and compare it with its record; nothing is written.

    Name the trial by KEY, of which the start is enough, or by data set, algorithm and permutation. Exit code
    1: a count differs from the record.

    \b
    Examples:
      olbench rerun quick --dataset synthetic --algorithm arow --permutation 3
      olbench rerun results/quick 3f2a
    """
    from olbench import api
    from olbench.cli.output import choose_run
    from olbench.trials import ledger
    from olbench.trials.container import trust

    if bool(key) == bool(dataset or algorithm or number is not None):
        raise UserError(
            "name the trial either by its key or by --dataset, --algorithm and --permutation, as in "
            f"`olbench rerun {folder} --dataset synthetic --algorithm arow --permutation 0`"
        )
    folder = choose_run(folder)
    if trust_plugins:
        trust(folder)
    recorded = ledger.current(folder)
    chosen = ledger.find_key(recorded, key, folder) if key else ""
    record = recorded[chosen or find_trial(folder, recorded, dataset, algorithm, number or 0)]
    sys.exit(show(record, api.repeat(folder, record, say)))


def find_trial(
    folder: Path, recorded: "Mapping[str, Record]", dataset: str | None, algorithm: str | None, number: int
) -> str:
    """Return the key of a reported trial; a data set or algorithm that is the only one need not be named."""
    from olbench.trials import run_file

    cells = list(run_file.read(folder).cells)
    if not cells:
        raise UserError(f"{folder} has no trials")
    for what, field, wanted, names in (
        ("data set", "dataset", dataset, {cell.dataset: () for cell in cells}),
        ("algorithm", "label", algorithm, {cell.label: cell.names for cell in cells}),
    ):
        fitting = list(names) if wanted is None else find_names(wanted, names, what, str(folder))
        if len(fitting) > 1:
            many = f"{len(fitting)} {what}s" if wanted is None else f"several '{wanted}'"
            raise UserError(f"{folder} has {many}; say which: {list_some(fitting, 10)}")
        cells = [cell for cell in cells if getattr(cell, field) in fitting]
    keys = {recorded[key]["number"]: key for cell in cells for key in cell.keys if key in recorded}
    if number not in keys:
        raise UserError(
            f"{folder} has no trial {number} of {cells[0].label} on {cells[0].dataset}; "
            + (f"its trials are numbered {min(keys)} to {max(keys)}" if keys else "none of them is done")
        )
    return keys[number]


def show(record: "Record", again: "Record") -> int:
    """Print a record beside the same trial run now, and the conclusion; return the exit code."""
    from olbench.protocols import get_protocol

    protocol = get_protocol(record["protocol"])
    params = ", ".join(f"{name}={value}" for name, value in record["params"].items())
    place = f"{record['dataset']}, {record['role']} {protocol.numbered} {record['number']}"
    say(f"{record['key']}: {record['algorithm']}{f' ({params})' if params else ''} on {place}")
    if again["status"] == "failed":
        say(f"it fails: {escape_controls(again['error'])}", err=True)
        return 3
    exact = list(protocol.exact)
    others = [each for each in protocol.quantities if each not in exact and not each.ratio]
    changes = []
    for each in (*exact, *others):
        before, now = record.get(each.name), again[each.name]
        # A record from before the quantity was added says nothing about it.
        differs = each in exact and before is not None and now != before
        mark = "  DIFFERS" if differs else ""
        shown = "nothing" if before is None else before
        click.echo(f"{each.title:18} {shown!s:>12} in the record {now!s:>12} now{mark}")
        if differs:
            changes.append(f"{each.title} {now} instead of {before}")
    if changes:
        say(f"differs: {', '.join(changes)}")
        return 1
    reported = {each.compared for each in protocol.quantities}
    counts = [f"{each.title} {again[each.name]}" for each in exact if each.name in reported]
    say(f"the same counts: {', '.join(counts)}")
    return 0
