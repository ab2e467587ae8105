"""Finding the entries of a registry: to add one is to add a file, or to install a package that has it."""

import importlib
import pkgutil
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from olbench.errors import UserError, describe_error


class PackageWarning(UserWarning):
    """An installed package offers what cannot be used; the command line shows the sentence alone."""


def import_all(package: str, first: Sequence[str] = ()) -> list[str]:
    folder = importlib.import_module(package).__path__
    found = sorted(each.name for each in pkgutil.iter_modules(folder))
    names = [f"{package}.{name}" for name in [*first, *(name for name in found if name not in first)]]
    for name in names:
        importlib.import_module(name)
    return names


def load_entry_points(
    group: str, what: str, take: Callable[[str, Any], None] = lambda name, loaded: None
) -> None:
    """`take` gets the name of each entry point and what it has loaded; it may refuse it with a UserError."""
    from importlib.metadata import entry_points

    for point in entry_points(group=group):
        try:
            take(point.name, point.load())
        except (Exception, SystemExit) as error:
            owner = f"the package {point.dist.name}" if point.dist else point.value
            reason = str(error) if isinstance(error, UserError) else describe_error(error)
            warnings.warn(
                f"{what} of {owner} ({point.value}) cannot be loaded: {reason}", PackageWarning, stacklevel=3
            )


def folder_of(module: Any) -> Path:
    file = getattr(module, "__file__", None)
    place = Path(file).parent if file else next(iter(getattr(module, "__path__", ())), None)
    if place is None:
        raise UserError("it must name a module, and its folder must have the file")
    return Path(place)
