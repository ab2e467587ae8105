"""Reports for programs: CSV and JSON."""

import csv
import io
import json
import math
from typing import Any

from olbench.report.build import Report
from olbench.report.sections import all_sections
from olbench.report.sections.results import flat_records


def render_csv(report: Report) -> str:
    """Return the results as CSV: one line per row, full precision, what the paper reports beside ours."""
    return write_csv(flat_records(report))


def write_csv(records: list[dict[str, Any]]) -> str:
    """Return records of equal keys as CSV."""
    file = io.StringIO()
    if records:
        writer = csv.DictWriter(file, records[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
    return file.getvalue()


def render_json(report: Report) -> str:
    """Return everything in the report as JSON."""
    content: dict[str, Any] = {
        "name": report.results.name,
        "protocol": report.protocol.id,
        "paper": report.paper.id if report.paper else None,
        "made": report.made,
    }
    # A section that does not apply still has its keys, with nothing below them: readers can rely on them.
    for section in all_sections(report):
        content |= section.data(report)
    return json.dumps(make_finite(content), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def make_finite(content: Any) -> Any:
    """Return plain values in which what is not a number is null: JSON has no NaN."""
    if isinstance(content, dict):
        return {str(key): make_finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [make_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content
