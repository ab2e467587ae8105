"""Options and types of options that more than one verb has."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from olbench.errors import UserError

PATH = click.Path(path_type=Path)
FILE = click.Path(path_type=Path, dir_okay=False)
COUNT, NUMBER, SHARE = click.IntRange(1), click.IntRange(0), click.FloatRange(0, 1)
JOBS = click.option(
    "--jobs", "-j", metavar="N", type=COUNT, help="Parallel trials, by default OLBENCH_JOBS or all cores."
)
SET = click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a key, as in permutations=5."
)
SKIP_MISSING = click.option("--skip-missing", is_flag=True, help="Skip data sets that are not downloaded.")
OUT = click.option("--out", type=PATH, metavar="DIR", help="Results folder, by default results/NAME.")
DRY_RUN = click.option("--dry-run", is_flag=True, help="Print the plan, with a time estimate, and stop.")
OUTPUT = click.option("--output", "-o", type=FILE, help="Write to this file instead of the terminal.")
TRUST = click.option(
    "--trust-plugins", is_flag=True, help="Run the Python code that comes with a bundle; read it first."
)
QUIET = click.option("--quiet", "-q", is_flag=True, help="Print no progress and no table.")
NO_TITLES = click.option("--no-titles", is_flag=True, help="Draw figures without headings, for papers.")
SETTINGS = click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter of the algorithm."
)
Decorator = Callable[..., Any]


def format_flag(*names: str, help: str = "Output format.") -> Decorator:
    return choice_flag("--format", names, help, "form", default="text", show_default=True)


def choice_flag(name: str, choices: Iterable[str], help: str, *also: str, **more: Any) -> Decorator:
    return click.option(name, *also, type=click.Choice(list(choices)), help=help, **more)


def names_flag(name: str, help: str) -> Decorator:
    return click.option(name, metavar="NAMES", callback=split_names, help=f"Comma-separated {help}")


def plugin_flag(help: str) -> Decorator:
    return click.option("--plugin", "plugins", multiple=True, type=click.Path(), help=help)


def experiment(command: Decorator) -> Decorator:
    for flag in (QUIET, SKIP_MISSING, SET, JOBS):
        command = flag(command)
    return command


READING = (
    click.option(
        "--label",
        metavar="NAME",
        help="Label column: its heading or number; by default one called label, else the last.",
    ),
    click.option(
        "--positive", multiple=True, metavar="LABEL", help="Label of class +1, by default the larger of two."
    ),
    click.option("--time", metavar="NAME", help="Column with the time of each row; it is not a feature."),
    click.option("--arrival", metavar="NAME", help="Column with the time when the label becomes known."),
    click.option("--delimiter", metavar="CHAR", help="Column separator; by default it is detected."),
    choice_flag(
        "--missing",
        ("drop", "zero", "mean"),
        "Drop rows with missing values, or fill in 0 or the column mean.",
    ),
    choice_flag("--categorical", ("onehot", "drop"), "Encode text columns as indicators, or drop them."),
    choice_flag(
        "--scale",
        ("unit", "minmax", "standard", "running"),
        "unit scales rows to length 1. The others scale features: to [0, 1], to mean 0 and standard "
        "deviation 1, or by the rows so far.",
    ),
    click.option("--bias", is_flag=True, default=None, help="Add a feature that is always 1."),
)


def own_data(command: Decorator) -> Decorator:
    for flag in reversed(READING):
        command = flag(command)
    return command


def split_names(ctx: click.Context, param: click.Parameter, text: str | None) -> list[str]:
    """Return comma-separated names; commas in the brackets of a label are part of it."""
    parts = re.split(r",(?![^(\[]*[)\]])", text or "")
    return [part.strip() for part in parts if part.strip()]


def read_pairs(texts: Iterable[str], option: str) -> dict[str, str]:
    found = {}
    for text in (part for each in texts for part in each.split(",")):
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise UserError(f"{option} {text}: it must be NAME=VALUE")
        found[name.strip()] = value.strip()
    return found


def read_settings(texts: Iterable[str]) -> dict[str, float | str]:
    """Return the parameters of --set, as numbers where they are numbers."""
    found: dict[str, float | str] = {}
    for name, value in read_pairs(texts, "--set").items():
        try:
            found[name] = float(value)
        except ValueError:
            found[name] = value
    return found
