"""olbench configs: the configs and runs that ship."""

import click

from olbench.cli.output import show_parts


@click.command("configs")
def command() -> None:
    """List the configs that ship, and which of them have a run to report on without data.

    \b
    Examples:
      olbench configs
      olbench run quick
      olbench report scw
    """
    from olbench import shipped
    from olbench.report.grid import Grid, boxes, left

    runs = shipped.runs()
    rows = tuple(
        boxes(name, shipped.describe(path), f"olbench report {name}" if name in runs else "")
        for name, path in shipped.configs().items()
    )
    grid = Grid(
        "Configs that ship: olbench run NAME", left("name", "what it runs", "the run that ships"), rows
    )
    show_parts(grid)
