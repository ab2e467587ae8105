"""Flags that more than one verb has."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from olbench.errors import UserError

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
    help="Refuse to run what needs more memory than this, such as 8G [default: 90% of what is available].",
)
OUT = click.option("--out", type=click.Path(path_type=Path), help="Results folder [default: results/<name>].")
DRY_RUN = click.option("--dry-run", is_flag=True, help="Print the plan, with a time estimate, and stop.")
OUTPUT = click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write to this file instead of the terminal.",
)
TRUST = click.option(
    "--trust-plugins", is_flag=True, help="Run the Python code that comes with a bundle; read it first."
)
QUIET = click.option("--quiet", "-q", is_flag=True, help="Print no progress and no table.")


def format_flag(*names: str, help: str = "Output format.") -> Callable[..., Any]:
    kind = click.Choice(names)
    return click.option("--format", "form", type=kind, default="text", show_default=True, help=help)


def experiment(command: Callable[..., Any]) -> Callable[..., Any]:
    for flag in (QUIET, SKIP_MISSING, SET, JOBS):
        command = flag(command)
    return command


FIRST_ALGORITHMS = ("perceptron", "pa1", "arow", "scw1")
READING = (
    click.option("--label", metavar="NAME", help="Heading or number of the label column [default: last]."),
    click.option(
        "--positive", multiple=True, metavar="LABEL",
        help="A label that counts as +1 [default: the larger, or later in the alphabet, of two].",
    ),
    click.option("--time", metavar="NAME", help="Column with the time of each row, which is no feature."),
    click.option(
        "--arrival", metavar="NAME", help="Column with the time when the label of a row becomes known."
    ),
    click.option("--delimiter", metavar="CHAR", help="Separator of columns [default: detected]."),
    click.option(
        "--missing", type=click.Choice(["drop", "zero", "mean"]),
        help="Drop rows with missing values, or replace those by 0 or by the mean of their column.",
    ),
    click.option(
        "--categorical", type=click.Choice(["onehot", "drop"]),
        help="Encode columns of text as indicators, or leave them out.",
    ),
    click.option(
        "--scale", type=click.Choice(["unit", "minmax", "standard", "running"]),
        help="Scale rows to length 1; features to [0, 1], to mean 0 and deviation 1, or by the rows so far.",
    ),
    click.option("--bias", is_flag=True, default=None, help="Add a feature that is always 1."),
)  # fmt: skip


def own_data(command: Callable[..., Any]) -> Callable[..., Any]:
    for flag in reversed(READING):
        command = flag(command)
    return command


def read_pairs(texts: Iterable[str], option: str) -> dict[str, str]:
    found = {}
    for text in (part for each in texts for part in each.split(",")):
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise UserError(f"{option} {text}: it must be NAME=VALUE")
        found[name.strip()] = value.strip()
    return found


def read_settings(texts: Iterable[str]) -> dict[str, float | str]:
    """Return the parameters that --set has, as numbers where they are."""
    found: dict[str, float | str] = {}
    for name, value in read_pairs(texts, "--set").items():
        try:
            found[name] = float(value)
        except ValueError:
            found[name] = value
    return found
