"""Tables of any format: a file here for each, named like it, which is all that a new format needs.

It has `SUFFIXES`, the ends of the names of its files, and `read_table(path, delimiter, limit)`, which returns
their cells; `limit` bounds the uncompressed size, and a format without separators ignores `delimiter`.
"""

import sys
from functools import cache
from importlib import import_module
from pathlib import Path

from olbench.data.readers.cells import Table
from olbench.discovery import import_all


@cache
def table_suffixes() -> dict[str, str]:
    """Return the format of tables by the ends of their names, the most common first."""
    modules = [sys.modules[name] for name in import_all(__name__, first=("csv", "parquet"))]
    return {suffix: module.__name__.rpartition(".")[2] for module in modules for suffix in module.SUFFIXES}


def is_table(format: str) -> bool:
    """Return whether files of a format are tables."""
    return format in table_suffixes().values()


def read_table_file(path: Path, format: str, delimiter: str = "", limit: int | None = None) -> Table:
    """Return the cells of a table in any format."""
    table: Table = import_module(f"{__name__}.{format}").read_table(path, delimiter, limit)
    return table
