"""Flags that more than one verb has."""

from collections.abc import Callable
from typing import Any

import click

JOBS = click.option(
    "--jobs",
    "-j",
    type=click.IntRange(1),
    help="Trials to run at a time [default: OLBENCH_JOBS, or all cores].",
)
SET = click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE",
    help="Override a key of the config, as in --set permutations=5 or --set tuning.search=none.",
)  # fmt: skip
SKIP_MISSING = click.option("--skip-missing", is_flag=True, help="Skip data sets that are not downloaded.")
MEMORY = click.option(
    "--memory",
    metavar="SIZE",
    help="Refuse what takes more memory than this, such as 8G [default: 90% of what is available].",
)
QUIET = click.option("--quiet", "-q", is_flag=True, help="Print no progress and no table.")


def experiment(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags of a verb that runs an experiment."""
    for flag in (QUIET, SKIP_MISSING, SET, JOBS):
        command = flag(command)
    return command


def complete_algorithms(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete an id, or the last id of a list."""
    from olbench.algorithms import definitions

    before, comma, last = incomplete.rpartition(",")
    return [before + comma + each.id for each in definitions() if each.id.startswith(last)]


def complete_datasets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the name of a data set in the catalogue."""
    from olbench.data.catalog import catalog

    return [name for name in catalog() if name.startswith(incomplete)]
