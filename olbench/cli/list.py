"""olbench list: the configs and runs that ship, and the runs of the current folder."""

from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olbench.cli.output import show_parts
from olbench.errors import UserError

if TYPE_CHECKING:
    from olbench.analysis.results import Results
    from olbench.report.grid import Grid


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
    from olbench.report.grid import Grid, boxes, left

    known = shipped.runs()
    rows = [
        boxes(name, shipped.describe(path), f"olbench report {name}" if name in known else "")
        for name, path in shipped.configs().items()
    ]
    ships = Grid(
        "Configs that ship: olbench run NAME", left("name", "what it runs", "the run that ships"), rows
    )
    paths = sorted(Path("results").glob("*/run.json"))
    none = "There are no runs below results/ yet; `olbench run quick` makes one."
    show_parts(ships, describe_runs(paths) if paths else none)


def describe_runs(paths: list[Path]) -> "Grid":
    from olbench.analysis.results import load_results
    from olbench.report.grid import Grid, boxes, left, right

    rows = []
    for path in paths:
        with suppress(UserError):
            results = load_results(path.parent)
            done, planned = (
                sum(getattr(each, name) for each in results.entries) for name in ("done", "planned")
            )
            start = results.run.start[:16].replace("T", " ")
            rows.append(boxes(path.parent.name, start, f"{done:,} of {planned:,}", find_best(results)))
    columns = (*left("name", "began (UTC)"), *right("trials"), *left("best"))
    return Grid("Runs in results/: olbench report NAME", columns, rows)


def find_best(results: "Results") -> str:
    headline, winners = results.protocol.quantities[0], Counter[str]()
    for dataset in results.datasets:
        if entries := [each for each in results.contestants(dataset) if each.done]:
            winners[min(entries, key=lambda each: headline.loss(each.mean(headline))).label] += 1
    if not winners:
        return ""
    [(label, wins)] = winners.most_common(1)
    return label if len(results.datasets) == 1 else f"{label} on {wins} of {len(results.datasets)} data sets"
