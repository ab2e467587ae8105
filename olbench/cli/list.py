"""olbench list: the configs and runs that ship, and the runs of the current folder."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from olbench.cli.output import show_parts
from olbench.errors import UserError

if TYPE_CHECKING:
    from olbench.report.table import Table


@click.command("list")
def command() -> None:
    """List the configs and runs that ship, and the runs below results/ of the current folder.

    \b
    Examples:
      olbench list
      olbench run quick
      olbench report scw
    """
    from olbench.records import shipped
    from olbench.report.table import MARK, Column, Table

    known = shipped.runs()
    rows = [(name, name in known, shipped.describe(path)) for name, path in shipped.configs().items()]
    shown = (Column("name"), Column("with results", MARK), Column("what it runs"))
    ships = Table("Configs that ship: olbench run NAME; with results: olbench report NAME", shown, rows)
    paths = sorted(Path("results").glob("*/run.json"))
    none = "There are no runs below results/ yet; `olbench run quick` makes one."
    show_parts(ships, describe_runs(paths) if paths else none)


def describe_runs(paths: list[Path]) -> "Table":
    from olbench.analysis.results import load_results
    from olbench.report.model import Report
    from olbench.report.table import RIGHT, Column, Table, columns

    rows = []
    for path in paths:
        try:
            results = load_results(path.parent)
            done = sum(each.done for each in results.entries)
            trials = f"{done:,} of {sum(each.planned for each in results.entries):,}"
            facts = results.run.start[:16].replace("T", " "), trials, Report(results, None).leader
        except UserError as error:
            facts = "", "", str(error)
        rows.append((path.parent.name, *facts))
    shown = (*columns("name", "began (UTC)"), Column("trials", RIGHT), Column("best"))
    return Table("Runs in results/: olbench report NAME", shown, rows)
