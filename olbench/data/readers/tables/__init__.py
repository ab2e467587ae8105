"""Tables of any format: a file here for each, named like it, which is all that a new format needs.

It has `SUFFIXES`, the ends of the names of its files, and `read_table(path, delimiter, limit)`, which returns
their cells; `limit` bounds the uncompressed size, and a format without separators ignores `delimiter`.
"""

import sys
from functools import cache
from importlib import import_module
from pathlib import Path

from olbench.config.specs import Reading
from olbench.data.readers.cells import Table
from olbench.discovery import import_all
from olbench.errors import UserError


@cache
def table_suffixes() -> dict[str, str]:
    """Return the format of tables by the ends of their names, the most common first."""
    modules = [sys.modules[name] for name in import_all(__name__, first=("csv", "parquet"))]
    return {suffix: module.__name__.rpartition(".")[2] for module in modules for suffix in module.SUFFIXES}


def is_table(format: str) -> bool:
    """Return whether files of a format are tables."""
    return format in table_suffixes().values()


def format_of(name: str) -> str:
    """Return the format of a file by its name, without the end that says how it is compressed."""
    return table_suffixes().get(Path(name).suffix.lower(), "libsvm")


def plain_name(name: str) -> str:
    """Return the name of a data set: a table's file name without its end."""
    return Path(name).stem if is_table(format_of(name)) else name


def refuse_reading(reading: Reading, format: str, where: str) -> None:
    """Refuse options that mean nothing to a file of this format."""
    columns = ("time", "arrival", "columns")
    keys = ("label", *columns, "delimiter", "missing", "categorical")
    given = [key for key in keys if getattr(reading, key) not in ("", ())]
    if given and not is_table(format):
        key = given[0]
        why = f"and {key} names a column of a table" if key in columns else f"where --{key} does not apply"
        raise UserError(
            f"{where} is read as a LIBSVM file, {why}; a table's name ends in "
            f"{', '.join(table_suffixes())}: rename the file if it is one"
        )
    if format != "csv" and reading.delimiter:
        raise UserError(f"{where} is not a file of separated values, so leave out --delimiter")


def read_table_file(path: Path, format: str, delimiter: str = "", limit: int | None = None) -> Table:
    """Return the cells of a table in any format."""
    table: Table = import_module(f"{__name__}.{format}").read_table(path, delimiter, limit)
    return table
