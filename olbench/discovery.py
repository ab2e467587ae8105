"""Finding the files of a registry: whoever adds one adds a file and nothing else."""

import importlib
import pkgutil
from collections.abc import Sequence


def import_all(package: str, first: Sequence[str] = ()) -> list[str]:
    """Import every module of a package; return their full names, those of `first` first, others by name."""
    folder = importlib.import_module(package).__path__
    found = sorted(each.name for each in pkgutil.iter_modules(folder))
    names = [f"{package}.{name}" for name in [*first, *(name for name in found if name not in first)]]
    for name in names:
        importlib.import_module(name)
    return names
