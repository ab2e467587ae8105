"""What `run` prints: the plan before and the table after."""

import math
import os
import statistics
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from olbench.engine.estimate import duration

if TYPE_CHECKING:
    from olbench.config import Config
    from olbench.experiments.online import Cell, Known
    from olbench.experiments.sources import Source


def new_table(headings: dict[str, str]) -> Any:
    """Return an empty table for a terminal, with the side on which each column is flush."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for heading, side in headings.items():
        table.add_column(heading, justify="right" if side == "right" else "left", no_wrap=True)
    return table


def print_table(table: Any) -> None:
    """Print a table, as wide as the terminal."""
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else 140, highlight=False)
    with console.capture() as text:
        console.print(table)
    click.echo(text.get(), nl=False)


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """Go on where nobody reads standard output any more, as in `olbench run ... | head -1`."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # Python would complain at its end about what is still in the buffer
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show_results(cells: "Sequence[Cell]", known: "Known") -> None:
    """Print the mistake rate and updates of each cell: mean and deviation over the permutations."""
    right = "right"
    table = new_table(
        {"data set": "left", "algorithm": "left", "mistake rate": right, "updates": right, "params": "left"}
    )
    before = ""
    for cell in cells:
        records = [known[trial.key] for trial in cell.reported(known) if trial.key in known]
        good = [record for record in records if record["status"] == "ok"]
        name = cell.source.name if cell.source.name != before else ""
        before = cell.source.name
        table.add_row(name, cell.label, *_measures(good, len(records) - len(good)))
    print_table(table)


def _measures(records: list[dict[str, Any]], failed: int) -> list[str]:
    if not records:
        return ["failed" if failed else "not run", "", ""]
    rates = [record["mistakes"] / record["n"] for record in records]
    updates = [record["updates"] for record in records]
    notes = [", ".join(f"{name}={value}" for name, value in records[0]["params"].items())]
    broken = sum(record["breakdowns"] > 0 for record in records)
    if broken:
        notes.append(f"BREAKDOWNS in {broken} of {len(records)}")
    if failed:
        notes.append(f"{failed} failed")
    return [_spread(rates, ".4f"), _spread(updates, ",.1f"), "; ".join(note for note in notes if note)]


def _spread(values: list[Any], form: str) -> str:
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.fmean(values):{form}} ± {deviation:{form}}"


def show_plan(config: "Config", cells: "Sequence[Cell]", jobs: int, skipped: list[str]) -> None:
    """Print what a run would do: trials, tuning passes, memory, and time by a short probe of each cell."""
    right = "right"
    table = new_table(
        {"data set": "left", "rows": right, "features": right, "trials": right, "tuning passes": right,
         "data": right, "each worker": right, "time": right}
    )  # fmt: skip
    sources = {cell.source.name: cell.source for cell in cells}
    seconds = 0.0
    for source in sources.values():
        own = [cell for cell in cells if cell.source is source]
        estimate = sum(_seconds(cell) for cell in own)
        seconds += estimate
        table.add_row(*_row(source, own, estimate / jobs))
    print_table(table)
    counts = len(sources), len(config.algorithms), config.permutations
    passes = sum(cell.tuning_passes for cell in cells)
    click.echo("\n{} data sets x {} algorithms x {} permutations".format(*counts), nl=False)
    click.echo(f" = {math.prod(counts)} trials, and {passes} tuning passes ({config.tuning.search})")
    memory = sum(source.bytes for source in sources.values()) + jobs * max(_state(cell) for cell in cells)
    click.echo(f"about {duration(seconds / jobs)} with {jobs} jobs, and {memory / 2**20:,.0f} MiB of memory")
    if skipped:
        click.echo(f"left out, as not here: {', '.join(skipped)}; see `olbench data fetch`")


def _row(source: "Source", cells: "list[Cell]", seconds: float) -> list[str]:
    examples = source.examples
    return [
        source.name,
        f"{examples.n:,}",
        f"{examples.d:,}",
        f"{sum(cell.config.permutations for cell in cells):,}",
        f"{sum(cell.tuning_passes for cell in cells):,}",
        f"{source.bytes / 2**20:,.1f} MiB",
        f"{max(_state(cell) for cell in cells) / 2**20:,.1f} MiB",
        duration(seconds),
    ]


def _state(cell: "Cell") -> int:
    """Return the bytes of a learner: its covariance above all."""
    d = cell.source.examples.d
    return 8 * d * (d + 1 if cell.spec.options.get("covariance") == "full" else 2)


def _seconds(cell: "Cell") -> float:
    """Return how long all passes of a cell take on one core, by a probe of some hundredths of a second."""
    from olbench.experiments.online import probe

    passes = cell.tuning_passes + cell.config.permutations
    try:
        return probe(cell) * cell.source.examples.n * passes
    except Exception:  # a contestant that fails at once costs nothing; the run will record why
        return 0.0
