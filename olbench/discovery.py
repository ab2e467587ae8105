"""Finding the files of a registry: to add an entry is to add a file."""

import importlib
import pkgutil
import warnings
from collections.abc import Sequence

from olbench.errors import describe_error


def import_all(package: str, first: Sequence[str] = ()) -> list[str]:
    """Import every module of a package; return their full names, those of `first` first, others by name."""
    folder = importlib.import_module(package).__path__
    found = sorted(each.name for each in pkgutil.iter_modules(folder))
    names = [f"{package}.{name}" for name in [*first, *(name for name in found if name not in first)]]
    for name in names:
        importlib.import_module(name)
    return names


def load_entry_points(group: str, what: str) -> None:
    """Load what other packages add to a registry; warn about what cannot be loaded."""
    from importlib.metadata import entry_points

    for point in entry_points(group=group):
        try:
            point.load()
        except (Exception, SystemExit) as error:
            warnings.warn(f"{what} of {point.value} cannot be loaded: {describe_error(error)}", stacklevel=3)
