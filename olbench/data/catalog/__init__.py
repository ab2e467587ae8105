"""The catalogue: finding data sets by name."""

from functools import cache
from pathlib import Path

from olbench.data.catalog.entry import CatalogEntry
from olbench.data.catalog.file import parse_catalog
from olbench.errors import UserError, expand_home, suggest

__all__ = ["CatalogEntry", "catalog", "catalog_path", "find", "parse_catalog", "resolve"]


def catalog_path() -> Path:
    """Return the path of the catalogue: inside an installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parents[2]
    for path in (package / "datasets" / "catalog.yaml", package.parent / "datasets" / "catalog.yaml"):
        if path.is_file():
            return path
    raise UserError(f"the catalogue of data sets is missing from {package}; install olbench again")


@cache
def catalog() -> dict[str, CatalogEntry]:
    """Return all data sets by name, in the order of the catalogue."""
    path = catalog_path()
    return parse_catalog(path.read_text(encoding="utf-8"), path.name)


def find(name: str) -> CatalogEntry:
    """Return a data set of the catalogue; an unknown name is refused with a suggestion."""
    entries = catalog()
    if name not in entries:
        raise UserError(
            f"there is no data set '{name}'{suggest(name, list(entries))}; `olbench data list` shows all, "
            "and a path to a LIBSVM file works as well"
        )
    return entries[name]


def resolve(name_or_path: str | Path) -> CatalogEntry | Path:
    """Return the catalogue entry, or the path of a file or of a cached entry; a name takes precedence."""
    text = str(name_or_path)
    if isinstance(name_or_path, str) and text in catalog():
        return catalog()[text]
    path = expand_home(name_or_path)
    if path.is_file() or (path / "meta.json").is_file():
        return path
    if path.is_dir():
        raise UserError(f"{text} is a folder; a data set is a file or a name from `olbench data list`")
    raise UserError(
        f"there is neither a file nor a data set '{text}'{suggest(text, list(catalog()))}; "
        "`olbench data list` shows the names"
    )
