"""JSON: everything in a document, for programs."""

import json
import math
from typing import Any

from olbench.report.renderers import Format


def write_json(content: Any) -> str:
    return json.dumps(make_finite(content), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def make_finite(content: Any) -> Any:
    """Return plain values with null in place of NaN and infinity, which JSON does not have."""
    if isinstance(content, dict):
        return {str(key): make_finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [make_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


FORMAT = Format(
    "report.json", "everything, for scripts", lambda document, screen: write_json(document.content())
)
