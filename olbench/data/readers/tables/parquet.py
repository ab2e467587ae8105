"""Parquet files; their columns have types, so that there is nothing to recognise."""

from pathlib import Path

from olbench.data.readers.cells import Table
from olbench.data.readers.frames import table_of
from olbench.errors import UserError

SUFFIXES = (".parquet", ".pq")


def read_table(path: str | Path, delimiter: str = "", limit: int | None = None) -> Table:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise UserError(
            f"{path}: reading Parquet needs pyarrow; install it with `pip install 'olbench[parquet]'`"
        ) from None
    try:
        frame = pyarrow.parquet.read_table(path).to_pandas()
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(f"{path} is not a Parquet file that can be read ({reason}); write it again") from None
    named = [name for name in frame.index.names if name is not None]
    if twice := [name for name in named if name in frame.columns]:
        raise UserError(f"{path}: the index and a column are both called '{twice[0]}'; rename one of them")
    return table_of(frame.reset_index() if named else frame, str(path))
