"""Reports for programs: CSV and JSON."""

import csv
import io
import json
import math
from typing import Any

from olbench.report.model import Report
from olbench.report.sections import all_sections
from olbench.report.sections.results import flat_records

#: With these, a cell of a spreadsheet begins a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def render_csv(report: Report) -> str:
    """Return the results as CSV: one line per row, in full precision, the paper's numbers beside ours."""
    return write_csv(flat_records(report))


def write_csv(records: list[dict[str, Any]]) -> str:
    """Return records with the same keys as CSV."""
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


def render_json(report: Report) -> str:
    """Return everything in the report as JSON."""
    content: dict[str, Any] = {
        "name": report.results.name,
        "protocol": report.protocol.id,
        "paper": report.paper.id if report.paper else None,
        "made": report.made,
    }
    # A section that does not apply still has its keys, with empty values: scripts can rely on them.
    for section in all_sections(report):
        content |= section.data(report)
    return json.dumps(make_finite(content), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def make_finite(content: Any) -> Any:
    """Return plain values with null in place of NaN and infinity, which JSON does not have."""
    if isinstance(content, dict):
        return {str(key): make_finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [make_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content
