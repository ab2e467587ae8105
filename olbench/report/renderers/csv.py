"""CSV: the results, one line per row, in full precision, the paper's numbers beside ours."""

import csv
import io
from typing import Any

from olbench.report.renderers import Format

#: With these, a cell of a spreadsheet begins a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_csv(records: list[dict[str, Any]]) -> str:
    file = io.StringIO()
    if records:
        writer = csv.DictWriter(file, records[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _disarm(value) for name, value in record.items()} for record in records)
    return file.getvalue()


def _disarm(value: Any) -> Any:
    """Return a text that a spreadsheet would take for a formula with an apostrophe before it; numbers stay.

    >>> _disarm("=1+1"), _disarm("-0.5"), _disarm(-0.5), _disarm("arow")
    ("'=1+1", '-0.5', -0.5, 'arow')
    """
    if not isinstance(value, str) or not value.startswith(FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


FORMAT = Format(
    "results.csv", "the results, one line per row", lambda document, screen: write_csv(document.records())
)
