"""olbench watch: the progress of a run and its tables so far, while it goes on elsewhere."""

import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olbench.cli.output import say, screen_size, show_parts
from olbench.display import can_redraw

if TYPE_CHECKING:
    from olbench.engine.watching import Standing, Watch
    from olbench.report.grid import Part


@click.command("watch")
@click.argument("folder", metavar="DIR|NAME", type=click.Path(path_type=Path))
@click.option("--once", is_flag=True, help="Print how far the run is, and stop.")
@click.option(
    "--every", type=click.FloatRange(0.1), default=2.0, show_default=True, metavar="SECONDS",
    help="How often to look.",
)  # fmt: skip
def command(folder: Path, once: bool, every: float) -> None:
    """Show how far the run in DIR is, and its results so far, until it ends.

    It reads the record of the run, so it works from another terminal, or from another machine that shares
    the folder. It ends with the run, also if that was stopped; Ctrl-C ends it sooner, and does not touch
    the run.

    \b
    Examples:
      olbench watch scw
      olbench watch results/scw --every 30
      olbench watch results/scw --once
    """
    from olbench.cli.output import choose_run
    from olbench.engine.watching import Watch

    watch = Watch(choose_run(folder))
    try:
        if once or not can_redraw(sys.stdout):
            follow_in_lines(watch, once, every)
        else:
            follow_on_screen(watch, every)
    except KeyboardInterrupt:
        return


def follow_in_lines(watch: "Watch", once: bool, every: float) -> None:
    """Print a line at every look, and the tables at the last one."""
    standing = watch.look()
    while not once and standing.is_at_work and not standing.is_complete:
        say(watch.describe(standing))
        time.sleep(every)
        standing = watch.look()
    show_parts(*draw(watch, standing, screen_size()[1]))


def follow_on_screen(watch: "Watch", every: float) -> None:
    """Keep the screen up to date until the run ends."""
    from rich.live import Live
    from rich.text import Text

    from olbench.report.renderers import text

    with Live(auto_refresh=False, vertical_overflow="crop") as screen:
        while True:
            standing = watch.look()
            width, height = screen_size()
            content = text.render(draw(watch, standing, height - 1), width, colour=True)
            screen.update(Text.from_ansi(content), refresh=True)
            if standing.is_complete or not standing.is_at_work:
                return
            time.sleep(every)


def draw(watch: "Watch", standing: "Standing", height: int) -> "list[Part]":
    """Return the progress of every data set, then the results so far, as many as fit."""
    from olbench.report import brief
    from olbench.report.grid import Grid, boxes, left, right
    from olbench.report.model import make_report

    rows = [
        boxes(name, f"{standing.done[name]:,}", f"{total:,}", bar(standing.done[name], total))
        for name, total in standing.totals.items()
    ]
    progress = Grid("", (*left("data set"), *right("done", "trials"), *left("progress")), tuple(rows))
    line = f"{watch.folder}: {watch.describe(standing)}"
    report = make_report(watch.folder)
    if not report.rows:
        return [line, progress]
    room = max(brief.FEWEST, height - len(rows) - 2 * brief.AROUND)
    again = f"olbench report {shlex.quote(str(watch.folder))}"
    return [line, progress, brief.best_rows(report, room, again)]


def bar(done: int, total: int, width: int = 24) -> str:
    """Return a bar of blocks.

    >>> bar(1, 2, 4)
    '██░░'
    """
    filled = width * done // max(1, total)
    return "█" * filled + "░" * (width - filled)
