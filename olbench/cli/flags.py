"""Flags that more than one verb has."""

from collections.abc import Callable
from typing import Any

import click

JOBS = click.option(
    "--jobs", "-j", type=click.IntRange(1), help="Trials at a time [default: OLBENCH_JOBS, or all cores]."
)
SET = click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE",
    help="Override a key of the config, as in --set permutations=5 or --set tuning.search=none.",
)  # fmt: skip
SKIP_MISSING = click.option(
    "--skip-missing", is_flag=True, help="Go on without the data sets that are not here."
)
QUIET = click.option("--quiet", "-q", is_flag=True, help="No progress and no table.")


def experiment(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags of a verb that runs an experiment."""
    for flag in (QUIET, SKIP_MISSING, SET, JOBS):
        command = flag(command)
    return command
